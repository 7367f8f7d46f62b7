//! Streams: `listen`, `accept`, `connect`, `send`, `recv`.

use redpoll_base::{Instant, Memory};
use redpoll_stack::{ConnId, Node};
use redpoll_tcp::{Endpoint, State};

use super::{Answer, Fd, Kind, MSG_DONTWAIT, MSG_PEEK, Socket, Sockets, Tuning, is_opening};
use crate::Errno;

impl Tuning {
    pub(super) fn apply<M: Memory + 'static>(&self, node: &mut Node<M>, now: Instant, id: ConnId) {
        node.tcp_set_nagle(now, id, !self.nodelay);
        node.tcp_set_keepalive(now, id, self.keepalive.then_some(self.probes));
    }
}

impl<M: Memory + 'static> Sockets<'_, M> {
    /// Waits for connections to the bound port. Up to `backlog` established
    /// ones, at least one, wait for [`accept`](Self::accept), each in a place of
    /// the table; more wait inside the node.
    ///
    /// # Errors
    /// `EOPNOTSUPP` without a port or on another kind of socket, `EADDRINUSE`,
    /// `EMFILE`, `EINVAL` if it is connected, `EBADF`.
    pub fn listen(&mut self, fd: Fd, backlog: i32) -> Answer<()> {
        let most = u8::try_from(backlog.max(1)).unwrap_or(u8::MAX);
        match &mut self.entry_mut(fd)?.kind {
            Kind::Idle { port } if *port != 0 => {
                let port = *port;
                let id = self.node.tcp_listen(port)?;
                self.entry_mut(fd)?.kind = Kind::Listening {
                    id,
                    port,
                    backlog: most,
                };
            }
            // A port of the node's choice: nobody could be told of it.
            Kind::Idle { .. } | Kind::Udp { .. } => return Err(Errno::EOPNOTSUPP),
            Kind::Listening { backlog, .. } => *backlog = most,
            _ => return Err(Errno::EINVAL),
        }
        Ok(())
    }

    /// Takes established connections from the node to where they wait, in the
    /// order of their establishment. Call it when the node has had input, as
    /// [`accept`](Self::accept) and `poll` do; the order is then better known.
    pub fn collect(&mut self) {
        for fd in 0..=Fd::MAX {
            let Some(socket) = self.table.get(usize::from(fd)) else {
                return;
            };
            let tuning = socket.tuning;
            let Kind::Listening { id, backlog, .. } = socket.kind else {
                continue;
            };
            loop {
                let waiting = self.waiting(fd);
                let (count, last) = waiting.fold((0u8, 0), |(count, last), (turn, _)| {
                    (count.saturating_add(1), turn.max(last))
                });
                let free = self.table.iter().any(|s| matches!(s.kind, Kind::Free));
                if count >= backlog || !free {
                    break;
                }
                let Some(id) = self.node.tcp_accept(id) else {
                    break;
                };
                tuning.apply(self.node, self.now, id);
                let turn = last.saturating_add(1);
                let kind = Kind::Waiting { id, of: fd, turn };
                // There is a free place.
                let _ = self.place(Socket::new(kind, tuning));
            }
        }
    }

    /// What waits to be accepted from a listening socket: turn and place.
    fn waiting(&self, listener: Fd) -> impl Iterator<Item = (u16, Fd)> {
        let places = (0..=Fd::MAX).zip(self.table.iter());
        places.filter_map(move |(fd, socket)| match socket.kind {
            Kind::Waiting { of, turn, .. } if of == listener => Some((turn, fd)),
            _ => None,
        })
    }

    pub(super) fn may_accept(&self, listener: Fd) -> bool {
        self.waiting(listener).next().is_some()
    }

    /// The next connection. It may have failed meanwhile: its first call says so.
    ///
    /// # Errors
    /// `EAGAIN` if there is none, `EINVAL` if the socket does not listen,
    /// `EBADF`.
    pub fn accept(&mut self, fd: Fd) -> Answer<(Fd, Endpoint)> {
        let Kind::Listening { .. } = self.entry(fd)?.kind else {
            return Err(Errno::EINVAL);
        };
        self.collect();
        let (_, accepted) = self.waiting(fd).min().ok_or(Errno::EAGAIN)?;
        let socket = self.table.get_mut(usize::from(accepted));
        let socket = socket.ok_or(Errno::EAGAIN)?;
        let Kind::Waiting { id, .. } = socket.kind else {
            return Err(Errno::EAGAIN);
        };
        socket.kind = Kind::Connected(id);
        let peer = self.connection(id).map_err(|_| Errno::ECONNABORTED)?;
        Ok((accepted, peer.remote()))
    }

    /// Ends a listener; what waits for it is reset.
    pub(super) fn stop_listening(&mut self, fd: Fd) -> Answer<()> {
        let Kind::Listening { id, .. } = self.entry(fd)?.kind else {
            return Ok(());
        };
        for place in self.table.iter_mut() {
            if let Kind::Waiting { id, of, .. } = place.kind
                && of == fd
            {
                self.node.tcp_abort(self.now, id);
                self.node.tcp_release(self.now, id);
                *place = Socket::FREE;
            }
        }
        self.node.tcp_unlisten(self.now, id);
        self.entry_mut(fd)?.kind = Kind::Idle { port: 0 };
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
            state if is_opening(state) => return Err(Errno::EAGAIN),
            State::Established | State::CloseWait => {}
            _ => return Err(Errno::EPIPE),
        }
        match self.node.tcp_send(self.now, id, data) {
            Ok(count) => Ok(count),
            Err(redpoll_stack::Error::WouldBlock) => Err(Errno::EAGAIN),
            Err(_) => Err(Errno::EPIPE),
        }
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
