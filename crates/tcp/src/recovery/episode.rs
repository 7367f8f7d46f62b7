//! The current recovery, if any (RFC 5681 §3.2, RFC 6582, RFC 6675 §5).
//!
//! This module tracks its start and end, `congestion` changes the window, and the scoreboard stores
//! the state of the data.

use redpoll_base::divide;

use super::frto::{Evidence, Frto};
use crate::ahead::Ahead;
use crate::send::Tick;

/// RFC 5681 §3.2: number of duplicate ACKs that indicate a loss.
pub(crate) const DUP_THRESH: u8 = 3;

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Loss {
    /// A loss that the retransmission timer detected.
    #[default]
    Timeout,
    /// A loss that duplicate, partial or selective acknowledgments revealed.
    Fast,
    /// A loss that the link reported.
    Link,
    /// A loss that path MTU discovery reported: the segment was too large.
    PathMtu,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Mode {
    /// No recovery.
    #[default]
    Open,
    /// Fast recovery, after a loss that acknowledgments or the link reported.
    Fast,
    /// Recovery after a retransmission timeout.
    Timeout,
}

/// Value of `beyond` when SND.UNA is at the end of the data of the recovery.
const AT_RECOVER: Ahead = Ahead::NEXT;

#[derive(Clone, Default, Debug)]
pub(crate) struct Episode {
    /// RFC 6675's RecoveryPoint plus one: a loss of earlier data causes no further reduction. When
    /// SND.UNA reaches it, the ACK "covers more than `recover`" (RFC 6582 §3.2, step 2).
    beyond: Ahead,
    began: Tick,
    mode: Mode,
    /// Number of duplicate ACKs without SACK, less those whose segments a cumulative ACK has since
    /// covered.
    dup_acks: u8,
    /// Whether the next retransmission is sent regardless of cwnd, as the first one is (RFC 5681
    /// §3.2, step 3; RFC 6298 §5.4; RFC 9937 §6.2).
    urgent: bool,
    /// State of the test for a spurious timeout.
    frto: Frto,
}

impl Episode {
    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn is_open(&self) -> bool {
        self.mode == Mode::Open
    }

    pub(crate) fn began(&self) -> Tick {
        self.began
    }

    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Records a retransmission. F-RTO (RFC 5682) permits a single retransmission.
    pub(crate) fn on_retransmitted(&mut self) {
        if !self.urgent {
            self.frto = Frto::Off;
        }
        self.urgent = false;
    }

    /// Records that a retransmission was not sent after all.
    pub(crate) fn on_not_retransmitted(&mut self) {
        self.urgent = true;
    }

    /// Starts or restarts fast recovery for the `flight` outstanding bytes. It restarts after the
    /// loss of a retransmission.
    pub(crate) fn begin(&mut self, flight: u32, now: Tick) {
        self.mode = Mode::Fast;
        self.beyond = Ahead::by(flight.wrapping_add(1));
        self.began = now;
        self.urgent = true;
    }

    /// Starts the recovery after a timeout (RFC 6582 §3.2, step 4). `doubt` starts the test of RFC
    /// 5682 for a spurious timeout.
    pub(crate) fn on_timeout(&mut self, flight: u32, now: Tick, doubt: bool) {
        let was_open = self.is_open();
        self.frto.on_timeout(doubt && was_open);
        self.begin(flight, now);
        self.mode = Mode::Timeout;
        self.dup_acks = 0;
    }

    /// If new data precede retransmissions (RFC 5682 §2.1, step 2b), returns whether new data were
    /// sent; otherwise returns `None`.
    pub(crate) fn tries_new_data(&self, flight: u32) -> Option<bool> {
        let some_went = flight >= self.beyond.bytes();
        self.frto.wants_new_data().then_some(some_went)
    }

    /// Returns whether F-RTO (RFC 5682) waits for an acknowledgment.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.frto.is_on()
    }

    /// Returns whether SND.UNA is before the end of the recovery's data.
    pub(crate) fn is_partial(&self) -> bool {
        self.beyond > AT_RECOVER
    }

    /// Returns whether `end` lies beyond the end of the recovery's data.
    pub(crate) fn is_beyond(&self, end: Ahead) -> bool {
        end >= self.beyond
    }

    /// Evaluates an acknowledgment, and returns whether the timeout was spurious.
    pub(crate) fn judge(&mut self, ack: Evidence) -> bool {
        self.frto.on_ack(ack)
    }

    /// Sets the start time to `now`: the loss of a retransmission made from now on causes another
    /// reduction.
    pub(crate) fn begin_again(&mut self, now: Tick) {
        self.began = now;
    }

    pub(crate) fn cancel(&mut self) {
        *self = Episode {
            beyond: self.beyond.min(AT_RECOVER),
            began: self.began,
            ..Episode::default()
        };
    }

    /// Processes an advance of SND.UNA by `bytes`. Returns whether a recovery ended. RFC 6582 §6:
    /// `recover` cannot fall so far behind that comparisons wrap, because it is dropped once
    /// passed.
    pub(crate) fn on_advance(&mut self, bytes: u32) -> bool {
        self.beyond.on_advance(bytes);
        let ended = !self.is_open() && !self.is_partial();
        if ended {
            self.mode = Mode::Open;
        }
        if self.is_open() {
            self.dup_acks = 0;
        }
        ended
    }

    /// Counts a duplicate ACK (RFC 5681 §2) without SACK. Returns whether it is the one that
    /// indicates a loss at SND.UNA (RFC 6582 §3.2, step 2).
    pub(crate) fn on_dup_ack(&mut self) -> bool {
        self.dup_acks = self.dup_acks.saturating_add(1);
        self.is_open() && self.dup_acks >= DUP_THRESH && self.beyond == Ahead::UNA
    }

    /// Without SACK, returns how many bytes duplicate ACKs report beyond the gap.
    pub(crate) fn dup_acked(&self, mss: u32) -> u32 {
        u32::from(self.dup_acks).wrapping_mul(mss)
    }

    /// Without SACK: discounts one duplicate ACK for each segment in newly acknowledged `bytes`,
    /// except the first. Returns the bytes that these duplicate ACKs had reported.
    pub(crate) fn explain_dup_acks(&mut self, bytes: u32, mss: u32) -> u32 {
        let told = self.dup_acked(mss).min(bytes.saturating_sub(mss));
        let count = divide(told, mss);
        self.dup_acks = self
            .dup_acks
            .saturating_sub(u8::try_from(count).unwrap_or(u8::MAX));
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Tick = Tick::EPOCH;

    #[test]
    fn the_third_duplicate_enters_and_a_full_ack_leaves() {
        let mut episode = Episode::default();
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert_eq!(dups, [false, false, true]);
        episode.begin(100, NOW);
        assert!(!episode.on_dup_ack());
        assert!(!episode.on_advance(99));
        assert!(episode.on_advance(1));
        assert!(!episode.on_advance(20));
    }

    #[test]
    fn duplicates_of_data_resent_after_a_timeout_are_not_a_new_loss() {
        let mut episode = Episode::default();
        episode.on_timeout(100, NOW, false);
        assert!(episode.on_advance(100));
        assert!(!(0..9).any(|_| episode.on_dup_ack()));
        episode.on_advance(1);
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert_eq!(dups, [false, false, true]);
    }

    #[test]
    fn losses_of_one_flight_count_once() {
        let mut episode = Episode::default();
        assert!(episode.is_open());
        episode.begin(50, NOW);
        episode.on_advance(49);
        assert!(!episode.is_open());
        episode.on_advance(1);
        assert!(episode.is_open());
    }

    /// RFC 6582 §6: `recover` must not fall behind by half the sequence space.
    #[test]
    fn a_loss_after_gigabytes_starts_a_recovery() {
        let mut episode = Episode::default();
        for _ in 0..10 {
            episode.on_advance(1 << 29);
        }
        let dups = [(); 3].map(|()| episode.on_dup_ack());
        assert!(dups[2]);
    }

    #[test]
    fn acknowledged_bytes_are_subtracted_from_duplicates() {
        let mut episode = Episode::default();
        for _ in 0..4 {
            episode.on_dup_ack();
        }
        assert_eq!(episode.explain_dup_acks(300, 100), 200);
        assert_eq!(episode.dup_acked(100), 200);
        assert_eq!(episode.explain_dup_acks(1000, 100), 200);
        assert_eq!(episode.dup_acked(100), 0);
    }
}
