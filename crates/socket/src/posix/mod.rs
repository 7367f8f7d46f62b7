//! POSIX-like sockets: descriptors, calls, `poll`, options.
//!
//! [`Sockets`] is a view of one node and a table of [`Socket`]s, created for one or a few calls;
//! only the table persists.
//!
//! Every call returns at once. Where POSIX would wait, a call returns [`Errno::EAGAIN`]
//! (`EINPROGRESS` for `connect`), whatever the socket's O_NONBLOCK. The calls of [`blocking`]
//! combine these calls with [`Sockets::is_ready`].
//!
//! A descriptor is an index into the table. Arguments and results are numbers and slices, which a C
//! interface can pass through.

pub mod blocking;
mod options;
mod poll;
mod stream;
mod udp;

use redpoll_base::{Addr, Duration, Instant, Memory};
use redpoll_stack::{ConnId, ListenerId, Node, NodeConnection, Profile, UdpId};
use redpoll_tcp::{Endpoint, Keepalive, State};

use crate::Errno;

pub use options::Opt;
pub use poll::{Poll, Wait, events};
#[cfg(feature = "async")]
pub(crate) use udp::bind_anywhere;

/// Result of a call: `Err` is -1 and `errno`.
pub type Answer<T> = Result<T, Errno>;

/// A descriptor, as an index into the table.
pub type Fd = u8;

/// The transport of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// A stream over TCP (`SOCK_STREAM`).
    Tcp,
    /// Datagrams over UDP (`SOCK_DGRAM`).
    Udp,
}

/// The direction that `shutdown` ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shutdown {
    /// `SHUT_RD`
    Read,
    /// `SHUT_WR`
    Write,
    /// `SHUT_RDWR`
    Both,
}

/// MSG_PEEK: the received data stay in the queue.
pub const MSG_PEEK: i32 = 0x2;
/// MSG_DONTWAIT: this call does not wait.
pub const MSG_DONTWAIT: i32 = 0x40;
/// MSG_FASTOPEN: the call opens the connection ([`Sockets::send_fast`]).
pub const MSG_FASTOPEN: i32 = 0x2000_0000;

/// A socket of a table, or an unused entry.
#[derive(Debug)]
pub struct Socket {
    kind: SocketState,
    nonblocking: bool,
    read_shut: bool,
    error_taken: bool,
    /// Whether the connection was accepted. It is then readable and writable even in SYN-RECEIVED,
    /// because data came with the SYN (RFC 7413 §4.2).
    accepted: bool,
    linger: Option<u16>,
    tuning: Tuning,
}

#[derive(Clone, Copy, Debug)]
enum SocketState {
    Free,
    Idle {
        port: u16,
    },
    Listening {
        id: ListenerId,
        port: u16,
    },
    Connected(ConnId),
    Udp {
        id: Option<UdpId>,
        port: u16,
        peer: Option<Endpoint>,
    },
}

/// Options that a connection accepts at any time. An accepted connection inherits those of its
/// listening socket.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    nodelay: bool,
    keepalive: bool,
    probes: Probes,
    /// TCP_USER_TIMEOUT in milliseconds, 0 for no limit; `None` for the node's configuration.
    user_timeout_ms: Option<u32>,
    /// TCP_FASTOPEN. For a listener, [`Listen::fast_open`](redpoll_stack::Listen); for a connecting
    /// socket, whether `sendto` opens the connection.
    fast_open: u8,
}

/// The keep-alive probes of a connection, in the units of `setsockopt`.
#[derive(Clone, Copy, Debug)]
struct Probes {
    /// TCP_KEEPIDLE, in seconds.
    idle_s: u32,
    /// TCP_KEEPINTVL, in seconds.
    interval_s: u32,
    count: u8,
}

impl Probes {
    /// The values of [`Keepalive::DEFAULT`].
    const DEFAULT: Probes = Probes {
        idle_s: (Keepalive::DEFAULT.idle.as_millis() / 1000) as u32,
        interval_s: (Keepalive::DEFAULT.interval.as_millis() / 1000) as u32,
        count: Keepalive::DEFAULT.count,
    };

    fn keepalive(self) -> Keepalive {
        Keepalive {
            idle: Duration::from_secs(self.idle_s.into()),
            interval: Duration::from_secs(self.interval_s.into()),
            count: self.count,
        }
    }
}

impl Socket {
    /// An unused entry.
    pub const FREE: Socket = Socket {
        kind: SocketState::Free,
        nonblocking: false,
        read_shut: false,
        error_taken: false,
        accepted: false,
        linger: None,
        tuning: Tuning {
            nodelay: false,
            keepalive: false,
            probes: Probes::DEFAULT,
            user_timeout_ms: None,
            fast_open: 0,
        },
    };

    fn new(kind: SocketState, tuning: Tuning) -> Socket {
        Socket {
            kind,
            tuning,
            ..Socket::FREE
        }
    }
}

/// The sockets of a node at one moment.
///
/// ```
/// use redpoll_base::{Addr, Instant, Rng, StaticMemory};
/// use redpoll_socket::Errno;
/// use redpoll_socket::posix::{Protocol, Socket, Sockets};
/// use redpoll_stack::{LeafStorage, Node, NodeConfig};
/// use redpoll_tcp::Endpoint;
///
/// let here = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
/// let memory = Box::leak(Box::new(LeafStorage::NEW)).memory::<StaticMemory>();
/// let mut node = Node::new(NodeConfig::over_ip(here, [7; 16]), memory, Rng::new(1));
/// // Kept next to the node, as long as sockets exist.
/// let mut table = [Socket::FREE; 4];
///
/// let mut sockets = Sockets { node: &mut node, table: &mut table, now: Instant::ZERO };
/// let listener = sockets.socket(Protocol::Tcp)?;
/// sockets.bind(listener, Endpoint::new(Addr::UNSPECIFIED, 80))?;
/// sockets.listen(listener, 1)?;
/// // No connection yet; `NodeEvent::Accepted` reports one.
/// assert_eq!(sockets.accept(listener), Err(Errno::EAGAIN));
/// # Ok::<(), Errno>(())
/// ```
pub struct Sockets<'a, P: Profile> {
    /// The node whose sockets these are.
    pub node: &'a mut Node<P>,
    /// The table of sockets; at most 255.
    pub table: &'a mut [Socket],
    /// The time of the calls, by the clock of the node.
    pub now: Instant,
}

impl<P: Profile> Sockets<'_, P> {
    /// Opens a socket.
    ///
    /// # Errors
    /// `EMFILE`, `EPROTONOSUPPORT` for UDP if the node's kind of memory excludes it.
    pub fn socket(&mut self, protocol: Protocol) -> Answer<Fd> {
        let kind = match protocol {
            Protocol::Tcp => SocketState::Idle { port: 0 },
            Protocol::Udp if !P::Memory::HAS_UDP => return Err(Errno::EPROTONOSUPPORT),
            Protocol::Udp => SocketState::Udp {
                id: None,
                port: 0,
                peer: None,
            },
        };
        let tuning = Tuning {
            nodelay: !self.node.tcp_config().nagle,
            ..Socket::FREE.tuning
        };
        self.place(Socket::new(kind, tuning))
    }

    /// Sets the socket's own end: a port, and the unspecified address or one of the node.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EADDRNOTAVAIL`, `EINVAL` if the socket is already bound, `EBADF`.
    pub fn bind(&mut self, fd: Fd, local: Endpoint) -> Answer<()> {
        let wanted = local.port;
        let taken = |socket: &Socket| match socket.kind {
            SocketState::Listening { port, .. } | SocketState::Idle { port } => port == wanted,
            _ => false,
        };
        let own = local.addr.is_unspecified() || self.is_own(&local.addr);
        match self.entry(fd)?.kind {
            SocketState::Udp { id: None, .. } if own => return self.bind_udp(fd, wanted),
            SocketState::Idle { port: 0 } | SocketState::Udp { id: None, .. } => {}
            _ => return Err(Errno::EINVAL),
        }
        if !own {
            return Err(Errno::EADDRNOTAVAIL);
        }
        if wanted != 0 && self.table.iter().any(taken) {
            return Err(Errno::EADDRINUSE);
        }
        self.entry_mut(fd)?.kind = SocketState::Idle { port: wanted };
        Ok(())
    }

    /// Ends one direction or both.
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn shutdown(&mut self, fd: Fd, how: Shutdown) -> Answer<()> {
        let id = match self.entry(fd)?.kind {
            SocketState::Connected(id) => id,
            // As on Linux, the socket stops listening.
            SocketState::Listening { .. } if how != Shutdown::Write => {
                return self.stop_listening(fd);
            }
            _ => return Err(Errno::ENOTCONN),
        };
        if self.connection(id)?.is_closed() {
            return Err(Errno::ENOTCONN);
        }
        self.entry_mut(fd)?.read_shut |= how != Shutdown::Write;
        if how != Shutdown::Read {
            self.node.tcp_close(self.now, id);
        }
        Ok(())
    }

    /// Closes a descriptor. TCP then sends the queued data and closes the connection by itself. If
    /// the socket lingers for 0 seconds or received data was not read (RFC 9293 §3.6.1), TCP resets
    /// the connection instead.
    ///
    /// # Errors
    /// `EBADF`
    pub fn close(&mut self, fd: Fd) -> Answer<()> {
        let socket = self.entry(fd)?;
        let at_once = socket.linger == Some(0);
        match socket.kind {
            SocketState::Listening { .. } => self.stop_listening(fd)?,
            SocketState::Connected(id) => {
                let unread = self.connection(id).is_ok_and(|c| c.recv_queue() > 0);
                if unread || at_once {
                    self.node.tcp_abort(self.now, id);
                } else {
                    self.node.tcp_close(self.now, id);
                }
                self.node.tcp_release(self.now, id);
            }
            SocketState::Udp { id: Some(id), .. } => self.node.udp_close(id),
            _ => {}
        }
        *self.entry_mut(fd)? = Socket::FREE;
        Ok(())
    }

    /// Returns whether the descriptor is open.
    pub fn exists(&self, fd: Fd) -> bool {
        self.entry(fd).is_ok()
    }

    /// Returns O_NONBLOCK: whether the calls of [`blocking`] do not wait.
    ///
    /// # Errors
    /// `EBADF`
    pub fn is_nonblocking(&self, fd: Fd) -> Answer<bool> {
        Ok(self.entry(fd)?.nonblocking)
    }

    /// Sets O_NONBLOCK.
    ///
    /// # Errors
    /// `EBADF`
    pub fn set_nonblocking(&mut self, fd: Fd, on: bool) -> Answer<()> {
        self.entry_mut(fd)?.nonblocking = on;
        Ok(())
    }

    /// Returns the socket's own end (`getsockname`).
    ///
    /// # Errors
    /// `EBADF`
    pub fn local(&self, fd: Fd) -> Answer<Endpoint> {
        let port = match self.entry(fd)?.kind {
            SocketState::Connected(id) => return Ok(self.connection(id)?.local()),
            SocketState::Idle { port }
            | SocketState::Listening { port, .. }
            | SocketState::Udp { port, .. } => port,
            SocketState::Free => 0,
        };
        Ok(Endpoint::new(Addr::UNSPECIFIED, port))
    }

    /// Returns the address and port of the other end (`getpeername`).
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn remote(&self, fd: Fd) -> Answer<Endpoint> {
        match self.entry(fd)?.kind {
            SocketState::Connected(id) => Ok(self.connection(id)?.remote()),
            SocketState::Udp { peer, .. } => peer.ok_or(Errno::ENOTCONN),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Returns the connection of a descriptor, for its state and measurements.
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn tcp(&self, fd: Fd) -> Answer<&NodeConnection<P>> {
        self.connected(fd).map(|(_, connection)| connection)
    }

    fn is_own(&self, addr: &Addr) -> bool {
        self.node.source_for(addr) == Some(*addr)
    }

    fn place(&mut self, socket: Socket) -> Answer<Fd> {
        let mut places = (0..=Fd::MAX).zip(self.table.iter_mut());
        let free = places.find(|(_, place)| matches!(place.kind, SocketState::Free));
        let (fd, place) = free.ok_or(Errno::EMFILE)?;
        *place = socket;
        Ok(fd)
    }

    fn entry(&self, fd: Fd) -> Answer<&Socket> {
        let socket = self.table.get(usize::from(fd)).ok_or(Errno::EBADF)?;
        match socket.kind {
            SocketState::Free => Err(Errno::EBADF),
            _ => Ok(socket),
        }
    }

    fn entry_mut(&mut self, fd: Fd) -> Answer<&mut Socket> {
        self.entry(fd)?;
        self.table.get_mut(usize::from(fd)).ok_or(Errno::EBADF)
    }

    fn connection(&self, id: ConnId) -> Answer<&NodeConnection<P>> {
        self.node.tcp_connection(id).ok_or(Errno::ENOTCONN)
    }

    fn connected(&self, fd: Fd) -> Answer<(ConnId, &NodeConnection<P>)> {
        match self.entry(fd)?.kind {
            SocketState::Connected(id) => Ok((id, self.connection(id)?)),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Returns why a socket's connection failed, if no call has reported it yet.
    fn pending_error(&self, fd: Fd) -> Option<Errno> {
        let (_, connection) = self.connected(fd).ok()?;
        let error = connection.error()?;
        let told = self.entry(fd).is_ok_and(|socket| socket.error_taken);
        (!told).then(|| error.into())
    }

    /// Reports the [`pending_error`](Self::pending_error) once.
    fn take_error(&mut self, fd: Fd) -> Answer<()> {
        match self.pending_error(fd) {
            None => Ok(()),
            Some(error) => {
                self.entry_mut(fd)?.error_taken = true;
                Err(error)
            }
        }
    }
}

impl Socket {
    /// Returns whether a connection in `state` cannot be used yet, because its handshake continues.
    fn waits_for_handshake(&self, state: State) -> bool {
        is_opening(state) && !self.accepted
    }
}

fn is_opening(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived)
}
