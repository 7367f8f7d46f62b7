//! POSIX-like sockets over a [`Host`]: every call answers at once.
//!
//! A call that POSIX lets wait returns `EAGAIN` (or `EINPROGRESS`) here; who
//! wants to wait asks [`Sockets::is_ready`] as time passes, and calls again.
//! The caller chooses the numbers of descriptors.

mod options;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use libc::{EADDRINUSE, EADDRNOTAVAIL, EAGAIN, EALREADY, EBADF, ECONNABORTED};
use libc::{EINPROGRESS, EINVAL, EISCONN, EMFILE, ENETUNREACH, ENOTCONN, EOPNOTSUPP, EPIPE};
use redpoll_base::Instant;
use redpoll_stack::{ConnId, Error, ListenerId};
use redpoll_tcp::{Connection, Keepalive, State};

use crate::host::endpoint;
use crate::{Errno, Host, SentPacket, Settings, v4};

/// Result of a call: `Err` is -1 and `errno`.
pub type Answer<T> = Result<T, Errno>;

/// What a waiting call waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Data, the end of data, an error, or a connection to accept.
    Readable(i32),
    /// Room for data, or an error.
    Writable(i32),
    /// The end of the handshake, good or bad.
    Connected(i32),
    /// Any of these events (`POLLIN` and so on) of these descriptors.
    Poll(Vec<(i32, i16)>),
}

/// Which direction `shutdown` ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shutdown {
    /// `SHUT_RD`
    Read,
    /// `SHUT_WR`
    Write,
    /// `SHUT_RDWR`
    Both,
}

/// The sockets of one process over one host.
pub struct Sockets {
    host: Host,
    sockets: BTreeMap<i32, Socket>,
}

struct Socket {
    kind: Kind,
    nonblocking: bool,
    /// SO_LINGER with this many seconds.
    linger: Option<i32>,
    read_shut: bool,
    /// The connection's error was reported.
    error_taken: bool,
    tuning: Tuning,
    /// What MSG_PEEK has taken out of the engine.
    peeked: VecDeque<u8>,
}

enum Kind {
    Idle {
        bound: Option<SocketAddr>,
    },
    Listening {
        id: ListenerId,
        port: u16,
        /// Established, not yet accepted, the oldest first.
        waiting: VecDeque<ConnId>,
    },
    Connected(ConnId),
}

/// Options that a connection takes at any time. One that was accepted has
/// those of its listening socket.
#[derive(Clone, Copy)]
struct Tuning {
    nodelay: bool,
    keepalive: bool,
    probes: Keepalive,
}

impl Tuning {
    fn apply(&self, host: &mut Host, id: ConnId) {
        let now = host.now();
        let keepalive = self.keepalive.then_some(self.probes);
        host.with_node(|node| {
            node.tcp_set_nagle(now, id, !self.nodelay);
            node.tcp_set_keepalive(now, id, keepalive);
        });
    }
}

impl Socket {
    fn new(kind: Kind, tuning: Tuning) -> Socket {
        Socket {
            kind,
            tuning,
            nonblocking: false,
            linger: None,
            read_shut: false,
            error_taken: false,
            peeked: VecDeque::new(),
        }
    }
}

const fn no<T>(number: i32) -> Answer<T> {
    Err(Errno(number))
}

impl Sockets {
    /// No sockets yet, on a host with these settings.
    pub fn new(settings: Settings) -> Sockets {
        Sockets {
            host: Host::new(settings),
            sockets: BTreeMap::new(),
        }
    }

    // Time and packets.

    /// The time.
    pub fn now(&self) -> Instant {
        self.host.now()
    }

    /// When the next timer runs out.
    pub fn deadline(&self) -> Option<Instant> {
        self.host.deadline()
    }

    /// As [`Host::step`].
    pub fn step(&mut self, limit: Instant) -> bool {
        let fired = self.host.step(limit);
        self.collect();
        fired
    }

    /// As [`Host::advance`].
    pub fn advance(&mut self, target: Instant) {
        self.host.advance(target);
        self.collect();
    }

    /// As [`Host::input`].
    pub fn input(&mut self, packet: &[u8]) {
        self.host.input(packet);
        self.collect();
    }

    /// As [`Host::next_packet`].
    pub fn next_packet(&mut self) -> Option<SentPacket> {
        self.host.next_packet()
    }

    /// As [`Host::has_packet`].
    pub fn has_packet(&self) -> bool {
        self.host.has_packet()
    }

    /// Moves connections from the node to the listening sockets: they are then
    /// accepted in the order of their establishment, also when they have failed.
    fn collect(&mut self) {
        for socket in self.sockets.values_mut() {
            if let Kind::Listening { id, waiting, .. } = &mut socket.kind {
                let id = *id;
                while let Some(new) = self.host.with_node(|node| node.tcp_accept(id)) {
                    socket.tuning.apply(&mut self.host, new);
                    waiting.push_back(new);
                }
            }
        }
    }

    // Calls.

    /// A TCP socket under the number `fd`.
    pub fn socket(&mut self, fd: i32) {
        let tuning = Tuning {
            nodelay: !self.host.settings().tcp.nagle,
            keepalive: false,
            probes: Keepalive::default(),
        };
        let socket = Socket::new(Kind::Idle { bound: None }, tuning);
        self.sockets.insert(fd, socket);
    }

    /// Names the socket's own end. The first address named becomes the host's.
    pub fn bind(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        let taken = |socket: &Socket| match socket.kind {
            Kind::Listening { port, .. } => port == addr.port(),
            Kind::Idle { bound } => bound.is_some_and(|b| b.port() == addr.port()),
            Kind::Connected(_) => false,
        };
        if addr.port() != 0 && self.sockets.values().any(taken) {
            return no(EADDRINUSE);
        }
        self.host.learn_address(addr.ip());
        let own: IpAddr = self.host.address();
        if !addr.ip().is_unspecified() && addr.ip() != own {
            return no(EADDRNOTAVAIL);
        }
        match &mut self.entry_mut(fd)?.kind {
            Kind::Idle { bound } if bound.is_none() => *bound = Some(addr),
            _ => return no(EINVAL),
        }
        Ok(())
    }

    /// Waits for connections to the bound port. The backlog is no limit.
    pub fn listen(&mut self, fd: i32) -> Answer<()> {
        let port = match self.entry(fd)?.kind {
            Kind::Idle { bound: Some(addr) } if addr.port() != 0 => addr.port(),
            // A port of the system's choice: nobody could be told of it.
            Kind::Idle { .. } => return no(EOPNOTSUPP),
            Kind::Listening { .. } => return Ok(()),
            Kind::Connected(_) => return no(EINVAL),
        };
        let id = self.host.listen(port).map_err(setup_errno)?;
        self.entry_mut(fd)?.kind = Kind::Listening {
            id,
            port,
            waiting: VecDeque::new(),
        };
        Ok(())
    }

    /// The next connection, under the number that `new_fd` gives; and its peer.
    pub fn accept(
        &mut self,
        fd: i32,
        new_fd: impl FnOnce() -> Answer<i32>,
    ) -> Answer<(i32, SocketAddr)> {
        let listener = self.entry_mut(fd)?;
        let tuning = listener.tuning;
        let Kind::Listening { waiting, .. } = &mut listener.kind else {
            return no(EINVAL);
        };
        let Some(&id) = waiting.front() else {
            return no(EAGAIN);
        };
        let accepted = new_fd()?;
        waiting.pop_front();
        let peer = self
            .host
            .connection(id)
            .ok_or(Errno(ECONNABORTED))?
            .remote();
        let socket = Socket::new(Kind::Connected(id), tuning);
        self.sockets.insert(accepted, socket);
        Ok((
            accepted,
            SocketAddr::new(v4::extract(&peer.addr), peer.port),
        ))
    }

    /// Begins a connection: `EINPROGRESS`. Later `EALREADY`, `EISCONN` or what
    /// went wrong.
    pub fn connect(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        match self.entry(fd)?.kind {
            Kind::Idle { bound } if bound.is_none_or(|bound| bound.port() == 0) => {
                let now = self.host.now();
                let remote = endpoint(addr);
                let id = self
                    .host
                    .with_node(|node| node.tcp_connect(now, remote))
                    .map_err(setup_errno)?;
                let socket = self.entry_mut(fd)?;
                socket.kind = Kind::Connected(id);
                let tuning = socket.tuning;
                tuning.apply(&mut self.host, id);
                no(EINPROGRESS)
            }
            Kind::Idle { .. } => unsupported("bind to a port, then connect"),
            Kind::Listening { .. } => no(EISCONN),
            Kind::Connected(_) => match self.connect_result(fd) {
                Err(Errno(EAGAIN)) => no(EALREADY),
                Ok(()) => no(EISCONN),
                other => other,
            },
        }
    }

    /// How the handshake went; `EAGAIN` while it goes on.
    pub fn connect_result(&mut self, fd: i32) -> Answer<()> {
        let (socket, connection) = self.connected(fd)?;
        if is_opening(connection) {
            return no(EAGAIN);
        }
        if let Some(error) = connection.error() {
            let first = !std::mem::replace(&mut socket.error_taken, true);
            return Err(if first {
                error.into()
            } else {
                Errno(ECONNABORTED)
            });
        }
        Ok(())
    }

    /// Takes received bytes; 0 is their end. `flags` are of `MSG_DONTWAIT`
    /// (which changes nothing), `MSG_PEEK`, `MSG_TRUNC`.
    pub fn recv(&mut self, fd: i32, out: &mut [u8], flags: i32) -> Answer<usize> {
        if flags & !(libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_TRUNC) != 0 {
            return unsupported("recv with these flags");
        }
        let peek = flags & libc::MSG_PEEK != 0;
        let (socket, connection) = self.connected(fd)?;
        if let Some(error) = pending_error(socket, connection) {
            socket.error_taken = true;
            return Err(error);
        }
        let over = connection.error().is_some() || socket.read_shut;
        if out.is_empty() || over && connection.recv_queue() == 0 && socket.peeked.is_empty() {
            return Ok(0);
        }
        let wanted = out.len().saturating_sub(socket.peeked.len());
        let mut fresh = vec![0; wanted];
        let (id, now) = (self.connection_id(fd)?, self.host.now());
        let taken = self
            .host
            .with_node(|node| node.tcp_recv(now, id, &mut fresh));
        let socket = self.entry_mut(fd)?;
        match taken {
            Ok(count) => socket.peeked.extend(&fresh[..count]),
            Err(Error::WouldBlock) if socket.peeked.is_empty() => return no(EAGAIN),
            // What was peeked at before is still there.
            Err(_) => {}
        }
        let count = out.len().min(socket.peeked.len());
        for (to, from) in out.iter_mut().zip(&socket.peeked) {
            *to = *from;
        }
        if !peek {
            socket.peeked.drain(..count);
        }
        Ok(count)
    }

    /// Queues bytes for sending and says how many. `flags` are of
    /// `MSG_DONTWAIT` and `MSG_NOSIGNAL`, which change nothing.
    pub fn send(&mut self, fd: i32, data: &[u8], flags: i32) -> Answer<usize> {
        if flags & !(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) != 0 {
            return unsupported("send with these flags");
        }
        if !matches!(self.entry(fd)?.kind, Kind::Connected(_)) {
            return no(EPIPE);
        }
        let (socket, connection) = self.connected(fd)?;
        if let Some(error) = pending_error(socket, connection) {
            socket.error_taken = true;
            return Err(error);
        }
        if is_opening(connection) {
            return no(EAGAIN);
        }
        if !matches!(connection.state(), State::Established | State::CloseWait) {
            return no(EPIPE);
        }
        let (id, now) = (self.connection_id(fd)?, self.host.now());
        match self.host.with_node(|node| node.tcp_send(now, id, data)) {
            Ok(count) => Ok(count),
            Err(Error::WouldBlock) => no(EAGAIN),
            Err(_) => no(EPIPE),
        }
    }

    /// Ends one direction or both.
    pub fn shutdown(&mut self, fd: i32, how: Shutdown) -> Answer<()> {
        let id = match self.entry(fd)?.kind {
            Kind::Connected(id) => id,
            // As Linux: it stops listening.
            Kind::Listening { .. } if how != Shutdown::Write => {
                self.stop_listening(fd);
                return Ok(());
            }
            _ => return no(ENOTCONN),
        };
        let (socket, connection) = self.connected(fd)?;
        if connection.is_closed() {
            return no(ENOTCONN);
        }
        socket.read_shut |= how != Shutdown::Write;
        if how != Shutdown::Read {
            let now = self.host.now();
            self.host.with_node(|node| node.tcp_close(now, id));
        }
        Ok(())
    }

    /// Lets go of a descriptor. TCP goes on without it, unless the socket
    /// lingers for 0 seconds or received data is lost (RFC 9293 §3.6.1): then
    /// the peer is told by a reset.
    pub fn close(&mut self, fd: i32) -> Answer<()> {
        self.stop_listening(fd);
        let socket = self.sockets.remove(&fd).ok_or(Errno(EBADF))?;
        let Kind::Connected(id) = socket.kind else {
            return Ok(());
        };
        let connection = self.host.connection(id);
        let unread = !socket.peeked.is_empty() || connection.is_some_and(|c| c.recv_queue() > 0);
        let now = self.host.now();
        self.host.with_node(|node| {
            if unread || socket.linger == Some(0) {
                node.tcp_abort(now, id);
            } else {
                node.tcp_close(now, id);
            }
            node.tcp_release(now, id);
        });
        Ok(())
    }

    fn stop_listening(&mut self, fd: i32) {
        let accepted: Vec<ConnId> = self
            .sockets
            .values()
            .filter_map(|socket| match socket.kind {
                Kind::Connected(id) => Some(id),
                _ => None,
            })
            .collect();
        if let Some(socket) = self.sockets.get_mut(&fd)
            && let Kind::Listening { id, port, .. } = socket.kind
        {
            socket.kind = Kind::Idle { bound: None };
            self.host
                .unlisten(port, id, |conn| accepted.contains(&conn));
        }
    }

    // What there is to know.

    /// Whether the descriptor is a socket of ours.
    pub fn exists(&self, fd: i32) -> bool {
        self.sockets.contains_key(&fd)
    }

    /// O_NONBLOCK.
    pub fn is_nonblocking(&self, fd: i32) -> Answer<bool> {
        Ok(self.entry(fd)?.nonblocking)
    }

    /// Sets O_NONBLOCK.
    pub fn set_nonblocking(&mut self, fd: i32, on: bool) -> Answer<()> {
        self.entry_mut(fd)?.nonblocking = on;
        Ok(())
    }

    /// Whether a call that waits for this would now get on.
    pub fn is_ready(&self, wait: &Wait) -> bool {
        match wait {
            Wait::Readable(fd) => self.poll_one(*fd, libc::POLLIN) != 0,
            Wait::Writable(fd) => self.poll_one(*fd, libc::POLLOUT) != 0,
            Wait::Connected(fd) => match self.entry(*fd).map(|socket| &socket.kind) {
                Ok(Kind::Connected(id)) => self.host.connection(*id).is_none_or(|c| !is_opening(c)),
                _ => true,
            },
            Wait::Poll(all) => all
                .iter()
                .any(|&(fd, events)| self.poll_one(fd, events) != 0),
        }
    }

    /// `revents` of one descriptor. A negative one has none.
    pub fn poll_one(&self, fd: i32, events: i16) -> i16 {
        if fd < 0 {
            return 0;
        }
        let always = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;
        self.events(fd) & (events | always)
    }

    fn events(&self, fd: i32) -> i16 {
        use libc::{
            POLLERR, POLLHUP, POLLIN, POLLNVAL, POLLOUT, POLLRDHUP, POLLRDNORM, POLLWRNORM,
        };
        const IN: i16 = POLLIN | POLLRDNORM;
        const OUT: i16 = POLLOUT | POLLWRNORM;
        let Ok(socket) = self.entry(fd) else {
            return POLLNVAL;
        };
        let id = match &socket.kind {
            Kind::Idle { .. } => return OUT | POLLHUP,
            Kind::Listening { waiting, .. } if waiting.is_empty() => return 0,
            Kind::Listening { .. } => return IN,
            Kind::Connected(id) => *id,
        };
        let Some(connection) = self.host.connection(id) else {
            return POLLHUP;
        };
        let over = match connection.state() {
            State::SynSent | State::SynReceived => return 0,
            State::Closed => IN | OUT | POLLRDHUP | POLLHUP,
            State::LastAck | State::Closing | State::TimeWait => IN | OUT | POLLRDHUP | POLLHUP,
            State::CloseWait => IN | POLLRDHUP,
            State::FinWait1 | State::FinWait2 => OUT,
            State::Established => 0,
        };
        let when = |condition, events| if condition { events } else { 0 };
        let readable = connection.recv_queue() > 0 || !socket.peeked.is_empty() || socket.read_shut;
        let writable = connection.send_room() > 0;
        let failed = pending_error(socket, connection).is_some();
        over | when(readable, IN) | when(writable, OUT) | when(failed, POLLERR)
    }

    /// Bytes that can be read now.
    pub fn readable(&mut self, fd: i32) -> Answer<usize> {
        let (socket, connection) = self.connected(fd)?;
        Ok(socket.peeked.len().saturating_add(connection.recv_queue()))
    }

    /// Bytes not yet acknowledged by the peer.
    pub fn unacked(&mut self, fd: i32) -> Answer<usize> {
        let (_, connection) = self.connected(fd)?;
        Ok(connection.unacked())
    }

    fn entry(&self, fd: i32) -> Answer<&Socket> {
        self.sockets.get(&fd).ok_or(Errno(EBADF))
    }

    fn entry_mut(&mut self, fd: i32) -> Answer<&mut Socket> {
        self.sockets.get_mut(&fd).ok_or(Errno(EBADF))
    }

    fn connection_id(&self, fd: i32) -> Answer<ConnId> {
        match self.entry(fd)?.kind {
            Kind::Connected(id) => Ok(id),
            _ => no(ENOTCONN),
        }
    }

    /// A socket and its connection.
    fn connected(&mut self, fd: i32) -> Answer<(&mut Socket, &Connection<Box<[u8]>>)> {
        let id = self.connection_id(fd)?;
        let connection = self.host.connection(id).ok_or(Errno(ENOTCONN))?;
        let socket = self.sockets.get_mut(&fd).ok_or(Errno(EBADF))?;
        Ok((socket, connection))
    }
}

fn is_opening(connection: &Connection<Box<[u8]>>) -> bool {
    matches!(connection.state(), State::SynSent | State::SynReceived)
}

/// Why the connection failed, if nobody was told yet.
fn pending_error(socket: &Socket, connection: &Connection<Box<[u8]>>) -> Option<Errno> {
    let error = connection.error().filter(|_| !socket.error_taken)?;
    Some(error.into())
}

/// Why no connection or listener could be made.
fn setup_errno(error: Error) -> Errno {
    Errno(match error {
        Error::NoRoute => ENETUNREACH,
        Error::NoSlot => EMFILE,
        Error::PortInUse => EADDRINUSE,
        _ => EINVAL,
    })
}

/// Refuses what a reader of a script's failure will wonder about.
fn unsupported<T>(what: &str) -> Answer<T> {
    eprintln!("redpoll-packetdrill: not supported: {what}");
    no(EOPNOTSUPP)
}

#[cfg(test)]
mod tests;
