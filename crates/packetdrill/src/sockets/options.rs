//! `getsockopt` and `setsockopt`. Values are the integers of the options' structures.
//!
//! Options that a connection accepts at any time apply to one socket. Sizes of buffers and segments
//! are settings of the whole node, see the [crate](crate).

use libc::{IPPROTO_TCP, SOL_SOCKET};
use redpoll_socket::posix::Opt;

use super::{Answer, Sockets, supported};
use crate::{Errno, Settings};

impl Sockets {
    /// Sets an option (`setsockopt`).
    pub fn set_option(&mut self, fd: i32, level: i32, name: i32, value: &[i32]) -> Answer<()> {
        let below = self.fd(fd)?;
        let value = match (level, name, value) {
            // `struct linger`: a switch and a number of seconds. -1 stands for off.
            (SOL_SOCKET, libc::SO_LINGER, &[on, seconds, ..]) => match on {
                0 => -1,
                _ => seconds,
            },
            (SOL_SOCKET, libc::SO_LINGER, _) | (_, _, &[]) => return Err(Errno::EINVAL),
            (_, _, &[value, ..]) => value,
        };
        match Opt::of(level, name) {
            Some(Opt::MaxSegment) | None => self.set_parameter(level, name, value),
            Some(option) => self.call(|sockets| sockets.set_option(below, option, value)),
        }
    }

    fn set_parameter(&mut self, level: i32, name: i32, value: i32) -> Answer<()> {
        let positive = usize::try_from(value).ok().filter(|&n| n > 0);
        let change: Box<dyn FnOnce(&mut Settings)> = match (level, name) {
            (SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT) => return Ok(()),
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                let bytes = positive.ok_or(Errno::EINVAL)?;
                Box::new(move |s| s.rcvbuf = bytes)
            }
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                let bytes = positive.ok_or(Errno::EINVAL)?;
                Box::new(move |s| s.sndbuf = bytes)
            }
            (IPPROTO_TCP, libc::TCP_MAXSEG) => match u16::try_from(value) {
                Ok(mss) if (64..=self.host.settings().most_mss()).contains(&mss) => {
                    Box::new(move |s| s.tcp.mss = mss)
                }
                _ => return Err(Errno::EINVAL),
            },
            _ => return Err(Errno::ENOPROTOOPT),
        };
        if self.host.adapt(change) {
            return Ok(());
        }
        let what = "a change of TCP's parameters by setsockopt after listen or connect";
        supported(what, Err(Errno::EOPNOTSUPP))
    }

    /// Returns the value of an option (`getsockopt`).
    pub fn option(&mut self, fd: i32, level: i32, name: i32) -> Answer<Vec<i32>> {
        let fd = self.fd(fd)?;
        let settings = self.host.settings();
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        match (level, name) {
            (SOL_SOCKET, libc::SO_RCVBUF) => return Ok(vec![count(settings.rcvbuf)]),
            (SOL_SOCKET, libc::SO_SNDBUF) => return Ok(vec![count(settings.sndbuf)]),
            _ => {}
        }
        let option = Opt::of(level, name).ok_or(Errno::ENOPROTOOPT)?;
        let value = self.call(|sockets| sockets.option(fd, option))?;
        Ok(match option {
            Opt::Linger => vec![(value >= 0).into(), value.max(0)],
            _ => vec![value],
        })
    }
}
