//! The timers of a connection: one-shot, tickless, all able to run together.

use redpoll_base::{Duration, Instant, Wake};

/// What a connection times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// RFC 6298 §5.
    Retransmission,
    /// RFC 8985 §7.2: PTO.
    LossProbe,
    /// RFC 9293 §3.8.6.3.
    DelayedAck,
    /// RFC 8985 §6.2, step 5.
    Reordering,
    /// RFC 9293 §3.8.6.1, and the override timeout of §3.8.6.2.1.
    Persist,
    /// RFC 9293 §3.8.4.
    Keepalive,
    /// RFC 9293 §3.10.8.
    User,
    /// The wait for the peer's FIN; for an application that has let go, the
    /// time that TCP has to come to an end.
    Linger,
    /// RFC 9293 §3.6.1: 2 MSL.
    TimeWait,
}

impl Timer {
    /// Every timer, in the order in which they are served when several are due.
    const ALL: [Timer; 9] = [
        Timer::TimeWait,
        Timer::Linger,
        Timer::User,
        Timer::Reordering,
        Timer::LossProbe,
        Timer::Retransmission,
        Timer::Persist,
        Timer::DelayedAck,
        Timer::Keepalive,
    ];
}

/// How late each timer may be served without harm to the peer, in milliseconds
/// and in the order of `Timer`.
const SLACK_MS: [u16; PLACES] = [
    20,    // Retransmission
    20,    // LossProbe
    20,    // DelayedAck; `LONGEST_ACK_DELAY` allows for it
    0,     // Reordering
    100,   // Persist
    0,     // Keepalive: see `next`
    1_000, // User
    1_000, // Linger, TimeWait
];

/// When each timer runs out, in whole milliseconds, rounded up.
#[derive(Clone, Debug)]
pub(crate) struct TimerTable {
    /// What the entries of `at` are relative to: the low and the high half of
    /// an [`Instant`], which whole would make every connection eight bytes
    /// larger where a table's places are aligned.
    base: [u32; 2],
    /// Milliseconds after `base`; nothing where a timer is off.
    at: [u32; PLACES],
    /// A bit for each timer that runs.
    running: u16,
}

/// The last two timers share a place: TIME-WAIT turns off all others.
const PLACES: usize = Timer::ALL.len() - 1;

impl Timer {
    const fn bit(self) -> u16 {
        1 << self as u16
    }

    const fn place(self) -> usize {
        match self {
            Timer::TimeWait => Timer::Linger as usize,
            other => other as usize,
        }
    }
}

/// Rounds up to whole milliseconds.
const ALMOST_A_TICK: Duration = Duration::from_micros(999);

/// How old `base` may grow: 24 days.
const BASE_AGE: Duration = Duration::from_millis(1 << 31);

impl TimerTable {
    pub(crate) const fn new(now: Instant) -> Self {
        TimerTable {
            base: halves(now),
            at: [0; PLACES],
            running: 0,
        }
    }

    fn base(&self) -> Instant {
        let [low, high] = self.base;
        Instant::from_micros(u64::from(low) | u64::from(high) << 32)
    }

    /// Starts `timer`, or starts it anew: it runs out `after` this from now.
    pub(crate) fn start(&mut self, timer: Timer, now: Instant, after: Duration) {
        self.rebase(now);
        let left = (now + after).since(self.base()) + ALMOST_A_TICK;
        if let Some(slot) = self.at.get_mut(timer.place()) {
            *slot = left.millis_saturating();
            if timer == Timer::TimeWait {
                self.running = 0;
            }
            self.running |= timer.bit();
        }
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.running &= !timer.bit();
    }

    pub(crate) fn cancel_all(&mut self) {
        self.running = 0;
    }

    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.running & timer.bit() != 0
    }

    /// How long `timer` has yet to run, if it runs.
    pub(crate) fn remaining(&self, timer: Timer, now: Instant) -> Option<Duration> {
        Some(self.instant(self.at(timer)?).since(now))
    }

    /// Takes a timer that has run out by `now`, and stops it.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        if self.running == 0 {
            return None;
        }
        let passed = now.since(self.base()).millis_saturating();
        let timer = Timer::ALL
            .into_iter()
            .find(|&timer| self.at(timer).is_some_and(|ms| ms <= passed))?;
        self.cancel(timer);
        Some(timer)
    }

    /// When the next timer runs out. A keep-alive probe may be so many
    /// milliseconds late: a sleeping node sends it when it is awake anyway.
    pub(crate) fn next(&self, keepalive_slack_ms: impl FnOnce() -> u32) -> Option<Wake> {
        if self.running == 0 {
            return None;
        }
        let (mut first, mut latest) = (u32::MAX, u32::MAX);
        // What runs most is in front: the rest need not be looked at.
        let mut running = self.running & !Timer::Keepalive.bit();
        if self.is_running(Timer::TimeWait) {
            running = Timer::Linger.bit();
        }
        let mut entries = self.at.iter().zip(SLACK_MS);
        while running != 0
            && let Some((&ms, slack)) = entries.next()
        {
            if running & 1 != 0 {
                first = first.min(ms);
                latest = latest.min(ms.saturating_add(u32::from(slack)));
            }
            running >>= 1;
        }
        if let Some(ms) = self.at(Timer::Keepalive) {
            first = first.min(ms);
            latest = latest.min(ms.saturating_add(keepalive_slack_ms()));
        }
        let slack = Duration::from_millis_u32(latest.saturating_sub(first));
        Some(Wake::within(self.instant(first), slack))
    }

    /// The entry of `timer`, if it runs.
    fn at(&self, timer: Timer) -> Option<u32> {
        let at = self.at.get(timer.place()).copied();
        at.filter(|_| self.is_running(timer))
    }

    fn instant(&self, ms: u32) -> Instant {
        self.base() + Duration::from_millis_u32(ms)
    }

    /// Moves `base` up before it is too old for 32 bits.
    fn rebase(&mut self, now: Instant) {
        let age = now - self.base();
        if age < BASE_AGE {
            return;
        }
        let age = age.millis_saturating();
        // So long ago that every timer has run out, or by whole milliseconds.
        self.base = halves(if age == u32::MAX {
            now
        } else {
            self.instant(age)
        });
        for slot in &mut self.at {
            *slot = slot.saturating_sub(age);
        }
    }
}

const fn halves(at: Instant) -> [u32; 2] {
    let us = at.as_micros();
    [us as u32, (us >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn timers_run_side_by_side_and_expire_once() {
        let t = Instant::from_micros(500);
        let mut table = TimerTable::new(t);
        assert_eq!(table.next(|| 0), None);
        table.start(Timer::Keepalive, t, ms(50));
        table.start(Timer::Retransmission, t, ms(10));
        table.start(Timer::User, t, ms(10));
        assert_eq!(table.next(|| 0).unwrap().at, t + ms(10));
        assert_eq!(table.take_expired(t + ms(9)), None);
        assert_eq!(table.take_expired(t + ms(10)), Some(Timer::User));
        assert_eq!(table.take_expired(t + ms(10)), Some(Timer::Retransmission));
        assert_eq!(table.take_expired(t + ms(10)), None);
        assert!(table.is_running(Timer::Keepalive));
        table.cancel(Timer::Keepalive);
        assert_eq!(table.take_expired(t + ms(99)), None);
    }

    #[test]
    fn a_probe_waits_for_a_better_moment_but_nothing_waits_for_it() {
        let t = Instant::ZERO;
        let mut table = TimerTable::new(t);
        table.start(Timer::Keepalive, t, ms(1_000));
        assert_eq!(
            table.next(|| 300),
            Some(Wake::within(t + ms(1_000), ms(300)))
        );
        table.start(Timer::DelayedAck, t, ms(1_100));
        assert_eq!(
            table.next(|| 300),
            Some(Wake::within(t + ms(1_000), ms(120)))
        );
    }

    #[test]
    fn never_early_and_less_than_a_millisecond_late() {
        let mut table = TimerTable::new(Instant::ZERO);
        for us in 0..3_000 {
            let at = Instant::from_micros(us) + Duration::from_micros(777);
            table.start(
                Timer::Persist,
                Instant::from_micros(us),
                Duration::from_micros(777),
            );
            let next = table.next(|| 0).unwrap().at;
            assert!(at <= next && next - at < ms(1));
        }
    }

    #[test]
    fn a_year_may_pass_between_two_calls() {
        let mut now = Instant::ZERO;
        let mut table = TimerTable::new(now);
        table.start(Timer::User, now, ms(10));
        now += Duration::from_secs(365 * 24 * 60 * 60);
        table.start(Timer::Keepalive, now, ms(10));
        assert_eq!(table.take_expired(now), Some(Timer::User));
        assert_eq!(table.take_expired(now), None);
        assert_eq!(table.next(|| 0).unwrap().at, now + ms(10));
    }

    #[test]
    fn months_may_pass() {
        let day = ms(24 * 60 * 60 * 1000);
        let mut now = Instant::ZERO;
        let mut table = TimerTable::new(now);
        for _ in 0..400 {
            table.start(Timer::Keepalive, now, day);
            table.start(Timer::User, now, day.times(3));
            now += day;
            assert_eq!(table.next(|| 0).unwrap().at, now);
            assert_eq!(table.take_expired(now), Some(Timer::Keepalive));
            assert_eq!(table.take_expired(now), None);
        }
        assert_eq!(table.take_expired(now + day.times(2)), Some(Timer::User));
    }
}
