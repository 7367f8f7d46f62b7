//! Segments cached on the way and sent again from there, and acknowledgments made there:
//! cctrl (P. Hurni, U. Bürgi, M. Anwander, T. Braun, "TCP Performance Optimizations for
//! Wireless Sensor Networks", EWSN 2012), after DTC and TSS.
//!
//! A router shows [`Cache::on_forward`] each packet that it is about to pass on. Of the
//! data that come next on a connection a copy is kept, one for each direction. If they are
//! not acknowledged after three estimated round-trip times from here to their target, the
//! copy is sent, and forgotten. Data that have been acknowledged already are not passed on:
//! their sender is sent the acknowledgment that it has missed.
//! With [`Params::by_activity`] a copy is sent after two thirds of the time if nothing at
//! all was heard of late, as [`Cache::on_heard`] tells.
//!
//! What the paper leaves open, beside [`Params`]:
//!
//! - Of acknowledgments numbers, window and timestamps are kept, and what is sent is made of
//!   them. SACK blocks are left out: old ones would say something else (RFC 2883).
//! - SYNs and FINs are watched, and never kept or answered.
//! - A copy is kept while its connection has no other of that direction, so with several
//!   segments under way it is that of the oldest, which the receiver waits for.
//!
//! What no end may notice, whatever passes (RFC 9293, 7323, 3168):
//!
//! - Only segments with a good checksum count: of others an end would not take anything
//!   either. An acknowledgment counts if it is for what has passed here, as with the sender.
//! - What is sent again is a packet that has passed, byte for byte, but for its ECN field: it is
//!   not ECN-capable (RFC 3168 §6.1.5). It is sent once, while no acknowledgment
//!   of it has passed, and a minute later at most.
//! - A segment that says anything new beside acknowledged data passes: a later
//!   acknowledgment, another window, an answer to a mark of congestion, a question whether
//!   its peer lives.
//! - Nothing is held back, so nothing is overtaken.
//!
//! Packets that are cut, that pass fragment by fragment (RFC 8930), or that have extension
//! headers are none of its business.
//!
//! ```
//! use redpoll_assist::cache::{Cache, FlowSlot, HeldSlot, Memory, Params};
//! use redpoll_base::Instant;
//!
//! struct Heap;
//! impl redpoll_base::Memory for Heap {
//!     type Buffer = Box<[u8]>;
//!     type Table<T: 'static> = Box<[T]>;
//! }
//! let memory = Memory::<Heap> {
//!     flows: vec![FlowSlot::EMPTY; 4].into(),
//!     held: vec![HeldSlot::EMPTY; 8].into(),
//!     bytes: vec![0; 8 * 128].into(),
//! };
//! let mut cache = Cache::new(Params::default(), memory);
//! cache.on_heard(Instant::ZERO);
//! assert_eq!(cache.poll_at(), None);
//! ```

mod activity;
mod flow;
mod held;
#[cfg(feature = "node")]
mod node;
mod packet;
mod params;

use redpoll_base::{Duration, Instant, Memory as Kinds, Wake};
use redpoll_wire::ipv6::Ipv6Header;

use activity::Activity;
pub use flow::FlowSlot;
use flow::{Flow, Kind};
pub use held::HeldSlot;
use held::{Copied, Held};
use packet::{Segment, is_behind, read};
pub use params::Params;

/// How long the cache waits if there was no room for its packet.
const LATER: Duration = Duration::from_millis(20);

/// The memory of a cache, which says how much it can take.
#[derive(Debug)]
pub struct Memory<M: Kinds> {
    /// A slot for each connection; the one idle for longest goes for a new one.
    pub flows: M::Table<FlowSlot>,
    /// A slot for each segment, of whatever connection.
    pub held: M::Table<HeldSlot>,
    /// The segments' packets: each has an equal part.
    pub bytes: M::Buffer,
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is passed on.
    Pass,
    /// It is not: its sender gets an acknowledgment instead, by [`Cache::poll_packet`].
    Keep,
}

/// What has happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Segments copied.
    pub cached: u32,
    /// Copies given up because they were acknowledged.
    pub acknowledged: u32,
    /// Copies sent.
    pub repeated: u32,
    /// Of those, how many early, because nothing was heard.
    pub repeated_early: u32,
    /// Segments that were acknowledged already and not passed on.
    pub dropped: u32,
    /// Acknowledgments made.
    pub regenerated: u32,
    /// Data that would have been copied, had there been room.
    pub without_room: u32,
    /// Connections forgotten for others.
    pub evicted: u32,
    /// Frames heard, whoever they were for.
    pub heard: u32,
}

fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}

/// See the [module](self).
#[derive(Debug)]
pub struct Cache<M: Kinds> {
    params: Params,
    flows: M::Table<FlowSlot>,
    held: Held<M::Table<HeldSlot>, M::Buffer>,
    activity: Activity,
    /// Before this there is no room for a packet.
    not_before: Instant,
    counters: Counters,
}

impl<M: Kinds> Cache<M> {
    /// A cache that knows nothing.
    pub fn new(params: Params, memory: Memory<M>) -> Self {
        Cache {
            params,
            flows: memory.flows,
            held: Held::new(memory.held, memory.bytes),
            activity: Activity::NONE,
            not_before: Instant::ZERO,
            counters: Counters::default(),
        }
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Connections that it knows.
    pub fn flows(&self) -> usize {
        let flows = self.flows.as_ref().iter();
        flows.filter(|slot| slot.0.is_some()).count()
    }

    /// The activity level: frames heard within the longest estimated round-trip time of
    /// all connections, 16 at most.
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

    /// The radio has received a frame, for this node or not, intact or not.
    pub fn on_heard(&mut self, now: Instant) {
        count(&mut self.counters.heard);
        self.activity.on_heard(now);
    }

    /// A packet is about to be passed on, with this header.
    pub fn on_forward(&mut self, now: Instant, header: &Ipv6Header, packet: &[u8]) -> Verdict {
        let Some(segment) = read(header, packet) else {
            return Verdict::Pass;
        };
        if segment.flags.rst() {
            if let Some(place) = self.find(&segment) {
                self.forget(place);
            }
            return Verdict::Pass;
        }
        let place = match self.find(&segment) {
            Some(place) => place,
            None => match self.make_room() {
                Some(place) => place,
                None => return Verdict::Pass,
            },
        };
        // Another connection may begin between the same ends.
        if segment.flags.syn() {
            self.release(place);
        }
        let Some(FlowSlot(slot)) = self.flows.as_mut().get_mut(place) else {
            return Verdict::Pass;
        };
        let is_first = segment.flags.syn() && segment.ack.is_none();
        let flow = match slot {
            Some(flow) if !is_first => flow,
            _ => slot.insert(Flow::new(segment.ends, now)),
        };
        let change = flow.on_segment(now, &segment, &self.params);
        if let Some(ack) = change.acked {
            self.on_acked(place, !segment.from_upper, ack);
        }
        match change.kind {
            Kind::New => self.keep(now, place, &segment, packet),
            Kind::Acknowledged if self.params.regenerates => {
                count(&mut self.counters.dropped);
                if let Some(flow) = self.flow_mut(place) {
                    flow.side_mut(segment.from_upper).answer = true;
                }
                return Verdict::Keep;
            }
            Kind::Acknowledged | Kind::OutOfSequence | Kind::Other => {}
        }
        Verdict::Pass
    }

    /// The next packet to be sent, written to the start of `out`: its length.
    pub fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        if self.not_before > now {
            return None;
        }
        self.acknowledge(out).or_else(|| self.repeat(now, out))
    }

    /// There was no room for a packet: it is asked for again a little later.
    pub fn on_no_room(&mut self, now: Instant) {
        self.not_before = now + LATER;
    }

    /// When [`Cache::poll_packet`] has something to do.
    pub fn poll_at(&self) -> Option<Wake> {
        let answers = self.answers().then_some(Instant::ZERO);
        let due = self.held.iter().map(|(_, copied)| copied.due).min();
        let at = match (answers, due) {
            (Some(at), _) => at,
            (None, due) => due?,
        };
        Some(Wake::exactly(at.max(self.not_before)))
    }

    fn answers(&self) -> bool {
        let mut flows = self
            .flows
            .as_ref()
            .iter()
            .filter_map(|slot| slot.0.as_ref());
        flows.any(|flow| flow.side(false).answer || flow.side(true).answer)
    }

    fn find(&self, segment: &Segment) -> Option<usize> {
        let is_it = |slot: &FlowSlot| slot.0.is_some_and(|flow| flow.ends == segment.ends);
        self.flows.as_ref().iter().position(is_it)
    }

    fn flow_mut(&mut self, place: usize) -> Option<&mut Flow> {
        self.flows.as_mut().get_mut(place)?.0.as_mut()
    }

    /// A free place for a connection, if need be that of the one idle for longest.
    fn make_room(&mut self) -> Option<usize> {
        let flows = self.flows.as_ref().iter().enumerate();
        let used = |slot: &FlowSlot| slot.0.map(|flow| flow.used);
        // `None`, a free place, comes before all times.
        let (place, slot) = flows.min_by_key(|(_, slot)| used(slot))?;
        if slot.0.is_some() {
            count(&mut self.counters.evicted);
            self.forget(place);
        }
        Some(place)
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

    /// All before `ack` of what an end has sent is acknowledged.
    fn on_acked(&mut self, place: usize, upper: bool, ack: u32) {
        let is_over = |it: &Copied| (it.flow, it.upper) == (place, upper) && is_behind(ack, it.seq);
        let over = self
            .held
            .iter()
            .filter(|(_, copied)| is_over(copied))
            .count();
        let acknowledged = &mut self.counters.acknowledged;
        *acknowledged = acknowledged.wrapping_add(over as u32);
        self.held.release(is_over);
    }

    /// Keeps a copy of a segment, if none of its direction is there.
    fn keep(&mut self, now: Instant, place: usize, segment: &Segment, packet: &[u8]) {
        let upper = segment.from_upper;
        let Some(flow) = self.flows.as_ref().get(place).and_then(|slot| slot.0) else {
            return;
        };
        let copies = self.held.iter();
        let copies = copies.filter(|(_, it)| (it.flow, it.upper) == (place, upper));
        if copies.count() >= usize::from(self.params.segments) {
            count(&mut self.counters.without_room);
            return;
        }
        let whole = flow.rtt(upper, &self.params);
        let whole = whole.times(self.params.timeout_factor.into());
        let whole = whole.min(self.params.max_wait);
        let wait = match self.params.by_activity {
            true => whole.times(2).divided_by(3),
            false => whole,
        };
        let copied = Copied {
            due: now + wait,
            deadline: now + whole,
            ..Copied::of(place, upper, segment.seq)
        };
        match self.held.keep(copied, packet) {
            true => count(&mut self.counters.cached),
            false => count(&mut self.counters.without_room),
        }
    }

    /// An acknowledgment that is owed to the sender of what was not passed on.
    fn acknowledge(&mut self, out: &mut [u8]) -> Option<usize> {
        for slot in self.flows.as_mut() {
            let Some(flow) = &mut slot.0 else { continue };
            for upper in [false, true] {
                if !core::mem::take(&mut flow.side_mut(upper).answer) {
                    continue;
                }
                let made = flow.acknowledgment(upper);
                if let Some(len) = made.and_then(|made| made.write(out)) {
                    count(&mut self.counters.regenerated);
                    return Some(len);
                }
            }
        }
        None
    }

    /// The copy whose time has come.
    fn repeat(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        loop {
            let due = self.held.iter().filter(|(_, copied)| copied.due <= now);
            let (place, copied) = due.min_by_key(|(_, copied)| copied.due)?;
            let copied = *copied;
            let flow = self.flows.as_ref().get(copied.flow).and_then(|slot| slot.0);
            let rtt = flow.map(|flow| flow.rtt(copied.upper, &self.params));
            let is_early = now < copied.deadline;
            let quiet = rtt.is_some_and(|rtt| self.activity.level(now, rtt) == 0);
            if is_early && !quiet {
                if let Some(copied) = self.held.get_mut(place) {
                    copied.due = copied.deadline;
                }
                continue;
            }
            let len = self.held.take(place, out)?;
            if let Some(flow) = self.flow_mut(copied.flow) {
                flow.side_mut(copied.upper).on_repeated();
            }
            count(&mut self.counters.repeated);
            if is_early {
                count(&mut self.counters.repeated_early);
            }
            packet::clear_ecn(out);
            return Some(len);
        }
    }
}
