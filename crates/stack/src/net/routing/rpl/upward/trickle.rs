//! The Trickle timer (RFC 6206 §4.2), with what RPL says of it (RFC 6550 §8.3).

use redpoll_base::{Duration, Instant, Rng};

use crate::net::routing::rpl::timing::{earlier, has_come, times};

/// When the next DIO is due, and whether enough neighbours have said the same.
#[derive(Clone, Debug)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct Trickle {
    /// k; 0 is infinity (RFC 6550 §8.3.1).
    redundancy: u8,
    /// c.
    heard: u8,
    /// Imin.
    shortest: Duration,
    /// Imax.
    longest: Duration,
    /// I; zero while the timer stands still.
    interval: Duration,
    /// The end of the interval.
    ends: Instant,
    /// t, while it lies ahead.
    fires: Option<Instant>,
}

/// Imin of more than an hour, or less than a millisecond, is nobody's.
const SHORTEST_MAX_LOG: u8 = 22;
/// Imax is at most this: RFC 6550 §17 has 2.3 hours by default.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Trickle {
    /// A timer that stands still.
    pub(super) const fn new() -> Self {
        Trickle {
            shortest: Duration::from_millis(8),
            longest: LONGEST,
            redundancy: 10,
            interval: Duration::ZERO,
            ends: Instant::ZERO,
            fires: None,
            heard: 0,
        }
    }

    /// Takes over the parameters: Imin as a power of two in milliseconds, how often
    /// it doubles, and k.
    pub(super) fn configure(&mut self, shortest_log: u8, doublings: u8, redundancy: u8) {
        let shortest = 1_u64 << shortest_log.min(SHORTEST_MAX_LOG);
        self.shortest = Duration::from_millis(shortest);
        let factor = 1_u64 << doublings.min(40);
        self.longest = times(self.shortest, factor).min(LONGEST).max(self.shortest);
        self.redundancy = redundancy;
    }

    /// Imin.
    pub(super) fn shortest(&self) -> Duration {
        self.shortest
    }

    /// Begins anew with the shortest interval.
    pub(super) fn start(&mut self, now: Instant, rng: &mut Rng) {
        self.interval = self.shortest;
        self.begin(now, rng);
    }

    /// §4.2 step 5: a neighbour says the same.
    pub(super) fn on_consistent(&mut self) {
        self.heard = self.heard.saturating_add(1);
    }

    /// §4.2 step 6: something is not as it should be. Whether that has begun a new
    /// interval: one that is the shortest already goes on.
    pub(super) fn on_inconsistent(&mut self, now: Instant, rng: &mut Rng) -> bool {
        let resets = !self.interval.is_zero() && self.interval > self.shortest;
        if resets {
            self.start(now, rng);
        }
        resets
    }

    /// `at`, or when something is to be run if that is earlier.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        match (self.interval.is_zero(), &self.fires) {
            (true, _) => at,
            (false, None) => at.min(self.ends),
            (false, fires) => earlier(at, fires),
        }
    }

    /// Runs what is due; whether a message is to be sent. `is_news`: nobody else can have
    /// said what it says.
    pub(super) fn on_timeout(&mut self, now: Instant, is_news: bool, rng: &mut Rng) -> bool {
        if self.interval.is_zero() {
            return false;
        }
        let mut sends = false;
        if has_come(&self.fires, now) {
            self.fires = None;
            // Step 4.
            sends = is_news || self.redundancy == 0 || self.heard < self.redundancy;
        }
        if self.fires.is_none() && self.ends <= now {
            // Step 5 of the list: the interval doubles.
            self.interval = times(self.interval, 2).min(self.longest);
            self.begin(now, rng);
        }
        sends
    }

    /// Steps 2 and 3: c is zero, and t lies in the second half.
    fn begin(&mut self, now: Instant, rng: &mut Rng) {
        self.heard = 0;
        let half = self.interval.divided_by(2);
        let within = Duration::from_micros(rng.below_u64(half.as_micros()));
        self.fires = Some(now + half + within);
        self.ends = now + self.interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When something is to be run, if the timer does not stand still.
    fn next(trickle: &Trickle) -> Option<Instant> {
        let at = trickle.earlier(Instant::FAR_FUTURE);
        Some(at).filter(|at| *at != Instant::FAR_FUTURE)
    }

    fn started(redundancy: u8) -> (Trickle, Rng) {
        let (mut trickle, mut rng) = (Trickle::new(), Rng::new(7));
        trickle.configure(10, 3, redundancy);
        trickle.start(Instant::ZERO, &mut rng);
        (trickle, rng)
    }

    /// RFC 6206 §4.2: t lies in the second half of I, and I doubles up to Imax.
    #[test]
    fn intervals_double_and_messages_come_in_their_second_halves() {
        let (mut trickle, mut rng) = started(1);
        let mut begins = 0;
        for interval in [1024, 2048, 4096, 8192, 8192] {
            let at = next(&trickle).unwrap();
            let ms = at.as_micros().div_ceil(1000);
            assert!((begins + interval / 2..=begins + interval).contains(&ms));
            assert!(trickle.on_timeout(at, false, &mut rng));
            begins += interval;
            let end = next(&trickle).unwrap();
            assert_eq!(end, Instant::from_millis(begins));
            assert!(!trickle.on_timeout(end, false, &mut rng));
        }
    }

    #[test]
    fn enough_consistent_messages_suppress_ones_own() {
        for (redundancy, heard, sends) in [(2, 1, true), (2, 2, false), (0, 200, true)] {
            let (mut trickle, mut rng) = started(redundancy);
            (0..heard).for_each(|_| trickle.on_consistent());
            let at = next(&trickle).unwrap();
            assert_eq!(trickle.clone().on_timeout(at, false, &mut rng), sends);
            assert!(trickle.on_timeout(at, true, &mut rng), "news");
        }
    }

    #[test]
    fn an_inconsistency_begins_anew_but_not_within_the_shortest_interval() {
        let (mut trickle, mut rng) = started(1);
        assert!(!trickle.on_inconsistent(Instant::from_millis(100), &mut rng));
        for _ in 0..6 {
            let at = next(&trickle).unwrap();
            trickle.on_timeout(at, false, &mut rng);
        }
        let now = Instant::from_millis(8_000);
        assert!(trickle.on_inconsistent(now, &mut rng));
        assert!(next(&trickle).unwrap() <= now + Duration::from_millis(1024));
        let mut still = Trickle::new();
        assert!(!still.on_inconsistent(now, &mut rng));
        assert_eq!(next(&still), None);
    }
}
