//! Round-trip time estimation (RFC 6298 §2 to §4, RFC 7323 §4).

use crate::ahead::{Ahead, window};

/// RFC 6298 §4: clock granularity G in milliseconds, the unit of all times here and of timestamps.
const G: u16 = 1;

/// Reason to distrust SRTT until the next measurement.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Doubt {
    #[default]
    None,
    /// SRTT comes from the handshake, whose segments fit in one frame each. Segments with data take
    /// several frames.
    Handshake,
    /// F-RTO found a timeout spurious. Timestamps do not set this doubt: they mostly reveal a lost
    /// acknowledgment, not a longer path.
    Timeout,
}

/// SRTT, RTTVAR, and the segment being timed. One measurement is taken per round trip, with or
/// without timestamps, as RFC 6298's weights assume (RFC 7323 §4.2).
#[derive(Clone, Default, Debug)]
pub(crate) struct RttEstimator {
    /// SRTT in milliseconds; 0 before the first measurement.
    srtt: u16,
    /// K·RTTVAR with K = 4, in milliseconds (RFC 6298 §2).
    variation: u16,
    /// End of the segment being timed; SND.UNA if there is none.
    end: Ahead,
    /// Time of the timed segment's last transmission, in milliseconds, wrapping after a minute. A
    /// segment outstanding for longer was retransmitted.
    at: u16,
    /// Whether the timed segment was retransmitted; then only an echoed timestamp can measure it.
    again: bool,
    doubt: Doubt,
}

impl RttEstimator {
    /// Returns SRTT + max(G, K·RTTVAR) in milliseconds, or `None` before the first measurement.
    pub(crate) fn rto(&self) -> Option<u32> {
        // RFC 6298 §2.3: the variation counts as at least the clock granularity G.
        let variation = u32::from(self.variation.max(G));
        Some(u32::from(self.srtt()?).wrapping_add(variation))
    }

    /// Returns SRTT in milliseconds, or `None` before the first measurement.
    pub(crate) fn srtt(&self) -> Option<u16> {
        (self.srtt > 0).then_some(self.srtt)
    }

    pub(crate) fn frozen(&self) -> [u16; 2] {
        [self.srtt, self.variation]
    }

    pub(crate) fn restore(&mut self, [srtt, variation]: [u16; 2]) {
        (self.srtt, self.variation) = (srtt, variation);
    }

    /// Starts timing the segment that ends at `end` after its first transmission, unless another
    /// one is timed.
    pub(crate) fn on_sent(&mut self, end: Ahead, now_ms: u32) {
        if self.end == Ahead::UNA {
            self.end = end;
            self.at = now_ms as u16;
            self.again = false;
        }
    }

    pub(crate) fn on_retransmission(&mut self, end: Ahead, now_ms: u32) {
        self.end = self.end.max(end);
        self.at = now_ms as u16;
        self.again = true;
    }

    /// Shortens the timed segment to end at `end`, because an ACK is about to cover only the part
    /// up to `end`.
    pub(crate) fn on_part_acked(&mut self, end: Ahead) {
        self.end = self.end.min(end);
    }

    pub(crate) fn on_hasty_timeout(&mut self) {
        self.doubt = Doubt::Timeout;
    }

    pub(crate) fn on_handshake(&mut self) {
        self.doubt = Doubt::Handshake;
    }

    /// Processes an advance of SND.UNA by `bytes`. `echo` is the time in the echoed timestamp, if
    /// timestamps are in use. Returns the round-trip time if the advance measures one.
    pub(crate) fn on_ack(&mut self, bytes: u32, now_ms: u32, echo: Option<u32>) -> Option<u16> {
        let is_timed = self.end != Ahead::UNA;
        self.end.on_advance(bytes);
        let is_acked = is_timed && self.end == Ahead::UNA;
        let elapsed = (now_ms as u16).wrapping_sub(self.at);
        // RFC 7323 §4.1. Ignores an echo of a time after `now_ms`, or a minute or more before it.
        let echoed = echo.and_then(|sent| u16::try_from(now_ms.wrapping_sub(sent)).ok());
        // An echo from before the retransmission shows that the original arrived and its
        // acknowledgment was lost; it would measure the timeout and not the path.
        let is_late = |r| u32::from(r) > u32::from(elapsed).wrapping_add(u32::from(G));
        let r = match echoed {
            // RFC 6298 §3, Karn's algorithm: only a timestamp can measure a retransmitted segment.
            // RFC 7323 §4.1 permits that on each advance of SND.UNA, so that an ACK of the first
            // retransmission ends the backoff although later ones are outstanding.
            Some(echoed) if is_timed && self.again && !is_late(echoed) => echoed,
            Some(echoed) if is_acked && !self.again => echoed,
            None if is_acked && !self.again => elapsed,
            _ => return None,
        };
        self.end = Ahead::UNA;
        self.sample(u32::from(r).max(1));
        Some(r)
    }

    fn sample(&mut self, r: u32) {
        let (srtt, variation) = (u32::from(self.srtt), u32::from(self.variation));
        let twice = r.wrapping_mul(2);
        let (srtt, variation) = if srtt == 0 || self.doubt == Doubt::Handshake && r > srtt {
            // RFC 6298 §2.2: SRTT <- R, RTTVAR <- R/2. The first data restart the estimate if they
            // take longer than the handshake; RFC 6298 §1 allows a more conservative timeout.
            (r, twice)
        } else if self.doubt == Doubt::Timeout {
            // RFC 4015 §3.1, step 11: the timeout is more conservative from now on.
            let more = srtt.wrapping_add(2 * u32::from(G));
            (more.max(r), variation.max(twice))
        } else {
            // RFC 6298 §2.3, in this order, with alpha = 1/8 and beta = 1/4,
            // each rounded to nearest.
            let kept = variation.wrapping_sub(variation.wrapping_add(2) / 4);
            let sum = srtt.wrapping_mul(7).wrapping_add(r);
            (sum.wrapping_add(4) / 8, kept.wrapping_add(srtt.abs_diff(r)))
        };
        self.srtt = window(srtt);
        self.variation = window(variation);
        self.doubt = Doubt::None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends 10 bytes, which are acknowledged after `r` ms.
    fn measured(rtt: &mut RttEstimator, sent: u32, r: u32) -> Option<u16> {
        rtt.on_sent(Ahead::by(10), sent);
        rtt.on_ack(10, sent.wrapping_add(r), None)
    }

    #[test]
    fn first_and_later_measurements_follow_the_formulas() {
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.rto(), None);
        assert_eq!(measured(&mut rtt, 0, 100), Some(100));
        assert_eq!(rtt.rto(), Some(100 + 4 * 50));
        assert_eq!(measured(&mut rtt, 200, 180), Some(180));
        // RTTVAR = 0.75·50 + 0.25·80 = 57.5; SRTT = 0.875·100 + 0.125·180 = 110.
        assert_eq!(rtt.rto(), Some(110 + 4 * 57 + 2));
    }

    #[test]
    fn the_first_data_may_take_longer_than_the_handshake() {
        let mut rtt = RttEstimator::default();
        assert_eq!(measured(&mut rtt, 0, 60), Some(60));
        rtt.on_handshake();
        assert_eq!(measured(&mut rtt, 100, 350), Some(350));
        assert_eq!((rtt.srtt(), rtt.rto()), (Some(350), Some(350 + 4 * 175)));
    }

    #[test]
    fn only_the_timed_segment_is_measured() {
        let mut rtt = RttEstimator::default();
        rtt.on_sent(Ahead::by(10), 0);
        rtt.on_sent(Ahead::by(20), 5);
        assert_eq!(rtt.on_ack(5, 6, None), None);
        assert_eq!(rtt.on_ack(15, 30, None), Some(30));
        assert_eq!(rtt.on_ack(5, 40, None), None);
    }

    #[test]
    fn karn_no_measurement_after_a_retransmission_without_timestamps() {
        let mut rtt = RttEstimator::default();
        rtt.on_sent(Ahead::by(10), 0);
        rtt.on_retransmission(Ahead::by(10), 60);
        assert_eq!(rtt.on_ack(10, 100, None), None);
        assert_eq!(measured(&mut rtt, 200, 30), Some(30));
    }

    #[test]
    fn an_echo_measures_the_retransmission_but_not_the_timeout() {
        let mut rtt = RttEstimator::default();
        for (echo, measured) in [(1_060, Some(40)), (1_000, None)] {
            rtt.on_sent(Ahead::by(10), 1_000);
            rtt.on_retransmission(Ahead::by(10), 1_060);
            assert_eq!(rtt.on_ack(10, 1_100, Some(echo)), measured);
        }
    }

    #[test]
    fn an_echo_of_a_retransmission_measures_before_all_data_are_acknowledged() {
        for (echo, measured) in [(Some(1_060), Some(40)), (Some(1_000), None), (None, None)] {
            let mut rtt = RttEstimator::default();
            rtt.on_sent(Ahead::by(30), 1_000);
            rtt.on_retransmission(Ahead::by(10), 1_060);
            assert_eq!(rtt.on_ack(10, 1_100, echo), measured, "{echo:?}");
            // After a measurement the timing has ended; otherwise this ACK gives the measurement.
            let later = rtt.on_ack(20, 1_110, Some(1_062));
            assert_eq!(later.is_some(), measured.is_none(), "{echo:?}");
        }
    }

    #[test]
    fn echoes_from_the_future_are_not_measured() {
        let mut rtt = RttEstimator::default();
        for (echo, measured) in [(900, 100), (1_000, 0), (1_001, 50), (u32::MAX, 1_001)] {
            rtt.on_sent(Ahead::by(10), 950);
            assert_eq!(rtt.on_ack(10, 1_000, Some(echo)), Some(measured));
        }
    }

    #[test]
    fn the_clock_may_wrap_and_the_variance_term_is_at_least_g() {
        let mut rtt = RttEstimator::default();
        for n in 0..200 {
            let sent = (n * 50u32).wrapping_sub(1000);
            assert_eq!(measured(&mut rtt, sent, 20), Some(20));
        }
        let rto = rtt.rto().unwrap();
        assert_eq!(rto, 21);
    }

    #[test]
    fn the_longest_round_trips_do_not_overflow() {
        let mut rtt = RttEstimator::default();
        for _ in 0..20 {
            measured(&mut rtt, 0, 65_535);
            rtt.on_hasty_timeout();
        }
        assert_eq!(rtt.srtt(), Some(u16::MAX));
        assert!(rtt.rto().unwrap() > 65_535);
    }
}
