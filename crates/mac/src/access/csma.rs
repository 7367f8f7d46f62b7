//! Unslotted CSMA-CA (IEEE 802.15.4-2015 §6.2.5.1): the times of channel assessments, and the limit
//! of attempts.
//!
//! NB counts the busy assessments of this attempt, and BE is the backoff exponent. The radio
//! assesses the channel.

use redpoll_base::{Duration, Rng};
use redpoll_wire::ieee802154::timing;

use super::AccessFailure;
use crate::MacConfig;

/// BE may not exceed 8 (IEEE 802.15.4-2015 table 8-94, macMaxBE).
const BE_LIMIT: u8 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Csma {
    nb: u8,
    be: u8,
}

impl Csma {
    /// Starts with NB = 0 and BE = `min_be`, the macMinBE of this frame.
    pub(crate) fn start(config: &MacConfig, min_be: u8) -> Self {
        Csma {
            nb: 0,
            be: min_be.min(max_be(config)),
        }
    }

    pub(crate) const fn was_busy(&self) -> bool {
        self.nb > 0
    }

    /// Draws a backoff, uniform in {0 .. 2^BE - 1} unit backoff periods of 320 µs.
    pub(crate) fn backoff(&self, rng: &mut Rng) -> Duration {
        let slots = 1u32.checked_shl(u32::from(self.be)).unwrap_or(u32::MAX);
        Duration::from_micros(timing::UNIT_BACKOFF_US).times(u64::from(rng.below(slots)))
    }

    /// Handles a busy channel: NB + 1, and BE + 1 up to macMaxBE. Another backoff follows unless NB
    /// exceeds macMaxCSMABackoffs.
    pub(crate) fn on_busy(&mut self, config: &MacConfig) -> Result<(), AccessFailure> {
        self.nb = self.nb.saturating_add(1);
        self.be = self.be.saturating_add(1).min(max_be(config));
        if self.nb > config.max_csma_backoffs {
            return Err(AccessFailure);
        }
        Ok(())
    }
}

fn max_be(config: &MacConfig) -> u8 {
    config.max_be.min(BE_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For every BE of one attempt, all backoffs are equally frequent, within five standard
    /// deviations.
    #[test]
    fn backoffs_are_uniform_over_the_slots_of_each_exponent() {
        let config = MacConfig::default();
        let mut rng = Rng::new(42);
        let mut csma = Csma::start(&config, config.min_be);
        for be in [3u32, 4, 5, 5, 5] {
            let slots = 1usize << be;
            let mut seen = std::vec![0u32; slots];
            let draws_per_slot = 4_000u32;
            for _ in 0..draws_per_slot * slots as u32 {
                let us = csma.backoff(&mut rng).as_micros();
                assert_eq!(us % 320, 0, "backoffs are whole periods");
                seen[(us / 320) as usize] += 1;
            }
            let tolerance = (5.0 * f64::from(draws_per_slot).sqrt()) as u32;
            for count in &seen {
                assert!(count.abs_diff(draws_per_slot) < tolerance, "{seen:?}");
            }
            let _ = csma.on_busy(&config);
        }
    }

    #[test]
    fn the_fifth_busy_assessment_is_a_failure() {
        let config = MacConfig::default();
        let mut csma = Csma::start(&config, config.min_be);
        assert_eq!((csma.nb, csma.be), (0, 3));
        for (nb, be) in [(1, 4), (2, 5), (3, 5), (4, 5)] {
            assert_eq!(csma.on_busy(&config), Ok(()));
            assert_eq!((csma.nb, csma.be), (nb, be));
        }
        assert_eq!(csma.on_busy(&config), Err(AccessFailure));
    }

    #[test]
    fn extreme_csma_parameters_are_limited() {
        let config = MacConfig {
            min_be: 200,
            max_be: 200,
            max_csma_backoffs: 255,
            ..MacConfig::default()
        };
        let mut csma = Csma::start(&config, config.min_be);
        let mut rng = Rng::new(1);
        for _ in 0..255 {
            assert!(csma.backoff(&mut rng) < Duration::from_micros(320 * 256));
            assert_eq!(csma.on_busy(&config), Ok(()));
        }
        let none = MacConfig {
            min_be: 0,
            max_be: 0,
            max_csma_backoffs: 0,
            ..MacConfig::default()
        };
        let mut csma = Csma::start(&none, none.min_be);
        assert_eq!(csma.backoff(&mut rng), Duration::ZERO);
        assert_eq!(csma.on_busy(&none), Err(AccessFailure));
    }
}
