//! Counters of the engine, and the state of a flow.

use redpoll_base::Duration;

use super::flow::FlowCounters;
use super::segment::Ends;

/// Counters of all packets and flows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counters {
    /// Packets that waited and have left.
    pub released: u64,
    /// Total waiting time of the packets that have waited, in microseconds.
    pub waited_us: u64,
    /// Longest time that a packet has waited so far, in microseconds.
    pub longest_wait_us: u64,
    /// Packets that left because [`Params::max_wait`](super::Params::max_wait) or
    /// [`Lead::max_hold`](super::Lead::max_hold) was over.
    pub overdue: u64,
    /// Packets that left before their turn for lack of room.
    pub pushed_out: u64,
    /// Packets passed at once: not TCP over IPv6, or a fragment.
    pub foreign: u64,
    /// Packets passed at once: truncated, or with invalid headers.
    pub malformed: u64,
    /// Packets passed at once: of flows on probation.
    pub on_probation: u64,
    /// Packets passed at once: of flows for which there was no room.
    pub untracked: u64,
    /// Packets passed at once: of confirmed flows that do not compete for a slow network
    /// ([`Params::contention`](super::Params::contention)).
    pub uncontended: u64,
    /// Segments with sequence numbers that are impossible for their flow. They wait like others,
    /// but the estimates ignore them.
    pub nonsense: u64,
    /// Flows on probation replaced by others.
    pub probation_evicted: u64,
    /// Confirmed flows replaced by newly confirmed ones; the flow that has been idle for longest is
    /// replaced first.
    pub evicted: u64,
    /// Flows confirmed.
    pub confirmed: u64,
    /// Completed periods.
    pub periods: u64,
}

/// The state of a flow, for display.
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// Both ends of the flow.
    pub ends: Ends,
    /// Whether each end has acknowledged data of the other; only then its packets wait.
    pub is_confirmed: bool,
    /// Whether the flow is closed or reset.
    pub is_over: bool,
    /// Smoothed throughput at the end of the last period, in bytes per second.
    pub throughput: u64,
    /// Key for the order of leaving, smallest first: throughput plus the bytes of this period, in
    /// 256ths of a byte per second. It is computed when a packet becomes the first of the flow's
    /// queue, and at the end of a period. With [`Policy::Lead`](super::Policy::Lead) the key is a
    /// virtual time.
    pub share: u64,
    /// Round-trip time, if known.
    pub rtt: Option<Duration>,
    /// Expected retransmission timeout of the flow's ends, if known.
    pub rto: Option<Duration>,
    /// Number of waiting packets.
    pub waiting: u32,
    /// Counters of the flow's packets.
    pub counters: FlowCounters,
}
