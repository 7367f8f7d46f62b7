//! Probes of a closed window (RFC 9293 §3.8.6.1).
//!
//! The timer of these probes also overrides the avoidance of silly windows when a window stays too
//! small (RFC 9293 §3.8.6.2.1, rule 4).

use crate::timers::doubled;

/// Counters that pace window probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Persist {
    /// Probes since the window was last open. Bit [`DUE`]: a probe must be sent; bit [`SMALL`]: the
    /// window is open but too small.
    sent: u8,
    /// Probes since the last segment from the peer.
    unanswered: u8,
}

const DUE: u8 = 1 << 7;
const SMALL: u8 = 1 << 6;

/// Time for which a window may be open but too small for a segment, in milliseconds: the override
/// timeout of RFC 9293 §3.8.6.2.1, which "should be in the range 0.1 - 1.0 seconds".
const OVERRIDE_MS: u32 = 500;

impl Persist {
    /// Returns the delay until the next probe in milliseconds. SHLD-29: the first delay is the
    /// retransmission timeout; SHLD-30: it grows exponentially.
    pub(crate) fn interval(&self, rto: u32, max: u32) -> u32 {
        if self.sent & SMALL != 0 {
            return OVERRIDE_MS;
        }
        doubled(rto, self.sent & !DUE, max.max(rto))
    }

    /// Records why the window blocks data: it is closed, or it is `small`. Returns whether the
    /// reason changed; then the timer and the count of probes restart.
    pub(crate) fn on_window(&mut self, small: bool) -> bool {
        let turns = small != (self.sent & SMALL != 0);
        if turns {
            self.sent = if small { SMALL } else { 0 };
        }
        turns
    }

    /// Processes a timeout. Returns whether the connection continues: `false` after
    /// `max_unanswered` probes without a segment from the peer. MUST-37: the peer may keep its
    /// window closed as long as it answers.
    pub(crate) fn on_timeout(&mut self, max_unanswered: u8) -> bool {
        self.sent |= DUE;
        self.unanswered < max_unanswered
    }

    pub(crate) fn probes(&self) -> u8 {
        self.sent & !DUE
    }

    pub(crate) fn is_due(&self) -> bool {
        self.sent & DUE != 0
    }

    pub(crate) fn on_probe_sent(&mut self) {
        self.sent = (self.sent & !(DUE | SMALL)).wrapping_add(1).min(32);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    pub(crate) fn on_heard(&mut self) {
        self.unanswered = 0;
    }

    pub(crate) fn stop(&mut self) {
        *self = Persist::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_up_to_the_limit() {
        let (rto, max) = (1_000, 10_000);
        let mut persist = Persist::default();
        let mut seconds = [0; 6];
        for slot in &mut seconds {
            *slot = persist.interval(rto, max) / 1000;
            persist.on_probe_sent();
        }
        assert_eq!(seconds, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn a_small_window_has_the_override_timeout_after_any_earlier_probe() {
        let mut persist = Persist::default();
        (0..9).for_each(|_| persist.on_probe_sent());
        persist.on_timeout(12);
        assert!(persist.on_window(true) && !persist.is_due());
        assert!(!persist.on_window(true));
        assert_eq!(persist.interval(2_000, 10_000), OVERRIDE_MS);
        assert!((100..=1_000).contains(&OVERRIDE_MS));
        assert!(persist.on_window(false));
        assert_eq!(persist.interval(2_000, 10_000), 2_000);
    }

    #[test]
    fn only_unanswered_probes_end_the_connection() {
        let mut persist = Persist::default();
        for _ in 0..3 {
            assert!(persist.on_timeout(3));
            persist.on_probe_sent();
        }
        assert!(!persist.on_timeout(3));
        persist.on_heard();
        assert!(persist.on_timeout(3));
    }
}
