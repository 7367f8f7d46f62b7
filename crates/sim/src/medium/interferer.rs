//! Interferers on the same frequencies, such as a Wi-Fi access point and its stations. Radios
//! cannot decode their bursts.
//!
//! An interferer alternates between bursts and gaps, whose lengths come from one kind of
//! distribution. It does so in sessions, which follow one another at random within the given hours
//! of the day. The nodes' transmissions do not influence it.

use redpoll_base::{Duration, Instant, Rng};

use crate::fault::{chance, unit};

#[derive(Clone, PartialEq, Debug)]
pub struct Interferer {
    pub name: String,
    pub position_m: (f64, f64),
    /// Power at the antenna within the channel, in dBm; SINR medium only.
    pub power_dbm: f64,
    /// Range of the busy channel and of destroyed receptions, in metres; unit disk only.
    pub range_m: f64,
    pub burst: Duration,
    /// Share of a session's time that bursts fill, 0 to 0.99.
    pub busy: f64,
    /// Distribution of bursts and gaps.
    pub lengths: Lengths,
    /// Hours of each day in which the interferer may be active; the run begins at midnight.
    pub hours: (Duration, Duration),
    /// Mean length of a session; `None`: always active.
    pub session: Option<Duration>,
    pub session_share: f64,
}

/// Distribution of durations. It does not include their mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lengths {
    Constant,
    Exponential,
    /// A heavy tail, limited to 1,000 times the shortest length.
    Pareto {
        /// Shape, over 1; the variance is large up to 2.
        shape: f64,
    },
}

/// Greatest length of a heavy tail, as a multiple of the shortest one.
const LONGEST: f64 = 1_000.0;
const DAY: Duration = Duration::from_secs(86_400);
/// An interferer is silent for the rest of the run after this number of sessions, or of days
/// without a session, in which no burst began: the gaps can be longer than every session.
const SEARCHED: usize = 100_000;

impl Lengths {
    /// Draws a duration with mean `mean_us`, rounded to microseconds and at least 1 µs.
    fn draw(self, mean_us: f64, rng: &mut Rng) -> Duration {
        // A number in (0, 1].
        let rest = 1.0 - unit(rng);
        let relative = match self {
            Lengths::Constant => 1.0,
            Lengths::Exponential => -libm::log(rest),
            Lengths::Pareto { shape } => {
                (shape - 1.0) / shape * libm::pow(rest, -1.0 / shape).min(LONGEST)
            }
        };
        Duration::from_micros(libm::round(relative * mean_us).max(1.0) as u64)
    }
}

#[derive(Clone, Debug)]
pub struct BurstSequence {
    spec: Interferer,
    rng: Rng,
    is_on: bool,
    since: Instant,
    active_until: Instant,
    bursts: u64,
    on_air: Duration,
    is_silenced: bool,
}

impl BurstSequence {
    /// Returns the sequence of bursts of interferer `spec`, before its first burst.
    pub fn new(spec: Interferer, rng: Rng) -> Self {
        BurstSequence {
            spec,
            rng,
            is_on: false,
            since: Instant::ZERO,
            active_until: Instant::ZERO,
            bursts: 0,
            on_air: Duration::ZERO,
            is_silenced: false,
        }
    }

    pub fn first(&mut self) -> Option<Instant> {
        let is_ever = self.spec.busy > 0.0
            && (self.spec.session.is_none() || self.spec.session_share > 0.0)
            && self.spec.hours.0 < self.spec.hours.1;
        is_ever.then(|| self.next_burst(Instant::ZERO))
    }

    /// Returns the beginning of the first burst of an interferer that is added at `now`.
    pub(crate) fn first_after(&mut self, now: Instant) -> Instant {
        self.next_burst(now)
    }

    /// Ends the sequence after the present burst.
    pub(crate) fn silence(&mut self) {
        self.is_silenced = true;
    }

    pub fn is_silenced(&self) -> bool {
        self.is_silenced
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins or ends a burst. Returns whether a burst is on now, and the time of the next change.
    pub fn turn(&mut self, now: Instant) -> (bool, Instant) {
        if self.is_silenced {
            self.on_air += match self.is_on {
                true => now.since(self.since),
                false => Duration::ZERO,
            };
            self.is_on = false;
            return (false, Instant::FAR_FUTURE);
        }
        self.is_on = !self.is_on;
        let next = if self.is_on {
            self.bursts += 1;
            now + self.length(self.burst_us())
        } else {
            self.on_air += now.since(self.since);
            self.next_burst(now)
        };
        self.since = now;
        (self.is_on, next)
    }

    pub fn spec(&self) -> &Interferer {
        &self.spec
    }

    pub fn bursts(&self) -> u64 {
        self.bursts
    }

    pub fn on_air(&self, now: Instant) -> Duration {
        match self.is_on {
            true => self.on_air + now.since(self.since),
            false => self.on_air,
        }
    }

    fn burst_us(&self) -> f64 {
        self.spec.burst.as_micros() as f64
    }

    fn length(&mut self, mean_us: f64) -> Duration {
        self.spec.lengths.draw(mean_us, &mut self.rng)
    }

    /// Returns the beginning of the next burst, after a gap that begins now or with a later
    /// session. [`Instant::FAR_FUTURE`] if none of the next [`SEARCHED`] sessions has a burst.
    fn next_burst(&mut self, now: Instant) -> Instant {
        let gap_us = self.burst_us() * (1.0 - self.spec.busy) / self.spec.busy;
        let mut from = now;
        for _ in 0..SEARCHED {
            let at = from + self.length(gap_us);
            if at < self.active_until {
                return at;
            }
            (from, self.active_until) = self.session_after(now.max(self.active_until));
            if from == Instant::FAR_FUTURE {
                break;
            }
        }
        Instant::FAR_FUTURE
    }

    /// Returns the next session that begins at `at` or later. Both times are
    /// [`Instant::FAR_FUTURE`] if no session begins within [`SEARCHED`] days.
    fn session_after(&mut self, at: Instant) -> (Instant, Instant) {
        let mut at = at;
        for _ in 0..SEARCHED {
            let (opens, closes) = self.hours_after(at);
            let Some(mean) = self.spec.session else {
                return (opens.max(at), closes);
            };
            let mean_us = mean.as_micros() as f64;
            let share = self.spec.session_share;
            // Session lengths are exponential, so the probability that a session is in progress
            // when the hours begin is `session_share`.
            let is_under_way = at <= opens && chance(&mut self.rng, share);
            let pause_us = mean_us * (1.0 - share) / share;
            let mut begins = opens.max(at);
            if !is_under_way && share < 1.0 {
                begins += Lengths::Exponential.draw(pause_us, &mut self.rng);
            }
            if begins < closes {
                let ends = begins + Lengths::Exponential.draw(mean_us, &mut self.rng);
                return (begins, ends.min(closes));
            }
            at = closes;
        }
        (Instant::FAR_FUTURE, Instant::FAR_FUTURE)
    }

    /// Returns the hours of activity that are not over at `at`.
    fn hours_after(&self, at: Instant) -> (Instant, Instant) {
        let (from, until) = self.spec.hours;
        if from.is_zero() && until >= DAY {
            return (Instant::ZERO, Instant::FAR_FUTURE);
        }
        let day = at.as_micros() / DAY.as_micros();
        let of_day = |day: u64| {
            let midnight = Instant::from_micros(day * DAY.as_micros());
            (midnight + from, midnight + until)
        };
        let today = of_day(day);
        match at < today.1 {
            true => today,
            false => of_day(day + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wifi() -> Interferer {
        Interferer {
            name: "wifi".to_owned(),
            position_m: (0.0, 0.0),
            power_dbm: 10.0,
            range_m: 50.0,
            burst: Duration::from_millis(2),
            busy: 0.3,
            lengths: Lengths::Exponential,
            hours: (Duration::ZERO, DAY),
            session: None,
            session_share: 1.0,
        }
    }

    fn bursts(spec: Interferer, seed: u64, until: Instant) -> Vec<(Instant, Instant)> {
        let mut course = BurstSequence::new(spec, Rng::new(seed));
        let mut bursts = Vec::new();
        let mut at = course.first().unwrap();
        while at < until {
            let (is_on, ends) = course.turn(at);
            assert!(is_on && ends > at);
            bursts.push((at, ends));
            let (is_on, next) = course.turn(ends);
            assert!(!is_on && next > ends);
            at = next;
        }
        bursts
    }

    fn seconds(bursts: &[(Instant, Instant)]) -> f64 {
        let lengths = bursts.iter().map(|(from, until)| until.since(*from));
        lengths.map(|l| l.as_micros() as f64 / 1e6).sum()
    }

    #[test]
    fn bursts_have_their_mean_length_and_their_share_of_the_time() {
        for (lengths, tolerance) in [
            (Lengths::Constant, 0.001),
            (Lengths::Exponential, 0.02),
            (Lengths::Pareto { shape: 2.5 }, 0.05),
        ] {
            for busy in [0.05, 0.3, 0.8] {
                let spec = Interferer {
                    lengths,
                    busy,
                    ..wifi()
                };
                let all = bursts(spec, 3, Instant::from_millis(1_000_000));
                let share = seconds(&all) / 1_000.0;
                let mean = seconds(&all) / all.len() as f64;
                assert!(
                    (share / busy - 1.0).abs() < tolerance,
                    "{lengths:?}: {share}"
                );
                assert!(
                    (mean / 0.002 - 1.0).abs() < tolerance,
                    "{lengths:?}: {mean}"
                );
            }
        }
    }

    /// Checks the share of lengths that exceed the mean: 1/e of exponential lengths, (5/3)^-2.5 of
    /// Pareto lengths with shape 2.5, and none of constant lengths.
    #[test]
    fn lengths_are_distributed_as_they_should_be() {
        for (lengths, expected) in [
            (Lengths::Constant, 0.0),
            (Lengths::Exponential, 0.3679),
            (Lengths::Pareto { shape: 2.5 }, 0.2789),
        ] {
            let spec = Interferer { lengths, ..wifi() };
            let all = bursts(spec, 5, Instant::from_millis(600_000));
            let long = |(from, until): &&(Instant, Instant)| until.since(*from).as_micros() > 2_000;
            let share = all.iter().filter(long).count() as f64 / all.len() as f64;
            assert!((share - expected).abs() < 0.01, "{lengths:?}: {share}");
        }
    }

    #[test]
    fn it_is_silent_outside_its_hours() {
        let spec = Interferer {
            hours: (
                Duration::from_secs(9 * 3_600),
                Duration::from_secs(18 * 3_600),
            ),
            burst: Duration::from_millis(200),
            ..wifi()
        };
        let all = bursts(spec, 1, Instant::from_millis(3 * 86_400_000));
        let hour = |at: Instant| at.as_micros() / 3_600_000_000 % 24;
        assert!(all.iter().all(|(from, _)| (9..18).contains(&hour(*from))));
        // The interferer transmits for 30 % of its nine hours on each of three days.
        let share = seconds(&all) / (3.0 * 9.0 * 3_600.0);
        assert!((share - 0.3).abs() < 0.01, "{share}");
    }

    #[test]
    fn sessions_take_their_share_of_the_hours() {
        let spec = Interferer {
            hours: (Duration::from_secs(3_600), Duration::from_secs(23 * 3_600)),
            burst: Duration::from_millis(100),
            session: Some(Duration::from_secs(30)),
            session_share: 0.25,
            ..wifi()
        };
        let all = bursts(spec, 1, Instant::from_millis(10 * 86_400_000));
        let share = seconds(&all) / (10.0 * 22.0 * 3_600.0);
        assert!((share - 0.25 * 0.3).abs() < 0.004, "{share}");
        // Between sessions the interferer is silent for 90 s on average; a gap takes 233 ms.
        let gaps = all.windows(2).map(|pair| pair[1].0.since(pair[0].1));
        let pauses = gaps.filter(|gap| *gap > Duration::from_secs(5)).count();
        // In 792,000 s with periods of 120 s, most periods have a pause of more than 5 s.
        assert!((5_800..6_700).contains(&pauses), "{pauses}");
    }

    #[test]
    fn an_interferer_that_is_never_busy_never_begins() {
        for spec in [
            Interferer {
                busy: 0.0,
                ..wifi()
            },
            Interferer {
                session: Some(DAY),
                session_share: 0.0,
                ..wifi()
            },
        ] {
            assert_eq!(BurstSequence::new(spec, Rng::new(1)).first(), None);
        }
    }

    /// Checks that the search for the next burst ends if gaps are longer than sessions, if sessions
    /// hardly ever begin, and if an interferer added during a run is never busy.
    #[test]
    fn an_interferer_whose_bursts_fit_into_no_session_is_silent() {
        let second = |s: u64| Duration::from_secs(s);
        let short = Interferer {
            burst: Duration::from_millis(293),
            busy: 0.05,
            hours: (second(174), second(175)),
            ..wifi()
        };
        let rare = Interferer {
            session: Some(second(1)),
            session_share: 1e-15,
            ..short.clone()
        };
        let brief = Interferer {
            session: Some(Duration::from_micros(1)),
            session_share: 0.5,
            ..wifi()
        };
        let idle = Interferer {
            busy: 0.0,
            ..wifi()
        };
        for lengths in [Lengths::Constant, Lengths::Pareto { shape: 2.5 }] {
            for spec in [&short, &rare, &brief, &idle] {
                let spec = Interferer {
                    lengths,
                    ..spec.clone()
                };
                let mut course = BurstSequence::new(spec.clone(), Rng::new(1));
                let at = course.first_after(Instant::from_millis(1_000));
                assert_eq!(at, Instant::FAR_FUTURE, "{spec:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_course() {
        let until = Instant::from_millis(10_000);
        assert_eq!(bursts(wifi(), 7, until), bursts(wifi(), 7, until));
        assert_ne!(bursts(wifi(), 7, until), bursts(wifi(), 8, until));
    }
}
