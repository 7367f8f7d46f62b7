//! The sockets of a process over a [`Host`]: those of `redpoll-socket`, under
//! the numbers that the tool or a script has chosen, with addresses of both
//! families.
//!
//! Every call answers at once: `EAGAIN` (or `EINPROGRESS`) where POSIX lets it
//! wait; the tool's calls that wait are those of [`posix::blocking`].

mod options;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use redpoll_base::{Addr, Instant};
use redpoll_socket::posix::{self, Fd, MSG_FASTOPEN, Opt, Protocol, Socket};
use redpoll_tcp::Endpoint;

use crate::host::{HostProfile, endpoint};
use crate::{Errno, Host, SentPacket, Settings, v4};

pub use redpoll_socket::posix::{Answer, Shutdown};

/// More sockets than a node has connections and listeners.
const SOCKETS: usize = 64;

/// The sockets of one process over one host.
pub struct Sockets {
    host: Host,
    table: Box<[Socket]>,
    numbers: BTreeMap<i32, Fd>,
}

impl Sockets {
    /// No sockets yet, on a host with these settings.
    pub fn new(settings: Settings) -> Sockets {
        Sockets {
            host: Host::new(settings),
            table: (0..SOCKETS).map(|_| Socket::FREE).collect(),
            numbers: BTreeMap::new(),
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
        self.host.step(limit)
    }

    /// As [`Host::advance`].
    pub fn advance(&mut self, target: Instant) {
        self.host.advance(target);
    }

    /// As [`Host::input`].
    pub fn input(&mut self, packet: &[u8]) {
        self.host.input(packet);
    }

    /// As [`Host::next_packet`].
    pub fn next_packet(&mut self) -> Option<SentPacket> {
        self.host.next_packet()
    }

    /// As [`Host::has_packet`].
    pub fn has_packet(&self) -> bool {
        self.host.has_packet()
    }

    /// A call of the sockets below, and what the node sends because of it.
    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut posix::Sockets<'_, HostProfile>) -> T,
    ) -> T {
        let (now, table) = (self.host.now(), &mut self.table);
        self.host
            .with_node(|node| call(&mut posix::Sockets { node, table, now }))
    }

    /// From now on the node's parameters stay as they are; the socket below with this
    /// number.
    pub(crate) fn begin(&mut self, number: i32) -> Answer<Fd> {
        self.host.begin();
        self.fd(number)
    }

    /// The socket below with this number.
    pub(crate) fn fd(&self, number: i32) -> Answer<Fd> {
        self.numbers.get(&number).copied().ok_or(Errno::EBADF)
    }

    // Calls.

    /// A TCP socket under the number `fd`.
    pub fn socket(&mut self, fd: i32) -> Answer<()> {
        let new = self.call(|sockets| sockets.socket(Protocol::Tcp))?;
        self.numbers.insert(fd, new);
        Ok(())
    }

    /// Names the socket's own end. The first address named becomes the host's.
    pub fn bind(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        self.host.learn_address(addr.ip());
        let fd = self.fd(fd)?;
        let local = match addr.ip().is_unspecified() {
            true => Endpoint::new(Addr::UNSPECIFIED, addr.port()),
            false => endpoint(addr),
        };
        self.call(|sockets| sockets.bind(fd, local))
    }

    /// Waits for connections to the bound port. The backlog is no limit.
    pub fn listen(&mut self, fd: i32) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.host.begin();
        self.call(|sockets| sockets.listen(fd, i32::MAX))
    }

    /// The next connection, under the number that `new_fd` gives; and its peer.
    pub fn accept(
        &mut self,
        fd: i32,
        new_fd: impl FnOnce() -> Answer<i32>,
    ) -> Answer<(i32, SocketAddr)> {
        let fd = self.fd(fd)?;
        let accepted = self.call(|sockets| sockets.accept(fd))?;
        self.adopt(accepted, new_fd)
    }

    /// Gives a connection that was accepted its number.
    pub(crate) fn adopt(
        &mut self,
        (accepted, peer): (Fd, Endpoint),
        new_fd: impl FnOnce() -> Answer<i32>,
    ) -> Answer<(i32, SocketAddr)> {
        let number = match new_fd() {
            Ok(number) => number,
            Err(error) => {
                self.call(|sockets| sockets.close(accepted))?;
                return Err(error);
            }
        };
        self.numbers.insert(number, accepted);
        Ok((number, SocketAddr::new(v4::extract(&peer.addr), peer.port)))
    }

    /// Begins a connection: `EINPROGRESS`. Later `EALREADY`, `EISCONN` or what
    /// went wrong.
    pub fn connect(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.host.begin();
        self.call(|sockets| sockets.connect(fd, endpoint(addr)))
    }

    /// How the handshake went; `EAGAIN` while it goes on.
    pub fn connect_result(&mut self, fd: i32) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.connect_result(fd))
    }

    /// Takes received bytes; 0 is their end. `flags` are of `MSG_DONTWAIT`
    /// (which changes nothing), `MSG_PEEK`, `MSG_TRUNC` (which changes nothing
    /// either: the caller throws away what it gets).
    pub fn recv(&mut self, fd: i32, out: &mut [u8], flags: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        let flags = flags & !libc::MSG_TRUNC;
        supported(
            "recv with these flags",
            self.call(|sockets| sockets.recv(fd, out, flags)),
        )
    }

    /// Queues bytes for sending and says how many. `flags` are of
    /// `MSG_DONTWAIT` and `MSG_NOSIGNAL`, which change nothing.
    pub fn send(&mut self, fd: i32, data: &[u8], flags: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        let flags = flags & !libc::MSG_NOSIGNAL;
        supported(
            "send with these flags",
            self.call(|sockets| sockets.send(fd, data, flags)),
        )
    }

    /// `sendto` with an address: with MSG_FASTOPEN as
    /// [`posix::Sockets::send_fast`], on a socket with TCP_FASTOPEN as
    /// [`posix::Sockets::open_by_sending`], else as [`send`](Self::send).
    pub fn send_to(&mut self, fd: i32, data: &[u8], flags: i32, to: SocketAddr) -> Answer<usize> {
        let below = self.fd(fd)?;
        self.host.begin();
        if flags & MSG_FASTOPEN != 0 {
            return self.call(|sockets| sockets.send_fast(below, data, endpoint(to)));
        }
        if self.opens_by_sending(fd)? {
            return self.call(|sockets| sockets.open_by_sending(below, data, endpoint(to)));
        }
        self.send(fd, data, flags)
    }

    /// Whether `sendto` with an address opens this socket's connection.
    pub(crate) fn opens_by_sending(&mut self, fd: i32) -> Answer<bool> {
        let below = self.fd(fd)?;
        self.call(|sockets| {
            let is_set = sockets.option(below, Opt::FastOpen)? != 0;
            Ok(is_set && sockets.remote(below).is_err())
        })
    }

    /// Ends one direction or both.
    pub fn shutdown(&mut self, fd: i32, how: Shutdown) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.shutdown(fd, how))
    }

    /// Lets go of a descriptor.
    pub fn close(&mut self, fd: i32) -> Answer<()> {
        let closed = self.fd(fd)?;
        self.numbers.remove(&fd);
        self.call(|sockets| sockets.close(closed))
    }

    // What there is to know.

    /// Whether the descriptor is a socket of ours.
    pub fn exists(&self, fd: i32) -> bool {
        self.fd(fd).is_ok()
    }

    /// O_NONBLOCK.
    pub fn is_nonblocking(&mut self, fd: i32) -> Answer<bool> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.is_nonblocking(fd))
    }

    /// Sets O_NONBLOCK.
    pub fn set_nonblocking(&mut self, fd: i32, on: bool) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.set_nonblocking(fd, on))
    }

    /// `revents` of one descriptor. A negative one has none.
    pub fn poll_one(&mut self, fd: i32, events: i16) -> i16 {
        let fd = match self.fd(fd) {
            Ok(fd) => i32::from(fd),
            Err(_) if fd < 0 => return 0,
            Err(_) => return libc::POLLNVAL,
        };
        self.call(|sockets| sockets.poll_one(fd, events))
    }

    /// Bytes that can be read now.
    pub fn readable(&mut self, fd: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.readable(fd))
    }

    /// Bytes not yet acknowledged by the peer.
    pub fn unacked(&mut self, fd: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.unacked(fd))
    }
}

/// Names what a reader of a script's failure will wonder about.
pub(crate) fn supported<T>(what: &str, answer: Answer<T>) -> Answer<T> {
    if matches!(answer, Err(Errno::EOPNOTSUPP)) {
        eprintln!("redpoll-packetdrill: not supported: {what}");
    }
    answer
}

#[cfg(test)]
mod tests;
