//! Counters; every dropped frame and datagram has a reason.

use redpoll_base::{Instant, event};

use crate::{DropReason, LossReason};

/// Totals. They wrap after 2³² events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LowpanCounters {
    /// Frames passed to `input`.
    pub frames_received: u32,
    /// Whole packets passed to the upper layer.
    pub packets_received: u32,
    /// Frames built for the MAC.
    pub frames_sent: u32,
    /// Delivered datagrams of the node's own transport.
    pub segments_sent: u32,
    /// Delivered datagrams from queued slots, except those of the node's own transport.
    pub datagrams_sent: u32,

    /// Datagrams whose first fragment was accepted for forwarding.
    pub datagrams_forwarded: u32,
    /// Fragments forwarded and delivered to the next hop.
    pub fragments_forwarded: u32,

    /// Frames dropped as [`DropReason::Malformed`].
    pub malformed: u32,
    /// Frames dropped as [`DropReason::Unsupported`].
    pub unsupported: u32,
    /// Frames dropped as [`DropReason::TooLarge`].
    pub too_large: u32,
    /// Frames dropped as [`DropReason::NoSlot`].
    pub no_slot: u32,
    /// Datagrams dropped as [`DropReason::Overlap`].
    pub overlap: u32,
    /// Frames dropped as [`DropReason::Duplicate`].
    pub duplicate: u32,
    /// Frames dropped as [`DropReason::Orphan`].
    pub orphan: u32,
    /// Frames dropped as [`DropReason::FragmentGap`].
    pub fragment_gap: u32,
    /// Frames dropped as [`DropReason::NoFragmentBuffer`].
    pub no_fragment_buffer: u32,
    /// Datagrams, forwarded fragment by fragment, whose next fragment did not arrive in time.
    pub forward_timeout: u32,
    /// Partial datagrams dropped because no new fragment arrived in time, or because their
    /// reassembly took too long in total.
    pub reassembly_timeout: u32,
    /// Partial datagrams replaced because a newer one needed the slot.
    pub evicted: u32,

    /// Datagrams dropped because the MAC dropped one of their frames.
    pub link_failure: u32,
    /// Datagrams whose payload the upper layer discarded before the last frame was built.
    pub segment_gone: u32,
    /// Queued datagrams that were not well-formed IPv6 packets.
    pub malformed_out: u32,
    /// Datagrams whose headers do not fit into a frame, or that exceed 2,047 bytes.
    pub unsendable: u32,
    /// Datagrams whose recoverable fragments were not acknowledged.
    pub not_recovered: u32,

    /// Datagrams that a sleepy node did not request in time.
    pub expired: u32,
    /// Datagrams dropped because too many others already waited for their sleepy node.
    pub indirect_full: u32,
    /// Datagrams that random early detection dropped because they are not ECN-capable.
    pub red: u32,
    /// Datagrams marked "congestion experienced" by random early detection, and sent.
    pub marked: u32,

    /// Maximum number of slots in use at the same time, for any purpose.
    pub peak_slots: u8,
}

impl LowpanCounters {
    /// Returns the name and count of every reason for dropped frames or datagrams.
    pub fn drops(&self) -> [(&'static str, u32); 20] {
        [
            ("malformed", self.malformed),
            ("unsupported", self.unsupported),
            ("too_large", self.too_large),
            ("no_slot", self.no_slot),
            ("overlap", self.overlap),
            ("duplicate", self.duplicate),
            ("orphan", self.orphan),
            ("fragment_gap", self.fragment_gap),
            ("no_fragment_buffer", self.no_fragment_buffer),
            ("forward_timeout", self.forward_timeout),
            ("reassembly_timeout", self.reassembly_timeout),
            ("evicted", self.evicted),
            ("link_failure", self.link_failure),
            ("segment_gone", self.segment_gone),
            ("malformed_out", self.malformed_out),
            ("unsendable", self.unsendable),
            ("not_recovered", self.not_recovered),
            ("expired", self.expired),
            ("indirect_full", self.indirect_full),
            ("red", self.red),
        ]
    }

    pub(crate) fn dropped(&mut self, reason: DropReason) {
        event!(Debug, "received frame dropped: {reason:?}");
        count(match reason {
            DropReason::Malformed => &mut self.malformed,
            DropReason::Unsupported => &mut self.unsupported,
            DropReason::TooLarge => &mut self.too_large,
            DropReason::NoSlot => &mut self.no_slot,
            DropReason::Overlap => &mut self.overlap,
            DropReason::Duplicate => &mut self.duplicate,
            DropReason::Orphan => &mut self.orphan,
            DropReason::FragmentGap => &mut self.fragment_gap,
            DropReason::NoFragmentBuffer => &mut self.no_fragment_buffer,
        });
    }

    pub(crate) fn lost(&mut self, reason: LossReason) {
        event!(Debug, "datagram lost: {reason:?}");
        count(match reason {
            LossReason::LinkFailure => &mut self.link_failure,
            LossReason::Gone => &mut self.segment_gone,
            LossReason::Malformed => &mut self.malformed_out,
            LossReason::Unsendable => &mut self.unsendable,
            LossReason::Expired => &mut self.expired,
            LossReason::IndirectFull => &mut self.indirect_full,
            LossReason::Red => &mut self.red,
            LossReason::NotRecovered => &mut self.not_recovered,
        });
    }
}

pub(crate) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}

/// Number of datagrams that waited for the radio or were being sent, over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Occupancy {
    /// Present number of datagrams.
    pub current: u8,
    /// Greatest number of datagrams.
    pub peak: u8,
    /// Integral of the number of datagrams over the time up to `since`, in datagrams times
    /// microseconds.
    datagram_us: u64,
    since: Instant,
}

impl Occupancy {
    /// Returns the average number of datagrams from time 0 to `now`, in thousandths.
    pub fn mean_milli(&self, now: Instant) -> u32 {
        let total = self.total(now).saturating_mul(1_000);
        let mean = total.checked_div(now.as_micros()).unwrap_or(0);
        u32::try_from(mean).unwrap_or(u32::MAX)
    }

    pub(crate) fn change(&mut self, now: Instant, current: u8) {
        self.datagram_us = self.total(now);
        self.since = self.since.max(now);
        self.current = current;
        self.peak = self.peak.max(current);
    }

    fn total(&self, now: Instant) -> u64 {
        let us = now.since(self.since).as_micros();
        self.datagram_us
            .saturating_add(us.saturating_mul(u64::from(self.current)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_by_time() {
        let mut occupancy = Occupancy::default();
        occupancy.change(Instant::from_millis(10), 2);
        occupancy.change(Instant::from_millis(20), 3);
        occupancy.change(Instant::from_millis(25), 0);
        // (10·0 + 10·2 + 5·3) / 50
        assert_eq!(occupancy.mean_milli(Instant::from_millis(50)), 700);
        assert_eq!(occupancy.peak, 3);
        assert_eq!(Occupancy::default().mean_milli(Instant::ZERO), 0);
    }
}
