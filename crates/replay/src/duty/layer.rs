//! Contiki's CSMA layer above a duty-cycled MAC, releases 2.5 to 3.0: the times of retransmissions,
//! and the wait of the next frame.
//!
//! The layer's unit of time is the wake-up cycle of the MAC. A frame whose channel was busy or that
//! was not acknowledged waits for at least one cycle. A frame that was queued behind another frame
//! waits for at least one cycle, too.

use redpoll_base::{Instant, Rng};

use super::clock::Clock;
use super::constants::ct;
use super::{LayerConfig, Release, Timing};

#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    config: LayerConfig,
    release: Release,
    clock: Clock,
    last_end: Option<Instant>,
}

impl Layer {
    pub(super) fn new(config: LayerConfig, release: Release, clock: Clock) -> Self {
        Layer {
            config,
            release,
            clock,
            last_end: None,
        }
    }

    /// Returns the time of the first transmission of a frame that enters service at `now`: at once,
    /// or one cycle later if the frame was queued behind another frame.
    pub(super) fn first(&self, now: Instant, timing: &Timing) -> Instant {
        match self.last_end == Some(now) {
            true => self.after(now, timing.cycle_ticks),
            false => now,
        }
    }

    pub(super) fn on_end(&mut self, now: Instant) {
        self.last_end = Some(now);
    }

    /// Returns whether a frame is dropped after this number of transmissions.
    pub(super) fn gives_up(&self, transmissions: u8) -> bool {
        transmissions >= self.config.max_transmissions
    }

    /// Returns when a frame with this number of transmissions is retransmitted.
    pub(super) fn again(
        &self,
        now: Instant,
        transmissions: u8,
        timing: &Timing,
        rng: &mut Rng,
    ) -> Instant {
        let n = transmissions.min(3);
        let cycles = match self.release {
            Release::Contiki25 | Release::Contiki27 => n.saturating_add(1).min(3),
            Release::Contiki30 => 1u8.checked_shl(n.into()).unwrap_or(8),
        };
        let most = timing.cycle_ticks.saturating_mul(cycles.into());
        let ticks = timing
            .cycle_ticks
            .saturating_add(rng.below_u64(most.max(1)));
        self.after(now, ticks)
    }

    fn after(&self, now: Instant, ticks: u64) -> Instant {
        match self.config.coarse_tick {
            true => self.clock.after(now, ticks),
            false => now + ct(ticks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DutyConfig, Method};

    /// Returns the shortest and longest delay after this number of transmissions, in milliseconds.
    fn delays(release: Release, coarse_tick: bool, transmissions: u8) -> (u64, u64) {
        let config = LayerConfig {
            max_transmissions: 5,
            coarse_tick,
            neighbour_queues: 0,
        };
        let timing = Timing::of(&DutyConfig::of(Method::ContikiMac, release));
        let layer = Layer::new(config, release, Clock::with_offset(3_000));
        let mut rng = Rng::new(7);
        let draws = (0..20_000u64).map(|draw| {
            let now = Instant::from_micros(1_000_000 + 13 * draw);
            layer
                .again(now, transmissions, &timing, &mut rng)
                .since(now)
        });
        let mut draws: std::vec::Vec<_> = draws.collect();
        draws.sort();
        (draws[0].as_millis(), draws[draws.len() - 1].as_millis())
    }

    /// Contiki's csma.c draws the delay in ticks of 7.8 ms, from one cycle (125 ms) to a multiple
    /// of the cycle, which is excluded.
    #[test]
    fn delays_before_a_repetition() {
        for release in [Release::Contiki25, Release::Contiki27] {
            assert_eq!(delays(release, false, 0), (125, 242));
            assert_eq!(delays(release, false, 1), (125, 367));
            assert_eq!(delays(release, false, 2), (125, 492));
            assert_eq!(delays(release, false, 4), (125, 492));
        }
        assert_eq!(delays(Release::Contiki30, false, 0), (125, 242));
        assert_eq!(delays(Release::Contiki30, false, 2), (125, 617));
        assert_eq!(delays(Release::Contiki30, false, 3), (125, 1_117));
        assert_eq!(delays(Release::Contiki30, false, 4), (125, 1_117));
    }

    /// A timer may end up to one tick early, because it counts whole ticks of the clock.
    #[test]
    fn coarse_timers_fire_with_the_tick() {
        let (shortest, longest) = delays(Release::Contiki30, true, 0);
        assert_eq!((shortest, longest), (117, 242));
        let config = LayerConfig {
            max_transmissions: 5,
            coarse_tick: true,
            neighbour_queues: 0,
        };
        let layer = Layer::new(config, Release::Contiki30, Clock::with_offset(3_000));
        let fires = layer.after(Instant::from_micros(10_000), 1);
        // The clock ticks at 4,813 µs and at 12,625 µs.
        assert_eq!(fires, Instant::from_micros(12_625));
    }

    #[test]
    fn a_frame_that_waited_behind_another_waits_for_a_cycle() {
        let config = LayerConfig {
            max_transmissions: 5,
            coarse_tick: false,
            neighbour_queues: 0,
        };
        let timing = Timing::of(&DutyConfig::of(Method::ContikiMac, Release::Contiki30));
        let mut layer = Layer::new(config, Release::Contiki30, Clock::with_offset(0));
        let at = Instant::from_millis;
        assert_eq!(layer.first(at(500), &timing), at(500));
        layer.on_end(at(500));
        assert_eq!(layer.first(at(500), &timing), at(625));
        assert_eq!(layer.first(at(501), &timing), at(501));
        assert!(!layer.gives_up(4) && layer.gives_up(5));
    }
}
