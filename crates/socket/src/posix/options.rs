//! `getsockopt` and `setsockopt` for options whose value is one number.

use redpoll_stack::Profile;

use super::{Answer, Fd, SocketState, Sockets};
use crate::Errno;

/// An option of a socket. The values are those of `setsockopt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opt {
    /// SO_ERROR: the error that the next call would return; reading clears it.
    Error,
    /// SO_TYPE: 1 for a stream, 2 for datagrams.
    Type,
    /// SO_ACCEPTCONN: whether the socket listens.
    AcceptConn,
    /// SO_KEEPALIVE: whether TCP probes an idle connection (RFC 9293 §3.8.4).
    KeepAlive,
    /// SO_LINGER: seconds, or -1 for none. With 0, `close` resets the connection.
    Linger,
    /// TCP_NODELAY: small segments do not wait (RFC 9293 §3.7.4).
    NoDelay,
    /// TCP_KEEPIDLE: seconds of silence before the first probe.
    KeepIdle,
    /// TCP_KEEPINTVL: seconds between probes.
    KeepInterval,
    /// TCP_KEEPCNT: unanswered probes before the connection fails; 1 counts as 2.
    KeepCount,
    /// TCP_MAXSEG: payload bytes of a full segment.
    MaxSegment,
    /// TCP_USER_TIMEOUT: milliseconds for which sent data may stay unacknowledged (RFC 9293
    /// §3.10.8); 0 for no limit.
    UserTimeout,
    /// TCP_FASTOPEN. Before `listen`: number of connections that may be open before their handshake
    /// is complete because their SYN had data (RFC 7413 §4.2), 0 for none. For a socket that
    /// connects: if not 0, `sendto` opens the connection ([`Sockets::open_by_sending`]).
    FastOpen,
}

impl Opt {
    /// Returns the option whose numbers in Linux are `level` and `name`.
    pub fn of(level: i32, name: i32) -> Option<Opt> {
        const SOCKET: i32 = 1;
        const TCP: i32 = 6;
        Some(match (level, name) {
            (SOCKET, 3) => Opt::Type,
            (SOCKET, 4) => Opt::Error,
            (SOCKET, 9) => Opt::KeepAlive,
            (SOCKET, 13) => Opt::Linger,
            (SOCKET, 30) => Opt::AcceptConn,
            (TCP, 1) => Opt::NoDelay,
            (TCP, 2) => Opt::MaxSegment,
            (TCP, 4) => Opt::KeepIdle,
            (TCP, 5) => Opt::KeepInterval,
            (TCP, 6) => Opt::KeepCount,
            (TCP, 18) => Opt::UserTimeout,
            (TCP, 23) => Opt::FastOpen,
            _ => return None,
        })
    }
}

impl<P: Profile> Sockets<'_, P> {
    /// Sets an option (`setsockopt`).
    ///
    /// # Errors
    /// `EINVAL` for an impossible value, `ENOPROTOOPT` for a read-only option, `EBADF`.
    pub fn set_option(&mut self, fd: Fd, option: Opt, value: i32) -> Answer<()> {
        let socket = self.entry_mut(fd)?;
        let tuning = &mut socket.tuning;
        match option {
            Opt::Linger => {
                socket.linger = u16::try_from(value).ok();
                return Ok(());
            }
            Opt::NoDelay => tuning.nodelay = value != 0,
            Opt::KeepAlive => tuning.keepalive = value != 0,
            Opt::KeepIdle => tuning.probes.idle_s = seconds(value)?,
            Opt::KeepInterval => tuning.probes.interval_s = seconds(value)?,
            Opt::UserTimeout => {
                let ms = u32::try_from(value).or(Err(Errno::EINVAL))?;
                tuning.user_timeout_ms = Some(ms);
            }
            // Too late: the socket listens with its previous value.
            Opt::FastOpen if matches!(socket.kind, SocketState::Listening { .. }) => {
                return Err(Errno::EINVAL);
            }
            Opt::FastOpen => {
                let count = u32::try_from(value).or(Err(Errno::EINVAL))?;
                tuning.fast_open = u8::try_from(count).unwrap_or(u8::MAX);
            }
            Opt::KeepCount => match u8::try_from(value) {
                Ok(count @ 1..) => tuning.probes.count = count,
                _ => return Err(Errno::EINVAL),
            },
            Opt::Error | Opt::Type | Opt::AcceptConn | Opt::MaxSegment => {
                return Err(Errno::ENOPROTOOPT);
            }
        }
        let tuning = *tuning;
        if let SocketState::Connected(id) = socket.kind {
            tuning.apply(self.node, self.now, id);
        }
        Ok(())
    }

    /// Returns the value of an option (`getsockopt`).
    ///
    /// # Errors
    /// `EBADF`
    pub fn option(&mut self, fd: Fd, option: Opt) -> Answer<i32> {
        let socket = self.entry(fd)?;
        let tuning = &socket.tuning;
        Ok(match option {
            Opt::Error => self.take_error(fd).err().map_or(0, i32::from),
            Opt::Type if matches!(socket.kind, SocketState::Udp { .. }) => 2,
            Opt::Type => 1,
            Opt::AcceptConn => matches!(socket.kind, SocketState::Listening { .. }).into(),
            Opt::KeepAlive => tuning.keepalive.into(),
            Opt::Linger => socket.linger.map_or(-1, i32::from),
            Opt::NoDelay => tuning.nodelay.into(),
            Opt::KeepIdle => number(tuning.probes.idle_s),
            Opt::KeepInterval => number(tuning.probes.interval_s),
            Opt::KeepCount => tuning.probes.count.into(),
            Opt::UserTimeout => number(tuning.user_timeout_ms.unwrap_or(0)),
            Opt::FastOpen => tuning.fast_open.into(),
            Opt::MaxSegment => match self.connected(fd) {
                Ok((_, connection)) => connection.info().eff_snd_mss as i32,
                Err(_) => self.node.tcp_config().mss.into(),
            },
        })
    }
}

fn seconds(value: i32) -> Answer<u32> {
    let seconds = u32::try_from(value).ok().filter(|&s| s > 0);
    seconds.ok_or(Errno::EINVAL)
}

fn number(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}
