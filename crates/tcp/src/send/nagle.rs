//! The Nagle algorithm (RFC 9293 §3.7.4), as modified by Minshall
//! (RFC 9293 appendix A.3).
//!
//! The plain algorithm holds a small segment while *anything* is
//! unacknowledged. Against a delayed ACK that stalls the tail of every
//! transfer. Modified, it waits only for an earlier *small* segment: at most
//! one is in the network at a time, which was the purpose.

use crate::SeqNum;

/// Remembers the last small segment.
#[derive(Clone, Debug)]
pub(crate) struct Nagle {
    /// One past the end of the last segment sent that was not full-sized.
    small_end: SeqNum,
}

impl Nagle {
    pub(crate) fn new(iss: SeqNum) -> Self {
        Nagle { small_end: iss }
    }

    /// Whether the next small segment must wait for company.
    pub(crate) fn holds(&self, una: SeqNum) -> bool {
        una < self.small_end
    }

    pub(crate) fn on_small_sent(&mut self, end: SeqNum) {
        self.small_end = end;
    }

    /// Keeps the memory from growing so old that the order wraps.
    pub(crate) fn on_ack(&mut self, una: SeqNum) {
        self.small_end = self.small_end.max(una);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_segment_at_a_time() {
        let mut nagle = Nagle::new(SeqNum(0));
        assert!(!nagle.holds(SeqNum(0)));
        nagle.on_small_sent(SeqNum(10));
        assert!(nagle.holds(SeqNum(9)));
        nagle.on_ack(SeqNum(10));
        assert!(!nagle.holds(SeqNum(10)));
    }
}
