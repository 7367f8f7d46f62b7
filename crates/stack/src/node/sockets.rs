//! What applications call: TCP connections and listeners, UDP, echo.

use redpoll_base::{Addr, Instant, Memory, copy};
use redpoll_tcp::{Connection, Endpoint, Keepalive, RecvError};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::udp::UdpHeader;

use super::Node;
use super::link::{LINK_MTU, Origin};
use crate::{ConnId, Error, Listen, ListenerId, UdpId};

impl<M: Memory + 'static> Node<M> {
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
        self.tcp.listen(port, how)
    }

    /// Ends a listener. Connections that nobody has accepted are reset
    /// (RFC 9293 §3.10.4).
    pub fn tcp_unlisten(&mut self, now: Instant, listener: ListenerId) {
        self.tcp.unlisten(now, listener);
    }

    /// Whether [`tcp_accept`](Self::tcp_accept) would give a connection.
    pub fn tcp_may_accept(&self, listener: ListenerId) -> bool {
        self.tcp.may_accept(listener)
    }

    /// The next established connection of a listener, in the order in which
    /// they came about.
    ///
    /// It may already hold data or its end: read it before waiting for events.
    pub fn tcp_accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        self.tcp.accept(listener)
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

    /// Likewise from this port, unless it is 0.
    ///
    /// # Errors
    /// As [`tcp_connect`](Self::tcp_connect).
    pub fn tcp_connect_from(
        &mut self,
        now: Instant,
        port: u16,
        remote: Endpoint,
    ) -> Result<ConnId, Error> {
        // RFC 9293 §3.9.1.1, MUST-46: not to a group.
        let possible = !remote.addr.is_multicast()
            && !self.is_own(&remote.addr)
            && self.paths.next_hop(now, &remote.addr).is_some();
        let local = self.source_for(&remote.addr).filter(|_| possible);
        let addr = local.ok_or(Error::NoRoute)?;
        let local = Endpoint { addr, port };
        self.tcp
            .connect(now, local, remote, &mut self.rng, &mut self.counters)
    }

    /// Opens a connection to `remote` that sends `data` at once, and says how
    /// much of it was taken. If the server is known to allow it, as much as
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
        remote: Endpoint,
        data: &[u8],
    ) -> Result<(ConnId, usize), Error> {
        let id = self.tcp_connect(now, remote)?;
        Ok((id, self.tcp.open_with(now, id, data)))
    }

    /// The application waits for the peer to say something, as a server does
    /// for the request of a connection that it has just accepted; or no longer
    /// does. A sleepy node then asks its parent often: what is not
    /// acknowledged yet is no sign of data that nobody has sent yet (Kumar et
    /// al. 2020 §8.1.1).
    pub fn tcp_expect(&mut self, id: ConnId, expected: bool) {
        self.tcp.expect_data(id, expected);
    }

    /// Queues `data` for sending; returns how many bytes were taken.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if the buffer is full, [`Error::NotConnected`]
    /// after a close, [`Error::Failed`], [`Error::UnknownHandle`].
    pub fn tcp_send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        let connection = self.tcp.connection_mut(id).ok_or(Error::UnknownHandle)?;
        match connection.send(now, data) {
            Ok(0) if !data.is_empty() => Err(Error::WouldBlock),
            Ok(taken) => Ok(taken),
            Err(_) => Err(failure(connection)),
        }
    }

    /// Takes received bytes; `Ok(0)` says that the peer has closed.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if nothing is there yet, [`Error::Failed`],
    /// [`Error::NotConnected`], [`Error::UnknownHandle`].
    pub fn tcp_recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        let connection = self.tcp.connection_mut(id).ok_or(Error::UnknownHandle)?;
        if out.is_empty() {
            // 0 would say something else.
            return Err(Error::WouldBlock);
        }
        connection.recv(now, out).map_err(|error| match error {
            RecvError::WouldBlock => Error::WouldBlock,
            _ => failure(connection),
        })
    }

    /// What a connection has received, in two pieces, where it lies: to be read
    /// without a copy and then [consumed](Self::tcp_consume). Both are empty if
    /// nothing is there; [`tcp_recv`](Self::tcp_recv) says why.
    pub fn tcp_peek(&self, id: ConnId) -> (&[u8], &[u8]) {
        let connection = self.tcp.connection(id);
        connection.map_or((&[], &[]), Connection::peek)
    }

    /// Lets go of the first `count` received bytes; says how many there were.
    pub fn tcp_consume(&mut self, now: Instant, id: ConnId, count: usize) -> usize {
        let connection = self.tcp.connection_mut(id);
        connection.map_or(0, |c| c.consume(now, count))
    }

    /// Whether small segments of a connection wait for company from now on
    /// (RFC 9293 §3.7.4). `false` if the handle is not valid.
    pub fn tcp_set_nagle(&mut self, now: Instant, id: ConnId, on: bool) -> bool {
        let connection = self.tcp.connection_mut(id);
        connection.map(|c| c.set_nagle(now, on)).is_some()
    }

    /// How a connection is probed when it is idle, if at all (RFC 9293
    /// §3.8.4). `false` if the handle is not valid.
    pub fn tcp_set_keepalive(
        &mut self,
        now: Instant,
        id: ConnId,
        keepalive: Option<Keepalive>,
    ) -> bool {
        let connection = self.tcp.connection_mut(id);
        connection
            .map(|c| c.set_keepalive(now, keepalive))
            .is_some()
    }

    /// Ends the node's direction of the connection once everything queued is out.
    pub fn tcp_close(&mut self, now: Instant, id: ConnId) {
        self.tcp.close(now, id);
    }

    /// Resets the connection.
    pub fn tcp_abort(&mut self, now: Instant, id: ConnId) {
        self.tcp.abort(now, id);
    }

    /// Lets go of a connection: no more of its events come, and the handle
    /// takes no more calls. TCP finishes on its own what was
    /// [closed](Self::tcp_close) before, within the time that the configuration
    /// gives orphans, and resets what was not; after that the memory serves
    /// another.
    pub fn tcp_release(&mut self, now: Instant, id: ConnId) {
        self.tcp.release(now, id);
    }

    /// The connection behind a handle, to look at its state and statistics;
    /// also after its release, until TCP has finished.
    pub fn tcp_connection(&self, id: ConnId) -> Option<&Connection<M::Buffer>> {
        self.tcp.connection(id)
    }

    /// Every open connection.
    pub fn tcp_connections(&self) -> impl Iterator<Item = (ConnId, &Connection<M::Buffer>)> {
        self.tcp.iter()
    }

    /// Binds a UDP socket to `port`.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NoSlot`].
    pub fn udp_bind(&mut self, port: u16) -> Result<UdpId, Error> {
        self.udp.bind(port)
    }

    /// Unbinds a UDP socket; what it had received is forgotten.
    pub fn udp_close(&mut self, id: UdpId) {
        self.udp.close(id);
    }

    /// Whether a UDP socket holds a datagram.
    pub fn udp_is_readable(&self, id: UdpId) -> bool {
        self.udp.is_readable(id)
    }

    /// Takes the next received datagram, cut to `out`: its length and sender.
    pub fn udp_recv(&mut self, id: UdpId, out: &mut [u8]) -> Option<(usize, Endpoint)> {
        self.udp.recv(id, out)
    }

    /// Sends a UDP datagram.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::NoRoute`], [`Error::UnknownHandle`],
    /// [`Error::WouldBlock`] when no datagram slot or place in a queue is free.
    pub fn udp_send(
        &mut self,
        now: Instant,
        id: UdpId,
        dst: Endpoint,
        data: &[u8],
    ) -> Result<(), Error> {
        let src_port = self.udp.port(id).ok_or(Error::UnknownHandle)?;
        let src = self.source_for(&dst.addr).ok_or(Error::NoRoute)?;
        let header = UdpHeader::for_payload((&src, src_port), (&dst.addr, dst.port), data)
            .ok_or(Error::TooLong)?;
        let length = usize::from(header.length);
        let ip = self.ip_header(src, dst.addr, next_header::UDP);
        self.originate(now, ip, length, |upper| {
            let (head, body) = upper.split_at_mut_checked(UdpHeader::LEN)?;
            head.copy_from_slice(&header.to_bytes());
            copy(data, body);
            Some(())
        })
    }

    /// Sends an echo request with `len` bytes of data (RFC 4443 §4.1). The
    /// answer comes as [`NodeEvent::EchoReply`](crate::NodeEvent::EchoReply).
    ///
    /// # Errors
    /// As [`Node::udp_send`].
    pub fn ping(
        &mut self,
        now: Instant,
        dst: Addr,
        ident: u16,
        seq: u16,
        len: usize,
    ) -> Result<(), Error> {
        static DATA: [u8; LINK_MTU] = [0x70; LINK_MTU];
        let src = self.source_for(&dst).ok_or(Error::NoRoute)?;
        let data = DATA.get(..len).ok_or(Error::TooLong)?;
        let message = Message::EchoRequest { ident, seq, data };
        self.send_icmp(now, self.config.hop_limit, (src, dst), &message)
    }

    /// Sends an ICMPv6 message that answers no packet.
    pub(super) fn send_icmp(
        &mut self,
        now: Instant,
        hop_limit: u8,
        (src, dst): (Addr, Addr),
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let ip = Ipv6Header {
            hop_limit,
            ..self.ip_header(src, dst, next_header::ICMPV6)
        };
        self.originate(now, ip, message.len(), |area| {
            message.emit(&src, &dst, &mut Cursor::new(area)).ok()
        })
    }

    /// The source address for packets to `dst`, of the same scope (RFC 6724 §5,
    /// rule 2); `None` before the node has one.
    pub fn source_for(&self, dst: &Addr) -> Option<Addr> {
        let near = ipv6::addr::is_link_local(dst) || ipv6::addr::is_link_scoped_multicast(dst);
        if near {
            return Some(self.link_local);
        }
        Some(self.config.address).filter(|addr| !addr.is_unspecified())
    }

    /// The header of a packet that starts here, but for its length.
    pub(super) fn ip_header(&self, src: Addr, dst: Addr, next_header: u8) -> Ipv6Header {
        Ipv6Header {
            next_header,
            hop_limit: self.config.hop_limit,
            src,
            dst,
            ..Ipv6Header::default()
        }
    }

    /// Makes a packet in a fresh slot, `fill`s its upper layer and sends it.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        ip: Ipv6Header,
        upper_len: usize,
        fill: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Result<(), Error> {
        let total = upper_len.saturating_add(Ipv6Header::LEN);
        if total > LINK_MTU {
            return Err(Error::TooLong);
        }
        // There is no way to oneself: nothing here is a loopback interface.
        if self.is_own(&ip.dst) || self.paths.next_hop(now, &ip.dst).is_none() {
            return Err(Error::NoRoute);
        }
        let ip = Ipv6Header {
            payload_len: upper_len as u16,
            ..ip
        };
        let slot = self.lowpan.allocate(total).ok_or(Error::WouldBlock)?;
        let packet = self.lowpan.packet_mut(slot);
        let filled = packet
            .split_at_mut_checked(Ipv6Header::LEN)
            .and_then(|(head, upper)| {
                head.copy_from_slice(&ip.to_bytes());
                fill(upper)
            });
        if filled.is_none() {
            self.lowpan.release(slot);
            return Err(Error::TooLong);
        }
        if self.send_slot(now, slot, Origin::Own).is_err() {
            // There is a route: the queue to the host side is full.
            self.lowpan.release(slot);
            return Err(Error::WouldBlock);
        }
        self.counters.originated = self.counters.originated.wrapping_add(1);
        Ok(())
    }
}

/// Why a connection takes or gives no more data.
fn failure<B: redpoll_base::Bytes>(connection: &Connection<B>) -> Error {
    match connection.error() {
        Some(error) => Error::Failed(error),
        None => Error::NotConnected,
    }
}
