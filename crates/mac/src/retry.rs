//! Link retries with the random delay of Kumar et al. 2020 §7.1.
//!
//! Frames of two senders that cannot hear each other collide at a common neighbour; after only the
//! few milliseconds of CSMA-CA the retries would collide again. A delay uniform in [0, d] before
//! each retry separates them.

use redpoll_base::{Duration, Rng};

use crate::MacConfig;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Retry {
    attempts: u8,
    /// Whether the rules for a node that listens only briefly apply.
    quick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Another attempt follows after this time.
    After(Duration),
    /// No attempts are left.
    GiveUp,
}

impl Retry {
    /// Starts the attempt after `made` earlier ones: 0 for a new frame, more for a preempted one.
    pub(crate) const fn start(made: u8, quick: bool) -> Self {
        let attempts = made.saturating_add(1);
        Retry { attempts, quick }
    }

    pub(crate) const fn attempts(&self) -> u8 {
        self.attempts
    }

    pub(crate) const fn is_quick(&self) -> bool {
        self.quick
    }

    pub(crate) fn on_attempt(&mut self) {
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Handles a failed attempt, without an acknowledgment or without channel access. `pause` is a
    /// constant part of the delay before the next attempt.
    pub(crate) fn on_failure(
        &mut self,
        config: &MacConfig,
        pause: Duration,
        rng: &mut Rng,
    ) -> Next {
        // A radio with `caps.retries` has already made these retries, so its failure is final.
        let (retries, d) = match self.quick {
            true => (config.indirect_retries, config.indirect_retry_delay),
            false => (config.max_frame_retries, config.link_retry_delay),
        };
        if config.caps.retries || self.attempts > retries {
            return Next::GiveUp;
        }
        let Some(attempts) = self.attempts.checked_add(1) else {
            return Next::GiveUp;
        };
        self.attempts = attempts;
        let d = d.as_micros();
        let delay = Duration::from_micros(rng.below_u64(d.saturating_add(1)));
        Next::After(match self.quick {
            true => delay,
            false => delay + pause,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RadioCaps;

    #[test]
    fn delays_are_uniform_up_to_d() {
        let config = MacConfig::default();
        let mut rng = Rng::new(3);
        let mut quarters = [0u32; 4];
        for _ in 0..40_000 {
            let Next::After(delay) =
                Retry::start(0, false).on_failure(&config, Duration::ZERO, &mut rng)
            else {
                panic!("retries are left");
            };
            let us = delay.as_micros();
            assert!(us <= 40_000);
            quarters[(us / 10_001) as usize] += 1;
        }
        for count in quarters {
            assert!((9_500..10_500).contains(&count), "{quarters:?}");
        }
    }

    #[test]
    fn a_constant_part_precedes_the_random_one() {
        let pause = Duration::from_micros(100_586);
        let config = MacConfig {
            link_retry_delay: Duration::from_micros(1),
            ..MacConfig::default()
        };
        let mut rng = Rng::new(3);
        for _ in 0..8 {
            let Next::After(delay) = Retry::start(0, false).on_failure(&config, pause, &mut rng)
            else {
                panic!("retries are left");
            };
            assert!(
                (100_586..=100_587).contains(&delay.as_micros()),
                "{delay:?}"
            );
            // `pause` does not delay the retries to a node that listens only briefly.
            let Next::After(quick) = Retry::start(0, true).on_failure(&config, pause, &mut rng)
            else {
                panic!("retries are left");
            };
            assert!(quick <= config.indirect_retry_delay, "{quick:?}");
        }
    }

    #[test]
    fn as_many_attempts_as_configured() {
        for max_frame_retries in [0, 1, 9, 254, 255] {
            let config = MacConfig {
                max_frame_retries,
                link_retry_delay: Duration::ZERO,
                ..MacConfig::default()
            };
            let mut rng = Rng::new(3);
            let mut retry = Retry::start(0, false);
            let mut failures = 1u32;
            while retry.on_failure(&config, Duration::ZERO, &mut rng) == Next::After(Duration::ZERO)
            {
                failures += 1;
            }
            // The count of attempts cannot exceed 255, so the attempts end there.
            assert_eq!(failures, (u32::from(max_frame_retries) + 1).min(255));
            assert_eq!(u32::from(retry.attempts()), failures);
        }
    }

    #[test]
    fn the_result_of_a_radio_with_retries_is_final() {
        let config = MacConfig {
            caps: RadioCaps {
                retries: true,
                ..RadioCaps::default()
            },
            ..MacConfig::default()
        };
        let mut rng = Rng::new(3);
        assert_eq!(
            Retry::start(0, false).on_failure(&config, Duration::ZERO, &mut rng),
            Next::GiveUp
        );
    }
}
