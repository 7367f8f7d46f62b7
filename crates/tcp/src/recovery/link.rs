//! Losses that the link reports.
//!
//! After one loss, the segment is retransmitted at once. Two consecutive losses suggest that the
//! next hop is gone. Then the retransmission timer, with its backoff and its limit, determines the
//! next attempt, as after any silence.

#[derive(Clone, Debug, Default)]
pub(crate) struct LinkHealth {
    failures: u8,
}

/// Consecutive losses after which the connection waits for the retransmission timer.
const LIMIT: u8 = 2;

impl LinkHealth {
    pub(crate) fn on_sent(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn on_lost(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// Permits another attempt after the retransmission timer expired.
    pub(crate) fn on_timeout(&mut self) {
        self.failures = self.failures.min(LIMIT.saturating_sub(1));
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.failures >= LIMIT
    }
}
