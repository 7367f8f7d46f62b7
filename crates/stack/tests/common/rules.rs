//! RPL rules for tests, which implement every method of [`RplRules`] and [`Objective`].

use redpoll_base::Duration;
use redpoll_stack::{Candidate, Objective, Offer, RplRules, StandardObjective, StandardRules};

/// [`StandardRules`] with changed parameters; `by_hops` replaces objective function zero.
#[derive(Clone, Copy)]
pub struct TestRules {
    pub by_hops: bool,
    pub initial_etx: u16,
    /// `None`: the threshold of [`StandardRules`].
    pub switch_threshold: Option<u16>,
    pub dao_interval: Option<Duration>,
    pub sends_plain_rank: bool,
}

impl Default for TestRules {
    fn default() -> Self {
        TestRules {
            by_hops: false,
            initial_etx: StandardRules.initial_etx(),
            switch_threshold: None,
            dao_interval: StandardRules.dao_interval(),
            sends_plain_rank: StandardRules.sends_plain_rank(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum TestObjective {
    Standard(StandardObjective),
    ByHops,
}

use TestObjective::{ByHops, Standard};

impl RplRules for TestRules {
    type Objective = TestObjective;

    fn objective(&self, code_point: u16) -> Option<TestObjective> {
        let standard = StandardRules.objective(code_point)?;
        Some(match self.by_hops && standard == StandardObjective::Zero {
            true => ByHops,
            false => Standard(standard),
        })
    }

    fn initial_etx(&self) -> u16 {
        self.initial_etx
    }

    fn switch_threshold(&self, targets: Option<usize>) -> u16 {
        match self.switch_threshold {
            Some(threshold) => targets.map_or(0, |_| threshold),
            None => StandardRules.switch_threshold(targets),
        }
    }

    fn dao_interval(&self) -> Option<Duration> {
        self.dao_interval
    }

    fn sends_plain_rank(&self) -> bool {
        self.sends_plain_rank
    }
}

impl Objective for TestObjective {
    /// [`ByHops`]: the cost is the rank, plus 2^20 if the link's ETX is above three transmissions.
    fn offer(self, candidate: Candidate, min_hop: u16) -> Option<Offer> {
        match self {
            Standard(it) => it.offer(candidate, min_hop),
            ByHops => {
                let rank = u32::from(candidate.rank) + u32::from(min_hop);
                let worn = u32::from(self.is_worn(candidate.etx)) << 20;
                Offer::new(rank + worn, rank)
            }
        }
    }

    fn is_eligible(self, etx: u16) -> bool {
        match self {
            Standard(it) => it.is_eligible(etx),
            ByHops => etx <= 3 * Candidate::TRANSMISSION,
        }
    }

    fn prefers(self, other: Offer, present: Offer, threshold: u16) -> bool {
        match self {
            Standard(it) => it.prefers(other, present, threshold),
            ByHops => other < present,
        }
    }

    fn is_worn(self, etx: u16) -> bool {
        matches!(self, ByHops) && !self.is_eligible(etx)
    }

    fn needs_proof(self) -> bool {
        matches!(self, Standard(_))
    }

    fn forgives_at_once(self) -> bool {
        matches!(self, ByHops)
    }

    /// [`ByHops`]: the new ETX is four fifths of the old one plus a fifth of the last frame's ETX.
    fn etx_after(self, etx: u16, attempts: u8) -> Option<u16> {
        let sample = u16::from(attempts) * Candidate::TRANSMISSION;
        matches!(self, ByHops).then_some(etx / 5 * 4 + sample / 5)
    }
}
