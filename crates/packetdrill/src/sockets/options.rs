//! `getsockopt` and `setsockopt`. Values are the integers that the options'
//! structures are made of.

use libc::{EINVAL, ENOPROTOOPT, IPPROTO_TCP, SOL_SOCKET};
use redpoll_base::Duration;

use super::{Answer, Kind, Sockets, no, pending_error, unsupported};
use crate::Settings;

impl Sockets {
    /// `setsockopt`. Most options are parameters of the node: see the
    /// [crate](crate) for when they can be set.
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
        let seconds = |least: i32| match u64::try_from(value) {
            Ok(seconds) if value >= least => Ok(Duration::from_secs(seconds)),
            _ => no(EINVAL),
        };
        let positive = || usize::try_from(value).ok().filter(|&n| n > 0);
        let change: Box<dyn FnOnce(&mut Settings)> = match (level, name) {
            (SOL_SOCKET, libc::SO_REUSEADDR | libc::SO_REUSEPORT) => return Ok(()),
            (SOL_SOCKET, libc::SO_KEEPALIVE) => Box::new(move |s| s.set_keepalive(value != 0)),
            (SOL_SOCKET, libc::SO_RCVBUF) => {
                let Some(bytes) = positive() else {
                    return no(EINVAL);
                };
                Box::new(move |s| s.rcvbuf = bytes)
            }
            (SOL_SOCKET, libc::SO_SNDBUF) => {
                let Some(bytes) = positive() else {
                    return no(EINVAL);
                };
                Box::new(move |s| s.sndbuf = bytes)
            }
            (IPPROTO_TCP, libc::TCP_NODELAY) => Box::new(move |s| s.tcp.nagle = value == 0),
            (IPPROTO_TCP, libc::TCP_KEEPIDLE) => {
                let idle = seconds(1)?;
                Box::new(move |s| s.tune_keepalive(|k| k.idle = idle))
            }
            (IPPROTO_TCP, libc::TCP_KEEPINTVL) => {
                let interval = seconds(1)?;
                Box::new(move |s| s.tune_keepalive(|k| k.interval = interval))
            }
            (IPPROTO_TCP, libc::TCP_KEEPCNT) => match u8::try_from(value) {
                Ok(count @ 1..) => Box::new(move |s| s.tune_keepalive(|k| k.count = count)),
                _ => return no(EINVAL),
            },
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
            (SOL_SOCKET, libc::SO_KEEPALIVE) => settings.tcp.keepalive.is_some().into(),
            (SOL_SOCKET, libc::SO_RCVBUF) => count(settings.rcvbuf),
            (SOL_SOCKET, libc::SO_SNDBUF) => count(settings.sndbuf),
            (IPPROTO_TCP, libc::TCP_NODELAY) => (!settings.tcp.nagle).into(),
            (IPPROTO_TCP, libc::TCP_KEEPIDLE) => whole_seconds(settings.keepalive.idle),
            (IPPROTO_TCP, libc::TCP_KEEPINTVL) => whole_seconds(settings.keepalive.interval),
            (IPPROTO_TCP, libc::TCP_KEEPCNT) => settings.keepalive.count.into(),
            (IPPROTO_TCP, libc::TCP_MAXSEG) => match self.connected(fd) {
                Ok((_, connection)) => count(connection.eff_snd_mss() as usize),
                Err(_) => settings.tcp.mss.into(),
            },
            _ => return no(ENOPROTOOPT),
        };
        Ok(vec![value])
    }
}
