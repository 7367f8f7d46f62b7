//! Probing a closed window (RFC 9293 §3.8.6.1).
//!
//! The same timer overrides silly-window avoidance when a window stays open
//! too little (§3.8.6.2.1, rule 4).

use crate::timers::doubled;

/// Paces window probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Persist {
    /// Probes since the window was last open; with [`DUE`] if one is to be sent,
    /// and with [`SMALL`] while the window is open but too small.
    sent: u8,
    /// Probes since the peer was last heard.
    unanswered: u8,
}

const DUE: u8 = 1 << 7;
const SMALL: u8 = 1 << 6;

/// How long a window may stay open but too small for a segment that is worth
/// sending, in milliseconds: the override timeout of RFC 9293 §3.8.6.2.1, which
/// "should be in the range 0.1 - 1.0 seconds".
const OVERRIDE_MS: u32 = 500;

impl Persist {
    /// How long to wait for the next probe, in milliseconds.
    ///
    /// SHLD-29: the first one after the retransmission timeout; SHLD-30: then
    /// exponentially longer.
    pub(crate) fn interval(&self, rto: u32, max: u32) -> u32 {
        if self.sent & SMALL != 0 {
            return OVERRIDE_MS;
        }
        doubled(rto, self.sent & !DUE, max.max(rto))
    }

    /// The window holds data back because it is closed, or because it is
    /// `small`. Returns whether it was the other before: then the timer starts
    /// again, and the count of probes with it.
    pub(crate) fn on_window(&mut self, small: bool) -> bool {
        let turns = small != (self.sent & SMALL != 0);
        if turns {
            self.sent = if small { SMALL } else { 0 };
        }
        turns
    }

    /// The timer ran out. Returns whether to go on: not if the peer has been
    /// silent for `max_unanswered` probes.
    ///
    /// MUST-37: as long as it answers, the peer may keep its window closed.
    pub(crate) fn on_timeout(&mut self, max_unanswered: u8) -> bool {
        self.sent |= DUE;
        self.unanswered < max_unanswered
    }

    /// Probes since the window was last open.
    pub(crate) fn probes(&self) -> u8 {
        self.sent & !DUE
    }

    /// Whether a probe is to be sent.
    pub(crate) fn is_due(&self) -> bool {
        self.sent & DUE != 0
    }

    pub(crate) fn on_probe_sent(&mut self) {
        self.sent = (self.sent & !(DUE | SMALL)).wrapping_add(1).min(32);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// An acceptable segment arrived.
    pub(crate) fn on_heard(&mut self) {
        self.unanswered = 0;
    }

    /// There is no need to probe (any more).
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
    fn a_small_window_has_the_override_timeout_whatever_was_probed_before() {
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
    fn only_silence_ends_it() {
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
