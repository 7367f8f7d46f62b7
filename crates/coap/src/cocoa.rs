//! CoCoA: timeouts from two estimators, one for messages answered at once and one for those
//! answered after a retransmission (draft-ietf-core-cocoa-03 §4), in the form of the draft and in
//! that of Contiki's `cocoa.c`.

use redpoll_base::{Duration, Instant};

use crate::unconfirmed::Unconfirmed;

const SECOND: Duration = Duration::from_secs(1);
const THREE_SECONDS: Duration = Duration::from_secs(3);
/// The draft, §4.2.1: the backoff of the timeout is "truncated at 32 seconds".
const DRAFT_CAP: Duration = Duration::from_secs(32);
const CONTIKI_CAP: Duration = Duration::from_secs(60);

/// An estimator of RFC 6298 §2 with its own K.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Estimator {
    /// SRTT and RTTVAR; `None` before a sample.
    smoothed: Option<(Duration, Duration)>,
}

impl Estimator {
    /// Updates the estimate with a sample; returns the RTO of RFC 6298 §2.2 and §2.3 with `k`.
    fn sample(&mut self, rtt: Duration, k: u64) -> Duration {
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt.divided_by(2)),
            Some((srtt, rttvar)) => {
                let error = if rtt > srtt { rtt - srtt } else { srtt - rtt };
                (
                    srtt.times(7).plus(rtt).divided_by(8),
                    rttvar.times(3).plus(error).divided_by(4),
                )
            }
        };
        self.smoothed = Some((srtt, rttvar));
        srtt.plus(rttvar.times(k))
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cocoa {
    contiki: bool,
    strong: Estimator,
    weak: Estimator,
    /// Whether no sample has been taken yet; the draft calls such an estimate blind.
    is_blind: bool,
    rto: Duration,
    updated: Instant,
    /// The draft's rules for messages that are not confirmable. Contiki's `cocoa.c` has no rules
    /// for them: its comment states that it applies to confirmable messages only.
    pub(crate) unconfirmed: Unconfirmed,
}

impl Cocoa {
    pub(crate) fn new(contiki: bool, initial: Duration, now: Instant) -> Cocoa {
        Cocoa {
            contiki,
            strong: Estimator::default(),
            weak: Estimator::default(),
            is_blind: true,
            rto: initial,
            updated: now,
            unconfirmed: Unconfirmed::default(),
        }
    }

    /// Returns the RTO for a new message while `running` others are in progress.
    pub(crate) fn rto(&mut self, now: Instant, running: usize) -> Duration {
        // The draft, §4.1: a blind RTO is multiplied by the number of parallel exchanges.
        if self.is_blind {
            return self.rto.times((running as u64).saturating_add(1));
        }
        self.age(now);
        self.rto
    }

    /// Ages the estimate: an old estimate approaches 1 to 3 s (the draft, §4.3 and appendix B.2).
    fn age(&mut self, now: Instant) {
        // Ageing runs only here, so it makes up for all steps that were due since `updated`. Each
        // step is due after at least 4 times the estimate, so there are few steps.
        loop {
            let idle = now.since(self.updated);
            let (after, aged) = if self.rto < SECOND {
                let aged = if self.contiki {
                    SECOND
                } else {
                    self.rto.times(2)
                };
                (self.rto.times(16), aged)
            } else if self.rto > THREE_SECONDS {
                (self.rto.times(4), SECOND.plus(self.rto.divided_by(2)))
            } else {
                return;
            };
            if idle <= after || aged == self.rto {
                return;
            }
            self.updated += after;
            self.rto = aged;
        }
    }

    /// Adds a sample: the answer came `rtt` after the first of 1 + `retransmissions` transmissions
    /// (the draft, §4.2 and appendix B.1).
    pub(crate) fn on_answer(&mut self, now: Instant, rtt: Duration, retransmissions: u8) {
        // At least 1 ms, because a round-trip time of zero would give an RTO of zero.
        let rtt = rtt.max(Duration::from_millis(1));
        let (estimate, eighths_new) = match retransmissions {
            0 => (self.strong.sample(rtt, 4), 4),
            // The draft and Contiki give a weak sample different weights.
            1 | 2 if self.contiki => (self.weak.sample(rtt, 1), 6),
            1 | 2 => (self.weak.sample(rtt, 1), 2),
            _ => {
                if self.contiki && retransmissions > 3 {
                    self.strong = Estimator::default();
                }
                return;
            }
        };
        let cap = if self.contiki { CONTIKI_CAP } else { DRAFT_CAP };
        self.rto = estimate
            .times(eighths_new)
            .plus(self.rto.times(8 - eighths_new))
            .divided_by(8)
            .min(cap);
        self.is_blind = false;
        self.updated = now;
    }

    /// Returns the timeout after a backoff (the draft, §4.2.1 and appendix B.3): `current` times 3
    /// if `current` is below 1 s, times 1.5 if it is above 3 s, otherwise times 2; at most 32 s.
    pub(crate) fn backed_off_by_draft(current: Duration) -> Duration {
        let longer = if current < SECOND {
            current.times(3)
        } else if current > THREE_SECONDS {
            current.times(3).divided_by(2)
        } else {
            current.times(2)
        };
        longer.min(DRAFT_CAP)
    }

    /// Returns the timeout after a backoff in Contiki. The factor depends on the initial timeout:
    /// 2.5 below 1 s, 1.5 above 3 s, otherwise 2.
    pub(crate) fn backed_off_by_contiki(initial: Duration, current: Duration) -> Duration {
        let longer = if initial < SECOND {
            current.times(5).divided_by(2)
        } else if initial > THREE_SECONDS {
            current.times(3).divided_by(2)
        } else {
            current.times(2)
        };
        longer.min(CONTIKI_CAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn cocoa(contiki: bool) -> Cocoa {
        Cocoa::new(contiki, ms(2_000), at(0))
    }

    /// A strong sample of 200 ms: E = 200 + 4 * 100 = 600. The RTO becomes the mean of E and 2 s.
    #[test]
    fn strong_samples_weigh_half() {
        for contiki in [false, true] {
            let mut cocoa = cocoa(contiki);
            cocoa.on_answer(at(0), ms(200), 0);
            assert_eq!(cocoa.rto(at(0), 0), ms(1_300));
        }
    }

    /// A weak sample of 4 s: E = 4 + 1 * 2 = 6 s. E weighs a quarter in the draft, and three
    /// quarters in Contiki.
    #[test]
    fn weak_samples_weigh_differently_in_the_two_readings() {
        for (contiki, rto) in [(false, 3_000), (true, 5_000)] {
            let mut cocoa = cocoa(contiki);
            cocoa.on_answer(at(0), ms(4_000), 2);
            assert_eq!(cocoa.rto(at(0), 0), ms(rto));
        }
    }

    #[test]
    fn answers_after_the_third_retransmission_are_not_measured() {
        for contiki in [false, true] {
            let mut cocoa = cocoa(contiki);
            cocoa.on_answer(at(0), ms(20_000), 3);
            assert_eq!(cocoa.rto(at(0), 0), ms(2_000));
            // Without a sample, another message in progress doubles the timeout.
            assert_eq!(cocoa.rto(at(0), 1), ms(4_000));
        }
    }

    /// The draft, §4.3.
    #[test]
    fn estimates_age() {
        let mut small = cocoa(false);
        small.rto = ms(300);
        small.is_blind = false;
        assert_eq!(small.rto(at(16 * 300), 0), ms(300));
        assert_eq!(small.rto(at(16 * 300 + 1), 0), ms(600));
        // 1.2 s is the last step, because estimates from 1 s to 3 s do not age.
        assert_eq!(small.rto(at(1_000_000), 0), ms(1_200));

        let mut contiki = cocoa(true);
        contiki.rto = ms(300);
        contiki.is_blind = false;
        assert_eq!(contiki.rto(at(16 * 300 + 1), 0), ms(1_000));

        let mut large = cocoa(false);
        large.rto = ms(8_000);
        large.is_blind = false;
        assert_eq!(large.rto(at(4 * 8_000 + 1), 0), ms(5_000));
        assert_eq!(large.rto(at(10_000_000), 0), ms(2_750));
    }

    /// The draft, appendix B.3.
    #[test]
    fn backoff_depends_on_the_timeout() {
        for (now, next) in [
            (600, 1_800),
            (1_800, 3_600),
            (3_600, 5_400),
            (30_000, 32_000),
        ] {
            assert_eq!(Cocoa::backed_off_by_draft(ms(now)), ms(next));
        }
        for (initial, now, next) in [
            (600, 600, 1_500),
            (600, 1_500, 3_750),
            (2_000, 4_000, 8_000),
            (4_000, 4_000, 6_000),
            (2_000, 40_000, 60_000),
        ] {
            assert_eq!(Cocoa::backed_off_by_contiki(ms(initial), ms(now)), ms(next));
        }
    }
}
