//! The times at which a sleepy node polls its parent for waiting packets (listen-after-send, Kumar
//! et al. 2020 §4.1), from what its transport expects.
//!
//! While no answer is expected, the node polls once per base interval. While one is expected, the
//! node polls as its [`PollPolicy`] says. `Base` keeps the base interval. `Fixed` uses a shorter
//! interval, as in Kumar et al. 2020. `Learned` polls after the time that earlier answers took to
//! arrive, with growing pauses while the answer is overdue. Kumar et al. 2020 leave such a policy
//! as future work.
//!
//! An estimator modelled on RFC 6298 learns the time from a frame that may cause an answer to the
//! poll that fetches the answer. If several frames precede the answer, the time begins with the
//! first one. The estimator needs no information from the transport.

use redpoll_base::{Duration, Instant, Rng, Wake};

/// The policy for the times of polls while a sleepy node expects an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PollPolicy {
    /// The node polls at the base interval, whether it expects an answer or not.
    Base,
    /// The node polls every `interval` while it expects an answer. Kumar et al. 2020 use 100 ms.
    Fixed {
        /// Time between two polls, at least 16 ms.
        interval: Duration,
    },
    /// The node polls after the time that earlier answers took to arrive, which it learns.
    Learned,
}

/// The configuration of the times at which a sleepy node polls its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PollConfig {
    /// The policy while an answer is expected. Default: learned.
    pub policy: PollPolicy,
    /// The interval without an expected answer. Default 4 min, as OpenThread (Kumar et al. 2020
    /// §8.2).
    pub base_interval: Duration,
    /// The time for which the node listens after its parent has announced a frame, and after each
    /// frame that announces another: the data request timeout. Default 100 ms, as OpenThread.
    pub window: Duration,
    /// The longest pause after a poll that the parent did not acknowledge. While an answer is
    /// expected, the normal pause applies if it is shorter. Default 1 s, as OpenThread.
    pub after_failure: Duration,
}

impl PollConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl Default for PollConfig {
    fn default() -> Self {
        PollConfig {
            policy: PollPolicy::Learned,
            base_interval: Duration::from_secs(240),
            window: Duration::from_millis(100),
            after_failure: Duration::from_secs(1),
        }
    }
}

/// The shortest pause between two polls, unless the parent announced a frame.
const SHORTEST: Duration = micros(SHORTEST_US);
const SHORTEST_US: u32 = 16_000;
/// The shortest pause, with the learned policy, after a poll that was not acknowledged. The poll
/// has probably collided with the burst of a hidden terminal, which is over after this pause.
const BURST: Duration = Duration::from_millis(50);
/// The largest sample. If an answer takes longer, it or its request was lost.
const LONGEST_ANSWER: Duration = Duration::from_secs(2);
/// The longest pause between two polls while an answer is expected: a parent discards a packet that
/// was not fetched within macTransactionPersistenceTime, 7.68 s by default, and the peer's
/// retransmission timeout then doubles each time.
const LONGEST_GAP: Duration = Duration::from_secs(5);
/// Immediate polls after an announced frame did not arrive; OpenThread's value.
const QUICK_POLLS: u8 = 5;

#[derive(Clone, Debug)]
pub(crate) struct DataPoll {
    config: PollConfig,
    next: Instant,
    last: Instant,
    /// When TCP's next timer expires, in microseconds, wrapping. The node polls before this time:
    /// the acknowledgment may wait at the parent, and a poll is shorter than a retransmission.
    pub(crate) deadline: u32,
    /// When the first frame that may cause an answer left this node, since the last poll that the
    /// parent acknowledged.
    sent: Option<Instant>,
    /// The time since which an answer is expected.
    waiting: Option<Instant>,
    /// The pause after a poll that fetches nothing.
    gap: Duration,
    answers: Estimator,
    /// Whether at least one poll since `waiting` has fetched nothing.
    vain: bool,
    quick: u8,
    /// How many series of [`QUICK_POLLS`] polls have ended without the announced frame, since a
    /// frame arrived or the parent announced none.
    broken: u8,
}

impl DataPoll {
    /// Sets the first poll to a random moment of the first 200 ms, so that nodes that start
    /// together do not poll together.
    pub(crate) fn new(config: PollConfig, rng: &mut Rng) -> Self {
        DataPoll {
            config,
            next: Instant::from_micros(rng.below_u64(200_000)),
            last: Instant::ZERO,
            deadline: 0,
            sent: None,
            waiting: None,
            gap: SHORTEST,
            answers: Estimator::default(),
            vain: false,
            quick: 0,
            broken: 0,
        }
    }

    pub(crate) fn window(&self) -> Duration {
        self.config.window
    }

    pub(crate) fn next(&self) -> Wake {
        Wake::exactly(self.next)
    }

    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.next <= now
    }

    /// Records that a frame of this node has left. If the answer to an earlier frame is overdue,
    /// this frame starts a new measurement.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        if self
            .waiting
            .is_some_and(|since| now.since(since) > self.answers.latest())
        {
            self.waiting = None;
            self.sent = None;
        }
        self.sent.get_or_insert(now);
    }

    pub(crate) fn expect(&mut self, now: Instant, expected: bool) {
        if self.config.policy == PollPolicy::Base {
            return;
        }
        match (self.waiting, expected) {
            (None, true) => {
                let since = self.sent.take().unwrap_or(now);
                self.waiting = Some(since);
                self.vain = false;
                let (start, gap) = match self.config.policy {
                    PollPolicy::Fixed { interval } => (interval, interval),
                    _ => (self.answers.earliest(), self.answers.spread()),
                };
                self.gap = gap.max(SHORTEST);
                self.next = self.next.min(since + start.max(SHORTEST));
            }
            (Some(_), false) => {
                self.waiting = None;
                self.sent = None;
                self.next = self.next.max(self.last + self.config.base_interval);
            }
            _ => {}
        }
    }

    /// Handles the answer to a poll: whether the parent has announced a frame.
    pub(crate) fn on_answer(&mut self, now: Instant, pending: bool) {
        self.last = now;
        self.next = now + self.config.base_interval;
        self.sent = None;
        if pending {
            // The measurement of the time until the answer ends with this poll.
            if let Some(since) = self.waiting.take() {
                match self.vain {
                    true => self.answers.sample(now.since(since)),
                    false => self.answers.shorten(),
                }
            }
            self.vain = false;
            return;
        }
        self.on_frame();
        self.vain = true;
        let Some(since) = self.waiting else {
            return;
        };
        let mut pause = self.gap;
        if self.config.policy == PollPolicy::Learned {
            if now.since(since) > self.answers.latest() {
                self.gap = (pause + pause).min(LONGEST_GAP);
            }
            // For a deadline in the past, `ahead` wraps to a time longer than any pause.
            let ahead = self.deadline.wrapping_sub(now.as_micros() as u32);
            pause = pause.min(micros(ahead.wrapping_sub(SHORTEST_US)).max(SHORTEST));
        }
        self.next = self.next.min(now + pause);
    }

    /// Sets the next poll to `at`: the first poll informs a new parent that this node sleeps.
    pub(crate) fn on_new_parent(&mut self, at: Instant) {
        self.next = at;
    }

    /// Handles a poll that the parent did not acknowledge.
    pub(crate) fn on_failure(&mut self, now: Instant) {
        self.last = now;
        let mut pause = self.config.after_failure;
        if self.waiting.is_some() {
            let is_learned = self.config.policy == PollPolicy::Learned;
            let least = if is_learned { BURST } else { SHORTEST };
            pause = pause.min(self.gap.max(least));
        }
        self.next = now + pause;
    }

    /// Polls again at once: an announced frame did not arrive, or the parent announced another.
    /// After each series of one poll and [`QUICK_POLLS`] repetitions, the node pauses, twice as long
    /// as after the previous series. A parent with false announcements therefore does not drain the battery.
    pub(crate) fn ask_again(&mut self, now: Instant) {
        self.quick = self.quick.saturating_add(1);
        if self.quick <= QUICK_POLLS {
            self.next = now;
            return;
        }
        self.quick = 0;
        let first = self.config.after_failure.as_micros();
        let pause = Duration::from_micros(first << self.broken.min(15));
        self.broken = self.broken.saturating_add(1);
        self.next = now + pause.min(self.config.base_interval);
    }

    /// Resets the counts: a frame arrived, or none is announced any more.
    pub(crate) fn on_frame(&mut self) {
        self.quick = 0;
        self.broken = 0;
    }
}

/// The estimated time until an answer, in microseconds, computed as in RFC 6298 §2.2 and §2.3. A
/// sample ends with the poll that fetched the answer, so it is too long; [`Self::shorten`] corrects
/// the estimate.
#[derive(Clone, Copy, Debug, Default)]
struct Estimator {
    mean: u32,
    variation: u32,
}

impl Estimator {
    fn sample(&mut self, time: Duration) {
        let r = time.min(LONGEST_ANSWER).as_micros() as u32;
        if self.mean == 0 {
            self.mean = r.max(1);
            self.variation = r >> 1;
            return;
        }
        let deviation = self.mean.abs_diff(r);
        let part = |old: u32, new: u32, shift: u32| {
            old.wrapping_sub(old >> shift).wrapping_add(new >> shift)
        };
        self.variation = part(self.variation, deviation, 2);
        // A sample above the mean raises the mean by half of the difference, up to 16 ms, or by an
        // eighth of the difference if that is more. An answer that is late because of a loss
        // therefore changes the mean little.
        let late = r.saturating_sub(self.mean);
        let step = (late >> 3).max((late >> 1).min(SHORTEST.as_micros() as u32));
        self.mean = part(self.mean, r.min(self.mean), 3)
            .wrapping_add(step)
            .max(1);
    }

    fn four_variations(&self) -> u32 {
        self.variation.wrapping_mul(4)
    }

    /// Shortens the estimate, because the first poll fetched an answer that may have waited. Each
    /// such answer shortens the estimate, until a poll comes before its answer.
    fn shorten(&mut self) {
        self.mean = self.mean.wrapping_sub(self.mean >> 6);
        self.variation = self.variation.wrapping_sub(self.variation >> 3);
    }

    /// Returns the time before which an answer is unlikely. The code of Kumar et al. 2020 contains
    /// max(16 ms, min(SRTT - 4 RTTVAR, SRTT / 2)), unused; with this value, half of the polls would
    /// fetch nothing.
    fn earliest(&self) -> Duration {
        micros(self.mean.saturating_sub(self.variation))
    }

    /// Returns the time after which the answer is overdue.
    fn latest(&self) -> Duration {
        micros(self.mean.wrapping_add(self.four_variations()))
    }

    /// Returns the pause after a poll that came before its answer.
    fn spread(&self) -> Duration {
        micros(self.variation.wrapping_mul(2).min(self.mean >> 3))
    }
}

const fn micros(us: u32) -> Duration {
    Duration::from_micros(us as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(policy: PollPolicy) -> DataPoll {
        let config = PollConfig {
            policy,
            ..PollConfig::default()
        };
        DataPoll::new(config, &mut Rng::new(1))
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// The times in ms of the polls of a node that sends at `start_ms`, answered `rtt_ms` later.
    fn requests(poll: &mut DataPoll, start_ms: u64, rtt_ms: u64) -> std::vec::Vec<u64> {
        poll.on_answer(at(start_ms - 1_000), false);
        poll.on_sent(at(start_ms));
        poll.expect(at(start_ms), true);
        let mut times = std::vec::Vec::new();
        loop {
            let next = poll.next().at;
            times.push(next.as_millis() - start_ms);
            let pending = next >= at(start_ms + rtt_ms);
            poll.on_answer(next, pending);
            if pending {
                poll.expect(next, false);
                return times;
            }
        }
    }

    #[test]
    fn with_nothing_expected_one_request_a_base_interval() {
        for policy in [PollPolicy::Base, PollPolicy::Learned] {
            let mut poll = poll(policy);
            poll.on_answer(at(5_000), false);
            poll.expect(at(5_000), false);
            assert_eq!(poll.next().at, at(245_000));
        }
    }

    #[test]
    fn the_fixed_policy_is_the_papers() {
        let interval = Duration::from_millis(100);
        let mut poll = poll(PollPolicy::Fixed { interval });
        assert_eq!(requests(&mut poll, 10_000, 250), [100, 200, 300]);
        assert_eq!(poll.next().at, at(250_300), "base interval");
    }

    #[test]
    fn the_base_policy_polls_only_at_the_base_interval() {
        assert_eq!(
            requests(&mut poll(PollPolicy::Base), 10_000, 250),
            [239_000]
        );
    }

    #[test]
    fn learned_polls_match_the_time_of_the_answer() {
        let mut poll = poll(PollPolicy::Learned);
        let mut last = std::vec::Vec::new();
        for round in 1..40 {
            last = requests(&mut poll, round * 10_000, 150);
        }
        assert!(last.len() <= 2, "{last:?}");
        assert!(last[0] >= 130, "{last:?}");
        assert!(last[last.len() - 1] < 175, "{last:?}");
    }

    #[test]
    fn data_requests_become_rarer_while_the_answer_is_overdue() {
        let mut poll = poll(PollPolicy::Learned);
        for round in 1..20 {
            requests(&mut poll, round * 10_000, 150);
        }
        let late = requests(&mut poll, 300_000, 60_000);
        assert!(late.len() < 26, "{late:?}");
        let pauses = late.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(pauses.max(), Some(5_000), "{late:?}");
    }

    #[test]
    fn a_successful_poll_is_repeated_soon_if_an_answer_is_expected() {
        let interval = Duration::from_millis(100);
        for (policy, pauses_ms) in [
            (PollPolicy::Fixed { interval }, [100, 1_000]),
            (PollPolicy::Learned, [50, 1_000]),
        ] {
            for (expected, pause_ms) in [true, false].into_iter().zip(pauses_ms) {
                let mut poll = poll(policy);
                poll.expect(at(5_000), expected);
                poll.on_failure(at(5_100));
                assert_eq!(
                    poll.next().at,
                    at(5_100 + pause_ms),
                    "{policy:?} {expected}"
                );
            }
        }
    }

    /// A poll comes at most 32 ms before TCP's deadline, because the parent may have the answer.
    #[test]
    fn tcp_retransmits_only_after_another_request() {
        for deadline_ms in [30, 100, 250, 400, 3_000] {
            let mut poll = poll(PollPolicy::Learned);
            poll.on_answer(at(9_000), false);
            poll.on_sent(at(10_000));
            poll.expect(at(10_000), true);
            poll.deadline = at(10_000 + deadline_ms).as_micros() as u32;
            let mut times = std::vec::Vec::new();
            for _ in 0..30 {
                let next = poll.next().at;
                times.push(next.as_millis() - 10_000);
                poll.on_answer(next, false);
            }
            let before = times.iter().rfind(|time| **time < deadline_ms);
            assert!(
                before.is_some_and(|time| time + 32 >= deadline_ms),
                "{deadline_ms}: {times:?}"
            );
            assert!(
                times.windows(2).all(|two| two[1] - two[0] >= 16),
                "{deadline_ms}: {times:?}"
            );
        }
    }

    #[test]
    fn a_pending_bit_without_a_frame_is_followed_by_five_polls() {
        let mut poll = poll(PollPolicy::Learned);
        for _ in 0..5 {
            poll.on_answer(at(1_000), true);
            poll.ask_again(at(1_100));
            assert!(poll.is_due(at(1_100)));
        }
        poll.ask_again(at(1_100));
        assert!(!poll.is_due(at(2_099)));
    }

    #[test]
    fn a_parent_with_empty_pending_bits_is_polled_ever_less() {
        let mut poll = poll(PollPolicy::Learned);
        let mut pauses = std::vec::Vec::new();
        let mut now = at(0);
        for request in 0..60 {
            poll.on_answer(now, true);
            poll.ask_again(now);
            if request % 6 == 5 {
                pauses.push(poll.next().at.since(now).as_millis() / 1_000);
            }
            now = poll.next().at;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 240, 240]);
        poll.on_answer(now, false);
        for _ in 0..6 {
            poll.ask_again(now);
        }
        assert!(poll.is_due(now + Duration::from_secs(1)), "often again");
    }
}
