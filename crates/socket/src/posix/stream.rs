//! Streams: `listen`, `accept`, `connect`, `send`, `recv`.

use redpoll_base::{Duration, Instant};
use redpoll_stack::{ConnId, Listen, Node, Profile};
use redpoll_tcp::{Endpoint, FreezeError, State};

use super::{Answer, Fd, MSG_DONTWAIT, MSG_PEEK, Socket, SocketState, Sockets, Tuning, is_opening};
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
    /// Listens on the bound port. Up to `backlog` established connections, at least one, wait for
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    /// `EOPNOTSUPP` without a port or on another kind of socket, `EADDRINUSE`, `EMFILE`, `EINVAL`
    /// if the socket is connected, `EBADF`.
    pub fn listen(&mut self, fd: Fd, backlog: i32) -> Answer<()> {
        match self.entry(fd)?.kind {
            SocketState::Idle { port } if port != 0 => {
                let backlog = u8::try_from(backlog.max(1)).unwrap_or(u8::MAX);
                let fast_open = self.entry(fd)?.tuning.fast_open;
                let how = Listen { backlog, fast_open };
                let id = self.node.tcp_listen_with(port, how)?;
                self.entry_mut(fd)?.kind = SocketState::Listening { id, port };
                Ok(())
            }
            // Without `bind`, the node would have to choose a port that no client knows.
            SocketState::Idle { .. } | SocketState::Udp { .. } => Err(Errno::EOPNOTSUPP),
            SocketState::Listening { .. } => Ok(()),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Returns the connection that has waited longest.
    ///
    /// # Errors
    /// `EAGAIN` if none waits, `EMFILE` if no entry is free (the connection continues to wait),
    /// `EINVAL` if the socket does not listen, `EBADF`.
    pub fn accept(&mut self, fd: Fd) -> Answer<(Fd, Endpoint)> {
        let socket = self.entry(fd)?;
        let tuning = socket.tuning;
        let SocketState::Listening { id: listener, .. } = socket.kind else {
            return Err(Errno::EINVAL);
        };
        if !self.node.tcp_may_accept(listener) {
            return Err(Errno::EAGAIN);
        }
        let accepted = self.place(Socket::new(SocketState::Idle { port: 0 }, tuning))?;
        let id = self.node.tcp_accept(listener).ok_or(Errno::EAGAIN)?;
        tuning.apply(self.node, self.now, id);
        let socket = self.entry_mut(accepted)?;
        socket.kind = SocketState::Connected(id);
        socket.accepted = true;
        Ok((accepted, self.connection(id)?.remote()))
    }

    pub(super) fn stop_listening(&mut self, fd: Fd) -> Answer<()> {
        if let SocketState::Listening { id, .. } = self.entry(fd)?.kind {
            self.node.tcp_unlisten(self.now, id);
            self.entry_mut(fd)?.kind = SocketState::Idle { port: 0 };
        }
        Ok(())
    }

    /// Starts a connection and returns `EINPROGRESS`; later calls return `EALREADY`, `EISCONN` or
    /// the reason of a failure. Sets the peer of a datagram socket.
    ///
    /// # Errors
    /// The errors above, and `ENETUNREACH`, `EADDRINUSE`, `EMFILE`, `EBADF`.
    pub fn connect(&mut self, fd: Fd, remote: Endpoint) -> Answer<()> {
        let socket = self.entry_mut(fd)?;
        let tuning = socket.tuning;
        match &mut socket.kind {
            SocketState::Idle { port } => {
                let port = *port;
                let id = self.node.tcp_connect_from(self.now, port, remote)?;
                tuning.apply(self.node, self.now, id);
                self.entry_mut(fd)?.kind = SocketState::Connected(id);
                Err(Errno::EINPROGRESS)
            }
            SocketState::Udp { peer, .. } => {
                *peer = Some(remote);
                Ok(())
            }
            SocketState::Connected(_) => match self.connect_result(fd) {
                Err(Errno::EAGAIN) => Err(Errno::EALREADY),
                Ok(()) => Err(Errno::EISCONN),
                other => other,
            },
            _ => Err(Errno::EISCONN),
        }
    }

    /// Opens a connection to `remote` with data (`sendto` with MSG_FASTOPEN). If the node has a
    /// cookie of the server, queues as much of `data` as fits, and returns that length; the SYN
    /// carries what fits (RFC 7413 §4.2.2). Otherwise the SYN requests a cookie (§4.2.1), and the
    /// caller sends the data when the connection is open. On a connecting or connected socket this
    /// is [`send`](Self::send): of `data` with a cookie, of no bytes without one.
    ///
    /// The data may arrive twice, in two connections (RFC 7413 §6.1).
    ///
    /// # Errors
    /// `EINPROGRESS` if no byte was accepted or `data` is empty; those of
    /// [`connect`](Self::connect) and `send`; `EOPNOTSUPP` for datagrams.
    pub fn send_fast(&mut self, fd: Fd, data: &[u8], remote: Endpoint) -> Answer<usize> {
        let is_known = self.node.tcp_may_open_fast(self.now, &remote);
        let data = if is_known { data } else { &[] };
        match self.open_by_sending(fd, data, remote)? {
            0 => Err(Errno::EINPROGRESS),
            taken => Ok(taken),
        }
    }

    /// Opens a connection as [`send_fast`](Self::send_fast), but always queues `data` (`sendto`
    /// with TCP_FASTOPEN). Without a cookie the data follow the handshake.
    ///
    /// # Errors
    /// The errors of `send_fast`, except `EINPROGRESS`.
    pub fn open_by_sending(&mut self, fd: Fd, data: &[u8], remote: Endpoint) -> Answer<usize> {
        let socket = self.entry(fd)?;
        let tuning = socket.tuning;
        match socket.kind {
            SocketState::Idle { port } => {
                let opened = self
                    .node
                    .tcp_connect_with_data(self.now, port, remote, data);
                let (id, taken) = opened?;
                tuning.apply(self.node, self.now, id);
                self.entry_mut(fd)?.kind = SocketState::Connected(id);
                Ok(taken)
            }
            SocketState::Connected(_) => self.send(fd, data, 0),
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Returns the result of the handshake.
    ///
    /// # Errors
    /// `EAGAIN` during the handshake, the reason of a failure (once, then `ECONNABORTED`),
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

    /// Receives bytes; 0 is the end of the stream. `flags` may have [`MSG_DONTWAIT`], which has no
    /// effect, and [`MSG_PEEK`].
    ///
    /// # Errors
    /// `EAGAIN`, the reason why the connection ended (once), `ENOTCONN`, `EOPNOTSUPP` for other
    /// flags, `EBADF`.
    pub fn recv(&mut self, fd: Fd, out: &mut [u8], flags: i32) -> Answer<usize> {
        if flags & !(MSG_DONTWAIT | MSG_PEEK) != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        if let SocketState::Udp { .. } = self.entry(fd)?.kind {
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

    /// Discards up to `count` received bytes, as `recv` with MSG_TRUNC does on Linux.
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

    /// Queues bytes for sending, and returns their number. `flags` may have [`MSG_DONTWAIT`], which
    /// has no effect.
    ///
    /// # Errors
    /// `EAGAIN`, `EPIPE`, the reason why the connection ended (once), `EOPNOTSUPP` for other flags,
    /// `EBADF`. For a datagram socket `EDESTADDRREQ` if it has no peer, and those of
    /// [`send_to`](Self::send_to).
    pub fn send(&mut self, fd: Fd, data: &[u8], flags: i32) -> Answer<usize> {
        if flags & !MSG_DONTWAIT != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let id = match self.entry(fd)?.kind {
            SocketState::Connected(id) => id,
            SocketState::Udp { peer, .. } => {
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

    /// Saves a connection in `out`, so that it survives a deep sleep or a reboot, and closes the
    /// descriptor without informing the peer
    /// ([`Node::tcp_freeze`](redpoll_stack::Node::tcp_freeze)). Returns the length.
    ///
    /// # Errors
    /// `ENOMEM` if `out` is too short, `ENOTCONN` if the connection cannot be saved, `EOPNOTSUPP`,
    /// `EBADF`.
    pub fn freeze(&mut self, fd: Fd, out: &mut [u8]) -> Answer<usize> {
        let SocketState::Connected(id) = self.entry(fd)?.kind else {
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

    /// Restores a connection that [`freeze`](Self::freeze) saved `slept` ago
    /// ([`Node::tcp_thaw`](redpoll_stack::Node::tcp_thaw)), and returns its descriptor. The saved
    /// bytes can be used once.
    ///
    /// # Errors
    /// `EMFILE`, `EADDRINUSE` if the connection exists already, `ENETUNREACH` if it belongs to
    /// another node, `ETIMEDOUT` if it is too old, `ENOMEM` if it needs larger buffers, `EINVAL`
    /// for invalid bytes.
    pub fn thaw(&mut self, slept: Duration, frozen: &mut [u8]) -> Answer<Fd> {
        if !self
            .table
            .iter()
            .any(|socket| matches!(socket.kind, SocketState::Free))
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
        self.place(Socket::new(SocketState::Connected(id), tuning))
    }

    /// Returns the number of bytes that can be read now (`FIONREAD`).
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn readable(&self, fd: Fd) -> Answer<usize> {
        Ok(self.connected(fd)?.1.recv_queue())
    }

    /// Returns the number of bytes that the peer has not acknowledged (`TIOCOUTQ`).
    ///
    /// # Errors
    /// `ENOTCONN`, `EBADF`.
    pub fn unacked(&self, fd: Fd) -> Answer<usize> {
        Ok(self.connected(fd)?.1.unacked())
    }
}
