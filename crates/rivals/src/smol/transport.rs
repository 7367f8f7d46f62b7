//! smoltcp as a transport with connections.

use alloc::vec;

use ::smoltcp::socket::tcp::{Socket, State as SmolState};
use ::smoltcp::wire::IpListenEndpoint;
use redpoll_base::{Addr, Instant, Rng, Wake};
use redpoll_stack::{
    Arrived, Ask, ConnId, DropReason, Error, Handle, ListenerId, NodeCounters, NodeEvent, Outcome,
    Pulled, Reach, Stream, StreamTransport, Transport,
};
use redpoll_tcp::{Endpoint, Event, Gone, State, Stats};

use super::place::Place;
use super::{IPV6_LEN, Smol, TCP_LEN, ends, ip};

/// First port and number of the ports for new connections (RFC 6335 §6).
const DYNAMIC: (u16, u32) = (49_152, 16_384);

impl Transport for Smol {
    fn input(
        &mut self,
        now: Instant,
        arrived: &Arrived<'_>,
        _counters: &mut NodeCounters,
    ) -> Outcome {
        let Ok(len) = u16::try_from(arrived.upper.len()) else {
            return Outcome::Drop(DropReason::Malformed);
        };
        let (src, dst) = (arrived.header.src, arrived.header.dst);
        self.know(&dst);
        let mut packet = vec![0; IPV6_LEN];
        packet[0] = 0x60;
        packet[4..6].copy_from_slice(&len.to_be_bytes());
        (packet[6], packet[7]) = (6, arrived.header.hop_limit.max(1));
        packet[8..24].copy_from_slice(&src.0);
        packet[24..40].copy_from_slice(&dst.0);
        packet.extend_from_slice(arrived.upper);
        let port = |at: usize| match arrived.upper.get(at..at + 2) {
            Some(&[high, low]) => u16::from_be_bytes([high, low]),
            _ => 0,
        };
        let (local, remote) = (Endpoint::new(dst, port(2)), Endpoint::new(src, port(0)));
        if let Some(place) = self.between(local, remote) {
            place.on_arrived(arrived.upper.len() > TCP_LEN);
        }
        self.device.incoming = Some(packet);
        self.by_timer = false;
        self.work(now);
        Outcome::Taken
    }

    fn pull<H>(
        &mut self,
        now: Instant,
        ask: &Ask,
        mut reach: impl FnMut(&Addr) -> Reach<H>,
    ) -> Option<(Pulled, Option<H>)> {
        self.work(now);
        let mut at = 0;
        while let Some(packet) = self.device.outgoing.get(at) {
            let (_, dst) = ends(packet)?;
            let hop = match reach(&dst) {
                Reach::Here(hop) => Some(hop),
                Reach::Nowhere => None,
                Reach::Elsewhere => {
                    at += 1;
                    continue;
                }
            };
            let packet = self.device.outgoing.remove(at)?;
            let Some((desc, src, dst)) = self.made(&packet) else {
                debug_assert!(false, "smoltcp made a segment that cannot be read");
                continue;
            };
            debug_assert!(
                packet.len() - IPV6_LEN <= ask.max_len,
                "the segment is too long for a packet"
            );
            self.pulls = self.pulls.wrapping_add(1);
            return Some((Pulled::new(Handle(self.pulls), desc, src, dst), hop));
        }
        None
    }

    fn read(&self, handle: Handle, offset: usize, out: &mut [u8]) -> Result<usize, Gone> {
        if handle.0 != self.pulls {
            return Err(Gone);
        }
        let rest = self.pulled.get(offset..).ok_or(Gone)?;
        let len = rest.len().min(out.len());
        out[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn poll_at(&self) -> Option<Wake> {
        self.wake.map(Wake::exactly)
    }

    fn on_timeout(&mut self, now: Instant, _counters: &mut NodeCounters) {
        self.by_timer = true;
        self.work(now);
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        for (index, place) in (0..u8::MAX).zip(&mut self.places) {
            while let Some(event) = place.events.pop_front() {
                let id = ConnId::new(index, place.generation);
                match (place.waits, event) {
                    _ if place.released => {}
                    (None, event) => return Some(NodeEvent::Tcp(id, event)),
                    (Some(listener), Event::Connected) => {
                        return Some(NodeEvent::Accepted(listener));
                    }
                    // The application never saw this connection, so its end is not reported.
                    (Some(_), Event::Closed | Event::Failed(_)) => place.released = true,
                    (Some(_), _) => {}
                }
            }
        }
        None
    }
}

impl StreamTransport for Smol {
    fn is_there(&self) -> bool {
        true
    }

    fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        if self.ports.iter().any(|at| at.port == Some(port)) {
            return Err(Error::PortInUse);
        }
        let mut free = (0..u8::MAX).zip(&mut self.ports);
        let free = free.find(|(_, at)| at.port.is_none());
        let (index, free) = free.ok_or(Error::NoSlot)?;
        free.port = Some(port);
        free.generation = free.generation.wrapping_add(1);
        let id = ListenerId::new(index, free.generation);
        self.listen_on();
        Ok(id)
    }

    fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        use SmolState::{Closed, Listen, SynReceived, SynSent};
        let sockets = &self.sockets;
        let mut places = (0..u8::MAX).zip(&mut self.places);
        let (index, place) = places.find(|(_, place)| {
            let state = sockets.get::<Socket<'_>>(place.handle).state();
            let early = matches!(state, Listen | SynSent | SynReceived | Closed);
            place.is_open && place.waits == Some(listener) && !early
        })?;
        place.waits = None;
        Some(ConnId::new(index, place.generation))
    }

    fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
    ) -> Result<ConnId, Error> {
        let sockets = &self.sockets;
        let listens = |place: &Place| {
            let socket = sockets.get::<Socket<'_>>(place.handle);
            place.is_open && socket.state() == SmolState::Listen
        };
        // A listening socket is closed to make room for a connection.
        let index = self.free().or_else(|| self.places.iter().position(listens));
        let index = index.ok_or(Error::NoSlot)?;
        let (places, ports) = (&self.places, &self.ports);
        let is_used = |port: u16| {
            let mut of = places.iter().filter(|place| place.is_open);
            of.any(|place| place.local.port == port) || ports.iter().any(|at| at.port == Some(port))
        };
        let (first, count) = DYNAMIC;
        let mut tries = (0..1_000).map(|_| first + rng.below(count) as u16);
        let port = tries.find(|port| !is_used(*port)).ok_or(Error::PortInUse)?;
        self.know(&local.addr);
        self.renew(index, None);
        let from = IpListenEndpoint {
            addr: Some(ip(&local.addr)),
            port,
        };
        let to = (ip(&remote.addr), remote.port);
        let place = &mut self.places[index];
        let socket: &mut Socket<'_> = self.sockets.get_mut(place.handle);
        let opened = socket.connect(self.interface.context(), to, from);
        opened.map_err(|_| Error::NoRoute)?;
        (place.local, place.remote) = (Endpoint::new(local.addr, port), remote);
        place.was = SmolState::SynSent;
        let id = ConnId::new(index as u8, place.generation);
        self.work(now);
        Ok(id)
    }

    fn send(&mut self, now: Instant, id: ConnId, data: &[u8]) -> Result<usize, Error> {
        let (place, socket) = self.held(id).ok_or(Error::UnknownHandle)?;
        if let Some(error) = place.error {
            return Err(Error::Failed(error));
        }
        if place.closing || !socket.may_send() {
            return Err(match socket.state() {
                SmolState::SynSent | SmolState::SynReceived => Error::WouldBlock,
                _ => Error::NotConnected,
            });
        }
        let taken = socket.send_slice(data).unwrap_or(0);
        place.written = place.written.wrapping_add(taken as u32);
        place.starved = taken < data.len();
        if taken == 0 && !data.is_empty() {
            return Err(Error::WouldBlock);
        }
        self.by_timer = false;
        self.work(now);
        Ok(taken)
    }

    fn recv(&mut self, now: Instant, id: ConnId, out: &mut [u8]) -> Result<usize, Error> {
        let (place, socket) = self.held(id).ok_or(Error::UnknownHandle)?;
        let taken = socket.recv_slice(out).unwrap_or(0);
        place.unread = socket.recv_queue();
        if taken > 0 {
            self.work(now);
            return Ok(taken);
        }
        match place.error {
            Some(error) => Err(Error::Failed(error)),
            None if place.ended => Ok(0),
            None => Err(Error::WouldBlock),
        }
    }

    fn close(&mut self, now: Instant, id: ConnId) {
        if let Some((place, socket)) = self.held(id) {
            place.closing = true;
            socket.close();
            self.work(now);
        }
    }

    fn abort(&mut self, now: Instant, id: ConnId) {
        if let Some((place, socket)) = self.held(id) {
            place.closing = true;
            socket.abort();
            self.work(now);
        }
    }

    fn release(&mut self, now: Instant, id: ConnId) {
        if let Some((place, socket)) = self.held(id) {
            if !place.closing {
                socket.abort();
            }
            (place.closing, place.released) = (true, true);
            self.work(now);
        }
    }

    fn stream(&self, id: ConnId) -> Option<Stream> {
        let (index, generation) = id.parts();
        let place = self.places.get(usize::from(index))?;
        let is_it = place.is_open && place.generation == generation;
        let socket = is_it.then(|| self.sockets.get::<Socket<'_>>(place.handle))?;
        Some(Stream {
            local: place.local,
            remote: place.remote,
            state: state(socket.state()),
            unacked: socket.send_queue(),
            send_room: socket.send_capacity() - socket.send_queue(),
        })
    }

    fn live(&self) -> usize {
        use SmolState::{Closed, Listen, TimeWait};
        let is_live = |place: &&Place| {
            let state = self.sockets.get::<Socket<'_>>(place.handle).state();
            place.is_open && !matches!(state, Closed | Listen | TimeWait)
        };
        self.places.iter().filter(is_live).count()
    }

    fn expects(&self) -> bool {
        self.live() > 0
    }

    fn stats(&self, id: ConnId) -> Option<&Stats> {
        let (index, generation) = id.parts();
        let place = self.places.get(usize::from(index))?;
        (place.generation == generation).then_some(&place.stats)
    }
}

/// Returns the state of RFC 9293 §3.3.2; a listening socket is not a connection yet.
fn state(of: SmolState) -> State {
    match of {
        SmolState::Closed | SmolState::Listen => State::Closed,
        SmolState::SynSent => State::SynSent,
        SmolState::SynReceived => State::SynReceived,
        SmolState::Established => State::Established,
        SmolState::FinWait1 => State::FinWait1,
        SmolState::FinWait2 => State::FinWait2,
        SmolState::CloseWait => State::CloseWait,
        SmolState::Closing => State::Closing,
        SmolState::LastAck => State::LastAck,
        SmolState::TimeWait => State::TimeWait,
    }
}
