//! A flow: its estimates, and its queue of waiting packets.

use redpoll_base::{Duration, Instant};

use super::contention::Recent;
use super::estimate::Estimate;
use super::lead::Pace;
use super::segment::Ends;

/// The index that stands for no entry.
pub(super) const NONE: u32 = u32::MAX;

/// Counters of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowCounters {
    /// Packets seen.
    pub packets: u64,
    /// New payload bytes in both directions, by sequence numbers.
    pub bytes: u64,
    /// Packets that waited and have left.
    pub released: u64,
    /// Total waiting time of the released packets, in microseconds.
    pub waited_us: u64,
    /// Longest time that a packet has waited so far, in microseconds.
    pub longest_wait_us: u64,
}

/// Certainty that a flow exists.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Standing {
    #[default]
    Vacant,
    /// Seen, perhaps forged: packets of the flow pass at once.
    OnProbation,
    /// Each end has acknowledged data of the other: packets of the flow wait.
    Confirmed,
}

/// Memory of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot {
    pub(super) standing: Standing,
    pub(super) ends: Ends,
    pub(super) hash: u32,
    pub(super) estimate: Estimate,
    pub(super) counters: FlowCounters,
    /// New payload bytes of the flow in this period.
    pub(super) bytes: u64,
    /// Smoothed throughput, in 256ths of a byte per second.
    pub(super) throughput: u64,
    /// Key for the order of leaving (see [`FlowSlot::rank`]). It changes when a packet becomes the
    /// first of the flow's queue, and at the end of a period.
    pub(super) share: u64,
    /// Progress of the flow for [`Lead`](super::Lead).
    pub(super) pace: Pace,
    pub(super) confirmed_at: Instant,
    pub(super) active_at: Instant,
    pub(super) is_measured: bool,
    pub(super) recent: Recent,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) waiting: u32,
    /// Number of the flow's first waiting packet, in the order of arrival.
    pub(super) first_number: u64,
    pub(super) place: u32,
    /// Indices of the adjacent flows in the list of idle flows.
    pub(super) older: u32,
    pub(super) newer: u32,
}

impl FlowSlot {
    /// A free slot.
    pub const EMPTY: FlowSlot = FlowSlot {
        standing: Standing::Vacant,
        ends: Ends {
            lower: super::End {
                addr: redpoll_base::Addr::UNSPECIFIED,
                port: 0,
            },
            upper: super::End {
                addr: redpoll_base::Addr::UNSPECIFIED,
                port: 0,
            },
        },
        hash: 0,
        estimate: Estimate::NEW,
        counters: FlowCounters {
            packets: 0,
            bytes: 0,
            released: 0,
            waited_us: 0,
            longest_wait_us: 0,
        },
        bytes: 0,
        throughput: 0,
        share: 0,
        pace: Pace::NEW,
        confirmed_at: Instant::ZERO,
        active_at: Instant::ZERO,
        is_measured: false,
        recent: Recent::NONE,
        first: NONE,
        last: NONE,
        waiting: 0,
        first_number: 0,
        place: NONE,
        older: NONE,
        newer: NONE,
    };

    /// Returns the key for the order of leaving, smallest first: throughput plus the bytes of this
    /// period, or with [`Lead`](super::Lead) the virtual time until which the flow is ahead. The
    /// longest waiting time breaks ties.
    pub(super) fn rank(&self) -> (u64, u64) {
        (self.share, self.first_number)
    }

    /// Recomputes `share` from the flow's data; the caller updates the schedule if the flow is in
    /// it.
    pub(super) fn take_stock(&mut self, period: Duration) {
        let now = rate(self.bytes, period);
        self.share = self.throughput.saturating_add(now);
    }
}

/// Returns a rate in 256ths of a byte per second.
pub(super) fn rate(bytes: u64, time: Duration) -> u64 {
    let scaled = bytes.saturating_mul(256_000_000);
    scaled.checked_div(time.as_micros()).unwrap_or(0)
}

pub(super) fn at<T>(table: &[T], place: u32) -> Option<&T> {
    table.get(usize::try_from(place).ok()?)
}

pub(super) fn at_mut<T>(table: &mut [T], place: u32) -> Option<&mut T> {
    table.get_mut(usize::try_from(place).ok()?)
}
