//! The number and rate of non-confirmable messages to a peer (draft-ietf-core-cocoa-03 §5).

use redpoll_base::{Duration, Instant};

/// At least 2 of any 16 consecutive messages must be confirmable (the draft, §5, rule 1). One
/// confirmable message after seven others fulfils this rule, and measures the path at even
/// intervals.
const IN_A_ROW: u8 = 7;
/// "a CoAP endpoint can always send non-confirmables if their rate does not
/// exceed 1 B/s" (the draft, §5).
const A_BYTE: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unconfirmed {
    /// Number of messages since the last confirmable message.
    in_a_row: u8,
    not_before: Option<Instant>,
}

impl Unconfirmed {
    pub(crate) fn is_used_up(&self) -> bool {
        self.in_a_row >= IN_A_ROW
    }

    pub(crate) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }

    pub(crate) fn on_confirmable(&mut self) {
        self.in_a_row = 0;
    }

    /// Accounts for a message of `bytes` bytes sent while the estimate is `rto`: the limit is one
    /// message per RTO (the draft, §5, rule 3) or 1 B/s, whichever is faster.
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: usize, rto: Duration) {
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.not_before = Some(now + rto.min(A_BYTE.times(bytes as u64)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn of_any_sixteen_two_are_confirmable() {
        let mut sent = Unconfirmed::default();
        let mut all = Vec::new();
        for message in 0..1_000_u32 {
            // The application itself makes some messages confirmable, at irregular intervals.
            let confirmable = sent.is_used_up() || message % 37 == 5 || message % 41 == 7;
            match confirmable {
                true => sent.on_confirmable(),
                false => sent.on_sent(Instant::ZERO, 10, Duration::from_secs(1)),
            }
            all.push(confirmable);
        }
        for window in all.windows(16) {
            assert!(window.iter().filter(|c| **c).count() >= 2, "{window:?}");
        }
        assert!(all.iter().filter(|c| **c).count() < 200);
    }

    #[test]
    fn the_rate_is_one_a_timeout_or_one_byte_a_second() {
        let now = Instant::from_millis(5_000);
        for (bytes, rto_s, pause_s) in [(100, 2, 2), (12, 32, 12), (32, 32, 32)] {
            let mut sent = Unconfirmed::default();
            sent.on_sent(now, bytes, Duration::from_secs(rto_s));
            assert_eq!(sent.not_before(), Some(now + Duration::from_secs(pause_s)));
        }
        assert_eq!(Unconfirmed::default().not_before(), None);
    }
}
