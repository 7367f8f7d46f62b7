//! The calls that a script may make.

use std::net::SocketAddr;

use super::parse::{Arg, Call};
use super::runner::{PORT, Runner, stream};
use crate::sockets::Answer;
use crate::{Errno, Shutdown};

/// The result of a call; `None` if the call would block.
type Outcome = Option<Answer<i64>>;

impl Runner {
    /// Makes a call, or repeats one that has blocked. For a call that may block, `progress` holds
    /// the number of bytes done so far, or a non-zero value if the call has begun.
    ///
    /// `Err` describes a mistake in the script, or a difference from the script.
    pub(super) fn call(
        &mut self,
        call: &Call,
        mut progress: Option<&mut usize>,
    ) -> Result<Outcome, String> {
        let fd = match call.args.first() {
            Some(Arg::Number(fd)) => i32::try_from(*fd).unwrap_or(-1),
            _ => -1,
        };
        let answer = match (call.name.as_str(), call.args.as_slice()) {
            ("poll", [Arg::List(fds), ..]) => {
                let timeout = int(&call.args, 2)?;
                return self.poll(fds, timeout, progress.is_some());
            }
            ("connect", _) => self.connect(fd, progress.as_deref_mut()),
            ("accept", _) => {
                let name = new_name(call)?;
                let peer = self.addresses.remote;
                match self.sockets.accept(fd, || Ok(name)) {
                    Ok((_, from)) if from.ip() != peer => {
                        return Err(format!("accept returned the peer {from}; expected: {peer}"));
                    }
                    answer => answer.map(|(name, _)| name.into()),
                }
            }
            ("read", [_, Arg::Dots, _]) => self.receive(fd, int(&call.args, 2)?, 0)?,
            ("recv", [_, Arg::Dots, _, _]) => {
                self.receive(fd, int(&call.args, 2)?, int(&call.args, 3)? as i32)?
            }
            ("write", [_, Arg::Dots, _]) => {
                self.transmit(fd, int(&call.args, 2)?, 0, progress.as_deref_mut())
            }
            ("send", [_, Arg::Dots, _, _]) => {
                let flags = int(&call.args, 3)? as i32;
                self.transmit(fd, int(&call.args, 2)?, flags, progress)
            }
            ("sendto", [_, Arg::Dots, _, _, Arg::Dots, Arg::Dots]) => {
                let flags = int(&call.args, 3)? as i32;
                return Ok(Some(self.open_by_sending(fd, int(&call.args, 2)?, flags)));
            }
            _ => return self.quick(fd, call).map(Some),
        };
        let flags = match call.name.as_str() {
            "recv" | "send" => int(&call.args, 3)? as i32,
            _ => 0,
        };
        let may_wait =
            !self.sockets.is_nonblocking(fd).unwrap_or(true) && flags & libc::MSG_DONTWAIT == 0;
        let waits = may_wait && answer == Err(Errno::EAGAIN);
        Ok((!waits).then_some(answer))
    }

    fn quick(&mut self, fd: i32, call: &Call) -> Result<Answer<i64>, String> {
        let zero = |()| 0;
        let port = if call.name == "bind" { PORT } else { 0 };
        let local = SocketAddr::new(self.addresses.local, port);
        Ok(match (call.name.as_str(), call.args.len()) {
            ("socket", 3) => {
                let name = new_name(call)?;
                let nonblocking = int(&call.args, 1)? as i32 & libc::SOCK_NONBLOCK != 0;
                // Both streams of a new socket begin at relative sequence number 1.
                (self.written, self.read) = (1, 1);
                let made = self.sockets.socket(name);
                made.and_then(|()| self.sockets.set_nonblocking(name, nonblocking))
                    .map(|()| name.into())
            }
            ("bind", 3) => self.sockets.bind(fd, local).map(zero),
            ("listen", 2) => self.sockets.listen(fd).map(zero),
            ("close", 1) => self.sockets.close(fd).map(zero),
            ("shutdown", 2) => {
                let how = match int(&call.args, 1)? as i32 {
                    libc::SHUT_RD => Shutdown::Read,
                    libc::SHUT_WR => Shutdown::Write,
                    _ => Shutdown::Both,
                };
                self.sockets.shutdown(fd, how).map(zero)
            }
            ("fcntl", 2 | 3) => match int(&call.args, 1)? as i32 {
                libc::F_SETFL => {
                    let on = int(&call.args, 2)? as i32 & libc::O_NONBLOCK != 0;
                    self.sockets.set_nonblocking(fd, on).map(zero)
                }
                libc::F_GETFL => self
                    .sockets
                    .is_nonblocking(fd)
                    .map(|on| i64::from(libc::O_RDWR | if on { libc::O_NONBLOCK } else { 0 })),
                _ => {
                    return Err(
                        "this command of fcntl is not supported; allowed: F_GETFL, F_SETFL".into(),
                    );
                }
            },
            ("setsockopt", 5) => {
                let (level, name) = (int(&call.args, 1)? as i32, int(&call.args, 2)? as i32);
                let value = words(&call.args[3])?;
                self.sockets.set_option(fd, level, name, &value).map(zero)
            }
            ("getsockopt", 5) => {
                let (level, name) = (int(&call.args, 1)? as i32, int(&call.args, 2)? as i32);
                match self.sockets.option(fd, level, name) {
                    Ok(value) if call.args[3] != Arg::Dots && value != words(&call.args[3])? => {
                        return Err(format!(
                            "getsockopt returned the value {value:?}; expected: the value in the \
                             script"
                        ));
                    }
                    answer => answer.map(|_| 0),
                }
            }
            (name, count) => {
                return Err(format!(
                    "unknown call: {name} with {count} arguments of these types"
                ));
            }
        })
    }

    fn connect(&mut self, fd: i32, progress: Option<&mut usize>) -> Answer<i64> {
        let remote = SocketAddr::new(self.addresses.remote, PORT);
        let begun = match progress {
            Some(begun) => std::mem::replace(begun, 1) == 1,
            None => false,
        };
        let waits = !self.sockets.is_nonblocking(fd)?;
        let answer = if begun {
            self.sockets.connect_result(fd)
        } else {
            self.sockets.connect(fd, remote)
        };
        match answer {
            Err(Errno::EINPROGRESS) if waits => Err(Errno::EAGAIN),
            answer => answer.map(|()| 0),
        }
    }

    fn receive(&mut self, fd: i32, len: i64, flags: i32) -> Result<Answer<i64>, String> {
        let mut out = vec![0; usize::try_from(len).unwrap_or(0)];
        let count = match self.sockets.recv(fd, &mut out, flags) {
            Ok(count) => count,
            Err(error) => return Ok(Err(error)),
        };
        let expected = (self.read..).map(stream);
        if !out[..count].iter().copied().eq(expected.take(count)) {
            return Err(format!(
                "the received bytes differ from the sent ones, in the read that begins at byte {}",
                self.read
            ));
        }
        if flags & libc::MSG_PEEK == 0 {
            self.read += count as u32;
        }
        Ok(Ok(count as i64))
    }

    fn transmit(
        &mut self,
        fd: i32,
        len: i64,
        flags: i32,
        progress: Option<&mut usize>,
    ) -> Answer<i64> {
        let len = usize::try_from(len).unwrap_or(0);
        let mut nothing = 0;
        let may_wait = progress.is_some();
        let sent = progress.unwrap_or(&mut nothing);
        let data: Vec<u8> = (self.written..)
            .map(stream)
            .take(len.saturating_sub(*sent))
            .collect();
        let count = self.sockets.send(fd, &data, flags)?;
        self.written += count as u32;
        *sent += count;
        if may_wait && *sent < len {
            return Err(Errno::EAGAIN);
        }
        Ok(*sent as i64)
    }

    fn open_by_sending(&mut self, fd: i32, len: i64, flags: i32) -> Answer<i64> {
        let remote = SocketAddr::new(self.addresses.remote, PORT);
        let len = usize::try_from(len).unwrap_or(0);
        let data: Vec<u8> = (self.written..).map(stream).take(len).collect();
        let count = self.sockets.send_to(fd, &data, flags, remote)?;
        self.written += count as u32;
        Ok(count as i64)
    }

    /// Polls the descriptors. Returns `Some` if an event has occurred or the call must not block.
    fn poll(&mut self, fds: &[Arg], timeout: i64, may_wait: bool) -> Result<Outcome, String> {
        let mut ready = 0;
        let mut wrong = None;
        for entry in fds {
            let Arg::Record(fields) = entry else {
                return Err(
                    "the first argument of poll must be a list of {fd=, events=, revents=}".into(),
                );
            };
            let field = |name: &str| match fields.iter().find(|(known, _)| known == name) {
                Some((_, Arg::Number(value))) => Ok(*value),
                _ => Err(format!("an entry of poll has no number {name}")),
            };
            let (fd, events) = (field("fd")? as i32, field("events")? as i16);
            let revents = self.sockets.poll_one(fd, events);
            ready += i64::from(revents != 0);
            if i64::from(revents) != field("revents")? {
                wrong = Some(format!(
                    "poll returned revents {revents:#x} of descriptor {fd}; expected: the revents \
                     in the script"
                ));
            }
        }
        if ready == 0 && timeout != 0 {
            return match may_wait {
                true => Ok(None),
                false => Err(
                    "poll would block; give its line an end time, as in `+0...+.1 poll(...)`"
                        .into(),
                ),
            };
        }
        wrong.map_or(Ok(Some(Ok(ready))), Err)
    }
}

fn int(args: &[Arg], index: usize) -> Result<i64, String> {
    match args.get(index) {
        Some(Arg::Number(value)) => Ok(*value),
        _ => Err(format!("argument {} must be a number", index + 1)),
    }
}

fn new_name(call: &Call) -> Result<i32, String> {
    match call.returns {
        Ok(name) => i32::try_from(name)
            .map_err(|_| "the descriptor that the call returns is too large".into()),
        // The script expects a failure, so a descriptor that the call returns fails the script.
        Err(_) => Ok(i32::MAX),
    }
}

/// Returns the integers in a socket option's value, such as `[1]` or `{onoff=1, linger=0}`.
fn words(arg: &Arg) -> Result<Vec<i32>, String> {
    let values: Vec<&Arg> = match arg {
        Arg::List(list) => match list.as_slice() {
            [Arg::Record(fields)] => fields.iter().map(|(_, value)| value).collect(),
            list => list.iter().collect(),
        },
        Arg::Record(fields) => fields.iter().map(|(_, value)| value).collect(),
        Arg::Number(_) => vec![arg],
        Arg::Dots => Vec::new(),
    };
    let number = |value: &Arg| match value {
        Arg::Number(value) => {
            i32::try_from(*value).map_err(|_| "the value of an option is too large".to_owned())
        }
        _ => Err("an option's value must consist of numbers".to_owned()),
    };
    values.into_iter().map(number).collect()
}
