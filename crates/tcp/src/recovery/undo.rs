//! Taking back the answer to a loss that was none: by timestamps (Eifel, RFC
//! 3522) or by reported duplicates (RFC 2883, RFC 3708), with the response of
//! RFC 4015 §3.

use core::num::NonZero;

use crate::ahead::window;

/// What must be known to take a reduction back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// RFC 4015's pipe_prev in bytes; 0 if there is nothing to undo.
    pipe_prev: u16,
    /// Bytes sent again of which no duplicate was reported.
    sent_again: u16,
    /// RFC 3522's RetransmitTS: the timestamp of the first retransmission, until
    /// new data is acknowledged.
    retransmit_ts: Option<Steps>,
}

/// A timestamp in steps of 32 ms (of 16, made odd): two within nine minutes of each
/// other are in order, or equal. After a longer silence whatever is found out
/// does no harm: what is taken back then is no more than a restart after idle
/// time allows (RFC 5681 §4.1).
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
    /// Recovery begins; `flight` bytes are out.
    pub(crate) fn begin(flight: u32, ssthresh: u32) -> Self {
        Undo {
            pipe_prev: window(flight.max(ssthresh)),
            ..Undo::default()
        }
    }

    /// `len` bytes are sent again, with this timestamp.
    pub(crate) fn on_retransmission(&mut self, len: u32, timestamp: u32) {
        if self.sent_again == 0 {
            self.retransmit_ts = Some(Steps::of(timestamp));
        }
        self.sent_again = window(u32::from(self.sent_again).wrapping_add(len));
    }

    /// RFC 3522 §3.2, steps 4 and 5: the first acknowledgment of new data
    /// after a retransmission echoes `echo`. Returns whether it answers a
    /// segment sent before.
    pub(crate) fn on_first_ack(&mut self, echo: Option<u32>) -> bool {
        let (sent, echo) = (self.retransmit_ts.take(), echo.map(Steps::of));
        sent.is_some_and(|sent| echo.is_some_and(|echo| echo.is_before(sent)))
    }

    /// `len` bytes arrived twice. Returns whether all that was sent again did.
    pub(crate) fn on_dsack(&mut self, len: u32) -> bool {
        if self.sent_again == 0 {
            return false;
        }
        self.sent_again = self.sent_again.saturating_sub(window(len));
        self.sent_again == 0
    }

    /// RFC 4015's pipe_prev, once.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let pipe_prev = core::mem::take(self).pipe_prev;
        (pipe_prev > 0).then_some(u32::from(pipe_prev))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_of_an_earlier_segment_tells() {
        let sent = 1 << 20;
        let later = sent + 120_000;
        for (echo, spurious) in [
            (Some(sent - 32), true),
            (Some(sent), false),
            (Some(later), false),
            (None, false),
        ] {
            let mut undo = Undo::begin(1000, 500);
            undo.on_retransmission(100, sent);
            undo.on_retransmission(100, later);
            assert_eq!(undo.on_first_ack(echo), spurious);
            assert!(!undo.on_first_ack(Some(0)), "only the first counts");
            undo.on_retransmission(100, later);
            assert!(!undo.on_first_ack(Some(sent)), "once in a recovery");
        }
    }

    #[test]
    fn all_that_was_sent_again_must_be_reported() {
        let mut undo = Undo::begin(1000, 5000);
        assert!(!undo.on_dsack(100), "nothing was sent again");
        undo.on_retransmission(200, 0);
        assert!(!undo.on_dsack(100));
        assert!(undo.on_dsack(100));
        assert_eq!(undo.take(), Some(5000));
        assert_eq!(undo.take(), None);
    }
}
