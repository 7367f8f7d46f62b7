//! TCP sockets of a node: connections and listeners in the caller's tables.
//!
//! This file maps handles to connections, demultiplexes segments and decides
//! which connection may make the next segment. The protocol itself is in
//! `redpoll-tcp`.

use redpoll_base::{Addr, Bytes, Instant, Memory, Rng, Wake, earliest};
use redpoll_tcp::{
    Action, Config, Connection, Endpoint, Event, Gone, Header, IpMeta, IsnGenerator, Listener,
    Segment, SegmentDesc, State, Token,
};

use crate::counters::{DropReason, NodeCounters};
use crate::{ConnId, Error, ListenerId, NodeEvent};

/// The first port of the range for ports that the node chooses (RFC 6335 §6).
const EPHEMERAL_FIRST: u16 = 49_152;
const EPHEMERAL_COUNT: u16 = 16_384;

/// Memory for one connection: its buffers, and the connection while one is open.
pub struct ConnectionSlot<B: Bytes> {
    generation: u8,
    use_: Use<B>,
}

// The slot is the connection's memory: it is as large as one on purpose.
#[allow(clippy::large_enum_variant)]
enum Use<B: Bytes> {
    Free(B, B),
    Open(Open<B>),
    /// Only while a slot changes from one use to the other.
    Changing,
}

struct Open<B: Bytes> {
    connection: Connection<B>,
    /// The listener that a passive connection came from, until it is accepted.
    backlog_of: Option<ListenerId>,
    /// The application has let go: the slot is free again when TCP is done.
    released: bool,
}

impl<B: Bytes> ConnectionSlot<B> {
    /// A free slot with its send and receive buffer. Their lengths bound the
    /// windows of the connections that will live here.
    pub fn new(tx: B, rx: B) -> Self {
        ConnectionSlot {
            generation: 0,
            use_: Use::Free(tx, rx),
        }
    }

    fn open(&self) -> Option<&Open<B>> {
        match &self.use_ {
            Use::Open(open) => Some(open),
            _ => None,
        }
    }

    fn open_mut(&mut self) -> Option<&mut Open<B>> {
        match &mut self.use_ {
            Use::Open(open) => Some(open),
            _ => None,
        }
    }

    fn is_free(&self) -> bool {
        matches!(self.use_, Use::Free(..))
    }

    /// Takes the buffers out of a free slot and puts the connection made of
    /// them in. `false` if the slot was not free.
    fn start(&mut self, make: impl FnOnce(B, B) -> Open<B>) -> bool {
        match core::mem::replace(&mut self.use_, Use::Changing) {
            Use::Free(tx, rx) => {
                self.use_ = Use::Open(make(tx, rx));
                self.generation = self.generation.wrapping_add(1);
                true
            }
            other => {
                self.use_ = other;
                false
            }
        }
    }

    fn free(&mut self) {
        self.use_ = match core::mem::replace(&mut self.use_, Use::Changing) {
            Use::Open(open) => {
                let (tx, rx) = open.connection.into_buffers();
                Use::Free(tx, rx)
            }
            other => other,
        };
    }
}

/// Memory for one listener.
#[derive(Default)]
pub struct ListenerSlot(Option<Listener>);

/// What to do with a segment that was handed in.
pub(crate) enum Verdict {
    /// A connection has taken it.
    Taken,
    /// It was answered: this header goes back to the sender.
    Reply(Header),
    /// It was dropped for this reason.
    Drop(DropReason),
    /// Dropped for this reason and answered with a reset.
    Reset(Header),
}

/// A segment that a connection has made, and whose it is.
pub(crate) struct Pulled {
    pub(crate) handle: Handle,
    pub(crate) src: Addr,
    pub(crate) dst: Addr,
    pub(crate) desc: SegmentDesc,
}

/// Names a pulled segment while the link holds it, in 32 bits.
#[derive(Clone, Copy)]
pub(crate) struct Handle(pub(crate) u32);

impl Handle {
    fn new(id: ConnId, token: Token) -> Self {
        let [high, low] = token.to_bits().to_be_bytes();
        Handle(u32::from_be_bytes([id.generation, id.index, high, low]))
    }

    fn parts(self) -> (ConnId, Token) {
        let [generation, index, high, low] = self.0.to_be_bytes();
        let token = Token::from_bits(u16::from_be_bytes([high, low]));
        (ConnId { index, generation }, token)
    }
}

pub(crate) struct TcpSockets<M: Memory + 'static> {
    connections: M::Table<ConnectionSlot<M::Buffer>>,
    listeners: M::Table<ListenerSlot>,
    config: Config,
    isn: IsnGenerator,
    /// Whose turn it is to make the next segment.
    turn: u8,
    /// A connection or listener may hold an event.
    dirty: bool,
}

impl<M: Memory + 'static> TcpSockets<M> {
    pub(crate) fn new(
        connections: M::Table<ConnectionSlot<M::Buffer>>,
        listeners: M::Table<ListenerSlot>,
        config: Config,
        secret: [u8; 16],
    ) -> Self {
        TcpSockets {
            connections,
            listeners,
            config,
            isn: IsnGenerator::new(secret),
            turn: 0,
            dirty: false,
        }
    }

    fn slots(&self) -> &[ConnectionSlot<M::Buffer>] {
        self.connections.as_ref()
    }

    fn slot_mut(&mut self, id: ConnId) -> Option<&mut ConnectionSlot<M::Buffer>> {
        self.connections
            .as_mut()
            .get_mut(usize::from(id.index))
            .filter(|slot| slot.generation == id.generation)
    }

    fn open_mut(&mut self, id: ConnId) -> Option<&mut Open<M::Buffer>> {
        self.slot_mut(id)?.open_mut()
    }

    /// The connection behind a handle, once it is open and not yet released.
    pub(crate) fn connection(&self, id: ConnId) -> Option<&Connection<M::Buffer>> {
        self.slots()
            .get(usize::from(id.index))
            .filter(|slot| slot.generation == id.generation)
            .and_then(ConnectionSlot::open)
            .map(|open| &open.connection)
    }

    pub(crate) fn connection_mut(&mut self, id: ConnId) -> Option<&mut Connection<M::Buffer>> {
        self.dirty = true;
        Some(&mut self.open_mut(id)?.connection)
    }

    /// Every open connection with its handle.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ConnId, &Connection<M::Buffer>)> {
        (0u8..).zip(self.slots()).filter_map(|(index, slot)| {
            let generation = slot.generation;
            let open = slot.open()?;
            Some((ConnId { index, generation }, &open.connection))
        })
    }

    pub(crate) fn listen(&mut self, port: u16) -> Result<ListenerId, Error> {
        let mut free = None;
        for (index, slot) in (0u8..).zip(self.listeners.as_ref()) {
            match &slot.0 {
                Some(listener) if listener.local().port == port => return Err(Error::PortInUse),
                Some(_) => {}
                None => free = free.or(Some(index)),
            }
        }
        let id = ListenerId(free.ok_or(Error::NoSlot)?);
        let slot = self.listeners.as_mut().get_mut(usize::from(id.0));
        slot.ok_or(Error::NoSlot)?.0 = Some(Listener::new(Endpoint {
            addr: Addr::UNSPECIFIED,
            port,
        }));
        Ok(id)
    }

    pub(crate) fn accept(&mut self, listener: ListenerId) -> Option<ConnId> {
        for (index, slot) in (0u8..).zip(self.connections.as_mut()) {
            let generation = slot.generation;
            let Some(open) = slot.open_mut() else {
                continue;
            };
            if open.backlog_of == Some(listener)
                && !matches!(open.connection.state(), State::SynReceived | State::Closed)
            {
                open.backlog_of = None;
                self.dirty = true;
                return Some(ConnId { index, generation });
            }
        }
        None
    }

    pub(crate) fn connect(
        &mut self,
        now: Instant,
        local: Addr,
        remote: Endpoint,
        rng: &mut Rng,
        counters: &mut NodeCounters,
    ) -> Result<ConnId, Error> {
        let port = self.ephemeral_port(remote, rng).ok_or(Error::PortInUse)?;
        let local = Endpoint { addr: local, port };
        let iss = self.isn.isn(now, &local, &remote);
        let index = self.free_slot(counters).ok_or(Error::NoSlot)?;
        let config = &self.config;
        let slot = self.connections.as_mut().get_mut(usize::from(index));
        let slot = slot.ok_or(Error::NoSlot)?;
        slot.start(|tx, rx| Open {
            connection: Connection::connect(now, config, local, remote, iss, tx, rx),
            backlog_of: None,
            released: false,
        });
        let generation = slot.generation;
        Ok(ConnId { index, generation })
    }

    /// RFC 6056 §3.3.1: a random port, then upwards until one is free.
    fn ephemeral_port(&self, remote: Endpoint, rng: &mut Rng) -> Option<u16> {
        let start = rng.below(u32::from(EPHEMERAL_COUNT)) as u16;
        (0..EPHEMERAL_COUNT)
            .filter_map(|i| {
                let offset = start.wrapping_add(i).checked_rem(EPHEMERAL_COUNT)?;
                Some(EPHEMERAL_FIRST.wrapping_add(offset))
            })
            .find(|&port| {
                self.iter()
                    .all(|(_, c)| c.local().port != port || c.remote() != remote)
            })
    }

    /// A free slot; if there is none, the connection in TIME-WAIT that has
    /// waited longest makes room, so that a server of few slots keeps serving.
    fn free_slot(&mut self, counters: &mut NodeCounters) -> Option<u8> {
        if let Some((index, _)) = (0u8..).zip(self.slots()).find(|(_, s)| s.is_free()) {
            return Some(index);
        }
        let (index, _) = (0u8..)
            .zip(self.slots())
            .filter_map(|(index, slot)| {
                let open = slot.open()?;
                let waits = open.connection.state() == State::TimeWait && open.released;
                waits.then(|| (index, open.connection.poll_at().map(|w| w.at)))
            })
            .min_by_key(|(_, at)| *at)?;
        self.connections
            .as_mut()
            .get_mut(usize::from(index))?
            .free();
        counters.time_wait_recycled = counters.time_wait_recycled.wrapping_add(1);
        Some(index)
    }

    /// Lets go of a connection: the slot becomes free when TCP has finished.
    pub(crate) fn release(&mut self, id: ConnId) {
        if let Some(open) = self.open_mut(id) {
            open.released = true;
            open.backlog_of = None;
        }
        self.reap();
    }

    /// Frees the slots of released connections that have come to their end.
    fn reap(&mut self) {
        for slot in self.connections.as_mut() {
            if let Some(open) = slot.open_mut()
                && open.released
                && open.connection.is_finished()
            {
                slot.free();
            }
        }
    }

    pub(crate) fn input(
        &mut self,
        now: Instant,
        meta: &IpMeta,
        seg: &Segment<'_>,
        counters: &mut NodeCounters,
    ) -> Verdict {
        self.dirty = true;
        for slot in self.connections.as_mut() {
            let Some(open) = slot.open_mut() else {
                continue;
            };
            if open.connection.matches(meta, seg) && !open.connection.is_closed() {
                if open.released && open.connection.yields_to(seg) {
                    slot.free();
                    break;
                }
                open.connection.input(now, meta, seg);
                self.reap();
                return Verdict::Taken;
            }
        }
        for (index, slot) in (0u8..).zip(self.listeners.as_mut()) {
            let Some(listener) = &mut slot.0 else {
                continue;
            };
            if !listener.matches(meta, seg) {
                continue;
            }
            return match listener.input(now, meta, seg) {
                Action::Accept(half_open) => {
                    let Some(slot) = self.free_slot(counters) else {
                        return Verdict::Drop(DropReason::NoConnectionSlot);
                    };
                    let iss = self.isn.isn(now, &half_open.local, &half_open.remote);
                    let config = &self.config;
                    if let Some(slot) = self.connections.as_mut().get_mut(usize::from(slot)) {
                        slot.start(|tx, rx| Open {
                            connection: Connection::accept(now, config, half_open, iss, tx, rx),
                            backlog_of: Some(ListenerId(index)),
                            released: false,
                        });
                    }
                    Verdict::Taken
                }
                Action::Reply(header) => Verdict::Reply(header),
                Action::Drop => Verdict::Drop(DropReason::NoConnection),
            };
        }
        match redpoll_tcp::reset_reply(meta, seg) {
            Some(header) => Verdict::Reset(header),
            None => Verdict::Drop(DropReason::NoConnection),
        }
    }

    /// The connection between these two ends, for an ICMP error about it.
    pub(crate) fn find_mut(
        &mut self,
        local: &Endpoint,
        remote: &Endpoint,
    ) -> Option<&mut Connection<M::Buffer>> {
        self.dirty = true;
        self.connections
            .as_mut()
            .iter_mut()
            .filter_map(ConnectionSlot::open_mut)
            .map(|open| &mut open.connection)
            .find(|c| c.local() == *local && c.remote() == *remote)
    }

    /// Lets the connections that `eligible` admits (by their remote address)
    /// make one segment, in turns.
    pub(crate) fn pull(
        &mut self,
        now: Instant,
        max_len: usize,
        mut eligible: impl FnMut(&Addr) -> bool,
    ) -> Option<Pulled> {
        let slots = self.connections.as_mut();
        let count = slots.len();
        for step in 0..count {
            let index = usize::from(self.turn)
                .wrapping_add(step)
                .checked_rem(count)?;
            let slot = slots.get_mut(index)?;
            let generation = slot.generation;
            let Some(open) = slot.open_mut() else {
                continue;
            };
            let (local, remote) = (open.connection.local(), open.connection.remote());
            if !eligible(&remote.addr) {
                continue;
            }
            if let Some(desc) = open.connection.poll_segment(now, max_len) {
                self.turn = index.wrapping_add(1).checked_rem(count)? as u8;
                let index = index as u8;
                self.dirty = true;
                return Some(Pulled {
                    handle: Handle::new(ConnId { index, generation }, desc.token),
                    src: local.addr,
                    dst: remote.addr,
                    desc,
                });
            }
        }
        None
    }

    /// A pulled segment has left this node.
    pub(crate) fn on_sent(&mut self, handle: Handle, now: Instant) {
        let (id, token) = handle.parts();
        if let Some(open) = self.open_mut(id) {
            open.connection.on_segment_sent(token, now);
        }
        self.reap();
    }

    /// The link gave up on a pulled segment.
    pub(crate) fn on_lost(&mut self, handle: Handle, now: Instant) {
        let (id, token) = handle.parts();
        if let Some(open) = self.open_mut(id) {
            open.connection.on_segment_lost(token, now);
        }
        self.reap();
    }

    /// Payload bytes of a pulled segment, from `offset` on.
    pub(crate) fn read(
        &self,
        handle: Handle,
        offset: usize,
        out: &mut [u8],
    ) -> Result<usize, Gone> {
        let (id, token) = handle.parts();
        self.connection(id).ok_or(Gone)?.read(token, offset, out)
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        self.slots()
            .iter()
            .filter_map(|slot| slot.open()?.connection.poll_at())
            .fold(None, |a, b| earliest(a, Some(b)))
    }

    pub(crate) fn on_timeout(&mut self, now: Instant) {
        for slot in self.connections.as_mut() {
            if let Some(open) = slot.open_mut()
                && open.connection.poll_at().is_some_and(|w| w.at <= now)
            {
                open.connection.on_timeout(now);
                self.dirty = true;
            }
        }
        self.reap();
    }

    pub(crate) fn poll_event(&mut self) -> Option<NodeEvent> {
        if !self.dirty {
            return None;
        }
        for (index, slot) in (0u8..).zip(self.connections.as_mut()) {
            let generation = slot.generation;
            let Some(open) = slot.open_mut() else {
                continue;
            };
            while let Some(event) = open.connection.poll_event() {
                if let Some(listener) = open.backlog_of {
                    match event {
                        Event::Connected => return Some(NodeEvent::Accepted(listener)),
                        // Nobody knows of this connection: it goes unseen.
                        Event::Failed(_) | Event::Closed => open.released = true,
                        _ => {}
                    }
                    continue;
                }
                return Some(NodeEvent::Tcp(ConnId { index, generation }, event));
            }
        }
        self.dirty = false;
        self.reap();
        None
    }
}
