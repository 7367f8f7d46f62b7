//! The Trickle timer (RFC 6206 §4.2), as RPL uses it (RFC 6550 §8.3).

use redpoll_base::{Duration, Instant, Rng};

use crate::net::routing::rpl::timing::{earlier, has_come, times};

/// The timer of multicast DIOs.
#[derive(Clone, Debug)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Trickle {
    /// k; 0 is infinity (RFC 6550 §8.3.1).
    redundancy: u8,
    /// c: consistent messages in this interval.
    heard: u8,
    /// Imin.
    shortest: Duration,
    /// Imax.
    longest: Duration,
    /// I: the present interval; zero while the timer is stopped.
    interval: Duration,
    ends: Instant,
    /// t: the time of the message in this interval, until it has passed.
    fires: Option<Instant>,
}

/// The largest Imin, as a power of two in milliseconds: more than an hour.
const SHORTEST_MAX_LOG: u8 = 22;
/// The largest Imax. RFC 6550 §17 has 2.3 hours by default.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

impl Trickle {
    /// Returns a stopped timer.
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

    /// Sets the parameters: Imin as a power of two in milliseconds, its number of doublings, and k.
    pub(super) fn configure(&mut self, shortest_log: u8, doublings: u8, redundancy: u8) {
        let shortest = 1_u64 << shortest_log.min(SHORTEST_MAX_LOG);
        self.shortest = Duration::from_millis(shortest);
        let factor = 1_u64 << doublings.min(40);
        self.longest = times(self.shortest, factor).min(LONGEST).max(self.shortest);
        self.redundancy = redundancy;
    }

    pub(super) fn shortest(&self) -> Duration {
        self.shortest
    }

    pub(super) fn start(&mut self, now: Instant, rng: &mut Rng) {
        self.interval = self.shortest;
        self.begin(now, rng);
    }

    /// Counts a consistent message of a neighbour (RFC 6206 §4.2 step 3).
    pub(super) fn on_consistent(&mut self) {
        self.heard = self.heard.saturating_add(1);
    }

    /// Resets the timer because of an inconsistency (RFC 6206 §4.2 step 6). Returns whether a new
    /// interval has begun; an interval that already has the length Imin is not restarted.
    pub(super) fn on_inconsistent(&mut self, now: Instant, rng: &mut Rng) -> bool {
        let resets = !self.interval.is_zero() && self.interval > self.shortest;
        if resets {
            self.start(now, rng);
        }
        resets
    }

    /// Returns the earlier of `at` and the next event of the timer.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        match (self.interval.is_zero(), &self.fires) {
            (true, _) => at,
            (false, None) => at.min(self.ends),
            (false, fires) => earlier(at, fires),
        }
    }

    /// Runs the timer. Returns whether a message is due. `is_news`: no neighbour can have sent the
    /// contents of the message, so k does not suppress it.
    pub(super) fn on_timeout(&mut self, now: Instant, is_news: bool, rng: &mut Rng) -> bool {
        if self.interval.is_zero() {
            return false;
        }
        let mut sends = false;
        if has_come(&self.fires, now) {
            self.fires = None;
            // RFC 6206 §4.2 step 4.
            sends = is_news || self.redundancy == 0 || self.heard < self.redundancy;
        }
        if self.fires.is_none() && self.ends <= now {
            // RFC 6206 §4.2 step 5.
            self.interval = times(self.interval, 2).min(self.longest);
            self.begin(now, rng);
        }
        sends
    }

    /// Begins an interval: c is zero, and t is in its second half (RFC 6206 §4.2 step 2).
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

    /// Returns the next event, unless the timer is stopped.
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
    fn an_inconsistency_restarts_trickle_but_not_within_the_shortest_interval() {
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
