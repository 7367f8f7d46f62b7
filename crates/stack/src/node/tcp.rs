//! What applications call for TCP: connections and listeners.

use redpoll_base::{Duration, Instant, Memory};
use redpoll_tcp::{Connection, Endpoint, FreezeError, Keepalive, RecvError};

use super::Node;
use crate::profile::{NodeConnection, Profile};
use crate::{ConnId, Error, Listen, ListenerId};

impl<P: Profile> Node<P> {
    /// What new connections are configured with.
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

    /// Listens for TCP connections to `port`, in this way.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    pub fn tcp_listen_with(&mut self, port: u16, how: Listen) -> Result<ListenerId, Error> {
        self.transports.tcp.listen(port, how)
    }

    /// Ends a listener. Connections that nobody has accepted are reset
    /// (RFC 9293 §3.10.4).
    pub fn tcp_unlisten(&mut self, now: Instant, listener: ListenerId) {
        self.transports.tcp.unlisten(now, listener);
    }

    /// Whether [`tcp_accept`](Self::tcp_accept) would give a connection.
    pub fn tcp_may_accept(&self, listener: ListenerId) -> bool {
        self.transports.tcp.may_accept(listener)
    }

    /// The next established connection of a listener, in the order in which
    /// they came about.
    ///
    /// It may already hold data or its end: read it before waiting for events.
    pub fn tcp_accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        self.transports.tcp.accept(listener)
    }

    /// Opens a connection to `remote` from a port that the node chooses.
    ///
    /// The result comes as an event: connected, or failed.
    ///
    /// # Errors
    /// [`Error::NoRoute`], [`Error::NoSlot`], [`Error::PortInUse`].
    pub fn tcp_connect(&mut self, now: Instant, remote: Endpoint) -> Result<ConnId, Error> {
        self.tcp_connect_from(now, 0, remote)
    }

    /// Opens a connection to `remote` from this port; from one that the node chooses
    /// if it is 0.
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

    /// This end of a connection to `remote`.
    pub(super) fn local_for(
        &self,
        now: Instant,
        port: u16,
        remote: &Endpoint,
    ) -> Result<Endpoint, Error> {
        // RFC 9293 §3.9.1.1, MUST-46: not to a group.
        let possible = !remote.addr.is_multicast()
            && !self.net.identity.is_own(&remote.addr)
            && self.net.routing.next_hop(now, &remote.addr).is_some();
        let local = self.source_for(&remote.addr).filter(|_| possible);
        let addr = local.ok_or(Error::NoRoute)?;
        Ok(Endpoint { addr, port })
    }

    /// Opens a connection to `remote` that sends `data` at once, from this port (from
    /// one that the node chooses if it is 0), and says how much of it was taken. If the server is known to allow it, as much as
    /// there is room for goes with the SYN (TCP Fast Open, RFC 7413) and is there
    /// a round trip earlier; if nothing is known of the server, it is asked for
    /// that. Those data may arrive twice, in two connections: only for
    /// applications that can bear that (§6.1).
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

    /// Whether data given to [`Self::tcp_connect_with_data`] would go with the SYN to
    /// this server: it has given a cookie, and Fast Open did not fail there lately.
    pub fn tcp_may_open_fast(&self, now: Instant, remote: &Endpoint) -> bool {
        self.transports.tcp.knows(now, remote)
    }

    /// The application waits for the peer to say something, as a server does
    /// for the request of a connection that it has just accepted; or no longer
    /// does. A sleepy node then asks its parent often: what is not
    /// acknowledged yet is no sign of data that nobody has sent yet (Kumar et
    /// al. 2020 §8.1.1).
    pub fn tcp_expect(&mut self, id: ConnId, expected: bool) {
        self.transports.tcp.expect_data(id, expected);
    }

    /// Queues `data` for sending; returns how many bytes were taken.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if the buffer is full, [`Error::NotConnected`]
    /// after a close, [`Error::Failed`], [`Error::UnknownHandle`].
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

    /// Takes received bytes; `Ok(0)` says that the peer has closed.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if nothing is there yet, [`Error::Failed`],
    /// [`Error::NotConnected`], [`Error::UnknownHandle`].
    pub fn tcp_recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        let connection = self
            .transports
            .tcp
            .connection_mut(id)
            .ok_or(Error::UnknownHandle)?;
        if out.is_empty() {
            // 0 would say something else.
            return Err(Error::WouldBlock);
        }
        connection.recv(now, out).map_err(|error| match error {
            RecvError::WouldBlock => Error::WouldBlock,
            _ => failure::<P>(connection),
        })
    }

    /// What a connection has received, in two pieces, where it lies: to be read
    /// without a copy and then [consumed](Self::tcp_consume). Both are empty if
    /// nothing is there; [`tcp_recv`](Self::tcp_recv) says why.
    pub fn tcp_peek(&self, id: ConnId) -> (&[u8], &[u8]) {
        let connection = self.transports.tcp.connection(id);
        connection.map_or((&[], &[]), Connection::peek)
    }

    /// Lets go of the first `count` received bytes; says how many there were.
    pub fn tcp_consume(&mut self, now: Instant, id: ConnId, count: usize) -> usize {
        let connection = self.transports.tcp.connection_mut(id);
        connection.map_or(0, |c| c.consume(now, count))
    }

    /// Whether small segments of a connection wait for company from now on
    /// (RFC 9293 §3.7.4). `false` if the handle is not valid.
    pub fn tcp_set_nagle(&mut self, now: Instant, id: ConnId, on: bool) -> bool {
        let connection = self.transports.tcp.connection_mut(id);
        connection.map(|c| c.set_nagle(now, on)).is_some()
    }

    /// How long data of a connection may stay unacknowledged from now on before it is
    /// aborted (RFC 9293 §3.10.8); `None`: until its retries are used up. `false` if
    /// the handle is not valid.
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

    /// How a connection is probed when it is idle, if at all (RFC 9293
    /// §3.8.4). `false` if the handle is not valid.
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

    /// Ends the node's direction of the connection once everything queued is out.
    pub fn tcp_close(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.close(now, id);
    }

    /// Resets the connection.
    pub fn tcp_abort(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.abort(now, id);
    }

    /// Gives up the handle of a connection; it reports no more events. A connection that was
    /// [closed](Self::tcp_close) ends within the time that the configuration gives orphans.
    /// Any other is reset. Then its memory serves another connection.
    pub fn tcp_release(&mut self, now: Instant, id: ConnId) {
        self.transports.tcp.release(now, id);
    }

    /// Writes a connection down before a deep sleep or a reboot, and forgets it: the peer is
    /// told nothing. Returns how many bytes of `out` that took, of which
    /// [`Connection::frozen_len`] are needed. See [`Connection::freeze`] for what is in it.
    ///
    /// A node that stays awake drops late packets of the peer without a reset, for each of the
    /// last eight connections that were frozen or had to leave TIME-WAIT early.
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

    /// Takes up a connection that [`tcp_freeze`](Self::tcp_freeze) has written down, `slept`
    /// ago. This node must have the address that it had; its clock may have begun anew. The
    /// bytes are good once: see [`Connection::thaw`].
    ///
    /// # Errors
    /// [`Error::NoSlot`], [`Error::PortInUse`] if it is there already,
    /// [`Error::NoRoute`] if it is another node's, and [`Error::Thaw`].
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
        if all.any(|(_, it)| (it.local(), it.remote()) == (local, remote)) {
            return Err(Error::PortInUse);
        }
        drop(all);
        let counters = &mut self.counters;
        self.transports.tcp.thaw(now, slept, frozen, counters)
    }

    /// The connection behind a handle, to look at its state and statistics;
    /// also after its release, until TCP has finished.
    pub fn tcp_connection(&self, id: ConnId) -> Option<&NodeConnection<P>> {
        self.transports.tcp.connection(id)
    }

    /// Every open connection.
    pub fn tcp_connections(&self) -> impl Iterator<Item = (ConnId, &NodeConnection<P>)> {
        self.transports.tcp.iter()
    }
}

/// Why a connection takes or gives no more data.
fn failure<P: Profile>(connection: &NodeConnection<P>) -> Error {
    match connection.error() {
        Some(error) => Error::Failed(error),
        None => Error::NotConnected,
    }
}
