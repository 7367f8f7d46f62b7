//! Round-trip time estimation (RFC 6298 §2 to §4, RFC 7323 §4).

use crate::SeqNum;

/// RFC 6298 §4: the clock granularity G, in milliseconds.
const G: u32 = 1;

/// SRTT and RTTVAR are kept in eighths of a millisecond.
const EIGHTHS: u32 = 3;

/// A longer round-trip time counts as this one, 18 hours, lest the sums below
/// need more than 32 bits.
const LONGEST_MS: u32 = 1 << 26;

/// SRTT and RTTVAR, and the segment being timed. Times are in milliseconds.
///
/// One measurement is taken per round trip, timestamps or not, as RFC 6298's
/// weights assume (RFC 7323 §4.2).
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: u32,
    rttvar: u32,
    timed: Option<Timed>,
}

/// The segment being timed.
#[derive(Clone, Copy, Debug)]
struct Timed {
    end: SeqNum,
    /// When it was sent, or last sent again: milliseconds, wrapping.
    at: u32,
    /// It was sent again: only an echo can measure it.
    again: bool,
}

impl RttEstimator {
    pub(crate) const fn new() -> Self {
        RttEstimator {
            srtt: 0,
            rttvar: 0,
            timed: None,
        }
    }

    /// SRTT + max(G, K·RTTVAR), rounded up, or `None` before the first
    /// measurement.
    pub(crate) fn rto(&self) -> Option<u32> {
        // RFC 6298 §2.3, with K = 4.
        let most = self.rttvar.saturating_mul(4).max(G << EIGHTHS);
        self.srtt()?;
        Some(round_up(self.srtt.saturating_add(most)))
    }

    /// SRTT, rounded up, or `None` before the first measurement.
    pub(crate) fn srtt(&self) -> Option<u32> {
        (self.srtt > 0).then(|| round_up(self.srtt))
    }

    /// SRTT, as far as 16 bits hold it; 0 before the first measurement.
    pub(crate) fn srtt_ms(&self) -> u16 {
        u16::try_from(round_up(self.srtt)).unwrap_or(u16::MAX)
    }

    /// A segment that ends at `end` left for the first time.
    pub(crate) fn on_sent(&mut self, end: SeqNum, now: u32) {
        self.timed.get_or_insert(Timed {
            end,
            at: now,
            again: false,
        });
    }

    /// A segment that ends at `end` is sent again.
    pub(crate) fn on_retransmission(&mut self, end: SeqNum, now: u32) {
        let end = self.timed.map_or(end, |timed| timed.end.max(end));
        self.timed = Some(Timed {
            end,
            at: now,
            again: true,
        });
    }

    /// A part of the segment being timed is acknowledged, up to `ack`, and the
    /// rest never will be: it measures the segment.
    pub(crate) fn on_part_acked(&mut self, ack: SeqNum) {
        if let Some(timed) = &mut self.timed {
            timed.end = timed.end.min(ack);
        }
    }

    /// `ack` advanced SND.UNA. `echoed` is the time since the echoed timestamp
    /// where timestamps are in use; `hasty` if a timeout was found spurious and
    /// this is the first measurement since. Returns it if there is one.
    pub(crate) fn on_ack(
        &mut self,
        ack: SeqNum,
        now: u32,
        echoed: Option<u32>,
        hasty: bool,
    ) -> Option<u32> {
        let timed = self.timed.take_if(|timed| timed.end <= ack)?;
        let elapsed = now.wrapping_sub(timed.at);
        let ms = match echoed {
            // RFC 6298 §3, Karn's algorithm: what was sent twice is measured
            // only by a timestamp. One from before the retransmission tells
            // that the original had arrived and its acknowledgment was lost:
            // that would measure the timeout, not the path.
            None if timed.again => return None,
            Some(echoed) if timed.again && echoed > elapsed.saturating_add(G) => return None,
            Some(echoed) => echoed,
            None => elapsed,
        };
        self.sample(ms.clamp(1, LONGEST_MS) << EIGHTHS, hasty);
        Some(ms)
    }

    fn sample(&mut self, r: u32, hasty: bool) {
        if self.srtt == 0 {
            // RFC 6298 §2.2: SRTT <- R, RTTVAR <- R/2.
            self.srtt = r;
            self.rttvar = r / 2;
            return;
        }
        if hasty {
            // RFC 4015 §3.1, step 11: more patience from now on.
            self.srtt = self.srtt.saturating_add((2 * G) << EIGHTHS).max(r);
            self.rttvar = self.rttvar.max(r / 2);
            return;
        }
        // RFC 6298 §2.3, in this order, with alpha = 1/8 and beta = 1/4.
        let deviation = self.srtt.abs_diff(r);
        self.rttvar = weighted(self.rttvar, deviation, 2);
        self.srtt = weighted(self.srtt, r, 3);
    }
}

/// Eighths of a millisecond in milliseconds.
fn round_up(eighths: u32) -> u32 {
    eighths.saturating_add(7) >> EIGHTHS
}

/// `(1 - 1/n)·old + (1/n)·new` with n = 2^`bits`, rounded to nearest and never
/// zero.
fn weighted(old: u32, new: u32, bits: u32) -> u32 {
    let half = (1 << bits) >> 1;
    let sum = (old << bits).wrapping_sub(old).wrapping_add(new);
    (sum.wrapping_add(half) >> bits).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_later_measurements_follow_the_formulas() {
        let mut rtt = RttEstimator::new();
        assert_eq!(rtt.rto(), None);
        rtt.on_sent(SeqNum(10), 0);
        assert_eq!(rtt.on_ack(SeqNum(10), 100, None, false), Some(100));
        assert_eq!(rtt.rto(), Some(100 + 4 * 50));
        rtt.on_sent(SeqNum(20), 200);
        assert_eq!(rtt.on_ack(SeqNum(20), 380, None, false), Some(180));
        // RTTVAR = 0.75·50 + 0.25·80 = 57.5; SRTT = 0.875·100 + 0.125·180 = 110.
        assert_eq!(rtt.rto(), Some(110 + 4 * 57 + 2));
    }

    #[test]
    fn only_the_timed_segment_is_measured() {
        let mut rtt = RttEstimator::new();
        rtt.on_sent(SeqNum(10), 0);
        rtt.on_sent(SeqNum(20), 5);
        assert_eq!(rtt.on_ack(SeqNum(5), 6, None, false), None);
        assert_eq!(rtt.on_ack(SeqNum(20), 30, None, false), Some(30));
        assert_eq!(rtt.on_ack(SeqNum(25), 40, None, false), None);
    }

    #[test]
    fn karn_no_measurement_after_a_retransmission_without_timestamps() {
        let mut rtt = RttEstimator::new();
        rtt.on_sent(SeqNum(10), 0);
        rtt.on_retransmission(SeqNum(10), 60);
        assert_eq!(rtt.on_ack(SeqNum(10), 100, None, false), None);
    }

    #[test]
    fn an_echo_measures_the_retransmission_but_not_the_timeout() {
        let mut rtt = RttEstimator::new();
        for (echoed, measured) in [(40, Some(40)), (100, None)] {
            rtt.on_sent(SeqNum(10), 0);
            rtt.on_retransmission(SeqNum(10), 60);
            assert_eq!(rtt.on_ack(SeqNum(10), 100, Some(echoed), false), measured);
        }
    }

    #[test]
    fn the_clock_may_wrap_and_the_variance_term_is_at_least_g() {
        let mut rtt = RttEstimator::new();
        for n in 0..200u32 {
            let sent = u32::MAX.wrapping_sub(1_000).wrapping_add(n * 50);
            rtt.on_sent(SeqNum(n + 1), sent);
            rtt.on_ack(SeqNum(n + 1), sent.wrapping_add(20), None, false);
        }
        let rto = rtt.rto().unwrap();
        assert_eq!(rto, 21);
    }
}
