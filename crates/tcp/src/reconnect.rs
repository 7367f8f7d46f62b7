//! When to connect again after a connection has failed.

use redpoll_base::{Duration, Instant, Rng, Wake};

/// How patiently a client comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReconnectPolicy {
    /// The pause after the first failure; it doubles with each further one.
    /// Default 2 s.
    pub first: Duration,
    /// The longest pause. Default 15 minutes: a node that lost its server for
    /// a night sends some forty SYNs.
    pub most: Duration,
    /// How long a connection must have lasted to count as a success. Default 1
    /// minute: a server that takes connections only to drop them is not asked
    /// without a pause.
    pub lasting: Duration,
    /// Failures in a row after which to give up; `None` is never. Default none.
    pub attempts: Option<u8>,
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        ReconnectPolicy {
            first: Duration::from_secs(2),
            most: Duration::from_secs(15 * 60),
            lasting: Duration::from_secs(60),
            attempts: None,
        }
    }
}

/// Says when to connect again: after pauses that grow and are random in part,
/// lest all nodes come back at once when their server does.
///
/// Without I/O, as everything here: tell it [`on_connected`](Self::on_connected)
/// and [`on_failed`](Self::on_failed), arm a timer by [`poll_at`](Self::poll_at),
/// and connect when [`take_due`](Self::take_due) says so.
///
/// ```
/// use redpoll_base::{Instant, Rng};
/// use redpoll_tcp::{Reconnect, ReconnectPolicy};
///
/// let (mut again, mut rng) = (Reconnect::new(ReconnectPolicy::default()), Rng::new(7));
/// let now = Instant::ZERO;
/// again.on_failed(now, &mut rng);
/// let wake = again.poll_at().unwrap();
/// assert!(!again.take_due(now));
/// assert!(again.take_due(wake.at), "connect now");
/// ```
#[derive(Clone, Debug)]
pub struct Reconnect {
    policy: ReconnectPolicy,
    /// In a row.
    failures: u8,
    connected_at: Option<Instant>,
    due: Option<Wake>,
}

impl Reconnect {
    /// Nothing has failed yet, and nothing is due.
    pub const fn new(policy: ReconnectPolicy) -> Self {
        Reconnect {
            policy,
            failures: 0,
            connected_at: None,
            due: None,
        }
    }

    /// The connection is established.
    pub fn on_connected(&mut self, now: Instant) {
        self.connected_at = Some(now);
        self.due = None;
    }

    /// The connection, or the attempt, failed. Returns when to try again;
    /// `None` if that was one failure too many.
    ///
    /// The pause is between a half and the whole of what doubling gives, and
    /// the wake-up may be late by an eighth of it: a node that sleeps need not
    /// wake for this alone.
    pub fn on_failed(&mut self, now: Instant, rng: &mut Rng) -> Option<Wake> {
        let since = self.connected_at.take();
        if since.is_some_and(|since| now.since(since) >= self.policy.lasting) {
            self.failures = 0;
        }
        let most = self.policy.most.millis_saturating();
        let doubled = self
            .policy
            .first
            .times(1u64.checked_shl(self.failures.into()).unwrap_or(u64::MAX));
        self.failures = self.failures.saturating_add(1);
        let given_up = self.policy.attempts.is_some_and(|n| self.failures >= n);
        self.due = (!given_up).then(|| {
            let whole = doubled.millis_saturating().min(most);
            let half = whole / 2;
            let pause = half.saturating_add(rng.below(half.saturating_add(1)));
            let at = now + Duration::from_millis_u32(pause);
            Wake::within(at, Duration::from_millis_u32(whole / 8))
        });
        self.due
    }

    /// Something makes a try worth while: a new parent, a button. Due at once,
    /// if something is due at all.
    pub fn hurry(&mut self, now: Instant) {
        self.due = self.due.map(|_| Wake::exactly(now));
    }

    /// When to ask [`take_due`](Self::take_due) next.
    pub const fn poll_at(&self) -> Option<Wake> {
        self.due
    }

    /// Whether to connect now; says so once.
    pub fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|wake| wake.at <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pause of so many failures in a row, in milliseconds.
    fn pauses<const N: usize>(policy: ReconnectPolicy, seed: u64) -> [u64; N] {
        let (mut again, mut rng) = (Reconnect::new(policy), Rng::new(seed));
        let mut now = Instant::ZERO;
        [(); N].map(|()| {
            let wake = again.on_failed(now, &mut rng).unwrap();
            let pause = wake.at.since(now);
            now = wake.at;
            assert!(again.take_due(now) && !again.take_due(now));
            pause.as_millis()
        })
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_are_random_in_part() {
        let policy = ReconnectPolicy::default();
        let one: [u64; 12] = pauses(policy, 1);
        for (i, pause) in one.into_iter().enumerate() {
            let whole = (2_000 << i).min(900_000);
            assert!((whole / 2..=whole).contains(&pause), "{i}: {pause}");
        }
        assert_ne!(one, pauses(policy, 2));
        let many: [u64; 300] = pauses(policy, 3);
        assert!(many[200..].iter().all(|pause| *pause >= 450_000));
    }

    #[test]
    fn only_a_connection_that_lasted_starts_anew() {
        let (mut again, mut rng) = (Reconnect::new(ReconnectPolicy::default()), Rng::new(1));
        let mut now = Instant::ZERO;
        for _ in 0..5 {
            again.on_failed(now, &mut rng);
        }
        again.on_connected(now);
        assert_eq!(again.poll_at(), None);
        now += Duration::from_secs(59);
        again.on_failed(now, &mut rng);
        assert_eq!(again.failures, 6);
        again.on_connected(now);
        now += Duration::from_secs(60);
        let wake = again.on_failed(now, &mut rng).unwrap();
        assert!(wake.at.since(now) <= Duration::from_secs(2));
        assert_eq!(again.failures, 1);
    }

    #[test]
    fn it_gives_up_when_told_to_and_hurries_when_asked() {
        let policy = ReconnectPolicy {
            attempts: Some(2),
            ..ReconnectPolicy::default()
        };
        let (mut again, mut rng) = (Reconnect::new(policy), Rng::new(1));
        let now = Instant::from_millis(5);
        again.hurry(now);
        assert_eq!(again.poll_at(), None, "nothing has failed");
        assert!(again.on_failed(now, &mut rng).is_some());
        again.hurry(now);
        assert!(again.take_due(now));
        assert_eq!(again.on_failed(now, &mut rng), None);
        assert_eq!(again.poll_at(), None);
    }
}
