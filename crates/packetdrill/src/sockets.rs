//! The sockets of a process over a [`Host`]. They extend those of `redpoll-socket` by descriptor
//! numbers that packetdrill or a script chooses, and by addresses of both families.
//!
//! Every call returns at once; where POSIX would block, the result is `EAGAIN` or `EINPROGRESS`.
//! packetdrill's blocking calls use [`posix::blocking`].

mod options;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use redpoll_base::{Addr, Instant};
use redpoll_socket::posix::{self, Fd, MSG_FASTOPEN, Opt, Protocol, Socket};
use redpoll_tcp::Endpoint;

use crate::host::{HostProfile, endpoint};
use crate::{Errno, Host, SentPacket, Settings, v4};

pub use redpoll_socket::posix::{Answer, Shutdown};

/// Number of sockets, more than the connections and listeners of a node.
const SOCKETS: usize = 64;

/// The sockets of one process over one host.
pub struct Sockets {
    host: Host,
    table: Box<[Socket]>,
    numbers: BTreeMap<i32, Fd>,
}

impl Sockets {
    pub fn new(settings: Settings) -> Sockets {
        Sockets {
            host: Host::new(settings),
            table: (0..SOCKETS).map(|_| Socket::FREE).collect(),
            numbers: BTreeMap::new(),
        }
    }

    pub fn now(&self) -> Instant {
        self.host.now()
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.host.deadline()
    }

    pub fn step(&mut self, limit: Instant) -> bool {
        self.host.step(limit)
    }

    pub fn advance(&mut self, target: Instant) {
        self.host.advance(target);
    }

    pub fn input(&mut self, packet: &[u8]) {
        self.host.input(packet);
    }

    pub fn next_packet(&mut self) -> Option<SentPacket> {
        self.host.next_packet()
    }

    pub fn has_packet(&self) -> bool {
        self.host.has_packet()
    }

    pub(crate) fn call<T>(
        &mut self,
        call: impl FnOnce(&mut posix::Sockets<'_, HostProfile>) -> T,
    ) -> T {
        let (now, table) = (self.host.now(), &mut self.table);
        self.host
            .with_node(|node| call(&mut posix::Sockets { node, table, now }))
    }

    /// Starts the node, which fixes its settings. Returns the node's socket for `number`.
    pub(crate) fn begin(&mut self, number: i32) -> Answer<Fd> {
        self.host.begin();
        self.fd(number)
    }

    pub(crate) fn fd(&self, number: i32) -> Answer<Fd> {
        self.numbers.get(&number).copied().ok_or(Errno::EBADF)
    }

    pub fn socket(&mut self, fd: i32) -> Answer<()> {
        let new = self.call(|sockets| sockets.socket(Protocol::Tcp))?;
        self.numbers.insert(fd, new);
        Ok(())
    }

    /// Sets the socket's local address and port. The first address becomes the host's address.
    pub fn bind(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        self.host.learn_address(addr.ip());
        let fd = self.fd(fd)?;
        let local = match addr.ip().is_unspecified() {
            true => Endpoint::new(Addr::UNSPECIFIED, addr.port()),
            false => endpoint(addr),
        };
        self.call(|sockets| sockets.bind(fd, local))
    }

    /// Listens on the bound port, with an unlimited backlog.
    pub fn listen(&mut self, fd: i32) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.host.begin();
        self.call(|sockets| sockets.listen(fd, i32::MAX))
    }

    /// Returns the number and the peer of the next connection. The number comes from `new_fd`.
    pub fn accept(
        &mut self,
        fd: i32,
        new_fd: impl FnOnce() -> Answer<i32>,
    ) -> Answer<(i32, SocketAddr)> {
        let fd = self.fd(fd)?;
        let accepted = self.call(|sockets| sockets.accept(fd))?;
        self.adopt(accepted, new_fd)
    }

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

    /// Starts a connection and returns `EINPROGRESS`; later `EALREADY`, `EISCONN` or an error.
    pub fn connect(&mut self, fd: i32, addr: SocketAddr) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.host.begin();
        self.call(|sockets| sockets.connect(fd, endpoint(addr)))
    }

    /// Returns the result of the handshake, or `EAGAIN` while the handshake continues.
    pub fn connect_result(&mut self, fd: i32) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.connect_result(fd))
    }

    /// Receives bytes; 0 is the end of the stream. `flags` may contain `MSG_PEEK`. `MSG_DONTWAIT`
    /// has no effect, because no call waits. `MSG_TRUNC` has no effect here: with this flag, the
    /// caller must discard the bytes.
    pub fn recv(&mut self, fd: i32, out: &mut [u8], flags: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        let flags = flags & !libc::MSG_TRUNC;
        supported(
            "recv with these flags",
            self.call(|sockets| sockets.recv(fd, out, flags)),
        )
    }

    /// Queues bytes for sending, and returns their number. `flags` may contain `MSG_DONTWAIT` and
    /// `MSG_NOSIGNAL`, which have no effect.
    pub fn send(&mut self, fd: i32, data: &[u8], flags: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        let flags = flags & !libc::MSG_NOSIGNAL;
        supported(
            "send with these flags",
            self.call(|sockets| sockets.send(fd, data, flags)),
        )
    }

    /// Sends with an address (`sendto`): with MSG_FASTOPEN like [`posix::Sockets::send_fast`], on a
    /// socket with TCP_FASTOPEN like [`posix::Sockets::open_by_sending`], and otherwise like
    /// [`send`](Self::send).
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

    /// Returns whether `sendto` with an address opens this socket's connection.
    pub(crate) fn opens_by_sending(&mut self, fd: i32) -> Answer<bool> {
        let below = self.fd(fd)?;
        self.call(|sockets| {
            let is_set = sockets.option(below, Opt::FastOpen)? != 0;
            Ok(is_set && sockets.remote(below).is_err())
        })
    }

    /// Closes one direction of the connection, or both.
    pub fn shutdown(&mut self, fd: i32, how: Shutdown) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.shutdown(fd, how))
    }

    pub fn close(&mut self, fd: i32) -> Answer<()> {
        let closed = self.fd(fd)?;
        self.numbers.remove(&fd);
        self.call(|sockets| sockets.close(closed))
    }

    pub fn exists(&self, fd: i32) -> bool {
        self.fd(fd).is_ok()
    }

    pub fn is_nonblocking(&mut self, fd: i32) -> Answer<bool> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.is_nonblocking(fd))
    }

    pub fn set_nonblocking(&mut self, fd: i32, on: bool) -> Answer<()> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.set_nonblocking(fd, on))
    }

    /// Returns the `revents` of a descriptor; 0 for a negative descriptor.
    pub fn poll_one(&mut self, fd: i32, events: i16) -> i16 {
        let fd = match self.fd(fd) {
            Ok(fd) => i32::from(fd),
            Err(_) if fd < 0 => return 0,
            Err(_) => return libc::POLLNVAL,
        };
        self.call(|sockets| sockets.poll_one(fd, events))
    }

    pub fn readable(&mut self, fd: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.readable(fd))
    }

    /// Returns the number of bytes that the peer has not acknowledged.
    pub fn unacked(&mut self, fd: i32) -> Answer<usize> {
        let fd = self.fd(fd)?;
        self.call(|sockets| sockets.unacked(fd))
    }
}

/// Prints a message if `answer` says that the call is unsupported.
pub(crate) fn supported<T>(what: &str, answer: Answer<T>) -> Answer<T> {
    if matches!(answer, Err(Errno::EOPNOTSUPP)) {
        eprintln!("redpoll-packetdrill: not supported: {what}");
    }
    answer
}

#[cfg(test)]
mod tests;
