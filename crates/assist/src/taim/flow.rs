//! A flow: what is known of it, and where its waiting packets begin and end.

use redpoll_base::{Duration, Instant};

use super::estimate::Estimate;
use super::lead::Pace;
use super::segment::Ends;

/// The place of nothing in a table.
pub(super) const NONE: u32 = u32::MAX;

/// The outcomes of a flow's packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowCounters {
    /// Packets seen.
    pub packets: u64,
    /// New bytes of payload in both directions, by sequence numbers.
    pub bytes: u64,
    /// Packets that waited and have left.
    pub released: u64,
    /// How long those waited, in microseconds, all together.
    pub waited_us: u64,
    /// How long the longest of them waited, in microseconds.
    pub longest_wait_us: u64,
}

/// Whether a flow is known to exist.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Standing {
    /// The slot is free.
    #[default]
    Vacant,
    /// Seen, perhaps forged: its packets pass at once.
    OnProbation,
    /// Each end has acknowledged what the other one sent: its packets wait.
    Confirmed,
}

/// Memory for one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowSlot {
    pub(super) standing: Standing,
    pub(super) ends: Ends,
    pub(super) hash: u32,
    pub(super) estimate: Estimate,
    pub(super) counters: FlowCounters,
    /// New bytes of this period.
    pub(super) bytes: u64,
    /// Smoothed throughput, in 256ths of a byte a second.
    pub(super) throughput: u64,
    /// That, and what it has had in this period, when its first packet began to be the
    /// first.
    pub(super) share: u64,
    /// How far it is, by [`Lead`](super::Lead).
    pub(super) pace: Pace,
    pub(super) confirmed_at: Instant,
    /// When its last new byte came by.
    pub(super) active_at: Instant,
    pub(super) is_measured: bool,
    /// The first and the last of its waiting packets.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) waiting: u32,
    /// The number of its first waiting packet, in the order of arrival.
    pub(super) first_number: u64,
    pub(super) place: u32,
    /// Its neighbours in the list of those idle for longer and shorter.
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
        first: NONE,
        last: NONE,
        waiting: 0,
        first_number: 0,
        place: NONE,
        older: NONE,
        newer: NONE,
    };

    /// The order of leaving: the smallest share first, which with [`Lead`](super::Lead) is the
    /// virtual time before which the flow is in the lead; then the packet that has waited
    /// longest.
    pub(super) fn rank(&self) -> (u64, u64) {
        (self.share, self.first_number)
    }

    /// Updates `share` to the flow's current data. If the flow is scheduled, the caller must
    /// update the schedule.
    pub(super) fn take_stock(&mut self, period: Duration) {
        let now = rate(self.bytes, period);
        self.share = self.throughput.saturating_add(now);
    }
}

/// Bytes in a time, in 256ths of a byte a second.
pub(super) fn rate(bytes: u64, time: Duration) -> u64 {
    let scaled = bytes.saturating_mul(256_000_000);
    scaled.checked_div(time.as_micros()).unwrap_or(0)
}

/// The entry of a table, by its place as tables keep it.
pub(super) fn at<T>(table: &[T], place: u32) -> Option<&T> {
    table.get(usize::try_from(place).ok()?)
}

/// As [`at`], to change.
pub(super) fn at_mut<T>(table: &mut [T], place: u32) -> Option<&mut T> {
    table.get_mut(usize::try_from(place).ok()?)
}
