//! CoDel (RFC 8289), which detects packets that have waited too long in a queue.

use redpoll_base::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoDel {
    /// TARGET (RFC 8289 §4.2): acceptable waiting time of packets.
    pub target: Duration,
    /// INTERVAL (RFC 8289 §4.3): time for which packets may wait longer than TARGET.
    pub interval: Duration,
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct State {
    /// Time at which `target` will have been exceeded for an `interval`.
    first_above: Option<Instant>,
    is_dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
}

impl State {
    /// Handles a packet that leaves its queue (RFC 8289 §5.5); `is_last` if the queue is then
    /// empty. Returns whether to drop or mark the packet.
    pub(super) fn on_leaving(
        &mut self,
        now: Instant,
        (waited, is_last): (Duration, bool),
        codel: &CoDel,
    ) -> bool {
        let is_late = self.is_late(now, (waited, is_last), codel);
        if self.is_dropping {
            self.is_dropping = is_late;
            if !is_late || now < self.drop_next {
                return false;
            }
            self.count += 1;
            self.drop_next = self.next(self.drop_next, codel);
            return true;
        }
        if !is_late {
            return false;
        }
        self.is_dropping = true;
        // §5.4: a queue that dropped packets recently continues at the previous rate of drops.
        let delta = self.count - self.last_count;
        let was_late = now.since(self.drop_next) < codel.interval.times(16);
        self.count = if delta > 1 && was_late { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.next(now, codel);
        true
    }

    fn is_late(
        &mut self,
        now: Instant,
        (waited, is_last): (Duration, bool),
        codel: &CoDel,
    ) -> bool {
        if waited < codel.target || is_last {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + codel.interval)
    }

    /// Returns the time of the next drop by the control law: `from` plus interval / sqrt(`count`).
    fn next(&self, from: Instant, codel: &CoDel) -> Instant {
        // `root` is 256 · sqrt(count), because it is the square root of 2^16 · count.
        let root = (u64::from(self.count) << 16).isqrt();
        from + codel.interval.times(256).divided_by(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODEL: CoDel = CoDel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
    };

    /// Checks that drops become more frequent while a packet each millisecond has waited for 20 ms.
    #[test]
    fn drops_come_closer_while_packets_wait_too_long() {
        let mut state = State::default();
        let long = (Duration::from_millis(20), false);
        let mut drops = |ms: &u64| state.on_leaving(Instant::from_millis(*ms), long, &CODEL);
        let dropped: Vec<u64> = (0..400).filter(|ms| drops(ms)).collect();
        // The first drop is at 100 ms; the next ones follow after 100, 70.7, 57.7 and 50 ms.
        assert_eq!(dropped, [100, 200, 271, 329, 379]);
        let short = (Duration::ZERO, false);
        assert!(!state.on_leaving(Instant::from_millis(401), short, &CODEL));
        let last = (Duration::from_secs(9), true);
        assert!(!state.on_leaving(Instant::from_millis(999), last, &CODEL));
    }
}
