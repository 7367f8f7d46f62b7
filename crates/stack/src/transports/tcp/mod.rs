//! TCP sockets of a node: connections and listeners in the caller's tables.
//!
//! - this file maps handles to connections and demultiplexes segments;
//! - `listeners.rs` is the table of listeners;
//! - `fast_open.rs` sends and receives data on a SYN;
//! - `freeze.rs` freezes connections to bytes, and thaws them;
//! - `passive.rs` creates connections for requests;
//! - `slot.rs` is the memory of a connection, from its opening to its reuse;
//! - `pull.rs` decides which connection makes the next segment;
//! - `transport.rs` is TCP as one of the node's transports.
//!
//! The protocol TCP itself is in the crate `redpoll-tcp`.

mod fast_open;
mod freeze;
mod listeners;
mod passive;
mod pull;
mod slot;
mod transport;

use core::marker::PhantomData;

use redpoll_base::{Instant, Memory, Rng, least};
use redpoll_tcp::{
    Algorithms, Config, Connection, Endpoint, FastOpenServer, FastOpenServers, HalfOpen, Incoming,
    IsnGenerator, Overflow, Recycled, SendRing, State, SynCache,
};

pub use listeners::{Listen, ListenerSlot};
pub use slot::ConnectionSlot;

use listeners::ListenerTable;
use slot::{Open, RingConnection};

use crate::counters::{DropReason, NodeCounters};
use crate::ids::INDICES;
use crate::transports::{Outcome, Reply};
use crate::{ConnId, Error};

/// The first port of the range from which the node chooses (RFC 6335 §6).
const EPHEMERAL_FIRST: u16 = 49_152;
const EPHEMERAL_COUNT: u16 = 16_384;

/// The treatment of requests without a free half-open entry: SYN cookies, except on a leaf.
pub(crate) struct Flooded<M>(PhantomData<M>);

impl<M: Memory> Overflow for Flooded<M> {
    const COOKIES: bool = M::ROUTES;
}

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(crate) struct TcpSockets<M: Memory + 'static, A: Algorithms> {
    /// Whether a connection or listener may hold an event.
    dirty: bool,
    /// The `turn` of the next connection that starts to wait for acceptance.
    turn: u8,
    /// Bytes of the smallest receive buffer of all slots, the window that a SYN-ACK advertises.
    window: u16,
    turns: pull::Turns,
    connections: M::Table<ConnectionSlot<M::Buffer, A>>,
    listeners: ListenerTable<M>,
    isn: IsnGenerator,
    servers: FastOpenServers<M::Table<FastOpenServer>>,
    recycled: Recycled,
    half_open: SynCache<M::Table<HalfOpen>, Flooded<M>>,
    pub(crate) config: Config<A>,
}

impl<M: Memory + 'static, A: Algorithms> TcpSockets<M, A> {
    pub(crate) fn new(
        connections: M::Table<ConnectionSlot<M::Buffer, A>>,
        listeners: M::Table<ListenerSlot>,
        half_open: M::Table<HalfOpen>,
        servers: M::Table<FastOpenServer>,
        config: Config<A>,
        secret: [u8; 16],
    ) -> Self {
        let mut window = None;
        for slot in connections.as_ref() {
            let len = u16::try_from(slot.receive_capacity()).unwrap_or(u16::MAX);
            window = Some(window.map_or(len, |least: u16| least.min(len)));
        }
        TcpSockets {
            window: window.unwrap_or(0),
            turn: 0,
            connections,
            listeners: ListenerTable(listeners),
            half_open: SynCache::with_overflow(half_open),
            servers: FastOpenServers::new(servers),
            recycled: Recycled::default(),
            config,
            isn: IsnGenerator::new(secret),
            turns: pull::Turns::default(),
            dirty: false,
        }
    }

    fn slots(&self) -> &[ConnectionSlot<M::Buffer, A>] {
        self.connections.as_ref()
    }

    fn slot_mut(&mut self, id: ConnId) -> Option<&mut ConnectionSlot<M::Buffer, A>> {
        self.connections
            .as_mut()
            .get_mut(usize::from(id.index))
            .filter(|slot| slot.generation == id.generation)
    }

    #[inline(never)] // size
    fn open_mut(&mut self, id: ConnId) -> Option<&mut Open<M::Buffer, A>> {
        self.slot_mut(id)?.open_mut()
    }

    /// Returns the connection of a handle, also after its release while TCP finishes.
    pub(crate) fn connection(&self, id: ConnId) -> Option<&RingConnection<M::Buffer, A>> {
        self.slots()
            .get(usize::from(id.index))
            .filter(|slot| slot.generation == id.generation)
            .and_then(ConnectionSlot::open)
            .map(|open| &open.connection)
    }

    pub(crate) fn connection_mut(
        &mut self,
        id: ConnId,
    ) -> Option<&mut RingConnection<M::Buffer, A>> {
        self.dirty = true;
        let open = self.open_mut(id).filter(|open| !open.released)?;
        Some(&mut open.connection)
    }

    pub(crate) fn close(&mut self, now: Instant, id: ConnId) {
        self.end(id, |connection| connection.close(now));
    }

    pub(crate) fn abort(&mut self, now: Instant, id: ConnId) {
        self.end(id, |connection| connection.abort(now));
    }

    fn end(&mut self, id: ConnId, how: impl FnOnce(&mut RingConnection<M::Buffer, A>)) {
        self.dirty = true;
        if let Some(open) = self.open_mut(id).filter(|open| !open.released) {
            open.ended = true;
            how(&mut open.connection);
        }
    }

    pub(crate) fn half_open(&self) -> usize {
        self.half_open.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnId, &RingConnection<M::Buffer, A>)> {
        INDICES.zip(self.slots()).filter_map(|(index, slot)| {
            let generation = slot.generation;
            let open = slot.open()?;
            Some((ConnId { index, generation }, &open.connection))
        })
    }

    pub(crate) fn has_segment(&self) -> bool {
        let mut open = self.slots().iter().filter_map(ConnectionSlot::open);
        open.any(|open| open.connection.has_segment())
    }

    /// Returns whether a connection is established whose peer possibly does not know this yet.
    pub(crate) fn is_unproven(&self) -> bool {
        let mut open = self.slots().iter().filter_map(ConnectionSlot::open);
        open.any(|open| !open.is_proven && open.connection.state() == State::Established)
    }

    /// Returns whether a handshake, a connection or an application expects a packet soon.
    pub(crate) fn expects(&self) -> bool {
        let mut open = self.slots().iter().filter_map(ConnectionSlot::open);
        !self.half_open.is_empty() || open.any(Open::expects)
    }

    pub(crate) fn expect_data(&mut self, id: ConnId, expected: bool) {
        if let Some(open) = self.open_mut(id) {
            open.expects_data = expected;
        }
    }

    pub(crate) fn connect(
        &mut self,
        now: Instant,
        local: Endpoint,
        remote: Endpoint,
        rng: &mut Rng,
        counters: &mut NodeCounters,
    ) -> Result<ConnId, Error> {
        let port = match local.port {
            0 => self.ephemeral_port(remote, rng),
            port => Some(port).filter(|&port| self.is_free_port(port, remote)),
        };
        let port = port.ok_or(Error::PortInUse)?;
        let local = Endpoint { port, ..local };
        let iss = self.isn.isn(now, &local, &remote);
        let offset = self.isn.timestamp_offset(&local, &remote);
        let index = self.free_slot(counters).ok_or(Error::NoSlot)?;
        let config = &self.config;
        let slot = self.connections.as_mut().get_mut(usize::from(index));
        let slot = slot.ok_or(Error::NoSlot)?;
        slot.start(|tx, rx| {
            let mut connection =
                Connection::connect(now, config, local, remote, iss, SendRing::new(tx), rx);
            connection.set_timestamp_offset(offset);
            Open::new(connection, None)
        });
        let generation = slot.generation;
        Ok(ConnId { index, generation })
    }

    /// RFC 6056 §3.3.1: a random port, then upwards until one is free. §3.2: a port with a listener
    /// is not ephemeral.
    fn ephemeral_port(&self, remote: Endpoint, rng: &mut Rng) -> Option<u16> {
        let start = rng.below(u32::from(EPHEMERAL_COUNT)) as u16;
        (0..EPHEMERAL_COUNT)
            .filter_map(|i| {
                let offset = start.wrapping_add(i).checked_rem(EPHEMERAL_COUNT)?;
                Some(EPHEMERAL_FIRST.wrapping_add(offset))
            })
            .find(|&port| self.is_free_port(port, remote))
    }

    fn is_free_port(&self, port: u16, remote: Endpoint) -> bool {
        !self.listeners.is_open(port)
            && self
                .iter()
                .all(|(_, c)| c.local().port != port || c.remote() != remote)
    }

    /// Returns a free slot. If there is none, frees the slot of the oldest connection in TIME-WAIT,
    /// otherwise of the oldest stalled orphan, so that a server with few slots continues to serve.
    /// A connection whose last acknowledgment has not left yet keeps its slot, because its peer
    /// would stay in LAST-ACK.
    fn free_slot(&mut self, counters: &mut NodeCounters) -> Option<u8> {
        if let Some((index, _)) = INDICES.zip(self.slots()).find(|(_, s)| s.is_free()) {
            return Some(index);
        }
        let spare = INDICES.zip(self.slots()).filter_map(|(index, slot)| {
            let open = slot.open().filter(|open| open.released)?;
            let turn = open.connection.spare_turn()?;
            Some((turn, (turn, index)))
        });
        let (turn, index) = least(spare)?;
        let slot = self.connections.as_mut().get_mut(usize::from(index))?;
        if let Some(open) = slot.open() {
            self.recycled.remember(&self.isn, &open.connection);
        }
        slot.free();
        let count = match turn < RingConnection::<M::Buffer, A>::ORPHAN_TURN {
            true => &mut counters.time_wait_recycled,
            false => &mut counters.orphans_recycled,
        };
        *count = count.wrapping_add(1);
        Some(index)
    }

    /// Releases a connection. The slot becomes free when TCP has finished.
    pub(crate) fn release(&mut self, now: Instant, id: ConnId) {
        let limit = self.config.orphan;
        if let Some(open) = self.open_mut(id) {
            open.release(now, limit);
        }
        self.reap();
    }

    /// Frees the slots of released connections that have finished.
    fn reap(&mut self) {
        for slot in self.connections.as_mut() {
            if slot.open().is_some_and(Open::is_over) {
                slot.free();
            }
        }
    }

    pub(super) fn on_segment(
        &mut self,
        incoming: &Incoming<'_>,
        counters: &mut NodeCounters,
    ) -> Outcome {
        let &Incoming { now, meta, seg, .. } = incoming;
        self.dirty = true;
        let listener = self.listeners.find(|l| l.matches(meta, seg));
        for slot in self.connections.as_mut() {
            let Some(open) = slot.open_mut() else {
                continue;
            };
            if open.connection.matches(meta, seg) && !open.connection.is_closed() {
                // RFC 9293 §3.6.1, MAY-2: TIME-WAIT yields if a listener accepts the request.
                if listener.is_some() && open.released && open.connection.yields_to(seg) {
                    slot.free();
                    break;
                }
                let state = open.connection.state();
                let was_open = state == State::SynReceived;
                // A repeated SYN-ACK does not prove that the peer has completed the handshake.
                open.is_proven |= state == State::Established && !seg.flags.syn();
                self.servers
                    .watch(now, &mut open.connection, Some(seg), |connection| {
                        connection.input(now, meta, seg);
                    });
                // Only the Fast Open of a listener can be in SYN-RECEIVED.
                if let Some(listening) = listener
                    && was_open
                    && open.connection.is_closed()
                {
                    self.listeners.on_fast_open_reset(now, listening.id);
                }
                open.discard_input(now);
                self.reap();
                return Outcome::Taken;
            }
        }
        if let Some(header) = self.recycled.answer(&self.isn, incoming) {
            return Outcome::Reply(Reply(header));
        }
        if self.recycled.is_frozen(&self.isn, incoming) {
            return Outcome::Drop(DropReason::NoConnection);
        }
        if let Some(listener) = listener {
            return self.request(listener, incoming, counters);
        }
        match redpoll_tcp::reset_reply(meta, seg) {
            Some(header) => Outcome::Reset(Reply(header)),
            None => Outcome::Drop(DropReason::NoConnection),
        }
    }

    /// Reports an ICMP error to the connection between these two endpoints.
    pub(super) fn report(
        &mut self,
        now: Instant,
        local: &Endpoint,
        remote: &Endpoint,
        report: impl FnOnce(&mut RingConnection<M::Buffer, A>),
    ) {
        self.dirty = true;
        let mut open = self
            .connections
            .as_mut()
            .iter_mut()
            .filter_map(ConnectionSlot::open_mut)
            .map(|open| &mut open.connection);
        if let Some(connection) =
            open.find(|c| c.local() == *local && c.remote() == *remote && !c.is_closed())
        {
            self.servers.watch(now, connection, None, report);
        }
    }
}
