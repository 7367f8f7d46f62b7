//! The link's own word that a segment is lost.
//!
//! One loss says that the segment is gone: it is sent again at once. Two in a
//! row say that the next hop is gone: then the retransmission timer, with its
//! backoff and its limit, decides when to try again, as for any silence.

/// Counts losses in a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkHealth {
    failures: u8,
}

/// Losses in a row after which the link gets a rest.
const LIMIT: u8 = 2;

impl LinkHealth {
    /// The link delivered a segment.
    pub(crate) fn on_sent(&mut self) {
        self.failures = 0;
    }

    /// The link gave a segment up.
    pub(crate) fn on_lost(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    /// The retransmission timer ran out: one segment may try again.
    pub(crate) fn on_timeout(&mut self) {
        self.failures = self.failures.min(LIMIT.saturating_sub(1));
    }

    /// Whether the link is resting.
    pub(crate) fn is_resting(&self) -> bool {
        self.failures >= LIMIT
    }
}
