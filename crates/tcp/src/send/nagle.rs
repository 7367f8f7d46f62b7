//! The Nagle algorithm (RFC 9293 §3.7.4), as modified by Minshall
//! (RFC 9293 appendix A.3).
//!
//! The plain algorithm holds a small segment while *anything* is
//! unacknowledged. Against a delayed ACK that stalls the tail of every
//! transfer. Modified, it waits only for an earlier *small* segment: at most
//! one is in the network at a time, which was the purpose.

use crate::ahead::Ahead;

/// Remembers the last small segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nagle {
    /// Where the last segment ends that was sent and is not full-sized; SND.UNA
    /// once it is acknowledged.
    small_end: Ahead,
}

impl Nagle {
    /// Whether the next small segment must wait for company.
    pub(crate) fn holds(&self) -> bool {
        self.small_end != Ahead::UNA
    }

    /// A small segment left that ends there.
    pub(crate) fn on_small_sent(&mut self, end: Ahead) {
        self.small_end = end;
    }

    /// SND.UNA moved by `advance`.
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
