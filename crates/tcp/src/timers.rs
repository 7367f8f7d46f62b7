//! The timers of a connection: one-shot, tickless, all able to run together.

use redpoll_base::{Duration, Instant, Wake, earliest};

/// What a connection times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Timer {
    /// RFC 6298 §5.
    Retransmission,
    /// RFC 9293 §3.8.6.1, and the override timeout of §3.8.6.2.1.
    Persist,
    /// RFC 9293 §3.8.6.3.
    DelayedAck,
    /// RFC 9293 §3.8.4.
    Keepalive,
    /// The wait for the peer's FIN.
    FinWait2,
    /// RFC 9293 §3.6.1: 2 MSL.
    TimeWait,
    /// RFC 9293 §3.10.8.
    User,
}

impl Timer {
    /// Every timer, in the order in which they are served when several are due.
    const ALL: [Timer; 7] = [
        Timer::TimeWait,
        Timer::FinWait2,
        Timer::User,
        Timer::Retransmission,
        Timer::Persist,
        Timer::DelayedAck,
        Timer::Keepalive,
    ];

    /// How late the timer may be served without harm to the peer.
    const fn slack(self) -> Duration {
        match self {
            Timer::DelayedAck => Duration::ZERO,
            Timer::Retransmission => Duration::from_millis(20),
            Timer::Persist => Duration::from_millis(100),
            Timer::User | Timer::Keepalive | Timer::FinWait2 | Timer::TimeWait => {
                Duration::from_secs(1)
            }
        }
    }
}

/// When each timer runs out.
#[derive(Clone, Debug)]
pub(crate) struct TimerTable {
    /// Indexed by `Timer`; the far future where a timer is off.
    at: [Instant; Timer::ALL.len()],
}

impl TimerTable {
    pub(crate) const fn new() -> Self {
        TimerTable {
            at: [Instant::FAR_FUTURE; Timer::ALL.len()],
        }
    }

    /// Starts `timer`, or starts it anew.
    pub(crate) fn set(&mut self, timer: Timer, at: Instant) {
        if let Some(slot) = self.at.get_mut(timer as usize) {
            *slot = at;
        }
    }

    pub(crate) fn cancel(&mut self, timer: Timer) {
        self.set(timer, Instant::FAR_FUTURE);
    }

    pub(crate) fn cancel_all(&mut self) {
        *self = TimerTable::new();
    }

    fn at(&self, timer: Timer) -> Instant {
        self.at
            .get(timer as usize)
            .copied()
            .unwrap_or(Instant::FAR_FUTURE)
    }

    pub(crate) fn is_running(&self, timer: Timer) -> bool {
        self.at(timer) != Instant::FAR_FUTURE
    }

    /// Takes a timer that has run out by `now`, and stops it.
    pub(crate) fn take_expired(&mut self, now: Instant) -> Option<Timer> {
        let timer = Timer::ALL
            .into_iter()
            .find(|&timer| self.is_running(timer) && self.at(timer) <= now)?;
        self.cancel(timer);
        Some(timer)
    }

    /// When the next timer runs out.
    pub(crate) fn next(&self) -> Option<Wake> {
        Timer::ALL
            .into_iter()
            .filter(|&timer| self.is_running(timer))
            .map(|timer| Wake::within(self.at(timer), timer.slack()))
            .fold(None, |next, wake| earliest(next, Some(wake)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_run_side_by_side_and_expire_once() {
        let ms = Instant::from_millis;
        let mut table = TimerTable::new();
        assert_eq!(table.next(), None);
        table.set(Timer::Keepalive, ms(50));
        table.set(Timer::Retransmission, ms(10));
        table.set(Timer::User, ms(10));
        assert_eq!(table.next().unwrap().at, ms(10));
        assert_eq!(table.take_expired(ms(9)), None);
        assert_eq!(table.take_expired(ms(10)), Some(Timer::User));
        assert_eq!(table.take_expired(ms(10)), Some(Timer::Retransmission));
        assert_eq!(table.take_expired(ms(10)), None);
        assert!(table.is_running(Timer::Keepalive));
        table.cancel(Timer::Keepalive);
        assert_eq!(table.take_expired(ms(99)), None);
    }
}
