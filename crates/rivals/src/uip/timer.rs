//! The retransmission timer, in three variants.

use redpoll_base::{Duration, Instant, Rng};

/// UIP_RTO: the timeout before there is a sample, and the value that is doubled, in ticks.
const RTO: u8 = 3;

#[derive(Clone, PartialEq, Debug, Default)]
pub enum Timing {
    /// uIP's own rule: ticks of half a second. The first timeout is an estimate after Jacobson in 8
    /// bits; timeouts of retransmissions are 3 ticks, doubled up to four times.
    #[default]
    Original,
    /// Lim 2020: samples of retransmitted segments count too, like CoCoA's weak samples. The
    /// estimate is doubled up to a limit that depends on it, and the timer has a random factor.
    Weak(Weak),
    /// RFC 6298, in milliseconds.
    Standard(Standard),
}

/// The parameters of [`Timing::Weak`]. No available source has them, so all are assumptions: the
/// values of CoCoA and CoAP where these have one.
#[derive(Clone, PartialEq, Debug)]
pub struct Weak {
    /// Weight of a sample of a segment that was not retransmitted, in 256ths.
    pub strong_weight: u16,
    /// Weight of a weak sample (of a segment sent more than once) in the timeout, in 256ths.
    pub weak_weight: u16,
    /// Number of RTT variations that the timeout adds to the smoothed round trip, for strong
    /// samples.
    pub strong_factor: u16,
    /// Number of RTT variations that the timeout adds to the smoothed round trip, for weak samples.
    pub weak_factor: u16,
    /// Largest numbers of doublings of the timeout, each with the timeout in ticks up to which it
    /// applies, in ascending order. The last number also applies to longer timeouts.
    pub limits: [(u16, u8); 4],
    /// A timer is set to its value times a random factor between these two, in 256ths.
    pub dither: (u16, u16),
    /// The minimum timeout in ticks.
    pub min: u16,
    /// The maximum timeout in ticks, without dithering.
    pub max: u16,
}

impl Default for Weak {
    fn default() -> Self {
        Weak {
            strong_weight: 128,
            weak_weight: 64,
            strong_factor: 4,
            weak_factor: 1,
            limits: [(4, 4), (8, 3), (16, 2), (32, 1)],
            dither: (256, 384),
            min: RTO as u16,
            max: 120,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Standard {
    /// Timeout before the first sample.
    pub initial: Duration,
    pub min: Duration,
    pub max: Duration,
}

impl Default for Standard {
    fn default() -> Self {
        Standard {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        }
    }
}

/// An estimate of the round trip after RFC 6298 §2, in eighths of a tick.
#[derive(Clone, Copy, Default, Debug)]
struct Estimate {
    srtt: u16,
    rttvar: u16,
    has_sample: bool,
}

impl Estimate {
    /// Adds a sample. Returns the mean plus `factor` times the variation.
    fn after(&mut self, ticks: u16, factor: u16) -> u16 {
        let sample = ticks.saturating_mul(8);
        if self.has_sample {
            let error = sample.abs_diff(self.srtt);
            self.rttvar = self.rttvar - self.rttvar / 4 + error / 4;
            self.srtt = self.srtt - self.srtt / 8 + sample / 8;
        } else {
            (self.srtt, self.rttvar) = (sample, sample / 2);
            self.has_sample = true;
        }
        let margin = self.rttvar.saturating_mul(factor).max(8);
        self.srtt.saturating_add(margin)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Values in ticks; `sa` is eight times the mean, `sv` four times the variation.
    Original { sa: u8, sv: u8, rto: u8, timer: u8 },
    /// `rto` in eighths of a tick, `timer` and `age` in ticks.
    Weak {
        strong: Estimate,
        weak: Estimate,
        rto: u16,
        timer: u16,
        age: u16,
    },
    /// Values in microseconds.
    Standard {
        srtt: u32,
        rttvar: u32,
        rto: u32,
        due: Option<Instant>,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    kind: Kind,
    /// Time at which the outstanding segment was sent first.
    sent: Instant,
    /// Number of retransmissions of the outstanding segment.
    pub(super) again: u8,
}

impl Timer {
    pub(super) fn new(timing: &Timing, now: Instant, active: bool) -> Timer {
        let kind = match timing {
            Timing::Original if active => Kind::Original {
                sa: 0,
                sv: 16,
                rto: RTO,
                timer: 1,
            },
            Timing::Original => Kind::Original {
                sa: 0,
                sv: 4,
                rto: RTO,
                timer: RTO,
            },
            Timing::Weak(_) => Kind::Weak {
                strong: Estimate::default(),
                weak: Estimate::default(),
                rto: u16::from(RTO) * 8,
                timer: if active { 1 } else { RTO.into() },
                age: 0,
            },
            Timing::Standard(standard) => Kind::Standard {
                srtt: 0,
                rttvar: 0,
                rto: standard.initial.as_micros() as u32,
                due: Some(now + standard.initial),
            },
        };
        Timer {
            kind,
            sent: now,
            again: 0,
        }
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        self.sent = now;
        match &mut self.kind {
            Kind::Original { .. } => {}
            Kind::Weak { age, .. } => *age = 0,
            Kind::Standard { rto, due, .. } => {
                *due = Some(now + Duration::from_micros((*rto).into()));
            }
        }
    }

    /// Handles the acknowledgment of the outstanding segment. Returns the round-trip time if the
    /// timer samples it. Some timers count whole ticks of half a second; most round trips take less
    /// than one tick.
    pub(super) fn on_acknowledged(
        &mut self,
        timing: &Timing,
        now: Instant,
        rng: &mut Rng,
    ) -> Option<Duration> {
        let again = self.again;
        let took = now.since(self.sent);
        match (&mut self.kind, timing) {
            (Kind::Original { sa, sv, rto, timer }, _) => {
                // Karn's algorithm: a retransmitted segment gives no sample.
                if again == 0 {
                    *rto = after_jacobson(sa, sv, rto.wrapping_sub(*timer));
                }
                *timer = *rto;
                (again == 0).then_some(took)
            }
            (
                Kind::Weak {
                    strong,
                    weak,
                    rto,
                    timer,
                    age,
                },
                Timing::Weak(params),
            ) => {
                let (sample, weight) = match again {
                    0 => (
                        strong.after(*age, params.strong_factor),
                        params.strong_weight,
                    ),
                    _ => (weak.after(*age, params.weak_factor), params.weak_weight),
                };
                let weight = u32::from(weight.min(256));
                let mixed = weight * u32::from(sample) + (256 - weight) * u32::from(*rto);
                let mixed = (mixed / 256) as u16;
                *rto = mixed.clamp(params.min * 8, params.max * 8);
                *timer = dithered(params, rto.div_ceil(8), rng);
                Some(took)
            }
            (
                Kind::Standard {
                    srtt,
                    rttvar,
                    rto,
                    due,
                },
                Timing::Standard(standard),
            ) => {
                *due = None;
                if again > 0 {
                    return None;
                }
                let sample = took.as_micros().min(60_000_000) as u32;
                if *srtt == 0 {
                    (*srtt, *rttvar) = (sample.max(1), sample / 2);
                } else {
                    *rttvar = *rttvar - *rttvar / 4 + sample.abs_diff(*srtt) / 4;
                    *srtt = *srtt - *srtt / 8 + sample / 8;
                }
                // RFC 6298 §2.3, with a clock granularity G of 10 ms.
                let margin = (4 * *rttvar).max(10_000);
                let (min, max) = (standard.min.as_micros(), standard.max.as_micros());
                *rto = (*srtt + margin).clamp(min as u32, max as u32);
                Some(took)
            }
            _ => None,
        }
    }

    /// Counts a tick with outstanding data; returns whether the timer has expired.
    pub(super) fn on_tick(&mut self) -> bool {
        match &mut self.kind {
            Kind::Original { timer, .. } => {
                let at_zero = *timer == 0;
                *timer = timer.wrapping_sub(1);
                at_zero
            }
            Kind::Weak { timer, age, .. } => {
                *age = age.saturating_add(1);
                let at_zero = *timer == 0;
                *timer = timer.wrapping_sub(1);
                at_zero
            }
            Kind::Standard { .. } => false,
        }
    }

    /// Returns the time at which the timer expires, if this is not on a tick.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.kind {
            Kind::Standard { due, .. } => due,
            _ => None,
        }
    }

    /// Stops the timer, because no data are outstanding any more.
    pub(super) fn stop(&mut self) {
        if let Kind::Standard { due, .. } = &mut self.kind {
            *due = None;
        }
    }

    pub(super) fn back_off(&mut self, timing: &Timing, now: Instant, rng: &mut Rng) {
        let again = self.again;
        match (&mut self.kind, timing) {
            (Kind::Original { timer, .. }, _) => *timer = RTO << again.min(4),
            (Kind::Weak { rto, timer, .. }, Timing::Weak(params)) => {
                let ticks = rto.div_ceil(8);
                let limits = params.limits.iter();
                let limit = limits.clone().find(|(up_to, _)| ticks <= *up_to);
                let limit = limit.or(limits.last()).map_or(0, |(_, limit)| *limit);
                // The first repetition waits twice the timeout.
                let doublings = again.saturating_add(1).min(limit).min(8);
                let longer = (ticks << doublings).min(params.max);
                *timer = dithered(params, longer, rng);
            }
            (Kind::Standard { rto, due, .. }, Timing::Standard(standard)) => {
                let max = standard.max.as_micros() as u32;
                *rto = rto.saturating_mul(2).min(max);
                *due = Some(now + Duration::from_micros((*rto).into()));
            }
            _ => {}
        }
        self.again = again.saturating_add(1);
    }

    pub(super) fn ticks(&self) -> u8 {
        match self.kind {
            Kind::Original { rto, .. } => rto,
            Kind::Weak { rto, .. } => rto.div_ceil(8) as u8,
            Kind::Standard { .. } => 0,
        }
    }
}

/// Returns the timeout after a sample of `ticks`, in 8-bit numbers that wrap, as in uIP.
fn after_jacobson(sa: &mut u8, sv: &mut u8, ticks: u8) -> u8 {
    let mut m = ticks as i8;
    m = m.wrapping_sub((*sa >> 3) as i8);
    *sa = sa.wrapping_add(m as u8);
    m = m.wrapping_abs();
    m = m.wrapping_sub((*sv >> 2) as i8);
    *sv = sv.wrapping_add(m as u8);
    (*sa >> 3).wrapping_add(*sv)
}

/// Returns `ticks` times a random factor between the two limits.
fn dithered(params: &Weak, ticks: u16, rng: &mut Rng) -> u16 {
    let (low, high) = params.dither;
    let times = |factor: u16| u32::from(ticks) * u32::from(factor) / 256;
    let (low, high) = (times(low), times(high.max(low)));
    (low + rng.below(high - low + 1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the timeout in ticks after each of the samples, on a connection opened actively or
    /// not, whose SYN took `handshake` ticks.
    fn timeouts(active: bool, handshake: u32, rtt: u32, samples: usize) -> std::vec::Vec<u8> {
        let timing = Timing::Original;
        let rng = &mut Rng::new(1);
        let mut timer = Timer::new(&timing, Instant::ZERO, active);
        for _ in 0..handshake {
            assert!(!timer.on_tick());
        }
        timer.on_acknowledged(&timing, Instant::ZERO, rng);
        let mut seen = std::vec![timer.ticks()];
        for _ in 0..samples {
            timer.on_sent(Instant::ZERO);
            for _ in 0..rtt {
                timer.on_tick();
            }
            timer.on_acknowledged(&timing, Instant::ZERO, rng);
            seen.push(timer.ticks());
        }
        seen
    }

    /// Results of the original's arithmetic, computed by hand from its formulas.
    #[test]
    fn the_first_timeout_is_long_after_an_active_open_and_comes_down_slowly() {
        assert_eq!(timeouts(true, 0, 0, 8), [14, 11, 9, 7, 6, 5, 4, 3, 3]);
        assert_eq!(timeouts(true, 1, 0, 0), [15]);
        assert_eq!(timeouts(true, 0, 1, 3), [14, 12, 10, 9]);
        assert_eq!(timeouts(true, 0, 2, 4), [14, 13, 12, 12, 11]);
        assert_eq!(timeouts(true, 0, 4, 3), [14, 15, 17, 16]);
        assert_eq!(timeouts(false, 0, 0, 2), [3, 3, 3]);
    }

    #[test]
    fn a_sample_is_exact_though_the_timer_counts_ticks() {
        for timing in [
            Timing::Original,
            Timing::Weak(Weak::default()),
            Timing::Standard(Standard::default()),
        ] {
            let rng = &mut Rng::new(1);
            let mut timer = Timer::new(&timing, Instant::ZERO, true);
            timer.on_sent(Instant::from_millis(100));
            let sample = timer.on_acknowledged(&timing, Instant::from_millis(137), rng);
            assert_eq!(sample, Some(Duration::from_millis(37)), "{timing:?}");
        }
    }

    #[test]
    fn a_timeout_of_n_ticks_ends_on_the_one_behind_and_doubles_from_three() {
        let (timing, rng) = (Timing::Original, &mut Rng::new(1));
        let mut timer = Timer::new(&timing, Instant::ZERO, true);
        let mut fired = std::vec::Vec::new();
        for tick in 1..=200 {
            if timer.on_tick() {
                fired.push(tick);
                timer.back_off(&timing, Instant::ZERO, rng);
            }
        }
        let gaps: std::vec::Vec<i32> = fired.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(fired[0], 2, "0.5 s to 1 s after the SYN");
        assert_eq!(
            gaps,
            [4, 7, 13, 25, 49, 49, 49],
            "2, 3.5, 6.5, 12.5, 24.5 s"
        );
    }

    #[test]
    fn weak_samples_count_and_the_estimate_is_doubled() {
        let timing = Timing::Weak(Weak {
            dither: (256, 256),
            ..Weak::default()
        });
        let rng = &mut Rng::new(1);
        let mut timer = Timer::new(&timing, Instant::ZERO, false);
        // A round trip of ten ticks, which the timer has not measured yet.
        for _ in 0..10 {
            timer.on_sent(Instant::ZERO);
            timer.again = 0;
            for _ in 0..10 {
                if timer.on_tick() {
                    timer.back_off(&timing, Instant::ZERO, rng);
                }
            }
            timer.on_acknowledged(&timing, Instant::ZERO, rng);
        }
        assert!(timer.ticks() > 10, "{} ticks", timer.ticks());
        timer.again = 0;
        let before = timer.ticks();
        timer.back_off(&timing, Instant::ZERO, rng);
        let waits = (1..).find(|_| timer.on_tick()).unwrap_or(0);
        assert_eq!(waits, 2 * i32::from(before) + 1);
    }

    #[test]
    fn dithering_stays_between_its_limits_and_uses_them() {
        let (params, rng) = (Weak::default(), &mut Rng::new(7));
        let drawn: std::vec::Vec<u16> = (0..500).map(|_| dithered(&params, 20, rng)).collect();
        assert_eq!(drawn.iter().min(), Some(&20));
        assert_eq!(drawn.iter().max(), Some(&30));
    }
}
