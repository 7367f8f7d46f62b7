//! The Nagle algorithm (RFC 9293 §3.7.4), as modified by Minshall
//! (RFC 9293 appendix A.3).
//!
//! The plain algorithm holds a small segment while *anything* is
//! unacknowledged. Against a delayed ACK that stalls the tail of every
//! transfer. Modified, it waits only for an earlier *small* segment: at most
//! one is in the network at a time, which was the purpose.

/// Remembers the last small segment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nagle {
    /// How far beyond SND.UNA the last segment ends that was sent and is not
    /// full-sized; 0 once it is acknowledged.
    small_end: u16,
}

impl Nagle {
    /// Whether the next small segment must wait for company.
    pub(crate) fn holds(&self) -> bool {
        self.small_end > 0
    }

    /// A small segment left that ends `end` beyond SND.UNA.
    pub(crate) fn on_small_sent(&mut self, end: u32) {
        self.small_end = u16::try_from(end).unwrap_or(u16::MAX);
    }

    /// SND.UNA moved by `advance`.
    pub(crate) fn on_ack(&mut self, advance: u32) {
        let left = u32::from(self.small_end).saturating_sub(advance);
        self.small_end = left as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_segment_at_a_time() {
        let mut nagle = Nagle::default();
        assert!(!nagle.holds());
        nagle.on_small_sent(10);
        nagle.on_ack(9);
        assert!(nagle.holds());
        nagle.on_ack(1);
        assert!(!nagle.holds());
    }
}
