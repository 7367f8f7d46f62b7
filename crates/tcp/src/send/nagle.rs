//! The Nagle algorithm (RFC 9293 §3.7.4), as modified by Minshall (RFC 9293 appendix A.3).
//!
//! The plain algorithm delays a small segment while *any* data are unacknowledged. With a delayed
//! ACK this stalls the end of every transfer. The modified algorithm waits only for an earlier
//! *small* segment, so at most one is in the network at a time.

use crate::ahead::Ahead;

#[derive(Clone, Debug, Default)]
pub(crate) struct Nagle {
    /// End of the last small segment; SND.UNA once it is acknowledged.
    small_end: Ahead,
}

impl Nagle {
    pub(crate) fn holds(&self) -> bool {
        self.small_end != Ahead::UNA
    }

    pub(crate) fn on_small_sent(&mut self, end: Ahead) {
        self.small_end = end;
    }

    pub(crate) fn on_ack(&mut self, advance: u32) {
        self.small_end.on_advance(advance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_segment_at_a_time() {
        let mut nagle = Nagle::default();
        assert!(!nagle.holds());
        nagle.on_small_sent(Ahead::by(10));
        nagle.on_ack(9);
        assert!(nagle.holds());
        nagle.on_ack(1);
        assert!(!nagle.holds());
    }
}
