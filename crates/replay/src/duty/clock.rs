//! Contiki's clock with 128 ticks per second, which drives Contiki's timers.

use redpoll_base::{Instant, Rng};

use super::constants::CLOCK_HZ;

const SECOND_US: u64 = 1_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Phase of the clock at the node's start, in microseconds.
    offset_us: u64,
}

impl Clock {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Clock::with_offset(rng.below_u64(SECOND_US / CLOCK_HZ))
    }

    pub(super) const fn with_offset(offset_us: u64) -> Self {
        Clock { offset_us }
    }

    /// Returns the time at which a timer of `ticks` ticks fires that is set at `now`. The timer
    /// counts from the previous tick, and so fires up to one tick early.
    pub(super) fn after(&self, now: Instant, ticks: u64) -> Instant {
        let since_us = now.as_micros().saturating_add(self.offset_us);
        let begun = since_us.saturating_mul(CLOCK_HZ) / SECOND_US;
        let fires = begun.saturating_add(ticks).saturating_mul(SECOND_US);
        let at_us = fires.div_ceil(CLOCK_HZ).saturating_sub(self.offset_us);
        Instant::from_micros(at_us).max(now)
    }
}
