//! How long to wait for an acknowledgment: as RFC 6298 has it for TCP, which
//! RFC 8931 appendix C takes over "for the lack of a more adapted technique".

use redpoll_base::Duration;

use super::RecoveryConfig;

/// What the round trips have been, in microseconds; all of a node's together, for
/// it seldom has more than one way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// Zero before the first.
    smoothed: u32,
    variation: u32,
}

impl RoundTrip {
    /// RFC 6298 §2.2, §2.3: one more, of a train that was asked for once (§3).
    pub(crate) fn sample(&mut self, took: Duration) {
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX).max(1);
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (took, took >> 1);
            return;
        }
        let off = self.smoothed.abs_diff(took);
        self.variation = mean(self.variation, off, 2);
        self.smoothed = mean(self.smoothed, took, 3).max(1);
    }

    /// The timeout, doubled `backoff` times.
    pub(crate) fn wait(&self, backoff: u8, config: &RecoveryConfig) -> Duration {
        let (least, most) = (config.arq_timeout_min, config.arq_timeout_max);
        let measured = self
            .variation
            .saturating_mul(4)
            .saturating_add(self.smoothed);
        let first = match self.smoothed {
            0 => config.arq_timeout,
            _ => Duration::from_micros(measured.into()),
        };
        let factor = 1u64.checked_shl(backoff.into()).unwrap_or(u64::MAX);
        first.max(least).times(factor).min(most.max(least))
    }
}

/// `old`, moved by 1 / 2^`shift` of the way to `new`.
fn mean(old: u32, new: u32, shift: u32) -> u32 {
    let kept = old.saturating_sub(old.checked_shr(shift).unwrap_or(0));
    kept.saturating_add(new.checked_shr(shift).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_round_trip_and_stays_within_its_bounds() {
        let config = RecoveryConfig::default();
        let ms = Duration::from_millis;
        let mut trips = RoundTrip::default();
        assert_eq!(trips.wait(0, &config), config.arq_timeout);
        trips.sample(ms(200));
        // R + 4 · R / 2
        assert_eq!(trips.wait(0, &config), ms(600));
        assert_eq!(trips.wait(1, &config), ms(1_200));
        assert_eq!(trips.wait(9, &config), config.arq_timeout_max);
        for _ in 0..100 {
            trips.sample(ms(200));
        }
        let settled = trips.wait(0, &config);
        assert!(ms(199) <= settled && settled <= ms(205), "{settled:?}");
        for _ in 0..100 {
            trips.sample(ms(1));
        }
        assert_eq!(trips.wait(0, &config), config.arq_timeout_min);
        assert_eq!(trips.wait(1, &config), config.arq_timeout_min.times(2));
    }
}
