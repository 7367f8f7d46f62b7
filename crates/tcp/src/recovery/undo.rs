//! Detection of spurious losses by timestamps (Eifel, RFC 3522) or reported duplicates (RFC 2883,
//! RFC 3708), for the response of RFC 4015 §3.

use core::num::NonZero;

use crate::ahead::window;
use crate::seq::Low;
use crate::{SeqNum, SeqRange};

#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// RFC 4015's pipe_prev, in bytes; 0 if there is nothing to undo.
    pipe_prev: u16,
    /// Retransmitted bytes of which no duplicate was reported.
    sent_again: u16,
    /// Sequence number from which a reported duplicate counts: the start of the earliest
    /// retransmission, or the end of the last duplicate that was counted.
    reported: Low,
    /// RFC 3522's RetransmitTS: timestamp of the first retransmission, until new data are
    /// acknowledged.
    retransmit_ts: Option<Steps>,
}

/// A timestamp divided by 16, with the lowest bit set so that it is not zero: steps of 32 ms. The
/// order of two timestamps is correct if they are less than 2^19 ms (8.7 minutes) apart. After a
/// longer silence an error is harmless, because an undo then allows no more than a restart after
/// idle time does (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug)]
struct Steps(NonZero<u16>);

impl Steps {
    fn of(timestamp: u32) -> Steps {
        Steps(NonZero::<u16>::MIN | (timestamp >> 4) as u16)
    }

    fn is_before(self, other: Steps) -> bool {
        (self.0.get().wrapping_sub(other.0.get()) as i16) < 0
    }
}

impl Undo {
    pub(crate) fn begin(una: SeqNum, flight: u32, ssthresh: u32) -> Self {
        Undo {
            pipe_prev: window(flight.max(ssthresh)),
            reported: Low::of(una),
            ..Undo::default()
        }
    }

    pub(crate) fn on_retransmission(&mut self, len: u32, timestamp: u32) {
        if self.sent_again == 0 {
            self.retransmit_ts = Some(Steps::of(timestamp));
        }
        self.sent_again = window(u32::from(self.sent_again).wrapping_add(len));
    }

    /// Processes the first acknowledgment of new data after a retransmission, which echoes `echo`
    /// (RFC 3522 §3.2, steps 4 and 5). Returns whether it answers the original transmission.
    pub(crate) fn on_first_ack(&mut self, echo: Option<u32>) -> bool {
        let (sent, echo) = (self.retransmit_ts.take(), echo.map(Steps::of));
        sent.is_some_and(|sent| echo.is_some_and(|echo| echo.is_before(sent)))
    }

    /// Processes the report that `block` arrived twice; segments have up to `mss` bytes. Returns
    /// whether all retransmitted data arrived twice. RFC 2883 §4: "each duplicate contiguous
    /// sequence of data received is reported in at most one D-SACK block", and such a block covers
    /// one segment. The function ignores a longer block, and a block that was reported before: the
    /// ACK itself may have arrived twice. A report out of order is therefore ignored, which leaves
    /// the reduction in force.
    pub(crate) fn on_dsack(&mut self, block: SeqRange, mss: u32) -> bool {
        let is_new = Low::of(block.start).is_at_or_behind(self.reported);
        if self.sent_again == 0 || !is_new || block.len() > mss {
            return false;
        }
        self.reported = Low::of(block.end);
        self.sent_again = self.sent_again.saturating_sub(window(block.len()));
        self.sent_again == 0
    }

    /// Returns RFC 4015's pipe_prev and clears the state; `None` if there is nothing to undo.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let pipe_prev = core::mem::take(self).pipe_prev;
        (pipe_prev > 0).then_some(u32::from(pipe_prev))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_timestamp_echo_reveals_a_spurious_retransmission() {
        let sent = 1 << 20;
        let later = sent + 120_000;
        for (echo, spurious) in [
            (Some(sent - 32), true),
            (Some(sent), false),
            (Some(later), false),
            (None, false),
        ] {
            let mut undo = Undo::begin(UNA, 1000, 500);
            undo.on_retransmission(100, sent);
            undo.on_retransmission(100, later);
            assert_eq!(undo.on_first_ack(echo), spurious);
            assert!(!undo.on_first_ack(Some(0)), "only the first ACK counts");
            undo.on_retransmission(100, later);
            assert!(!undo.on_first_ack(Some(sent)), "once in a recovery");
        }
    }

    const UNA: SeqNum = SeqNum(u32::MAX - 150);

    fn block(start: u32, end: u32) -> SeqRange {
        SeqRange::new(UNA + start, UNA + end)
    }

    #[test]
    fn all_that_was_sent_again_must_be_reported() {
        let mut undo = Undo::begin(UNA, 1000, 5000);
        assert!(!undo.on_dsack(block(0, 100), 100), "no retransmission");
        undo.on_retransmission(200, 0);
        assert!(!undo.on_dsack(block(0, 100), 100));
        assert!(undo.on_dsack(block(100, 200), 100));
        assert_eq!(undo.take(), Some(5000));
        assert_eq!(undo.take(), None);
    }

    #[test]
    fn only_new_reports_of_one_segment_count_for_undo() {
        let mut undo = Undo::begin(UNA, 1000, 5000);
        undo.on_retransmission(200, 0);
        assert!(!undo.on_dsack(block(0, 100), 100));
        for again in [block(0, 100), block(50, 150), block(0, 0)] {
            assert!(!undo.on_dsack(again, 100), "{again:?}");
        }
        assert!(
            !undo.on_dsack(block(100, 201), 100),
            "longer than any segment"
        );
        let before = SeqRange::new(UNA - 100, UNA);
        assert!(!Undo::begin(UNA, 1000, 5000).on_dsack(before, 100));
        assert!(undo.on_dsack(block(100, 200), 100));
    }
}
