//! Delays between attempts to connect again after a failure.

use redpoll_base::{Duration, Instant, Rng, Wake};

/// Parameters of [`Reconnect`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReconnectPolicy {
    /// Delay after the first failure; it doubles after each further failure. Default 2 s.
    pub first: Duration,
    /// Maximum delay. Default 15 minutes: if the server's host refuses every attempt, a node sends
    /// about 40 SYNs in 8 hours.
    pub most: Duration,
    /// Lifetime from which a connection counts as a success. Default 1 minute, so that a server
    /// which accepts connections and drops them does not reset the delay.
    pub lasting: Duration,
    /// Consecutive failures after which to give up. Default `None`: never.
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

/// Computes when to connect again. The delays grow and are partly random, so that nodes do not all
/// return at the moment their server does.
///
/// Report [`on_connected`](Self::on_connected) and [`on_failed`](Self::on_failed), arm a timer by
/// [`poll_at`](Self::poll_at), and connect when [`take_due`](Self::take_due) returns true.
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
    failures: u8,
    connected_at: Option<Instant>,
    due: Option<Wake>,
}

impl Reconnect {
    /// Creates a state without failures; no attempt is due.
    pub const fn new(policy: ReconnectPolicy) -> Self {
        Reconnect {
            policy,
            failures: 0,
            connected_at: None,
            due: None,
        }
    }

    /// Reports that the connection is established.
    pub fn on_connected(&mut self, now: Instant) {
        self.connected_at = Some(now);
        self.due = None;
    }

    /// Reports that the connection or an attempt failed. Returns when to try again, or `None` after
    /// the last allowed failure. The delay is random: half to all of a value that doubles with each
    /// failure. The wake-up may be later by an eighth of that value, to share another wake-up.
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

    /// Makes a pending attempt due now, for example after a change of parent or a button press.
    pub fn hurry(&mut self, now: Instant) {
        self.due = self.due.map(|_| Wake::exactly(now));
    }

    /// Returns when to call [`take_due`](Self::take_due) next.
    pub const fn poll_at(&self) -> Option<Wake> {
        self.due
    }

    /// Returns whether to connect now; `true` once per attempt.
    pub fn take_due(&mut self, now: Instant) -> bool {
        self.due.take_if(|wake| wake.at <= now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the delays of N consecutive failures, in milliseconds.
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
    fn only_a_connection_that_lasted_resets_the_backoff() {
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
    fn reconnection_ends_after_the_attempts_and_can_be_hurried() {
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
