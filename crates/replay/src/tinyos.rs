//! The backoffs of TinyOS 2.1.2 with a CC2420 (`CC2420CsmaP.nc`, `CC2420TransmitP.nc`).

use redpoll_base::{Duration, Rng};

/// Jiffies of CC2420_MIN_BACKOFF, plus one jiffy that the driver adds.
const LEAST: u32 = 10 + 1;
/// Jiffies of the random part before the first assessment: 31 of CC2420_BACKOFF_PERIOD.
const INITIAL: u32 = 31 * 10;
/// Jiffies of the random part after a busy assessment: 7 of CC2420_BACKOFF_PERIOD.
const CONGESTION: u32 = 7 * 10;
/// Jiffies of CC2420_TIME_ACK_TURNAROUND, which precede the second assessment and the transmission.
const TURNAROUND: u32 = 7;

/// Draws a backoff in jiffies of 1/32,768 s.
pub(crate) fn backoff(was_busy: bool, rng: &mut Rng) -> Duration {
    let drawn = rng.below(if was_busy { CONGESTION } else { INITIAL });
    let jiffies = u64::from(drawn.saturating_add(LEAST + TURNAROUND));
    Duration::from_micros(jiffies.saturating_mul(15_625) >> 9)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 18 to 327 jiffies at first, 18 to 87 after a busy channel.
    #[test]
    fn only_the_first_backoff_is_long() {
        let mut rng = Rng::new(7);
        for (busy, least, most) in [(false, 549, 9_979), (true, 549, 2_655)] {
            let waits =
                std::vec::Vec::from_iter((0..20_000).map(|_| backoff(busy, &mut rng).as_micros()));
            let (min, max) = (waits.iter().min().copied(), waits.iter().max().copied());
            assert_eq!((min, max), (Some(least), Some(most)), "{busy}");
        }
    }
}
