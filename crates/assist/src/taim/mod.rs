//! TAiM, the TCP assistant in the middle (M. Park and J. Paek, "TAiM: TCP
//! Assistant-in-the-Middle for Multihop Low-power and Lossy Networks in IoT", Journal of
//! Communications and Networks 21(2), 2019).
//!
//! At a border router, TCP segments between mesh and host wait in a queue for each flow. Every
//! `delaytime` one packet leaves, from the flow with the least throughput. Once a minute
//! `delaytime` grows by 2 % if the fastest flow had more than twice the throughput of the
//! slowest one, and falls by 5 % if it had less. Its maximum is the ends' mean expected
//! retransmission timeout, divided by the number of waiting flows. No packet is dropped or
//! changed, and packets of a flow stay in order.
//!
//! [`Taim::input`] takes each packet's beginning and a handle of the caller's: its bytes, or
//! its number in a queue of the kernel. [`Taim::poll`] returns the handles that may leave now,
//! and [`Taim::poll_at`] the time of the next one. All memory is the caller's ([`Memory`]), so
//! it is bounded.
//!
//! Decisions that the paper leaves open:
//!
//! - Numbers to which the paper gives no value have an assumed default in [`Params`].
//! - The order of leaving depends on the total of a flow: its smoothed throughput, and its bytes in
//!   this period. A slow flow therefore overtakes a fast one only until it has caught up, instead
//!   of for the rest of the period.
//! - A flow is a connection: its two directions share one queue and one throughput. The throughput
//!   counts the new bytes of both directions, by the highest sequence numbers seen.
//! - Round-trip times are the sum of those to both ends, each from the arrival of a segment here
//!   until the arrival of its answer. They include the waiting time here, as the round-trip times
//!   that the ends measure do. An answer is an acknowledgment, or a new byte after an
//!   acknowledgment of all earlier ones. The expected retransmission timeout is that of RFC 6298.
//! - The number of waiting flows is its mean over the period.
//! - The fastest and the slowest flow are found among the active flows that have existed for a
//!   whole period. A flow without data to send counts as a slow flow while it is active: TAiM is
//!   for flows that send as fast as they can.
//!
//! [`Policy::Lead`] is another rule for when packets leave. It needs neither `delaytime` nor the
//! decision each minute: see [`Lead`].
//!
//! [`Contention`] is an optional condition: packets wait only while flows compete and the network
//! is their bottleneck.
//!
//! An addition against forged traffic: packets of a flow pass at once until each end has
//! acknowledged the other one's data. This takes three packets, and an attacker who does not
//! see the sequence numbers cannot forge them. IP fragments pass at once, too.
//!
//! ```
//! use redpoll_assist::taim::{FlowSlot, HeldSlot, Input, Memory, Params, Taim};
//! use redpoll_base::Instant;
//!
//! struct Heap;
//! impl redpoll_base::Memory for Heap {
//!     type Buffer = Box<[u8]>;
//!     type Table<T: 'static> = Box<[T]>;
//!     type Forwards = bool;
//! }
//! let memory = Memory::<Heap, u32> {
//!     flows: vec![FlowSlot::EMPTY; 64].into(),
//!     index: vec![0; 128].into(),
//!     schedule: vec![0; 64].into(),
//!     held: (0..256).map(|_| HeldSlot::EMPTY).collect(),
//! };
//! let mut taim = Taim::new(Params::default(), [1, 2], memory);
//! // Whatever is not TCP over IPv6 passes at once.
//! let Input::Pass(7) = taim.input(Instant::ZERO, b"no packet", 7) else { unreachable!() };
//! ```

mod contention;
mod delay;
mod estimate;
mod flow;
mod flows;
mod held;
mod lead;
mod params;
mod period;
mod schedule;
mod segment;
mod view;

use redpoll_base::{Duration, Instant, Memory as Kind, Wake};

use contention::Contest;
use delay::DelayTime;
use estimate::Observed;
pub use flow::{FlowCounters, FlowSlot};
use flow::{NONE, Standing};
use flows::Flows;
use held::Held;
pub use held::HeldSlot;
use lead::VirtualTime;
pub use params::{Contention, Lead, Params, Policy, Share};
use schedule::Schedule;
use segment::Foreign;
pub use segment::{End, Ends};
pub use view::{Counters, FlowView};

/// A packet that the caller takes at most this late does not delay the next one. After a longer
/// delay, `delaytime` counts from the actual time of leaving, minus this value.
const MAKES_UP: Duration = Duration::from_millis(2);

/// The memory of TAiM, which determines its capacity.
#[derive(Debug)]
pub struct Memory<M: Kind, H: 'static> {
    /// A slot for each flow; a quarter of them is for flows on probation.
    pub flows: M::Table<FlowSlot>,
    /// Hash table of the flows. Its length is a power of two, at least twice that of `flows`.
    pub index: M::Table<u32>,
    /// Heap of the flows with waiting packets. The table needs as many entries as `flows`.
    pub schedule: M::Table<u32>,
    /// A slot for each waiting packet.
    pub held: M::Table<HeldSlot<H>>,
}

/// The outcome of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input<H> {
    /// Forward the packet at once.
    Pass(H),
    /// The packet waits: [`Taim::poll`] returns it later.
    Wait,
    /// The packet waits. The queue is full, so forward this other packet at once.
    WaitInstead(H),
}

/// A packet that may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Released<H> {
    /// The packet.
    pub handle: H,
    /// Time for which the packet waited.
    pub waited: Duration,
    /// Delay between the time at which the packet was due and the caller's request for it.
    pub late: Duration,
}

/// See the [module](self).
pub struct Taim<M: Kind, H: 'static> {
    params: Params,
    flows: Flows<M::Table<FlowSlot>, M::Table<u32>>,
    schedule: Schedule<M::Table<u32>>,
    held: Held<M::Table<HeldSlot<H>>>,
    delay: DelayTime,
    virtual_time: VirtualTime,
    contest: Contest,
    /// Earliest time of the next packet, in nanoseconds.
    next_ns: u64,
    /// Time when a packet last arrived while all queues were empty.
    waits_since: Instant,
    /// The beginning of the period; `None` before the first packet.
    period_began: Option<Instant>,
    /// Sum of waiting flows times microseconds, up to `summed_at`.
    waiting_sum: u64,
    summed_at: Instant,
    /// Smoothed number of waiting flows, in 256ths; `None` in the first period.
    waiting: Option<u64>,
    counters: Counters,
}

impl<M: Kind, H: 'static> Taim<M, H> {
    /// Returns an assistant without flows. `secret` must be hard to guess, so that attackers cannot
    /// choose flows with colliding hashes.
    pub fn new(params: Params, secret: [u32; 2], memory: Memory<M, H>) -> Self {
        let Memory {
            flows,
            index,
            schedule,
            held,
        } = memory;
        Taim {
            delay: DelayTime::new(&params),
            virtual_time: VirtualTime::START,
            contest: Contest::new(params.contention.as_ref()),
            params,
            flows: Flows::new(flows, index, secret),
            schedule: Schedule::new(schedule),
            held: Held::new(held),
            next_ns: 0,
            waits_since: Instant::ZERO,
            period_began: None,
            waiting_sum: 0,
            summed_at: Instant::ZERO,
            waiting: None,
            counters: Counters::default(),
        }
    }

    /// Handles a packet that is about to cross the border. `packet` is its beginning, at least to
    /// the end of the TCP header; arbitrary bytes are safe.
    pub fn input(&mut self, now: Instant, packet: &[u8], handle: H) -> Input<H> {
        self.period_began.get_or_insert(now);
        self.check_contention(now);
        let (ends, from, segment) = match segment::read(packet) {
            Ok(read) => read,
            Err(why) => {
                let counter = match why {
                    Foreign::NotTcp => &mut self.counters.foreign,
                    Foreign::Malformed => &mut self.counters.malformed,
                };
                count(counter);
                return Input::Pass(handle);
            }
        };
        let Some((flow, evicts)) = self.flows.find_or_add(&ends) else {
            count(&mut self.counters.untracked);
            return Input::Pass(handle);
        };
        if evicts {
            count(&mut self.counters.probation_evicted);
        }
        let Some(slot) = self.flows.get_mut(flow) else {
            return Input::Pass(handle);
        };
        count(&mut slot.counters.packets);
        let mut new_bytes = 0;
        match slot.estimate.on_segment(now, from, &segment) {
            Observed::Bytes(0) => {}
            Observed::Bytes(bytes) => {
                slot.bytes = slot.bytes.saturating_add(bytes.into());
                slot.counters.bytes = slot.counters.bytes.saturating_add(bytes.into());
                slot.active_at = now;
                new_bytes = bytes;
            }
            Observed::Nonsense => count(&mut self.counters.nonsense),
        }
        match slot.standing {
            Standing::Confirmed => self.wait(now, flow, new_bytes, handle),
            _ if slot.estimate.is_confirmed() => self.confirm(now, flow, new_bytes, handle),
            _ => {
                self.flows.touch(flow);
                count(&mut self.counters.on_probation);
                Input::Pass(handle)
            }
        }
    }

    /// Returns the next packet that may leave now. Call it after each packet that waits, and at
    /// [`Taim::poll_at`], until it returns `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Released<H>> {
        self.end_period(now);
        self.count_active(now);
        self.check_contention(now);
        if let Some((flow, arrived)) = self.held.oldest()
            && let Some(max_wait) = self.params.longest_wait()
            && let due = arrived + max_wait
            && due <= now
        {
            count(&mut self.counters.overdue);
            return self.release(now, flow, now.since(due));
        }
        let flow = self.schedule.first()?;
        let due = self.due()?;
        if due > now {
            return None;
        }
        if self.params.policy != Policy::Taim || !self.contest.is_on() {
            return self.release(now, flow, Duration::ZERO);
        }
        let base = due.max(Instant::from_micros(
            now.as_micros().saturating_sub(MAKES_UP.as_micros()),
        ));
        let base = base.as_micros().saturating_mul(1_000).max(self.next_ns);
        self.next_ns = base.saturating_add(self.delay.as_nanos());
        self.release(now, flow, now.since(due))
    }

    /// Returns when to call [`Taim::poll`] next.
    pub fn poll_at(&self) -> Option<Wake> {
        let (_, confirmed) = self.flows.counts();
        let period = self.period_began.filter(|_| confirmed > 0);
        let overdue = self.held.oldest().zip(self.params.longest_wait());
        let check = self.contest.check_at();
        let at = [
            check.filter(|_| self.params.contention.is_some() && self.held.count() > 0),
            self.due(),
            period.map(|began| began + self.params.period),
            overdue.map(|((_, arrived), max_wait)| arrived + max_wait),
        ];
        at.into_iter().flatten().min().map(Wake::exactly)
    }

    /// Releases the first packet of the flow that is next, even before its time. The caller empties
    /// the queues with this method.
    pub fn take(&mut self, now: Instant) -> Option<H> {
        let flow = self.schedule.first()?;
        self.release(now, flow, Duration::ZERO)
            .map(|released| released.handle)
    }

    /// Returns `delaytime` in nanoseconds.
    pub fn delay_ns(&self) -> u64 {
        self.delay.as_nanos()
    }

    /// Returns whether packets wait: always, or while flows compete ([`Params::contention`]).
    pub fn is_shaping(&self) -> bool {
        self.contest.is_on()
    }

    /// Returns the number of waiting packets.
    pub fn waiting_packets(&self) -> u32 {
        self.held.count()
    }

    /// Returns the number of flows with waiting packets.
    pub fn waiting_flows(&self) -> u32 {
        self.schedule.len()
    }

    /// Returns the number of flows on probation, and the number of confirmed flows.
    pub fn flow_counts(&self) -> (u32, u32) {
        self.flows.counts()
    }

    /// Returns the counters, which begin at 0 with [`Taim::new`].
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns all flows, in no order.
    pub fn flows(&self) -> impl Iterator<Item = FlowView> {
        self.flows.iter().map(|flow| FlowView {
            ends: flow.ends,
            is_confirmed: flow.standing == Standing::Confirmed,
            is_over: flow.estimate.is_over(),
            throughput: flow.throughput >> 8,
            share: flow.share,
            rtt: flow.estimate.rtt(),
            rto: flow.estimate.rto().map(|rto| rto.max(self.params.min_rto)),
            waiting: flow.waiting,
            counters: flow.counters,
        })
    }

    fn due(&self) -> Option<Instant> {
        let first = self.schedule.first()?;
        if let Policy::Lead(_) = &self.params.policy {
            let first = self.flows.get(first)?;
            let goes_on = self.virtual_time.admits(first.share);
            return goes_on.then_some(self.waits_since);
        }
        if !self.contest.is_on() {
            return Some(self.waits_since);
        }
        // Rounded up, so that the caller does not poll before `next_ns`.
        let next = self.next_ns.div_ceil(1_000);
        Some(Instant::from_micros(next).max(self.waits_since))
    }

    fn confirm(&mut self, now: Instant, flow: u32, new_bytes: u32, handle: H) -> Input<H> {
        match self.flows.confirm(flow) {
            Some(evicts) => {
                if evicts {
                    count(&mut self.counters.evicted);
                }
                count(&mut self.counters.confirmed);
                if let Some(slot) = self.flows.get_mut(flow) {
                    slot.confirmed_at = now;
                }
                self.virtual_time.on_more();
                self.wait(now, flow, new_bytes, handle)
            }
            None => {
                self.flows.touch(flow);
                count(&mut self.counters.untracked);
                Input::Pass(handle)
            }
        }
    }

    /// Queues a packet of a confirmed flow. If the flow has too many packets, or the memory is
    /// full, another packet leaves to make room.
    fn wait(&mut self, now: Instant, flow: u32, new_bytes: u32, handle: H) -> Input<H> {
        self.contest.on_packet();
        let waiting = self.flows.get_mut(flow).map_or(0, |flow| {
            flow.recent.on_packet();
            flow.waiting
        });
        // A packet does not overtake waiting packets of its flow.
        if waiting == 0 && self.params.policy == Policy::Taim && !self.contest.is_on() {
            count(&mut self.counters.uncontended);
            // The flow moves to the end of the list of idle flows.
            self.flows.begin_waiting(flow);
            self.flows.end_waiting(flow);
            return Input::Pass(handle);
        }
        if waiting >= self.params.flow_packets.max(1) {
            return self.push_out(now, flow, flow, new_bytes, handle);
        }
        match self.enqueue(now, flow, new_bytes, handle) {
            Ok(()) => Input::Wait,
            Err(handle) => match self.schedule.first() {
                Some(first) => self.push_out(now, first, flow, new_bytes, handle),
                // The caller gave no memory for waiting packets.
                None => {
                    count(&mut self.counters.untracked);
                    Input::Pass(handle)
                }
            },
        }
    }

    fn push_out(
        &mut self,
        now: Instant,
        victim: u32,
        flow: u32,
        new_bytes: u32,
        handle: H,
    ) -> Input<H> {
        count(&mut self.counters.pushed_out);
        let released = self.release(now, victim, Duration::ZERO);
        match (released, self.enqueue(now, flow, new_bytes, handle)) {
            (Some(released), Ok(())) => Input::WaitInstead(released.handle),
            (None, Ok(())) => Input::Wait,
            // Does not occur: the released packet made room.
            (_, Err(handle)) => Input::Pass(handle),
        }
    }

    fn enqueue(&mut self, now: Instant, flow: u32, new_bytes: u32, handle: H) -> Result<(), H> {
        let Some(slot) = self.flows.get_mut(flow) else {
            return Err(handle);
        };
        let was_idle = slot.waiting == 0;
        self.held.push(now, flow, slot, new_bytes, handle)?;
        if was_idle {
            match &self.params.policy {
                Policy::Taim => slot.take_stock(self.params.period),
                Policy::Lead(lead) => {
                    self.virtual_time.catch_up(lead, &mut slot.pace);
                    slot.share = slot.pace.lead_from(lead);
                }
            }
            self.sum_up(now);
            if self.schedule.len() == 0 {
                self.waits_since = now;
            }
            self.flows.begin_waiting(flow);
            self.schedule.insert(self.flows.slots_mut(), flow);
        }
        Ok(())
    }

    fn release(&mut self, now: Instant, flow: u32, late: Duration) -> Option<Released<H>> {
        let slot = self.flows.get_mut(flow)?;
        let taken = self.held.pop(slot)?;
        let waited = now.since(taken.arrived);
        if let Policy::Lead(lead) = &self.params.policy {
            let pace = &mut slot.pace;
            self.virtual_time.on_served(lead, pace, taken.new_bytes);
            slot.share = pace.lead_from(lead);
        }
        let counters = &mut slot.counters;
        count(&mut counters.released);
        counters.waited_us = counters.waited_us.saturating_add(waited.as_micros());
        counters.longest_wait_us = counters.longest_wait_us.max(waited.as_micros());
        let all = &mut self.counters;
        count(&mut all.released);
        all.waited_us = all.waited_us.saturating_add(waited.as_micros());
        all.longest_wait_us = all.longest_wait_us.max(waited.as_micros());
        if slot.first == NONE {
            self.sum_up(now);
            self.schedule.remove(self.flows.slots_mut(), flow);
            self.flows.end_waiting(flow);
        } else {
            if self.params.policy == Policy::Taim {
                slot.take_stock(self.params.period);
            }
            self.schedule.update(self.flows.slots_mut(), flow);
        }
        Some(Released {
            handle: taken.handle,
            waited,
            late,
        })
    }
}

impl<M: Kind, H: 'static> core::fmt::Debug for Taim<M, H> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Taim")
            .field("params", &self.params)
            .field("delay", &self.delay)
            .field("waiting", &self.held.count())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

fn count(counter: &mut u64) {
    *counter = counter.wrapping_add(1);
}
