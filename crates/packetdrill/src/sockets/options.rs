//! `getsockopt` and `setsockopt`. Values are the integers that the options'
//! structures are made of.

use libc::{EINVAL, ENOPROTOOPT, IPPROTO_TCP, SOL_SOCKET};
use redpoll_base::Duration;

use super::{Answer, Kind, Sockets, no, pending_error, unsupported};
use crate::{Errno, Settings};

impl Sockets {
    /// `setsockopt`. Sizes and the user timeout are parameters of the node: see
    /// the [crate](crate) for when they can be set.
    pub fn set_option(&mut self, fd: i32, level: i32, name: i32, value: &[i32]) -> Answer<()> {
        let socket = self.entry_mut(fd)?;
        if (level, name) == (SOL_SOCKET, libc::SO_LINGER) {
            let &[on, seconds, ..] = value else {
                return no(EINVAL);
            };
            socket.linger = (on != 0).then_some(seconds);
            return Ok(());
        }
        let &[value, ..] = value else {
            return no(EINVAL);
        };
        if self.tune(fd, level, name, value)? {
            return Ok(());
        }
        let positive = usize::try_from(value).ok().filter(|&n| n > 0);
        let change: Box<dyn FnOnce(&mut Settings)> = match (level, name) {
            (SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT) => return Ok(()),
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                let bytes = positive.ok_or(Errno(EINVAL))?;
                Box::new(move |s| s.rcvbuf = bytes)
            }
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                let bytes = positive.ok_or(Errno(EINVAL))?;
                Box::new(move |s| s.sndbuf = bytes)
            }
            (IPPROTO_TCP, libc::TCP_USER_TIMEOUT) => match u64::try_from(value) {
                Ok(ms) => Box::new(move |s| s.set_user_timeout(ms)),
                Err(_) => return no(EINVAL),
            },
            (IPPROTO_TCP, libc::TCP_MAXSEG) => match u16::try_from(value) {
                Ok(mss @ 64..=1220) => Box::new(move |s| s.tcp.mss = mss),
                _ => return no(EINVAL),
            },
            _ => return no(ENOPROTOOPT),
        };
        if self.host.adapt(change) {
            return Ok(());
        }
        unsupported("setsockopt that changes TCP's parameters after listen or connect")
    }

    /// Options that a connection takes at any time; `false` if it is another.
    fn tune(&mut self, fd: i32, level: i32, name: i32, value: i32) -> Answer<bool> {
        let socket = self.entry_mut(fd)?;
        let tuning = &mut socket.tuning;
        let seconds = u64::try_from(value).ok().filter(|&s| s > 0);
        let seconds = seconds.map(Duration::from_secs).ok_or(Errno(EINVAL));
        match (level, name) {
            (IPPROTO_TCP, libc::TCP_NODELAY) => tuning.nodelay = value != 0,
            (SOL_SOCKET, libc::SO_KEEPALIVE) => tuning.keepalive = value != 0,
            (IPPROTO_TCP, libc::TCP_KEEPIDLE) => tuning.probes.idle = seconds?,
            (IPPROTO_TCP, libc::TCP_KEEPINTVL) => tuning.probes.interval = seconds?,
            (IPPROTO_TCP, libc::TCP_KEEPCNT) => match u8::try_from(value) {
                Ok(count @ 1..) => tuning.probes.count = count,
                _ => return no(EINVAL),
            },
            _ => return Ok(false),
        }
        if let Kind::Connected(id) = socket.kind {
            let tuning = socket.tuning;
            tuning.apply(&mut self.host, id);
        }
        Ok(true)
    }

    /// `getsockopt`.
    pub fn option(&mut self, fd: i32, level: i32, name: i32) -> Answer<Vec<i32>> {
        let settings = self.host.settings().clone();
        let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
        let whole_seconds = |span: Duration| count((span.as_millis() / 1000) as usize);
        let socket = self.entry(fd)?;
        let value = match (level, name) {
            (SOL_SOCKET, libc::SO_ERROR) => match self.connected(fd) {
                Ok((socket, connection)) => {
                    let error = pending_error(socket, connection);
                    socket.error_taken |= error.is_some();
                    error.map_or(0, |error| error.0)
                }
                Err(_) => 0,
            },
            (SOL_SOCKET, libc::SO_LINGER) => {
                let seconds = socket.linger;
                return Ok(vec![seconds.is_some().into(), seconds.unwrap_or(0)]);
            }
            (SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
            (SOL_SOCKET, libc::SO_ACCEPTCONN) => {
                matches!(socket.kind, Kind::Listening { .. }).into()
            }
            (SOL_SOCKET, libc::SO_KEEPALIVE) => socket.tuning.keepalive.into(),
            (SOL_SOCKET, libc::SO_RCVBUF) => count(settings.rcvbuf),
            (SOL_SOCKET, libc::SO_SNDBUF) => count(settings.sndbuf),
            (IPPROTO_TCP, libc::TCP_NODELAY) => socket.tuning.nodelay.into(),
            (IPPROTO_TCP, libc::TCP_KEEPIDLE) => whole_seconds(socket.tuning.probes.idle),
            (IPPROTO_TCP, libc::TCP_KEEPINTVL) => whole_seconds(socket.tuning.probes.interval),
            (IPPROTO_TCP, libc::TCP_KEEPCNT) => socket.tuning.probes.count.into(),
            (IPPROTO_TCP, libc::TCP_MAXSEG) => match self.connected(fd) {
                Ok((_, connection)) => count(connection.eff_snd_mss() as usize),
                Err(_) => settings.tcp.mss.into(),
            },
            _ => return no(ENOPROTOOPT),
        };
        Ok(vec![value])
    }
}
