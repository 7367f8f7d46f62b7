//! Times of recently received frames.

use redpoll_base::{Duration, Instant};

const KEPT: usize = 16;

/// The receive times of the last frames: any addressee, intact or damaged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activity {
    at: [Instant; KEPT],
    /// Index of the next entry to overwrite.
    next: usize,
    filled: usize,
}

impl Activity {
    pub(super) const NONE: Activity = Activity {
        at: [Instant::ZERO; KEPT],
        next: 0,
        filled: 0,
    };

    pub(super) fn on_heard(&mut self, now: Instant) {
        if let Some(place) = self.at.get_mut(self.next) {
            *place = now;
        }
        self.next = self.next.wrapping_add(1) & (KEPT - 1);
        self.filled = self.filled.saturating_add(1).min(KEPT);
    }

    /// Returns the number of frames received within `span` before `now`, at most 16.
    pub(super) fn level(&self, now: Instant, span: Duration) -> u32 {
        let heard = self.at.iter().take(self.filled);
        heard.filter(|at| now.since(**at) <= span).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_counts_recent_activity() {
        let mut activity = Activity::NONE;
        let at = Instant::from_millis;
        let second = Duration::from_secs(1);
        assert_eq!(activity.level(at(0), second), 0);
        activity.on_heard(at(0));
        activity.on_heard(at(900));
        assert_eq!(activity.level(at(1_000), second), 2);
        assert_eq!(activity.level(at(1_001), second), 1);
        assert_eq!(activity.level(at(1_901), second), 0);
        for ms in 2_000..2_040 {
            activity.on_heard(at(ms));
        }
        assert_eq!(activity.level(at(2_040), second), 16);
    }
}
