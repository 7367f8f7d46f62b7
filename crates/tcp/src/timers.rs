//! The clock and the one-shot timers of a connection. Several timers may run at the same time.
//!
//! The caller's clock counts microseconds in 64 bits. The connection stores times and durations as
//! whole milliseconds in 32 bits, wrapping, because this needs half the registers and fewer
//! instructions on 32-bit processors. Every public call that depends on time starts with
//! [`TimerTable::enter`]; after that, the time is constant.

use redpoll_base::{Duration, Instant, Wake};

/// The timers of a connection. Those that are due at the same time are served in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// Limit for closing: the wait for the peer's FIN, the end of an orphaned connection, and 2 MSL
    /// in TIME-WAIT (RFC 9293 §3.6.1).
    Linger,
    /// The user timeout (RFC 9293 §3.10.8).
    User,
    /// The reordering timer (RFC 8985 §6.2, step 5).
    Reordering,
    /// The timer of the tail loss probe, PTO (RFC 8985 §7.2).
    LossProbe,
    /// The retransmission timer (RFC 6298 §5).
    Retransmission,
    /// The timer of window probes (RFC 9293 §3.8.6.1), and the override timeout of §3.8.6.2.1.
    Persist,
    /// The timer of the delayed ACK (RFC 9293 §3.8.6.3).
    DelayedAck,
    /// The keep-alive timer (RFC 9293 §3.8.4).
    Keepalive,
}

impl Timer {
    const ALL: [Timer; 8] = [
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

/// Largest delay of each timer without harm to the peer, in milliseconds and in the order of
/// `Timer`. The table omits the keep-alive timer, whose slack is an argument of
/// [`TimerTable::next`].
const SLACK_MS: [u16; Timer::ALL.len() - 1] = [
    1_000, // Linger
    1_000, // User
    0,     // Reordering
    20,    // LossProbe
    20,    // Retransmission
    100,   // Persist
    20,    // DelayedAck; `LONGEST_ACK_DELAY` leaves this slack
];

#[derive(Clone, Debug)]
pub(crate) struct TimerTable {
    /// Current time in whole milliseconds, rounded up, wrapping.
    now: u32,
    /// Upper half of the current time in microseconds.
    high: u32,
    /// Expiry of each timer, on the scale of `now`; [`OFF`] if the timer does not run.
    at: [u32; Timer::ALL.len()],
}

/// Marks a timer as off. A timer that would expire at this value expires a millisecond later.
const OFF: u32 = 0;

/// Longest time of a timer: 24 days.
const LONGEST_MS: u32 = i32::MAX as u32;

impl TimerTable {
    pub(crate) fn new(now: Instant) -> Self {
        let mut table = TimerTable {
            now: 0,
            high: 0,
            at: [OFF; Timer::ALL.len()],
        };
        table.enter(now);
        table
    }

    /// Advances the clock to `now`, and returns the time in milliseconds, rounded down. A clock
    /// that goes back is treated as stopped.
    #[inline(never)] // size
    pub(crate) fn enter(&mut self, now: Instant) -> u32 {
        let (low, high) = (now.as_micros() as u32, (now.as_micros() >> 32) as u32);
        if high == self.high
            && let Some(since @ ..1_000) = us(self.now).checked_sub(low)
        {
            // Usual case: the time is in the same millisecond as in the previous call.
            return self.now.wrapping_sub(u32::from(since > 0));
        }
        let floor = now.millis_wrapping();
        let beyond = low.wrapping_sub(us(floor));
        let missing = if beyond > 0 {
            1_000u32.wrapping_sub(beyond)
        } else {
            0
        };
        let up = now.as_micros().wrapping_add(u64::from(missing));
        if up < self.micros() {
            return self.now;
        }
        let high = (up >> 32) as u32;
        if high != self.high {
            self.catch_up(floor, high.wrapping_sub(self.high));
            self.high = high;
        }
        self.now = floor.wrapping_add(u32::from(beyond > 0));
        floor
    }

    /// Adjusts the timers after `high` grew by `steps`, each of 2^32 microseconds (71 minutes).
    /// Without this, an expired timer could look like one that expires in days.
    fn catch_up(&mut self, floor: u32, steps: u32) {
        // 500 steps are 2^31 milliseconds, longer than any timer: all timers have expired.
        let is_long = steps >= 500;
        let passed = floor.wrapping_sub(self.now);
        for at in &mut self.at {
            if *at != OFF && (is_long || at.wrapping_sub(self.now) <= passed) {
                *at = floor.max(OFF.wrapping_add(1));
            }
        }
    }

    pub(crate) fn now(&self) -> u32 {
        self.now
    }

    /// Returns the current time in microseconds, rounded up to whole milliseconds.
    fn micros(&self) -> u64 {
        u64::from(self.high) << 32 | u64::from(us(self.now))
    }

    /// Starts or restarts `timer`, which expires in `after` milliseconds.
    #[inline(never)] // size
    pub(crate) fn start(&mut self, timer: Timer, after: u32) {
        let at = self.now.wrapping_add(after.min(LONGEST_MS));
        self.set(timer, at.max(OFF.wrapping_add(1)));
    }

    fn set(&mut self, timer: Timer, at: u32) {
        if let Some(slot) = self.at.get_mut(timer as usize) {
            *slot = at;
        }
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.set(timer, OFF);
    }

    pub(crate) fn cancel_all(&mut self) {
        self.at = [OFF; Timer::ALL.len()];
    }

    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.at(timer) != OFF
    }

    /// Returns the number of milliseconds until `timer` expires, if it runs.
    pub(crate) fn remaining(&self, timer: Timer) -> Option<u32> {
        match self.at(timer) {
            OFF => None,
            at => Some(self.left(at)),
        }
    }

    /// Returns the number of milliseconds until `at`; 0 if `at` has passed.
    fn left(&self, at: u32) -> u32 {
        let left = at.wrapping_sub(self.now);
        if left > LONGEST_MS { 0 } else { left }
    }

    /// Stops and returns a timer that has expired. `floor` is the value returned by
    /// [`enter`](Self::enter).
    #[inline(never)] // size
    pub(crate) fn take_expired(&mut self, floor: u32) -> Option<Timer> {
        let (slot, timer) = self
            .at
            .iter_mut()
            .zip(Timer::ALL)
            .find(|(at, _)| **at != OFF && floor.wrapping_sub(**at) <= LONGEST_MS)?;
        *slot = OFF;
        Some(timer)
    }

    /// Returns the next expiry. A keep-alive probe may be `keepalive_slack_ms` late, so that a
    /// sleeping node sends it when it is awake anyway.
    pub(crate) fn next(&self, keepalive_slack_ms: impl FnOnce() -> u32) -> Option<Wake> {
        let (mut first, mut latest) = (u32::MAX, u32::MAX);
        let mut note = |at: u32, slack: u32| {
            let left = self.left(at);
            first = first.min(left);
            latest = latest.min(left.wrapping_add(slack));
        };
        for (&at, slack) in self.at.iter().zip(SLACK_MS) {
            if at != OFF {
                note(at, u32::from(slack));
            }
        }
        if self.is_running(Timer::Keepalive) {
            note(self.at(Timer::Keepalive), keepalive_slack_ms());
        }
        if first == u32::MAX {
            return None;
        }
        let at = Duration::from_micros(self.micros()) + Duration::from_millis_u32(first);
        let slack = Duration::from_millis_u32(latest.wrapping_sub(first));
        Some(Wake::within(Instant::from_micros(at.as_micros()), slack))
    }

    fn at(&self, timer: Timer) -> u32 {
        self.at.get(timer as usize).copied().unwrap_or(OFF)
    }
}

pub(crate) fn doubled(base: u32, times: u8, max: u32) -> u32 {
    let mut value = base;
    for _ in 0..times {
        value = value.saturating_add(value.min(max));
    }
    value.min(max)
}

/// Converts milliseconds to microseconds, wrapping.
const fn us(ms: u32) -> u32 {
    ms.wrapping_mul(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn expired(table: &mut TimerTable, now: Instant) -> Option<Timer> {
        let floor = table.enter(now);
        table.take_expired(floor)
    }

    #[test]
    fn timers_run_side_by_side_and_expire_once() {
        let t = Instant::from_millis(500);
        let mut table = TimerTable::new(t);
        assert_eq!(table.next(|| 0), None);
        table.start(Timer::Keepalive, 50);
        table.start(Timer::Retransmission, 10);
        table.start(Timer::User, 10);
        assert_eq!(table.next(|| 0).unwrap().at, t + ms(10));
        assert_eq!(expired(&mut table, t + ms(9)), None);
        assert_eq!(expired(&mut table, t + ms(10)), Some(Timer::User));
        assert_eq!(expired(&mut table, t + ms(10)), Some(Timer::Retransmission));
        assert_eq!(expired(&mut table, t + ms(10)), None);
        assert!(table.is_running(Timer::Keepalive));
        table.cancel(Timer::Keepalive);
        assert_eq!(expired(&mut table, t + ms(99)), None);
    }

    #[test]
    fn keepalive_joins_other_timers_without_delaying_them() {
        let t = Instant::ZERO;
        let mut table = TimerTable::new(t);
        table.start(Timer::Keepalive, 1_000);
        assert_eq!(
            table.next(|| 300),
            Some(Wake::within(t + ms(1_000), ms(300)))
        );
        table.start(Timer::DelayedAck, 1_100);
        assert_eq!(
            table.next(|| 300),
            Some(Wake::within(t + ms(1_000), ms(120)))
        );
    }

    #[test]
    fn never_early_and_less_than_a_millisecond_late() {
        let mut table = TimerTable::new(Instant::ZERO);
        for us in 0..3_000 {
            table.enter(Instant::from_micros(us));
            let at = Instant::from_micros(us) + ms(7);
            table.start(Timer::Persist, 7);
            let next = table.next(|| 0).unwrap().at;
            assert!(at <= next && next - at < ms(1));
        }
    }

    #[test]
    fn a_year_may_pass_between_two_calls() {
        let mut now = Instant::ZERO;
        let mut table = TimerTable::new(now);
        table.start(Timer::User, 10);
        now += Duration::from_secs(365 * 24 * 60 * 60);
        table.enter(now);
        table.start(Timer::Keepalive, 10);
        assert_eq!(expired(&mut table, now), Some(Timer::User));
        assert_eq!(expired(&mut table, now), None);
        assert_eq!(table.next(|| 0).unwrap().at, now + ms(10));
    }

    #[test]
    fn months_may_pass() {
        const DAY: u32 = 24 * 60 * 60 * 1000;
        let day = ms(DAY.into());
        let mut now = Instant::ZERO;
        let mut table = TimerTable::new(now);
        for _ in 0..400 {
            table.start(Timer::Keepalive, DAY);
            table.start(Timer::User, 3 * DAY);
            now += day;
            assert_eq!(table.next(|| 0).unwrap().at, now);
            assert_eq!(expired(&mut table, now), Some(Timer::Keepalive));
            assert_eq!(expired(&mut table, now), None);
        }
        assert_eq!(expired(&mut table, now + day.times(2)), Some(Timer::User));
    }

    #[test]
    fn a_clock_that_goes_back_stands_still() {
        let mut table = TimerTable::new(Instant::from_millis(5_000));
        table.start(Timer::Persist, 10);
        assert_eq!(expired(&mut table, Instant::from_millis(4_000)), None);
        let next = table.next(|| 0).unwrap().at;
        assert_eq!(next, Instant::from_millis(5_010));
        assert_eq!(expired(&mut table, next), Some(Timer::Persist));
    }

    #[test]
    fn timers_survive_the_wrap_of_their_numbers() {
        // Each of the two 32-bit numbers wraps in this range.
        for wrap in [1u64 << 32, 1_000 << 32, 250 << 32, 499 << 32, 500 << 32] {
            for before in (0..5_000).step_by(250) {
                let start = Instant::from_micros(wrap - before);
                let mut table = TimerTable::new(start);
                table.start(Timer::Retransmission, 3);
                let at = table.next(|| 0).unwrap().at;
                // Rounds up, and by another millisecond where the sum would be `OFF`.
                assert!(
                    at >= start + ms(3) && at < start + ms(5),
                    "{start:?} {at:?}"
                );
                table.enter(Instant::from_micros(at.as_micros() - 1));
                assert_eq!(expired(&mut table, at), Some(Timer::Retransmission));
            }
        }
        // The same holds after any idle time.
        for steps in [1u64, 249, 250, 498, 499, 500, 501, 999, 1_000, 1_001] {
            let mut table = TimerTable::new(Instant::ZERO);
            table.start(Timer::User, 10);
            table.start(Timer::Linger, LONGEST_MS);
            let now = Instant::from_micros((steps << 32) + 5);
            table.enter(now);
            let still = now < Instant::from_millis(LONGEST_MS.into());
            let floor = table.enter(now + ms(1));
            if !still {
                assert_eq!(table.take_expired(floor), Some(Timer::Linger), "{steps}");
            }
            assert_eq!(table.take_expired(floor), Some(Timer::User), "{steps}");
            assert_eq!(table.take_expired(floor), None, "{steps}");
            assert_eq!(table.is_running(Timer::Linger), still, "{steps}");
        }
    }
}
