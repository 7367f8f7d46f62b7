//! CUBIC (RFC 9438) in integers: the growth of cwnd in congestion avoidance, and its reduction
//! after a loss. Slow start and recovery are those of [`NewReno`](redpoll_tcp::NewReno).
//!
//! With windows of a few segments CUBIC is in its Reno-friendly region: a loss leaves seven tenths
//! of cwnd instead of a half, and each round trip adds about half a segment instead of one.

/// RFC 9438 §4.6: beta_cubic, in tenths.
const BETA_TENTHS: u32 = 7;
/// RFC 9438 §5: C, in tenths of a segment per cubic second.
const C_TENTHS: u64 = 4;
/// RFC 9438 §4.3: alpha_cubic = 3 (1 - beta_cubic) / (1 + beta_cubic) = 9/17.
const ALPHA: (u64, u64) = (9, 17);
/// Fractional bits of W_est.
const FRACTION_BITS: u32 = 16;
/// Limit in ms of the distance from the turning point; there the curve exceeds any window.
const FARTHEST_MS: i64 = 100_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) bytes: u32,
    pub(super) cwnd: u32,
    pub(super) mss: u32,
    pub(super) now_ms: u32,
    pub(super) srtt_ms: u32,
}

/// The curve since the last reduction, with all windows in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Cubic {
    w_max: u32,
    cwnd_prior: u32,
    epoch: Option<Epoch>,
    by_timeout: bool,
}

/// A stage of congestion avoidance (RFC 9438 §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Epoch {
    began_ms: u32,
    last_ms: u32,
    k_ms: u32,
    /// W_est in 2^-16 bytes ([`FRACTION_BITS`]).
    w_est: u64,
}

impl Cubic {
    /// Returns cwnd after an acknowledgment in congestion avoidance.
    pub(super) fn on_ack(&mut self, acked: Acked) -> u32 {
        let mut epoch = match self.epoch.take() {
            Some(epoch) => epoch.without_pause(&acked),
            None => self.begin(&acked),
        };
        // RFC 9438 §4.3: above cwnd_prior the estimate grows by one segment per round trip.
        let slope = match epoch.estimate() >= self.cwnd_prior {
            true => (1, 1),
            false => ALPHA,
        };
        let (bytes, mss) = (u64::from(acked.bytes), u64::from(acked.mss));
        let gain = (bytes.wrapping_mul(mss) << FRACTION_BITS).wrapping_mul(slope.0);
        let per = u64::from(acked.cwnd.max(1)).wrapping_mul(slope.1);
        epoch.w_est = epoch
            .w_est
            .saturating_add(gain.checked_div(per).unwrap_or(0));
        let cwnd = self.grown(&epoch, &acked);
        self.epoch = Some(epoch);
        cwnd
    }

    /// Returns ssthresh after a loss with `flight` bytes in flight.
    pub(super) fn on_loss(&mut self, flight: u32, cwnd: u32) -> u32 {
        // RFC 9438 §4.7: a flow whose window was smaller than at the last loss releases bandwidth.
        self.w_max = match cwnd < self.w_max {
            true => tenths(cwnd, 10 + BETA_TENTHS) / 2,
            false => cwnd,
        };
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.by_timeout = false;
        tenths(flight.min(cwnd), BETA_TENTHS)
    }

    /// Handles a loss that a timeout detected (RFC 9438 §4.8).
    pub(super) fn on_timeout(&mut self) {
        self.by_timeout = true;
    }

    /// Ends the stage after a pause; the next acknowledgment starts a new one.
    pub(super) fn on_idle(&mut self) {
        self.epoch = None;
    }

    fn begin(&mut self, acked: &Acked) -> Epoch {
        let is_below = acked.cwnd < self.w_max && !self.by_timeout;
        if !is_below {
            self.w_max = acked.cwnd;
        }
        let below = self.w_max.saturating_sub(acked.cwnd);
        Epoch {
            began_ms: acked.now_ms,
            last_ms: acked.now_ms,
            k_ms: k_ms(below, acked.mss),
            w_est: u64::from(acked.cwnd) << FRACTION_BITS,
        }
    }

    fn grown(&self, epoch: &Epoch, acked: &Acked) -> u32 {
        let t = acked.now_ms.wrapping_sub(epoch.began_ms);
        let estimate = epoch.estimate();
        if self.at(epoch, t, acked.mss) < estimate {
            return estimate.max(acked.cwnd);
        }
        // RFC 9438 §4.2 to §4.5: cwnd grows towards the curve's value one round trip later.
        let later = self.at(epoch, t.wrapping_add(acked.srtt_ms), acked.mss);
        let most = acked.cwnd.saturating_add(acked.cwnd / 2);
        let way = u64::from(later.clamp(acked.cwnd, most).wrapping_sub(acked.cwnd));
        let step = way
            .wrapping_mul(acked.bytes.into())
            .checked_div(acked.cwnd.into());
        acked.cwnd.saturating_add(step.unwrap_or(0) as u32)
    }

    /// Returns W_cubic(t) = C (t - K)³ + W_max.
    fn at(&self, epoch: &Epoch, t_ms: u32, mss: u32) -> u32 {
        let from_turn = i64::from(t_ms).wrapping_sub(epoch.k_ms.into());
        let x = from_turn.clamp(-FARTHEST_MS, FARTHEST_MS);
        let cube = x.wrapping_mul(x).wrapping_mul(x);
        let segments_e10 = cube.wrapping_mul(C_TENTHS as i64);
        // The divisors 10^6 and 10^4 together are 10^10: 10^9 converts ms³ to s³, and 10 converts
        // the tenths of C.
        let bytes = (segments_e10 / 1_000_000).wrapping_mul(mss.into()) / 10_000;
        let window = bytes.saturating_add(self.w_max.into());
        window.clamp(0, u16::MAX.into()) as u32
    }
}

impl Epoch {
    fn estimate(&self) -> u32 {
        u32::try_from(self.w_est >> FRACTION_BITS).unwrap_or(u32::MAX)
    }

    /// Excludes a time in which the application sent too little (RFC 9438 §5.8).
    fn without_pause(self, acked: &Acked) -> Epoch {
        let since = acked.now_ms.wrapping_sub(self.last_ms);
        let pause = match since > acked.srtt_ms.wrapping_mul(2) {
            true => since,
            false => 0,
        };
        Epoch {
            began_ms: self.began_ms.wrapping_add(pause),
            last_ms: acked.now_ms,
            ..self
        }
    }
}

fn tenths(bytes: u32, tenths: u32) -> u32 {
    bytes.wrapping_mul(tenths) / 10
}

/// Returns K (RFC 9438 §4.2): the time that the curve takes to W_max from `below` bytes below it.
fn k_ms(below: u32, mss: u32) -> u32 {
    // (below / mss / C) s³, in ms³.
    let cube = u64::from(below).wrapping_mul(10_000_000_000) / C_TENTHS;
    cube_root(cube.checked_div(mss.into()).unwrap_or(0))
}

fn cube_root(x: u64) -> u32 {
    let mut root = 0u64;
    for bit in (0..21).rev() {
        let next = root | 1 << bit;
        if next.wrapping_mul(next).wrapping_mul(next) <= x {
            root = next;
        }
    }
    root as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 100;

    fn acked(cwnd: u32, now_ms: u32) -> Acked {
        Acked {
            bytes: MSS,
            cwnd,
            mss: MSS,
            now_ms,
            srtt_ms: 100,
        }
    }

    #[test]
    fn roots_of_cubes() {
        for n in [0u64, 1, 2, 999, 4_217, 100_000, 2_000_000] {
            assert_eq!(u64::from(cube_root(n * n * n)), n);
            assert_eq!(u64::from(cube_root(n * n * n + n)), n);
        }
    }

    /// 70 of 100 segments remain: K is (30 / 0.4)^(1/3) s.
    #[test]
    fn k_is_the_time_back_to_the_old_window() {
        assert_eq!(k_ms(30 * MSS, MSS), 4_217);
    }

    #[test]
    fn after_k_the_window_is_the_old_one_and_then_more() {
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.on_loss(100 * MSS, 100 * MSS);
        assert_eq!(cwnd, 70 * MSS);
        let mut now = 0;
        let mut at_k = 0;
        while now < 8_400 {
            for _ in 0..cwnd / MSS {
                cwnd = cubic.on_ack(acked(cwnd, now));
            }
            now += 100;
            if now == 4_200 {
                at_k = cwnd;
            }
        }
        let near = |cwnd: u32, segments: u32| cwnd.abs_diff(segments * MSS) <= 3 * MSS;
        assert!(near(at_k, 100), "{at_k}");
        assert!(near(cwnd, 130), "{cwnd}: 0.4 (8.4 - 4.2)³ above");
    }

    /// After a loss at 8 segments, the curve needs 1.8 s to return to 8 segments. In the first
    /// round trips of 100 ms, W_est is larger: it grows by 9/17 of a segment per round trip.
    #[test]
    fn small_windows_grow_as_renos_would() {
        let mut cubic = Cubic::default();
        let mut cwnd = cubic.on_loss(8 * MSS, 8 * MSS);
        assert_eq!(cwnd, 560);
        for round in 0..3 {
            let at = cwnd;
            for _ in 0..at / MSS {
                cwnd = cubic.on_ack(acked(at, round * 100));
            }
        }
        assert!((640..=730).contains(&cwnd), "{cwnd}");
    }

    #[test]
    fn fast_convergence_lowers_w_max() {
        let mut cubic = Cubic::default();
        cubic.on_loss(100 * MSS, 100 * MSS);
        cubic.on_loss(80 * MSS, 80 * MSS);
        assert_eq!(cubic.w_max, 68 * MSS);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_where_slow_start_ends() {
        let mut cubic = Cubic::default();
        cubic.on_loss(100 * MSS, 100 * MSS);
        cubic.on_timeout();
        cubic.on_ack(acked(70 * MSS, 500));
        let epoch = cubic.epoch.unwrap();
        assert_eq!((cubic.w_max, epoch.k_ms), (70 * MSS, 0));
    }

    #[test]
    fn a_pause_does_not_raise_the_window() {
        let mut cubic = Cubic::default();
        let before = cubic.on_loss(100 * MSS, 100 * MSS);
        let first = cubic.on_ack(acked(before, 0));
        let later = cubic.on_ack(acked(first, 60_000));
        assert!(later - before <= 3 * MSS, "{before} {first} {later}");
    }
}
