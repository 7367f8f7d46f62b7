//! Taking back the answer to a loss that was none: by timestamps (Eifel, RFC
//! 3522) or by reported duplicates (RFC 2883, RFC 3708), with the response of
//! RFC 4015 §3.

/// What must be known to take a reduction back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Undo {
    /// RFC 4015's pipe_prev in bytes; 0 if there is nothing to undo.
    pipe_prev: u32,
    /// RFC 3522's RetransmitTS: the timestamp of the first retransmission.
    retransmit_ts: u32,
    /// Bytes sent again of which no duplicate was reported.
    sent_again: u16,
    /// `retransmit_ts` is waited for.
    is_timed: bool,
}

impl Undo {
    /// Recovery begins; `flight` bytes are out.
    pub(crate) fn begin(flight: u32, ssthresh: u32) -> Self {
        Undo {
            pipe_prev: flight.max(ssthresh),
            ..Undo::default()
        }
    }

    /// `len` bytes are sent again, with this timestamp.
    pub(crate) fn on_retransmission(&mut self, len: u32, timestamp: u32) {
        if self.sent_again == 0 {
            self.retransmit_ts = timestamp;
            self.is_timed = true;
        }
        self.sent_again = self.sent_again.saturating_add(len as u16);
    }

    /// RFC 3522 §3.2, steps 4 and 5: the first acknowledgment of new data
    /// after a retransmission echoes `echo`. Returns whether it answers a
    /// segment sent before.
    pub(crate) fn on_first_ack(&mut self, echo: Option<u32>) -> bool {
        if !core::mem::take(&mut self.is_timed) {
            return false;
        }
        let sent = self.retransmit_ts;
        echo.is_some_and(|echo| (echo.wrapping_sub(sent) as i32) < 0)
    }

    /// `len` bytes arrived twice. Returns whether all that was sent again did.
    pub(crate) fn on_dsack(&mut self, len: u32) -> bool {
        if self.sent_again == 0 {
            return false;
        }
        let len = u16::try_from(len).unwrap_or(u16::MAX);
        self.sent_again = self.sent_again.saturating_sub(len);
        self.sent_again == 0
    }

    /// RFC 4015's pipe_prev, once.
    pub(crate) fn take(&mut self) -> Option<u32> {
        let pipe_prev = core::mem::take(self).pipe_prev;
        (pipe_prev > 0).then_some(pipe_prev)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_of_an_earlier_segment_tells() {
        for (echo, spurious) in [(Some(99), true), (Some(100), false), (None, false)] {
            let mut undo = Undo::begin(1000, 500);
            undo.on_retransmission(100, 100);
            undo.on_retransmission(100, 120);
            assert_eq!(undo.on_first_ack(echo), spurious);
            assert!(!undo.on_first_ack(Some(0)), "only the first counts");
            undo.on_retransmission(100, 140);
            assert!(!undo.on_first_ack(Some(120)), "once in a recovery");
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
