//! Clocks of nodes, each with its own drift.
//!
//! A world has one exact time. A node's time is the count of its oscillator since the run began,
//! rounded down to whole microseconds, so it never runs backwards. A timer at a node's time expires
//! at the first microsecond of the world at which the node's clock has reached that time.

use redpoll_base::{Duration, Instant};

use super::Seed;

/// Clock of a node relative to the time of the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Oscillator {
    /// Drift in parts per billion, positive if fast.
    drift_ppb: i64,
    /// Sum of all calls of [`Oscillator::step`] so far.
    ahead: Duration,
}

const BILLION: i64 = 1_000_000_000;

impl Oscillator {
    /// Returns a clock that is fast by `drift_ppm` parts per million, limited to ±1,000.
    pub fn new(drift_ppm: f64) -> Oscillator {
        let drift_ppb = libm::round(drift_ppm * 1_000.0).clamp(-1e6, 1e6) as i64;
        Oscillator {
            drift_ppb,
            ahead: Duration::ZERO,
        }
    }

    /// Draws the drift of a node's clock uniformly from -`range_ppm` to `range_ppm`.
    pub fn draw(range_ppm: f64, seed: Seed, node: usize) -> Oscillator {
        if range_ppm <= 0.0 {
            return Oscillator::default();
        }
        let mut rng = seed.node_stream("clock", node);
        Oscillator::new(range_ppm * (2.0 * crate::fault::unit(&mut rng) - 1.0))
    }

    /// Sets the clock forward.
    pub fn step(&mut self, by: Duration) {
        self.ahead = Duration::from_micros(self.ahead.as_micros().saturating_add(by.as_micros()));
    }

    #[cfg(test)]
    pub fn drift_ppm(&self) -> f64 {
        self.drift_ppb as f64 / 1_000.0
    }

    /// Returns the time of this clock at the world's time `at`.
    pub fn local(&self, at: Instant) -> Instant {
        self.convert(at, |at, ticks| at * ticks / BILLION as u128) + self.ahead
    }

    /// Returns the world's first microsecond at which this clock shows `local` or more, including
    /// the steps so far.
    pub fn global(&self, local: Instant) -> Instant {
        if local == Instant::FAR_FUTURE {
            return local;
        }
        let local = Instant::ZERO + local.since(Instant::ZERO).minus(self.ahead);
        self.convert(local, |local, ticks| {
            (local * BILLION as u128).div_ceil(ticks)
        })
    }

    /// Converts a time in µs with `by(time, ticks)`; this clock counts `ticks` ns per second.
    fn convert(&self, time: Instant, by: impl FnOnce(u128, u128) -> u128) -> Instant {
        if self.drift_ppb == 0 || time == Instant::FAR_FUTURE {
            return time;
        }
        let ticks = (BILLION + self.drift_ppb) as u128;
        let us = by(u128::from(time.as_micros()), ticks);
        Instant::from_micros(u64::try_from(us).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Rng;

    #[test]
    fn a_fast_clock_gets_ahead_and_a_slow_one_falls_behind() {
        let hour = Instant::from_millis(3_600_000);
        let shows = |ppm| Oscillator::new(ppm).local(hour).as_micros() as i64 - 3_600_000_000;
        assert_eq!(shows(20.0), 72_000);
        assert_eq!(shows(-20.0), -72_000);
        assert_eq!(shows(0.5), 1_800);
        assert_eq!(shows(0.0), 0);
        assert_eq!(shows(5_000.0), shows(1_000.0), "cut off");
    }

    /// Checks that a timer expires in the first microsecond in which the clock shows its time.
    #[test]
    fn both_ways_belong_together() {
        let mut rng = Rng::new(5);
        for _ in 0..100_000 {
            let drift = f64::from(rng.below(2_000_001)) / 1_000.0 - 1_000.0;
            let clock = Oscillator::new(drift);
            let time = Instant::from_micros(rng.next_u64() >> rng.below(64).max(8));
            let due = clock.global(time);
            assert!(clock.local(due) >= time, "{drift} {time:?}");
            if let Some(before) = due.as_micros().checked_sub(1) {
                assert!(
                    clock.local(Instant::from_micros(before)) < time,
                    "{drift} {time:?}"
                );
            }
            let next = Instant::from_micros(time.as_micros() + 1);
            assert!(clock.local(next) >= clock.local(time), "{drift} {time:?}");
            assert!(clock.global(clock.local(time)) <= time, "{drift} {time:?}");
        }
        for clock in [Oscillator::new(900.0), Oscillator::new(-900.0)] {
            assert_eq!(clock.local(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
            assert_eq!(clock.global(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
            assert_eq!(clock.local(Instant::ZERO), Instant::ZERO);
        }
    }

    #[test]
    fn a_step_sets_a_clock_forward() {
        let mut clock = Oscillator::new(10.0);
        let (before, now) = (
            clock.local(Instant::from_millis(5_000)),
            Instant::from_millis(5_001),
        );
        clock.step(Duration::from_secs(60));
        assert!(clock.local(now).since(before) >= Duration::from_secs(60));
        let due = clock.global(Instant::from_millis(70_000));
        assert!(clock.local(due) >= Instant::from_millis(70_000));
        assert!(due < Instant::from_millis(10_001));
        assert_eq!(clock.global(Instant::from_millis(59_000)), Instant::ZERO);
        assert_eq!(clock.local(Instant::FAR_FUTURE), Instant::FAR_FUTURE);
    }

    #[test]
    fn drifts_are_drawn_evenly_within_their_range() {
        let draw = |node| Oscillator::draw(20.0, Seed(3), node).drift_ppm();
        let drifts: Vec<f64> = (0..2_000).map(draw).collect();
        assert!(drifts.iter().all(|drift| drift.abs() <= 20.0));
        let below = |limit: f64| drifts.iter().filter(|drift| **drift < limit).count();
        for (limit, expected) in [(-10.0, 500), (0.0, 1_000), (10.0, 1_500)] {
            assert!(
                below(limit).abs_diff(expected) < 90,
                "{limit}: {}",
                below(limit)
            );
        }
        assert_eq!(draw(7), draw(7));
        assert_eq!(Oscillator::draw(0.0, Seed(3), 7), Oscillator::default());
    }
}
