//! Streams: `listen`, `accept`, `connect`, `send`, `recv`.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Listen, Node, Profile};
use redpoll_tcp::{Endpoint, FreezeError, State};

use super::{Answer, Fd, Kind, MSG_DONTWAIT, MSG_PEEK, Socket, Sockets, Tuning, is_opening};
use crate::Errno;

impl Tuning {
    pub(super) fn apply<P: Profile>(&self, node: &mut Node<P>, now: Instant, id: ConnId) {
        node.tcp_set_nagle(now, id, !self.nodelay);
        let probes = self.keepalive.then(|| self.probes.keepalive());
        node.tcp_set_keepalive(now, id, probes);
        if let Some(ms) = self.user_timeout_ms {
            let timeout = (ms > 0).then(|| Duration::from_millis(ms.into()));
            node.tcp_set_user_timeout(now, id, timeout);
        }
    }
}

impl<P: Profile> Sockets<'_, P> {
    /// Waits for connections to the bound port. Up to `backlog` established
    /// ones, at least one, wait for [`accept`](Self::accept).
    ///
    /// # Errors
    /// `EOPNOTSUPP` without a port or on another kind of socket, `EADDRINUSE`,
    /// `EMFILE`, `EINVAL` if it is connected, `EBADF`.
    pub fn listen(&mut self, fd: Fd, backlog: i32) -> Answer<()> {
        match self.entry(fd)?.kind {
            Kind::Idle { port } if port != 0 => {
                let backlog = u8::try_from(backlog.max(1)).unwrap_or(u8::MAX);
                let fast_open = self.entry(fd)?.tuning.fast_open;
                let how = Listen { backlog, fast_open };
                let id = self.node.tcp_listen_with(port, how)?;
                self.entry_mut(fd)?.kind = Kind::Listening { id, port };
                Ok(())
            }
            // A port of the node's choice: nobody could be told of it.
            Kind::Idle { .. } | Kind::Udp { .. } => Err(Errno::EOPNOTSUPP),
            Kind::Listening { .. } => Ok(()),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The next connection, the one that has waited longest.
    ///
    /// # Errors
    /// `EAGAIN` if there is none, `EMFILE` if there is no place for it: it goes
    /// on waiting; `EINVAL` if the socket does not listen, `EBADF`.
    pub fn accept(&mut self, fd: Fd) -> Answer<(Fd, Endpoint)> {
        let socket = self.entry(fd)?;
        let tuning = socket.tuning;
        let Kind::Listening { id: listener, .. } = socket.kind else {
            return Err(Errno::EINVAL);
        };
        if !self.node.tcp_may_accept(listener) {
            return Err(Errno::EAGAIN);
        }
        let accepted = self.place(Socket::new(Kind::Idle { port: 0 }, tuning))?;
        let id = self.node.tcp_accept(listener).ok_or(Errno::EAGAIN)?;
        tuning.apply(self.node, self.now, id);
        let socket = self.entry_mut(accepted)?;
        socket.kind = Kind::Connected(id);
        socket.accepted = true;
        Ok((accepted, self.connection(id)?.remote()))
    }

    /// Ends a listener; what waits for it is reset.
    pub(super) fn stop_listening(&mut self, fd: Fd) -> Answer<()> {
        if let Kind::Listening { id, .. } = self.entry(fd)?.kind {
            self.node.tcp_unlisten(self.now, id);
            self.entry_mut(fd)?.kind = Kind::Idle { port: 0 };
        }
        Ok(())
    }

    /// Begins a connection: `EINPROGRESS`. Later `EALREADY`, `EISCONN` or what
    /// went wrong. A datagram socket gets a peer.
    ///
    /// # Errors
    /// Those, and `ENETUNREACH`, `EADDRINUSE`, `EMFILE`, `EBADF`.
    pub fn connect(&mut self, fd: Fd, remote: Endpoint) -> Answer<()> {
        let socket = self.entry_mut(fd)?;
        let tuning = socket.tuning;
        match &mut socket.kind {
            Kind::Idle { port } => {
                let port = *port;
                let id = self.node.tcp_connect_from(self.now, port, remote)?;
                tuning.apply(self.node, self.now, id);
                self.entry_mut(fd)?.kind = Kind::Connected(id);
                Err(Errno::EINPROGRESS)
            }
            Kind::Udp { peer, .. } => {
                *peer = Some(remote);
                Ok(())
            }
            Kind::Connected(_) => match self.connect_result(fd) {
                Err(Errno::EAGAIN) => Err(Errno::EALREADY),
                Ok(()) => Err(Errno::EISCONN),
                other => other,
            },
            _ => Err(Errno::EISCONN),
        }
    }

    /// `sendto` with MSG_FASTOPEN: opens a connection to `remote`. If the server has
    /// given a cookie before, `data` are queued, as much as there is room for, and what
    /// fits goes with the SYN (RFC 7413 §4.2.2): their length. Else the SYN asks for a
    /// cookie (§4.2.1), and the data are to be sent when the connection is open. On a
    /// socket that is connecting or connected it is [`send`](Self::send).
    ///
    /// The data may arrive twice, in two connections (§6.1).
    ///
    /// # Errors
    /// `EINPROGRESS` if nothing was taken, also if there was nothing to take; those of
    /// [`connect`](Self::connect) and `send`; `EOPNOTSUPP` for datagrams.
    pub fn send_fast(&mut self, fd: Fd, data: &[u8], remote: Endpoint) -> Answer<usize> {
        let is_known = self.node.tcp_may_open_fast(self.now, &remote);
        let data = if is_known { data } else { &[] };
        match self.open_by_sending(fd, data, remote)? {
            0 => Err(Errno::EINPROGRESS),
            taken => Ok(taken),
        }
    }

    /// `sendto` with TCP_FASTOPEN: as [`send_fast`](Self::send_fast), but `data` are
    /// queued in any case; where no cookie is known they follow the handshake.
    ///
    /// # Errors
    /// Those of `send_fast`, but for `EINPROGRESS`.
    pub fn open_by_sending(&mut self, fd: Fd, data: &[u8], remote: Endpoint) -> Answer<usize> {
        let socket = self.entry(fd)?;
        let tuning = socket.tuning;
        match socket.kind {
            Kind::Idle { port } => {
                let opened = self
                    .node
                    .tcp_connect_with_data(self.now, port, remote, data);
                let (id, taken) = opened?;
                tuning.apply(self.node, self.now, id);
                self.entry_mut(fd)?.kind = Kind::Connected(id);
                Ok(taken)
            }
            Kind::Connected(_) => self.send(fd, data, 0),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// How the handshake went.
    ///
    /// # Errors
    /// `EAGAIN` while it goes on, what went wrong (once, then `ECONNABORTED`),
    /// `ENOTCONN`, `EBADF`.
    pub fn connect_result(&mut self, fd: Fd) -> Answer<()> {
        let (_, connection) = self.connected(fd)?;
        if is_opening(connection.state()) {
            return Err(Errno::EAGAIN);
        }
        let failed = connection.error().is_some();
        self.take_error(fd)?;
        if failed {
            return Err(Errno::ECONNABORTED);
        }
        Ok(())
    }

    /// Takes received bytes; 0 is their end. `flags` are of [`MSG_DONTWAIT`],
    /// which changes nothing, and [`MSG_PEEK`].
    ///
    /// # Errors
    /// `EAGAIN`, why the connection ended (once), `ENOTCONN`, `EOPNOTSUPP` for
    /// other flags, `EBADF`.
    pub fn recv(&mut self, fd: Fd, out: &mut [u8], flags: i32) -> Answer<usize> {
        if flags & !(MSG_DONTWAIT | MSG_PEEK) != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        if let Kind::Udp { .. } = self.entry(fd)?.kind {
            return Ok(self.recv_from(fd, out, flags)?.0);
        }
        let (id, _) = self.connected(fd)?;
        self.take_error(fd)?;
        let (_, connection) = self.connected(fd)?;
        let over = connection.error().is_some() || self.entry(fd)?.read_shut;
        if out.is_empty() || over && connection.recv_queue() == 0 {
            return Ok(0);
        }
        if flags & MSG_PEEK == 0 || connection.recv_queue() == 0 {
            return Ok(self.node.tcp_recv(self.now, id, out)?);
        }
        let (first, second) = connection.peek();
        let bytes = first.iter().chain(second);
        let count = out.iter_mut().zip(bytes).map(|(to, from)| *to = *from);
        Ok(count.count())
    }

    /// Throws away up to `count` received bytes, as `recv` with MSG_TRUNC does
    /// on Linux.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    pub fn discard(&mut self, fd: Fd, count: usize) -> Answer<usize> {
        let (id, connection) = self.connected(fd)?;
        if connection.recv_queue() == 0 || count == 0 {
            let most = usize::from(count > 0);
            return self.recv(fd, [0].get_mut(..most).unwrap_or_default(), 0);
        }
        Ok(self.node.tcp_consume(self.now, id, count))
    }

    /// Queues bytes for sending and says how many. `flags`: [`MSG_DONTWAIT`],
    /// which changes nothing.
    ///
    /// # Errors
    /// `EAGAIN`, `EPIPE`, why the connection ended (once), `EOPNOTSUPP` for
    /// other flags, `EBADF`.
    pub fn send(&mut self, fd: Fd, data: &[u8], flags: i32) -> Answer<usize> {
        if flags & !MSG_DONTWAIT != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let id = match self.entry(fd)?.kind {
            Kind::Connected(id) => id,
            Kind::Udp { peer, .. } => {
                return self.send_to(fd, data, peer.ok_or(Errno::EDESTADDRREQ)?);
            }
            _ => return Err(Errno::EPIPE),
        };
        self.take_error(fd)?;
        match self.connection(id)?.state() {
            state if self.entry(fd)?.waits_for_handshake(state) => return Err(Errno::EAGAIN),
            State::SynReceived | State::Established | State::CloseWait => {}
            _ => return Err(Errno::EPIPE),
        }
        match self.node.tcp_send(self.now, id, data) {
            Ok(count) => Ok(count),
            Err(redpoll_stack::Error::WouldBlock) => Err(Errno::EAGAIN),
            Err(_) => Err(Errno::EPIPE),
        }
    }

    /// Writes a connection down, so that it outlives a deep sleep or a reboot, and closes the
    /// descriptor; the peer is told nothing ([`Node::tcp_freeze`](redpoll_stack::Node::tcp_freeze)).
    /// How many bytes of `out` that took.
    ///
    /// # Errors
    /// `ENOMEM` if `out` is too short, `ENOTCONN` if it cannot be, `EOPNOTSUPP`, `EBADF`.
    pub fn freeze(&mut self, fd: Fd, out: &mut [u8]) -> Answer<usize> {
        let Kind::Connected(id) = self.entry(fd)?.kind else {
            return Err(Errno::EOPNOTSUPP);
        };
        let frozen = self.node.tcp_freeze(self.now, id, out);
        let len = frozen.map_err(|error| match error {
            FreezeError::NoRoom => Errno::ENOMEM,
            _ => Errno::ENOTCONN,
        })?;
        *self.entry_mut(fd)? = Socket::FREE;
        Ok(len)
    }

    /// Takes up a connection that [`freeze`](Self::freeze) has written down, `slept` ago
    /// ([`Node::tcp_thaw`](redpoll_stack::Node::tcp_thaw)); its descriptor. The bytes are good
    /// once.
    ///
    /// # Errors
    /// `EMFILE`, `EADDRINUSE` if it is there already, `ENETUNREACH` if it is another node's,
    /// `ETIMEDOUT` if it is too old, `ENOMEM` if the buffers are smaller, `EINVAL` for bytes
    /// that are none.
    pub fn thaw(&mut self, slept: Duration, frozen: &mut [u8]) -> Answer<Fd> {
        if !self
            .table
            .iter()
            .any(|socket| matches!(socket.kind, Kind::Free))
        {
            return Err(Errno::EMFILE);
        }
        let id = self.node.tcp_thaw(self.now, slept, frozen)?;
        let connection = self.node.tcp_connection(id);
        let nodelay = connection.is_some_and(|connection| !connection.has_nagle());
        let tuning = Tuning {
            nodelay,
            ..Socket::FREE.tuning
        };
        self.place(Socket::new(Kind::Connected(id), tuning))
    }

    /// Bytes that can be read now (`FIONREAD`).
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn readable(&self, fd: Fd) -> Answer<usize> {
        Ok(self.connected(fd)?.1.recv_queue())
    }

    /// Bytes not yet acknowledged by the peer (`TIOCOUTQ`).
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn unacked(&self, fd: Fd) -> Answer<usize> {
        Ok(self.connected(fd)?.1.unacked())
    }
}
