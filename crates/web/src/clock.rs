//! The clock of a run: requests of a page, and the virtual time that the run should have reached.

use std::time::Duration;

use redpoll_base::Instant;
use redpoll_sim::World;

use crate::message::{Clock, ClockAsk};

/// Maximum number of events until a frame begins, in a step to the next frame.
const EVENTS: usize = 100_000;

impl Clock {
    /// Carries out the request of a page. Returns the request if only the driver of the run can
    /// carry it out: a step, a restart, or a jump in time. Fails with the reason of a refusal.
    pub fn obey(&mut self, ask: ClockAsk) -> Result<Option<ClockAsk>, String> {
        if !self.settable {
            return Err(
                "this mesh runs in real time and cannot pause; only the display of a page can"
                    .to_owned(),
            );
        }
        match ask {
            ClockAsk::Pause => self.paused = true,
            ClockAsk::Resume => self.paused = false,
            ClockAsk::Speed(speed) if speed > 0.0 && speed.is_finite() => {
                self.speed = Some(speed.clamp(0.000_1, 10_000.0));
            }
            ClockAsk::Speed(0.0) => self.speed = None,
            ClockAsk::Speed(_) => return Err("got a speed below 0; allowed: 0 or more".to_owned()),
            ClockAsk::Step => {
                self.paused = true;
                return Ok(Some(ask));
            }
            ClockAsk::Restart | ClockAsk::Seek(_) if self.restartable => return Ok(Some(ask)),
            ClockAsk::Restart | ClockAsk::Seek(_) => {
                return Err(
                    "this run writes files and cannot restart; to restart runs, start the program without output files"
                        .to_owned(),
                );
            }
        }
        Ok(None)
    }
}

/// Real time, virtual time and speed at the last change of the speed, from which [`Anchor::goal`]
/// computes the virtual time that the run should have reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anchor(Option<(Duration, u64, f64)>);

impl Anchor {
    /// Returns the virtual time in microseconds that a run at `t` should have reached at the real
    /// time `now`, which counts from an arbitrary moment; `None` if the run is as fast as possible.
    pub fn goal(&mut self, now: Duration, t: u64, speed: Option<f64>) -> Option<u64> {
        let Some(speed) = speed else {
            self.0 = None;
            return None;
        };
        let (at, from, _) = *match &mut self.0 {
            Some(anchor) if anchor.2 == speed => anchor,
            other => other.insert((now, t, speed)),
        };
        let passed_us = now.saturating_sub(at).as_micros() as f64 * speed;
        let goal = from + passed_us as u64;
        // A run that was too slow does not catch up later.
        if goal > t + (1e6 * speed) as u64 + 1_000 {
            self.0 = Some((now, t, speed));
            return Some(t + (20_000.0 * speed) as u64 + 1);
        }
        Some(goal)
    }
}

/// Handles events until a frame begins, at most until `end`.
pub fn step_to_frame(world: &mut World, end: Instant) {
    let before = world.air().transmissions();
    for _ in 0..EVENTS {
        match world.next_event_at() {
            Some(at) if at <= end && world.air().transmissions() == before => world.run_until(at),
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_speed_and_does_not_catch_up() {
        let mut anchor = Anchor::default();
        let ms = Duration::from_millis;
        assert_eq!(anchor.goal(ms(5), 1_000, Some(2.0)), Some(1_000));
        assert_eq!(anchor.goal(ms(15), 1_000, Some(2.0)), Some(21_000));
        // The run stands still for 10 s, and continues from its place.
        let goal = anchor.goal(ms(10_015), 21_000, Some(2.0)).unwrap();
        assert!(goal < 100_000, "{goal}");
        assert_eq!(anchor.goal(ms(10_020), 21_000, None), None);
        assert_eq!(anchor.goal(ms(10_030), 21_000, Some(1.0)), Some(21_000));
    }
}
