//! POSIX-like sockets: descriptors, calls, `poll`, options.
//!
//! [`Sockets`] is a view of one node and a table of [`Socket`]s, made for a
//! call or a few: nothing of it has to be kept but the table.
//!
//! Every call answers at once. What POSIX lets wait is [`Errno::EAGAIN`] here
//! (`EINPROGRESS` for `connect`), whatever the socket's O_NONBLOCK says; the
//! calls of [`blocking`] are made of these and of [`Sockets::is_ready`].
//!
//! A descriptor is an index into the table, so a small number. Arguments and
//! results are numbers and slices: a C interface can pass them through.

pub mod blocking;
mod options;
mod poll;
mod stream;
mod udp;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_stack::{ConnId, ListenerId, Node, NodeConnection, Profile, UdpId};
use redpoll_tcp::{Endpoint, Keepalive, State};

use crate::Errno;

pub use options::Opt;
pub use poll::{Poll, Wait, events};
#[cfg(feature = "async")]
pub(crate) use udp::bind_anywhere;

/// Result of a call: `Err` is -1 and `errno`.
pub type Answer<T> = Result<T, Errno>;

/// A descriptor.
pub type Fd = u8;

/// What a socket is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// A stream over TCP (`SOCK_STREAM`).
    Tcp,
    /// Datagrams over UDP (`SOCK_DGRAM`).
    Udp,
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

/// MSG_PEEK: what is received can be received again.
pub const MSG_PEEK: i32 = 0x2;
/// MSG_DONTWAIT: this call does not wait.
pub const MSG_DONTWAIT: i32 = 0x40;
/// MSG_FASTOPEN: of [`Sockets::send_fast`], which opens the connection.
pub const MSG_FASTOPEN: i32 = 0x2000_0000;

/// One socket of a table, or room for one.
#[derive(Debug)]
pub struct Socket {
    kind: Kind,
    nonblocking: bool,
    read_shut: bool,
    /// The connection's error was reported.
    error_taken: bool,
    /// It was accepted. In SYN-RECEIVED as well it can be read and written: data came
    /// with the SYN (RFC 7413 §4.2).
    accepted: bool,
    /// SO_LINGER with this many seconds.
    linger: Option<u16>,
    tuning: Tuning,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
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

/// Options that a connection takes at any time. One that was accepted has
/// those of its listening socket.
#[derive(Clone, Copy, Debug)]
struct Tuning {
    nodelay: bool,
    keepalive: bool,
    probes: Probes,
    /// TCP_USER_TIMEOUT, in milliseconds, 0 for none; `None`: what the node was
    /// configured with.
    user_timeout_ms: Option<u32>,
    /// TCP_FASTOPEN: of a listener [`Listen::fast_open`](redpoll_stack::Listen); of
    /// a socket that connects, whether `sendto` opens it.
    fast_open: u8,
}

/// How an idle connection is probed, as `setsockopt` has it.
#[derive(Clone, Copy, Debug)]
struct Probes {
    /// TCP_KEEPIDLE, in seconds.
    idle_s: u32,
    /// TCP_KEEPINTVL, in seconds.
    interval_s: u32,
    /// TCP_KEEPCNT
    count: u8,
}

impl Probes {
    /// Those of [`Keepalive::DEFAULT`].
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
    /// Room for a socket.
    pub const FREE: Socket = Socket {
        kind: Kind::Free,
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

    fn new(kind: Kind, tuning: Tuning) -> Socket {
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
/// // Kept beside the node, for as long as there are sockets.
/// let mut table = [Socket::FREE; 4];
///
/// let mut sockets = Sockets { node: &mut node, table: &mut table, now: Instant::ZERO };
/// let listener = sockets.socket(Protocol::Tcp)?;
/// sockets.bind(listener, Endpoint::new(Addr::UNSPECIFIED, 80))?;
/// sockets.listen(listener, 1)?;
/// // Nobody has come yet; `NodeEvent::Accepted` says when to ask again.
/// assert_eq!(sockets.accept(listener), Err(Errno::EAGAIN));
/// # Ok::<(), Errno>(())
/// ```
pub struct Sockets<'a, P: Profile> {
    /// The node.
    pub node: &'a mut Node<P>,
    /// Its sockets; at most 255.
    pub table: &'a mut [Socket],
    /// The time.
    pub now: Instant,
}

impl<P: Profile> Sockets<'_, P> {
    /// A socket.
    ///
    /// # Errors
    /// `EMFILE`
    pub fn socket(&mut self, protocol: Protocol) -> Answer<Fd> {
        let kind = match protocol {
            Protocol::Tcp => Kind::Idle { port: 0 },
            Protocol::Udp => Kind::Udp {
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

    /// Names the socket's own end: a port, and an address of the node or none.
    ///
    /// # Errors
    /// `EADDRINUSE`, `EADDRNOTAVAIL`, `EINVAL` if it has one, `EBADF`.
    pub fn bind(&mut self, fd: Fd, local: Endpoint) -> Answer<()> {
        let wanted = local.port;
        let taken = |socket: &Socket| match socket.kind {
            Kind::Listening { port, .. } | Kind::Idle { port } => port == wanted,
            _ => false,
        };
        let own = local.addr.is_unspecified() || self.is_own(&local.addr);
        match self.entry(fd)?.kind {
            Kind::Udp { id: None, .. } if own => return self.bind_udp(fd, wanted),
            Kind::Idle { port: 0 } | Kind::Udp { id: None, .. } => {}
            _ => return Err(Errno::EINVAL),
        }
        if wanted != 0 && self.table.iter().any(taken) {
            return Err(Errno::EADDRINUSE);
        }
        if !own {
            return Err(Errno::EADDRNOTAVAIL);
        }
        self.entry_mut(fd)?.kind = Kind::Idle { port: wanted };
        Ok(())
    }

    /// Ends one direction or both.
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn shutdown(&mut self, fd: Fd, how: Shutdown) -> Answer<()> {
        let id = match self.entry(fd)?.kind {
            Kind::Connected(id) => id,
            // As Linux: it stops listening.
            Kind::Listening { .. } if how != Shutdown::Write => return self.stop_listening(fd),
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

    /// Lets go of a descriptor. TCP goes on without it, unless the socket
    /// lingers for 0 seconds or received data is lost (RFC 9293 §3.6.1): then
    /// the peer is told by a reset.
    ///
    /// # Errors
    /// `EBADF`
    pub fn close(&mut self, fd: Fd) -> Answer<()> {
        let socket = self.entry(fd)?;
        let at_once = socket.linger == Some(0);
        match socket.kind {
            Kind::Listening { .. } => self.stop_listening(fd)?,
            Kind::Connected(id) => {
                let unread = self.connection(id).is_ok_and(|c| c.recv_queue() > 0);
                if unread || at_once {
                    self.node.tcp_abort(self.now, id);
                } else {
                    self.node.tcp_close(self.now, id);
                }
                self.node.tcp_release(self.now, id);
            }
            Kind::Udp { id: Some(id), .. } => self.node.udp_close(id),
            _ => {}
        }
        *self.entry_mut(fd)? = Socket::FREE;
        Ok(())
    }

    /// Whether the descriptor is one.
    pub fn exists(&self, fd: Fd) -> bool {
        self.entry(fd).is_ok()
    }

    /// O_NONBLOCK: whether the calls of [`blocking`] do not wait.
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

    /// `getsockname`: the socket's own end.
    ///
    /// # Errors
    /// `EBADF`
    pub fn local(&self, fd: Fd) -> Answer<Endpoint> {
        let port = match self.entry(fd)?.kind {
            Kind::Connected(id) => return Ok(self.connection(id)?.local()),
            Kind::Idle { port } | Kind::Listening { port, .. } | Kind::Udp { port, .. } => port,
            Kind::Free => 0,
        };
        Ok(Endpoint::new(Addr::UNSPECIFIED, port))
    }

    /// `getpeername`: the other end.
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn remote(&self, fd: Fd) -> Answer<Endpoint> {
        match self.entry(fd)?.kind {
            Kind::Connected(id) => Ok(self.connection(id)?.remote()),
            Kind::Udp { peer, .. } => peer.ok_or(Errno::ENOTCONN),
            _ => Err(Errno::ENOTCONN),
        }
    }

    fn is_own(&self, addr: &Addr) -> bool {
        self.node.source_for(addr) == Some(*addr)
    }

    /// Puts a socket in a free place.
    fn place(&mut self, socket: Socket) -> Answer<Fd> {
        let mut places = (0..=Fd::MAX).zip(self.table.iter_mut());
        let free = places.find(|(_, place)| matches!(place.kind, Kind::Free));
        let (fd, place) = free.ok_or(Errno::EMFILE)?;
        *place = socket;
        Ok(fd)
    }

    fn entry(&self, fd: Fd) -> Answer<&Socket> {
        let socket = self.table.get(usize::from(fd)).ok_or(Errno::EBADF)?;
        match socket.kind {
            Kind::Free => Err(Errno::EBADF),
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

    /// The connection of a socket.
    fn connected(&self, fd: Fd) -> Answer<(ConnId, &NodeConnection<P>)> {
        match self.entry(fd)?.kind {
            Kind::Connected(id) => Ok((id, self.connection(id)?)),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Why a socket's connection failed, if nobody was told yet.
    fn pending_error(&self, fd: Fd) -> Option<Errno> {
        let (_, connection) = self.connected(fd).ok()?;
        let error = connection.error()?;
        let told = self.entry(fd).is_ok_and(|socket| socket.error_taken);
        (!told).then(|| error.into())
    }

    /// Reports it: once.
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
    /// Whether its handshake has to come to an end before it can be used.
    fn waits_for_handshake(&self, state: State) -> bool {
        is_opening(state) && !self.accepted
    }
}

fn is_opening(state: State) -> bool {
    matches!(state, State::SynSent | State::SynReceived)
}
