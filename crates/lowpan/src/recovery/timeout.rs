//! The timeout of acknowledgments: that of RFC 6298 for TCP, which RFC 8931 appendix C suggests
//! "For the lack of a more adapted technique".

use redpoll_base::Duration;

use super::RecoveryConfig;

/// Minimum timeout: round trips over one hop are shorter, but a fragment may wait for the channel.
const LEAST: Duration = Duration::from_millis(100);

/// Number of consecutive timeouts without a round-trip sample after which the timeout is doubled.
const DOUBTFUL: u8 = 4;

/// Estimate of round-trip times in microseconds. All paths of a node share it, because a node
/// seldom has more than one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoundTrip {
    /// Smoothed round-trip time; zero before the first sample.
    smoothed: u32,
    variation: u32,
    /// Longest recent round trip. Each shorter round trip reduces it by 1/16 of the difference.
    longest: u32,
    /// Timeouts since the last sample.
    unclear: u8,
}

impl RoundTrip {
    /// Adds the round trip of an acknowledgment requested only once (RFC 6298 §2.2, §2.3, §3).
    pub(crate) fn sample(&mut self, took: Duration) {
        let took = u32::try_from(took.as_micros()).unwrap_or(u32::MAX).max(1);
        self.unclear = 0;
        self.longest = mean(self.longest, took, 4).max(took);
        if self.smoothed == 0 {
            (self.smoothed, self.variation) = (took, took >> 1);
            return;
        }
        let off = self.smoothed.abs_diff(took);
        self.variation = mean(self.variation, off, 2);
        self.smoothed = mean(self.smoothed, took, 3).max(1);
    }

    /// Counts a timeout. A repeated request gives no round-trip sample, so a timeout that is too
    /// short would persist. Therefore the first timeout of a request doubles after every
    /// [`DOUBTFUL`] consecutive timeouts. RFC 6298 §5.5 doubles it after each one, which costs a
    /// fifth of the goodput over a link that loses fragments.
    pub(crate) fn on_timeout(&mut self) {
        self.unclear = self.unclear.saturating_add(1);
    }

    pub(crate) fn smoothed(&self) -> Duration {
        Duration::from_micros(self.smoothed.into())
    }

    pub(crate) fn wait(&self, backoff: u8, config: &RecoveryConfig) -> Duration {
        let backoff = (self.unclear / DOUBTFUL).max(backoff);
        // RFC 8931 §7.1: the minimum "MUST be more than the maximum expected round-trip time".
        let longest = self.longest.saturating_add(self.longest >> 3);
        let longest = Duration::from_micros(longest.into()).max(LEAST);
        let least = config.arq_timeout_min.unwrap_or(longest);
        let most = config.arq_timeout_max;
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

/// Returns `old`, moved by 1 / 2^`shift` of the difference to `new`.
fn mean(old: u32, new: u32, shift: u32) -> u32 {
    let kept = old.saturating_sub(old.checked_shr(shift).unwrap_or(0));
    kept.saturating_add(new.checked_shr(shift).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_follows_the_round_trip_and_stays_within_its_bounds() {
        let ms = Duration::from_millis;
        let least = ms(100);
        let config = RecoveryConfig {
            arq_timeout_min: Some(least),
            ..RecoveryConfig::default()
        };
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
        assert_eq!(trips.wait(0, &config), least);
        assert_eq!(trips.wait(1, &config), least.times(2));
    }

    /// Checks that the default minimum (RFC 8931 §7.1) adapts to short and long round trips.
    #[test]
    fn by_default_it_exceeds_the_longest_round_trip_of_late() {
        let config = RecoveryConfig::default();
        let ms = Duration::from_millis;
        for usual in [90, 200, 500] {
            let mut trips = RoundTrip::default();
            for _ in 0..100 {
                trips.sample(ms(usual));
            }
            // One of nine round trips takes twice as long as the others.
            for _ in 0..50 {
                trips.sample(ms(2 * usual));
                for _ in 0..8 {
                    let wait = trips.wait(0, &config);
                    assert!(wait > ms(usual + usual / 2), "{usual}: {wait:?}");
                    trips.sample(ms(usual));
                }
            }
            for _ in 0..200 {
                trips.sample(ms(usual));
            }
            let settled = trips.wait(0, &config).as_micros();
            let usual = ms(usual).as_micros();
            assert!(settled > usual && settled < usual * 5 / 4, "{settled}");
        }
        let mut near = RoundTrip::default();
        (0..100).for_each(|_| near.sample(ms(6)));
        assert_eq!(near.wait(0, &config), LEAST);
    }

    /// Checks that the first timeout grows if it is shorter than the round trip of the path.
    #[test]
    fn after_some_timeouts_in_a_row_it_begins_longer() {
        let config = RecoveryConfig::default();
        let mut trips = RoundTrip::default();
        for timeouts in 1..=12 {
            trips.on_timeout();
            let times = [1, 2, 4, 4][timeouts / 4];
            let expected = config.arq_timeout.times(times);
            assert_eq!(trips.wait(0, &config), expected, "{timeouts}");
        }
        trips.sample(Duration::from_millis(700));
        assert_eq!(trips.wait(0, &config), config.arq_timeout_max);
        for _ in 0..50 {
            trips.sample(Duration::from_millis(700));
        }
        let settled = trips.wait(0, &config);
        assert!(settled < Duration::from_millis(800), "{settled:?}");
    }
}
