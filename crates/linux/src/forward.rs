//! Port forwards: TCP connections of this host's loopback, carried into the mesh by the border
//! router's own TCP. A forward needs no privilege.
//!
//! Each direction has one small buffer, in addition to the buffers of both TCPs. While that buffer
//! is full, the forwarder does not read the source, so the TCP window slows the source. The end of
//! a stream and a reset are forwarded.

mod pair;
mod spec;

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};

use pair::{Pair, Progress};
pub use spec::{ForwardSpec, ForwardSpecError};

/// The border router's own TCP, as far as a forward needs it. Every
/// [`Mesh`](crate::gateway::Mesh) has it.
pub trait MeshTcp {
    type Conn;

    /// Opens a connection to a node; the handshake may still be in progress when this returns.
    /// `None` if the border router has no room for another connection.
    fn connect(&mut self, remote: SocketAddrV6) -> Option<Self::Conn>;

    /// Returns whether the node had not yet answered at the last [`recv`](Self::recv).
    fn is_opening(&self, conn: &Self::Conn) -> bool;

    /// Queues as many bytes as there is room for. This number may be 0, even while the connection
    /// is being opened.
    ///
    /// # Errors
    ///
    /// [`Broken`] if no more bytes can be sent.
    fn send(&mut self, conn: &mut Self::Conn, bytes: &[u8]) -> Result<usize, Broken>;

    /// Receives bytes that have arrived.
    /// Returns [`Broken`] if the connection has ended without the peer's FIN.
    fn recv(&mut self, conn: &mut Self::Conn, out: &mut [u8]) -> Result<Received, Broken>;

    /// Ends the sending direction after the queued bytes; the peer may continue to send.
    fn close(&mut self, conn: &mut Self::Conn);

    /// Releases the connection: if both streams have ended, queued data are still delivered;
    /// otherwise it is reset.
    fn release(&mut self, conn: Self::Conn);
}

/// The result of [`MeshTcp::recv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Number of received bytes, at least one.
    Data(usize),
    /// No data at the moment.
    Nothing,
    End,
}

/// The connection was reset, timed out, or could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection was lost")]
pub struct Broken;

/// Why a forward cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on port {port} of this host: {}", reason(.source))]
pub struct ListenError {
    pub port: u16,
    pub source: io::Error,
}

fn reason(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AddrInUse => {
            "the port is in use; choose another local port in --forward".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "only root may use ports below 1024; choose another local port in --forward".to_owned()
        }
        _ => source.to_string(),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwardCounters {
    pub accepted: u32,
    /// Connections that waited, because the border router had no room or as many handshakes as
    /// [`Forwarder::MAX_OPENING`] were in progress with their node.
    pub waited: u32,
    /// Connections that failed in the mesh: refused, reset or timed out there.
    pub broken_by_mesh: u32,
    /// Connections that the host's side reset.
    pub broken_by_host: u32,
    /// Bytes carried into the mesh.
    pub bytes_in: u64,
    /// Bytes carried out of the mesh.
    pub bytes_out: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardEvent {
    /// The program on this host that opened the connection.
    pub from: SocketAddr,
    pub to: SocketAddrV6,
    pub what: Passage,
}

/// The change of a forwarded connection that an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// The host's program has connected, and the border router has room.
    Begun,
    Ended {
        how: Ending,
        /// Bytes carried into the mesh, and out of it.
        bytes: [u64; 2],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Both sides have ended their streams.
    Closed,
    BrokenByMesh,
    BrokenByHost,
}

/// A `--forward` option: its listening sockets and its destination.
#[derive(Debug)]
struct Forward {
    listeners: Vec<TcpListener>,
    target: SocketAddrV6,
}

impl Forward {
    fn next(&self) -> Option<(TcpStream, SocketAddrV6)> {
        let accepted = self.listeners.iter().find_map(|l| l.accept().ok());
        accepted.map(|(stream, _)| (stream, self.target))
    }
}

#[derive(Debug)]
pub struct Forwarder<C> {
    forwards: Vec<Forward>,
    pairs: Vec<Pair<C>>,
    /// Accepted sockets that wait for a connection into the mesh, in the order of their arrival.
    waiting: VecDeque<(TcpStream, SocketAddrV6)>,
    /// Whether the border router had no room for another connection at the last attempt.
    is_full: bool,
    counters: ForwardCounters,
    /// Events not fetched yet.
    events: VecDeque<ForwardEvent>,
}

impl<C> Forwarder<C> {
    /// Maximum number of stored events; more events replace the oldest.
    const MAX_EVENTS: usize = 64;

    /// Maximum number of connections at the same time, including those that wait for a node; more
    /// connections wait in the kernel's backlog. A browser opens six connections to each host.
    pub const MAX_PAIRS: usize = 16;

    /// Maximum number of handshakes in progress with one node. Further connections wait until the
    /// node answers. Many SYNs to a node that is off would be retransmitted at the same time, fill
    /// the queue of the last router, and displace other packets.
    pub const MAX_OPENING: usize = 2;

    pub fn new() -> Self {
        Forwarder {
            forwards: Vec::new(),
            pairs: Vec::new(),
            waiting: VecDeque::new(),
            is_full: false,
            counters: ForwardCounters::default(),
            events: VecDeque::new(),
        }
    }

    pub fn poll_event(&mut self) -> Option<ForwardEvent> {
        self.events.pop_front()
    }

    fn tell(&mut self, (from, to): Ends, what: Passage) {
        if self.events.len() == Self::MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(ForwardEvent { from, to, what });
    }

    /// Listens on `port` of 127.0.0.1 and, if the host has IPv6, of ::1, and forwards connections
    /// to `target`. With port 0 the kernel chooses a port. Returns the port in use.
    ///
    /// # Errors
    ///
    /// [`ListenError`], most often a port that is in use.
    pub fn listen(&mut self, port: u16, target: SocketAddrV6) -> Result<u16, ListenError> {
        let failed = |source| ListenError { port, source };
        let first = listen((Ipv4Addr::LOCALHOST, port).into()).map_err(failed)?;
        let chosen = first.local_addr().map_err(failed)?.port();
        let mut listeners = vec![first];
        match listen((Ipv6Addr::LOCALHOST, chosen).into()) {
            Ok(second) => listeners.push(second),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => return Err(failed(e)),
            // A host without IPv6 has only one loopback address.
            Err(_) => {}
        }
        self.forwards.push(Forward { listeners, target });
        Ok(chosen)
    }

    pub fn is_empty(&self) -> bool {
        self.forwards.is_empty()
    }

    pub fn connections(&self) -> usize {
        self.pairs.len()
    }

    pub fn counters(&self) -> &ForwardCounters {
        &self.counters
    }

    /// Adds the descriptors to poll, each with the events that the forwarder waits for now.
    pub fn interests<'a>(&'a self, out: &mut Vec<PollFd<'a>>) {
        if self.may_accept() {
            let listeners = self.forwards.iter().flat_map(|f| &f.listeners);
            out.extend(listeners.map(|l| PollFd::new(l.as_fd(), PollFlags::POLLIN)));
        }
        out.extend(self.pairs.iter().filter_map(Pair::interest));
    }

    /// Moves bytes in both directions as far as possible; to be called when a descriptor is ready
    /// and whenever the mesh has advanced. Returns whether bytes moved.
    pub fn pump(&mut self, mesh: &mut impl MeshTcp<Conn = C>) -> bool {
        let mut moved = self.accept(mesh);
        for mut pair in std::mem::take(&mut self.pairs) {
            let progress = pair.pump(mesh, &mut self.counters);
            moved |= progress != Progress::Stalled;
            match progress {
                Progress::Over(how) => {
                    let (ends, bytes) = (pair.ends(), pair.carried());
                    let is_unanswered = pair.is_opening(mesh);
                    pair.finish(mesh);
                    self.tell(ends, Passage::Ended { how, bytes });
                    if how == Ending::BrokenByMesh && is_unanswered {
                        self.give_up(ends.1);
                    }
                }
                Progress::Moved | Progress::Stalled => self.pairs.push(pair),
            }
        }
        // Try again to open the waiting connections: a node may have answered, or the border
        // router may have a free connection.
        self.is_full = false;
        self.join(mesh) || moved
    }

    /// Returns whether to accept a connection. If false, new connections stay in the kernel's
    /// backlog.
    fn may_accept(&self) -> bool {
        !self.is_full && self.pairs.len() + self.waiting.len() < Self::MAX_PAIRS
    }

    fn accept(&mut self, mesh: &mut impl MeshTcp<Conn = C>) -> bool {
        let mut moved = false;
        for at in 0..self.forwards.len() {
            while self.may_accept() {
                let Some(accepted) = self.forwards[at].next() else {
                    break;
                };
                moved = true;
                self.counters.accepted += 1;
                self.waiting.push_back(accepted);
                if !self.join(mesh) {
                    self.counters.waited += 1;
                }
            }
        }
        moved
    }

    /// Opens connections into the mesh for waiting sockets, within the limits of the border router
    /// and of [`Self::MAX_OPENING`]. Returns whether a connection was opened.
    fn join(&mut self, mesh: &mut impl MeshTcp<Conn = C>) -> bool {
        let before = self.pairs.len();
        for (stream, target) in std::mem::take(&mut self.waiting) {
            let opening = self
                .pairs
                .iter()
                .filter(|pair| pair.ends().1.ip() == target.ip() && pair.is_opening(mesh));
            let may_open = !self.is_full && opening.count() < Self::MAX_OPENING;
            match may_open.then(|| mesh.connect(target)) {
                Some(Some(conn)) => {
                    let pair = Pair::new(stream, conn, target);
                    self.tell(pair.ends(), Passage::Begun);
                    self.pairs.push(pair);
                    continue;
                }
                Some(None) => self.is_full = true,
                None => {}
            }
            self.waiting.push_back((stream, target));
        }
        self.pairs.len() > before
    }

    /// Gives up the connections that wait for a target that refused or did not answer a connection.
    fn give_up(&mut self, target: SocketAddrV6) {
        for (stream, its_target) in std::mem::take(&mut self.waiting) {
            if its_target != target {
                self.waiting.push_back((stream, its_target));
                continue;
            }
            self.counters.broken_by_mesh += 1;
            let how = Ending::BrokenByMesh;
            self.tell(
                pair::ends(&stream, target),
                Passage::Ended { how, bytes: [0; 2] },
            );
            pair::reset(&stream);
        }
    }
}

type Ends = (SocketAddr, SocketAddrV6);

impl<C> Default for Forwarder<C> {
    fn default() -> Self {
        Self::new()
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
