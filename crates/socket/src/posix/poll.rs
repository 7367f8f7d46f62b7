//! `poll`, and the conditions for which a call waits.

use redpoll_stack::Profile;
use redpoll_tcp::State;

use super::{Answer, Fd, SocketState, Sockets, is_opening};

/// Bits of `events` and `revents`, with the numbers of Linux.
pub mod events {
    /// Data, the end of the stream, or a connection to accept.
    pub const POLLIN: i16 = 0x1;
    /// Room for data.
    pub const POLLOUT: i16 = 0x4;
    /// The connection failed.
    pub const POLLERR: i16 = 0x8;
    /// Both directions have ended, or the TCP socket neither listens nor has a connection.
    pub const POLLHUP: i16 = 0x10;
    /// The descriptor is not open.
    pub const POLLNVAL: i16 = 0x20;
    /// As [`POLLIN`].
    pub const POLLRDNORM: i16 = 0x40;
    /// As [`POLLOUT`].
    pub const POLLWRNORM: i16 = 0x100;
    /// The peer has ended its direction.
    pub const POLLRDHUP: i16 = 0x2000;
}

use events::*;

/// `struct pollfd`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Poll {
    /// The descriptor; a negative one is ignored.
    pub fd: i32,
    /// Requested [`events`].
    pub events: i16,
    /// The [`events`] that are present now: requested ones, and also without request POLLERR,
    /// POLLHUP and POLLNVAL.
    pub revents: i16,
}

/// The condition for which a call waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait<'a> {
    /// Data, the end of the stream, an error, or a connection to accept.
    Readable(Fd),
    /// Room for data, or an error.
    Writable(Fd),
    /// The end of the handshake, successful or not.
    Connected(Fd),
    /// An event of any descriptor of the list.
    Poll(&'a [Poll]),
}

impl<P: Profile> Sockets<'_, P> {
    /// Sets `revents` without waiting (`poll`), and returns the number of ready entries.
    ///
    /// # Errors
    /// None at the moment.
    pub fn poll(&mut self, all: &mut [Poll]) -> Answer<usize> {
        for one in all.iter_mut() {
            one.revents = self.poll_one(one.fd, one.events);
        }
        Ok(all.iter().filter(|one| one.revents != 0).count())
    }

    /// Returns whether a call that waits for this condition can continue.
    pub fn is_ready(&self, wait: Wait<'_>) -> bool {
        match wait {
            Wait::Readable(fd) => self.poll_one(fd.into(), POLLIN) != 0,
            Wait::Writable(fd) => self.poll_one(fd.into(), POLLOUT) != 0,
            Wait::Connected(fd) => !self.connected(fd).is_ok_and(|(_, c)| is_opening(c.state())),
            Wait::Poll(all) => all.iter().any(|one| self.poll_one(one.fd, one.events) != 0),
        }
    }

    /// Returns `revents` of one descriptor; 0 for a negative one.
    pub fn poll_one(&self, fd: i32, events: i16) -> i16 {
        if fd < 0 {
            return 0;
        }
        let found = Fd::try_from(fd).map_or(POLLNVAL, |fd| self.revents(fd));
        found & (events | POLLERR | POLLHUP | POLLNVAL)
    }

    fn revents(&self, fd: Fd) -> i16 {
        const IN: i16 = POLLIN | POLLRDNORM;
        const OUT: i16 = POLLOUT | POLLWRNORM;
        let when = |condition, events| if condition { events } else { 0 };
        let Ok(socket) = self.entry(fd) else {
            return POLLNVAL;
        };
        let id = match socket.kind {
            SocketState::Listening { id, .. } => {
                return when(self.node.tcp_may_accept(id), IN);
            }
            SocketState::Connected(id) => id,
            SocketState::Udp { id, .. } => {
                let readable = id.is_some_and(|id| self.node.udp_is_readable(id));
                return OUT | when(readable, IN);
            }
            _ => return OUT | POLLHUP,
        };
        let Some(connection) = self.node.tcp_connection(id) else {
            return POLLHUP;
        };
        let over = match connection.state() {
            state if socket.waits_for_handshake(state) => return 0,
            State::Closed | State::LastAck | State::Closing | State::TimeWait => {
                IN | OUT | POLLRDHUP | POLLHUP
            }
            State::CloseWait => IN | POLLRDHUP,
            State::FinWait1 | State::FinWait2 => OUT,
            State::SynSent | State::SynReceived | State::Established => 0,
        };
        over | when(connection.recv_queue() > 0 || socket.read_shut, IN)
            | when(connection.send_room() > 0, OUT)
            | when(self.pending_error(fd).is_some(), POLLERR)
    }
}
