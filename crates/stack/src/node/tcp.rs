//! TCP calls for applications: connections and listeners.

use redpoll_base::{Duration, Instant, Memory};
use redpoll_tcp::{Connection, Endpoint, FreezeError, Keepalive, RecvError};

use super::Node;
use crate::profile::{NodeConnection, Profile};
use crate::{ConnId, Error, Listen, ListenerId};

impl<P: Profile> Node<P> {
    /// Returns the configuration of new connections.
    pub fn tcp_config(&self) -> &redpoll_tcp::Config<P::Algorithms> {
        &self.transports.tcp.config
    }

    /// Listens for TCP connections to `port`.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    pub fn tcp_listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        self.tcp_listen_with(port, Listen::default())
    }

    /// Listens for TCP connections to `port` with these options.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    pub fn tcp_listen_with(&mut self, port: u16, how: Listen) -> Result<ListenerId, Error> {
        self.transports.tcp.listen(port, how)
    }

    /// Closes a listener. Connections that were not accepted are reset (RFC 9293 §3.10.4).
    pub fn tcp_unlisten(&mut self, now: Instant, listener: ListenerId) {
        self.transports.tcp.unlisten(now, listener);
    }

    /// Returns every open listener.
    pub fn tcp_listeners(&self) -> impl Iterator<Item = ListenerId> {
        self.transports.tcp.listeners()
    }

    /// Returns whether [`tcp_accept`](Self::tcp_accept) would return a connection.
    pub fn tcp_may_accept(&self, listener: ListenerId) -> bool {
        self.transports.tcp.may_accept(listener)
    }

    /// Returns the oldest established connection of a listener. It may already hold data or a FIN:
    /// read it before you wait for events.
    pub fn tcp_accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        self.transports.tcp.accept(listener)
    }

    /// Opens a connection to `remote` from a port that the node chooses.
    ///
    /// The result of the attempt comes as an event: connected, or failed.
    ///
    /// # Errors
    /// [`Error::NoRoute`], [`Error::NoSlot`], [`Error::PortInUse`].
    pub fn tcp_connect(&mut self, now: Instant, remote: Endpoint) -> Result<ConnId, Error> {
        self.tcp_connect_from(now, 0, remote)
    }

    /// Opens a connection to `remote` from `port`; 0 lets the node choose.
    ///
    /// # Errors
    /// As [`tcp_connect`](Self::tcp_connect).
    pub fn tcp_connect_from(
        &mut self,
        now: Instant,
        port: u16,
        remote: Endpoint,
    ) -> Result<ConnId, Error> {
        let local = self.local_for(now, port, &remote)?;
        self.transports
            .tcp
            .connect(now, local, remote, &mut self.rng, &mut self.counters)
    }

    pub(super) fn local_for(
        &mut self,
        now: Instant,
        port: u16,
        remote: &Endpoint,
    ) -> Result<Endpoint, Error> {
        // RFC 9293 §3.9.1.1, MUST-46: no connection is opened to a group.
        let possible = !remote.addr.is_multicast()
            && !self.net.identity.is_own(&remote.addr)
            && self.net.routing.seek_route(now, &remote.addr);
        let local = self.source_for(&remote.addr).filter(|_| possible);
        let addr = local.ok_or(Error::NoRoute)?;
        Ok(Endpoint { addr, port })
    }

    /// Opens a connection to `remote` and sends `data`; returns how many bytes were queued. `port`
    /// is the local port; 0 lets the node choose. If the server is known to support TCP Fast Open
    /// (RFC 7413), the SYN carries as much of the data as fits, which saves a round trip. For an
    /// unknown server, the SYN requests a cookie. The data on a SYN may arrive twice, in two
    /// connections, so use this only for applications that tolerate duplicates (§6.1).
    ///
    /// # Errors
    /// As [`Node::tcp_connect`].
    pub fn tcp_connect_with_data(
        &mut self,
        now: Instant,
        port: u16,
        remote: Endpoint,
        data: &[u8],
    ) -> Result<(ConnId, usize), Error> {
        let id = self.tcp_connect_from(now, port, remote)?;
        Ok((id, self.transports.tcp.open_with(now, id, data)))
    }

    /// Returns whether [`Self::tcp_connect_with_data`] would send data with the SYN to this server:
    /// the server has given a cookie, and Fast Open did not fail recently.
    pub fn tcp_may_open_fast(&self, now: Instant, remote: &Endpoint) -> bool {
        self.transports.tcp.knows(now, remote)
    }

    /// Sets whether the application waits for data of the peer, as a server does for the request of
    /// a connection that it has just accepted. A sleepy node then polls its parent often. TCP
    /// by itself expects acknowledgments only, not data of the peer (Kumar et al. 2020 §8.1.1).
    pub fn tcp_expect(&mut self, id: ConnId, expected: bool) {
        self.transports.tcp.expect_data(id, expected);
    }

    /// Queues `data` for sending; returns the number of bytes queued.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if the buffer is full, [`Error::NotConnected`] after a close,
    /// [`Error::Failed`], [`Error::UnknownHandle`].
    pub fn tcp_send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        let connection = self
            .transports
            .tcp
            .connection_mut(id)
            .ok_or(Error::UnknownHandle)?;
        match connection.send(now, data) {
            Ok(0) if !data.is_empty() => Err(Error::WouldBlock),
            Ok(taken) => Ok(taken),
            Err(_) => Err(failure::<P>(connection)),
        }
    }

    /// Reads received bytes; `Ok(0)` means that the peer has closed.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if no data has arrived, [`Error::Failed`], [`Error::NotConnected`],
    /// [`Error::UnknownHandle`].
    pub fn tcp_recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        let connection = self
            .transports
            .tcp
            .connection_mut(id)
            .ok_or(Error::UnknownHandle)?;
        if out.is_empty() {
            // An error instead of 0, which would mean that the peer has closed.
            return Err(Error::WouldBlock);
        }
        connection.recv(now, out).map_err(|error| match error {
            RecvError::WouldBlock => Error::WouldBlock,
            _ => failure::<P>(connection),
        })
    }

    /// Returns the received bytes in two pieces, for reading without a copy;
    /// [`tcp_consume`](Self::tcp_consume) then releases them. If both are empty,
    /// [`tcp_recv`](Self::tcp_recv) returns the reason.
    pub fn tcp_peek(&self, id: ConnId) -> (&[u8], &[u8]) {
        let connection = self.transports.tcp.connection(id);
        connection.map_or((&[], &[]), Connection::peek)
    }

    /// Releases the first `count` received bytes, or all if there are fewer; returns how many.
    pub fn tcp_consume(&mut self, now: Instant, id: ConnId, count: usize) -> usize {
        let connection = self.transports.tcp.connection_mut(id);
        connection.map_or(0, |c| c.consume(now, count))
    }

    /// Turns the Nagle algorithm of a connection on or off (RFC 9293 §3.7.4). Returns `false` for
    /// an invalid handle.
    pub fn tcp_set_nagle(&mut self, now: Instant, id: ConnId, on: bool) -> bool {
        let connection = self.transports.tcp.connection_mut(id);
        connection.map(|c| c.set_nagle(now, on)).is_some()
    }

    /// Sets how long data of a connection may stay unacknowledged before the connection is aborted
    /// (RFC 9293 §3.10.8); `None`: until its retries are used up. Returns `false` for an invalid
    /// handle.
    pub fn tcp_set_user_timeout(
        &mut self,
        now: Instant,
        id: ConnId,
        timeout: Option<Duration>,
    ) -> bool {
        let connection = self.transports.tcp.connection_mut(id);
        connection
            .map(|c| c.set_user_timeout(now, timeout))
            .is_some()
    }

    /// Sets the keepalive probes of an idle connection (RFC 9293 §3.8.4); `None` turns them off.
    /// Returns `false` for an invalid handle.
    pub fn tcp_set_keepalive(
        &mut self,
        now: Instant,
        id: ConnId,
        keepalive: Option<Keepalive>,
    ) -> bool {
        let connection = self.transports.tcp.connection_mut(id);
        connection
            .map(|c| c.set_keepalive(now, keepalive))
            .is_some()
    }

    /// Closes the sending direction after everything queued was sent.
    pub fn tcp_close(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.close(now, id);
    }

    /// Resets the connection.
    pub fn tcp_abort(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.abort(now, id);
    }

    /// Releases the handle of a connection, which then reports no more events. A
    /// [closed](Self::tcp_close) connection ends within the configured time for orphans. Any other
    /// is reset. When the connection has ended, its memory serves another one.
    pub fn tcp_release(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.release(now, id);
    }

    /// Writes the state of a connection to `out` before a deep sleep or a reboot, and removes the
    /// connection without informing the peer. Returns the number of bytes written;
    /// [`Connection::frozen_len`] bytes are needed. See [`Connection::freeze`] for the content.
    ///
    /// A node that stays awake drops late packets of the peer without a reset, for each of the last
    /// eight connections that were frozen or had to leave TIME-WAIT early.
    ///
    /// # Errors
    /// [`FreezeError`]; the connection then continues.
    pub fn tcp_freeze(
        &mut self,
        now: Instant,
        id: ConnId,
        out: &mut [u8],
    ) -> Result<usize, FreezeError> {
        self.transports.tcp.freeze(now, id, out)
    }

    /// Restores a connection that [`tcp_freeze`](Self::tcp_freeze) wrote `slept` ago. The node must
    /// have the same address; its clock may have restarted. The bytes can be used once: see
    /// [`Connection::thaw`].
    ///
    /// # Errors
    /// [`Error::NoSlot`], [`Error::PortInUse`] if the connection exists already, [`Error::NoRoute`]
    /// if its address is not this node's, and [`Error::Thaw`].
    pub fn tcp_thaw(
        &mut self,
        now: Instant,
        slept: Duration,
        frozen: &mut [u8],
    ) -> Result<ConnId, Error> {
        let ends = Connection::<<P::Memory as Memory>::Buffer>::frozen_ends(slept, frozen);
        let [local, remote] = ends.map_err(Error::Thaw)?;
        if !self.net.identity.is_own(&local.addr) {
            return Err(Error::NoRoute);
        }
        let mut all = self.transports.tcp.iter();
        if all.any(|(_, it)| it.local() == local && it.remote() == remote) {
            return Err(Error::PortInUse);
        }
        drop(all);
        let counters = &mut self.counters;
        self.transports.tcp.thaw(now, slept, frozen, counters)
    }

    /// Returns the connection of a handle, to inspect its state and statistics, also after its
    /// release until TCP has finished.
    pub fn tcp_connection(&self, id: ConnId) -> Option<&NodeConnection<P>> {
        self.transports.tcp.connection(id)
    }

    /// Returns every open connection.
    pub fn tcp_connections(&self) -> impl Iterator<Item = (ConnId, &NodeConnection<P>)> {
        self.transports.tcp.iter()
    }
}

fn failure<P: Profile>(connection: &NodeConnection<P>) -> Error {
    match connection.error() {
        Some(error) => Error::Failed(error),
        None => Error::NotConnected,
    }
}
