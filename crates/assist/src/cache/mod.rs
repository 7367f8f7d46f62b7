//! A cache of segments on routers, which retransmits and acknowledges locally by the rules of three
//! papers: cctrl (P. Hurni, U. Bürgi, M. Anwander, T. Braun, "TCP Performance Optimizations for
//! Wireless Sensor Networks", EWSN 2012), which is the default, and its predecessors, Distributed
//! TCP Caching ([`Params::dtc`]) and TCP Support for Sensor networks ([`Params::tss`]).
//!
//! A router passes each packet to [`Cache::on_forward`] before it forwards the packet. The cache
//! copies the next data in sequence of a connection, one segment for each direction. If the data
//! are not acknowledged after three estimated round-trip times to their target, the copy is sent,
//! and dropped. Data that have been acknowledged already are not forwarded: their sender gets the
//! acknowledgment that it missed. With [`Params::by_activity`] a copy is sent after two thirds of
//! the time if [`Cache::on_heard`] reported no frames recently.
//!
//! DTC waits for one and a half round-trip times. It keeps the newest segment, and others by
//! chance, and replaces no copy before the next hop was heard forwarding it. A duplicate
//! acknowledgment that requests the copied segment is dropped, and the copy is sent.
//!
//! TSS retransmits after the same time as DTC, and forwards the packets of a direction one at a
//! time: the following packets wait here until the next hop is heard forwarding the previous one,
//! or until the previous one is acknowledged. The cache repeats a forwarded acknowledgment once if
//! the receiver of this acknowledgment sends nothing for a timeout.
//!
//! The papers leave these points open, in addition to [`Params`]:
//!
//! - The cache stores the numbers, window and timestamps of acknowledgments, and builds its own
//!   from them. It omits SACK blocks, because old blocks would have another meaning (RFC 2883).
//! - It observes SYNs and FINs, and never stores or answers them.
//! - With [`Choice::Oldest`] the cache copies a segment only if it has no other copy for the same
//!   direction of the connection. With several segments in flight the copy is therefore the
//!   oldest, for which the receiver waits.
//! - The next hop has a segment once it is heard forwarding the segment, whole or as the last
//!   fragment. If the node cannot receive this frame, because the radio is off, or cannot read it,
//!   because it is [secured](Cache::on_heard), only an acknowledgment shows that the next hop has
//!   the segment.
//!
//! These rules keep the cache invisible to both ends (RFC 9293, 7323, 3168):
//!
//! - The cache uses only segments with a good checksum, because an end ignores others. It uses an
//!   acknowledgment that covers only data that passed here, if the receiver accepts its SEQ: SEQ is
//!   in the window that the receiver announced, and not before data that already passed (RFC 9293
//!   §3.10.7.4). It uses the window and the timestamps of such segments only. A reset is valid in
//!   that window, and a SYN is ignored while both ends send (RFC 5961). If no packet has matched
//!   for a minute, the sequence numbers are learned again.
//! - A retransmission is the original packet, byte for byte, except that it is not ECN-capable (RFC
//!   3168 §6.1.5). The cache retransmits a packet at most one time, before its acknowledgment has
//!   passed, and at most a minute after the packet arrived.
//! - The cache only acknowledges data that the receiver has acknowledged. It does not change SACK
//!   blocks.
//! - A segment with acknowledged data passes if it contains new information: a later
//!   acknowledgment, another window, an answer to a congestion mark, or a keepalive.
//! - Packets of a direction stay in order. A packet waits only with [`Params::holds_back`], and at
//!   most for [`Params::max_wait`]; then it is dropped.
//!
//! IP fragments, packets forwarded fragment by fragment (RFC 8930), and packets with extension
//! headers are ignored.
//!
//! ```
//! use redpoll_assist::cache::{Cache, FlowSlot, HeldSlot, Memory, Params};
//! use redpoll_base::{Instant, Rng};
//!
//! struct Heap;
//! impl redpoll_base::Memory for Heap {
//!     type Buffer = Box<[u8]>;
//!     type Table<T: 'static> = Box<[T]>;
//!     type Forwards = bool;
//! }
//! let memory = Memory::<Heap> {
//!     flows: vec![FlowSlot::EMPTY; 4].into(),
//!     held: vec![HeldSlot::EMPTY; 8].into(),
//!     bytes: vec![0; 8 * 128].into(),
//! };
//! let mut cache = Cache::new(Params::default(), Rng::new(1), memory);
//! cache.on_heard(Instant::ZERO, None);
//! assert_eq!(cache.poll_at(), None);
//! ```

mod activity;
mod copies;
mod counters;
mod duplicates;
mod flow;
mod held;
#[cfg(feature = "node")]
mod node;
mod packet;
mod params;
mod turns;

use redpoll_base::{Duration, Instant, Memory as Kinds, Rng, Wake};
use redpoll_wire::ipv6::Ipv6Header;

use activity::Activity;
pub use counters::Counters;
use counters::count;
pub use flow::FlowSlot;
use flow::{DataKind, Flow};
pub use held::HeldSlot;
use held::{Copied, Held};
use packet::{Segment, read};
pub use params::{Choice, Params};
use turns::Turn;

/// Delay until the next attempt if the caller had no room for a packet.
const LATER: Duration = Duration::from_millis(20);

/// The memory of a cache, which determines its capacity.
#[derive(Debug)]
pub struct Memory<M: Kinds> {
    /// A slot for each connection; a new connection replaces the one idle for longest.
    pub flows: M::Table<FlowSlot>,
    /// A slot for each segment of any connection.
    pub held: M::Table<HeldSlot>,
    /// The segments' packets, in equal parts.
    pub bytes: M::Buffer,
}

/// Whether the router forwards a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Forward the packet.
    Forward,
    /// Do not forward the packet now. [`Cache::poll_packet`] returns the packet later, or another
    /// packet instead, or the cache has dropped the packet.
    Keep,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Cache<M: Kinds> {
    params: Params,
    flows: M::Table<FlowSlot>,
    held: Held<M::Table<HeldSlot>, M::Buffer>,
    activity: Activity,
    rng: Rng,
    next_number: u32,
    /// Earliest time of the next packet after one for which the caller had no room.
    not_before: Instant,
    counters: Counters,
}

impl<M: Kinds> Cache<M> {
    /// Returns an empty cache. `rng` makes its random choices.
    pub fn new(params: Params, rng: Rng, memory: Memory<M>) -> Self {
        Cache {
            params,
            flows: memory.flows,
            held: Held::new(memory.held, memory.bytes),
            activity: Activity::NONE,
            rng,
            next_number: 0,
            not_before: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    /// Returns the counters, which begin at 0 with [`Cache::new`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of known connections.
    pub fn flows(&self) -> usize {
        let flows = self.flows.as_ref().iter();
        flows.filter(|slot| slot.0.is_some()).count()
    }

    /// Returns the activity level: frames heard within the longest estimated round-trip time of all
    /// connections, at most 16.
    pub fn activity(&self, now: Instant) -> u32 {
        let flows = self
            .flows
            .as_ref()
            .iter()
            .filter_map(|slot| slot.0.as_ref());
        let both = flows.flat_map(|flow| [false, true].map(|upper| flow.rtt(upper, &self.params)));
        self.activity
            .level(now, both.max().unwrap_or(Duration::ZERO))
    }

    /// Handles a received frame, for this node or not, intact or not. `passing` is the MAC payload
    /// of an intact frame for another node, if it is readable.
    pub fn on_heard(&mut self, now: Instant, passing: Option<&[u8]>) {
        count(&mut self.counters.heard);
        self.activity.on_heard(now);
        if let Some(passing) = passing
            && (self.params.holds_back || self.params.locks)
        {
            self.on_passing(passing);
        }
    }

    /// Decides whether to forward `packet`, whose IPv6 header is `header`, now.
    pub fn on_forward(&mut self, now: Instant, header: &Ipv6Header, packet: &[u8]) -> Disposition {
        let Some(segment) = read(header, packet) else {
            return Disposition::Forward;
        };
        let found = self.find(&segment);
        if segment.flags.rst() {
            let is_end = found.is_none_or(|place| self.ends_with(now, place, &segment));
            if let Some(place) = found.filter(|_| is_end) {
                self.forget(place);
            }
            if is_end {
                return Disposition::Forward;
            }
        }
        let place = match found {
            Some(place) => place,
            None => match self.make_room() {
                Some(place) => place,
                None => return Disposition::Forward,
            },
        };
        let is_first = match segment.flags.syn() && segment.ack.is_none() {
            true => self.ends_with(now, place, &segment),
            false => {
                let known = self.flow_mut(place);
                known.is_some_and(|flow| flow.is_over(now, &segment))
            }
        };
        // Another connection begins between the same ends: the old copies are useless.
        if is_first {
            self.release(place);
        }
        let waits = match self.turn(now, place, &segment, packet.len()) {
            Turn::Now => false,
            Turn::Later => true,
            Turn::Never => {
                count(&mut self.counters.refused);
                return Disposition::Keep;
            }
        };
        let Some(FlowSlot(slot)) = self.flows.as_mut().get_mut(place) else {
            return Disposition::Forward;
        };
        let flow = match slot {
            Some(flow) if !is_first => flow,
            _ => slot.insert(Flow::new(segment.ends, now)),
        };
        let change = flow.on_segment(now, &segment, waits, &self.params);
        if let Some(ack) = change.acked {
            self.on_acked(place, !segment.from_upper, ack);
        }
        if change.kind == DataKind::Acknowledged && self.params.regenerates {
            count(&mut self.counters.dropped);
            if let Some(flow) = self.flow_mut(place) {
                flow.side_mut(segment.from_upper).answer = true;
            }
            return Disposition::Keep;
        }
        if waits {
            return self.wait(now, place, &segment, change.kind, packet);
        }
        if change.is_duplicate && self.stands_in(now, place, &segment) {
            count(&mut self.counters.duplicates);
            return Disposition::Keep;
        }
        if self.chooses(change.kind) {
            self.keep(now, place, &segment, packet);
        }
        Disposition::Forward
    }

    fn chooses(&mut self, kind: DataKind) -> bool {
        match (kind, self.params.choice) {
            (DataKind::New, _) => true,
            (DataKind::OutOfSequence, Choice::Newest { others_percent }) => {
                self.rng.below(100) < others_percent.into()
            }
            _ => false,
        }
    }

    /// Writes the next packet to send to the start of `out`; returns its length.
    pub fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        if self.not_before > now {
            return None;
        }
        self.acknowledge(now, out)
            .or_else(|| self.pass_next(now, out))
            .or_else(|| self.repeat(now, out))
    }

    /// Delays the next packet, because the caller had no room for it.
    pub fn on_no_room(&mut self, now: Instant) {
        self.not_before = now + LATER;
    }

    /// Returns when to call [`Cache::poll_packet`].
    pub fn poll_at(&self) -> Option<Wake> {
        let flows = self
            .flows
            .as_ref()
            .iter()
            .filter_map(|slot| slot.0.as_ref());
        let sides = flows.flat_map(|flow| [flow.side(false), flow.side(true)]);
        let answers = sides.filter_map(|side| match side.answer {
            true => Some(Instant::ZERO),
            false => side.again,
        });
        let turn = self.next_turn().map(|_| Instant::ZERO);
        let due = self.held.iter().map(|(_, copied)| copied.due);
        let at = answers.chain(turn).chain(due).min()?;
        Some(Wake::exactly(at.max(self.not_before)))
    }

    fn find(&self, segment: &Segment) -> Option<usize> {
        let is_it = |slot: &FlowSlot| slot.0.is_some_and(|flow| flow.ends == segment.ends);
        self.flows.as_ref().iter().position(is_it)
    }

    fn flow_mut(&mut self, place: usize) -> Option<&mut Flow> {
        self.flows.as_mut().get_mut(place)?.0.as_mut()
    }

    /// Returns a free entry for a connection. If none is free, frees the entry of the connection
    /// idle for longest; a connection with waiting packets keeps its entry.
    fn make_room(&mut self) -> Option<usize> {
        let flows = self.flows.as_ref().iter().enumerate();
        let flows = flows.filter(|(place, _)| !self.has_waiting(*place));
        let used = |slot: &FlowSlot| slot.0.map(|flow| flow.used);
        // `None`, a free entry, precedes all times.
        let (place, slot) = flows.min_by_key(|(_, slot)| used(slot))?;
        if slot.0.is_some() {
            count(&mut self.counters.evicted);
            self.forget(place);
        }
        Some(place)
    }

    fn ends_with(&self, now: Instant, place: usize, segment: &Segment) -> bool {
        let known = self.flows.as_ref().get(place).and_then(|slot| slot.0);
        known.is_none_or(|flow| flow.ends_with(now, segment))
    }

    fn forget(&mut self, place: usize) {
        self.release(place);
        if let Some(slot) = self.flows.as_mut().get_mut(place) {
            slot.0 = None;
        }
    }

    fn release(&mut self, place: usize) {
        self.held.release(|copied| copied.flow == place);
    }
}
