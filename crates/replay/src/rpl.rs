//! The rules of RPL in earlier stacks, with the objective function of TinyRPL in TinyOS 2.1.2
//! (`RPLOF0P.nc`).

use redpoll_base::Duration;
use redpoll_stack::{Candidate, Objective, Offer, RplRules, StandardObjective, StandardRules};

/// ETX_THRESHOLD: ETX above which a node replaces its parent.
const LINK_METRIC_MAX: u16 = 3 * Candidate::TRANSMISSION;
/// ETX by which a neighbour must be better to replace the parent, a tenth of a transmission.
const THRESHOLD: u32 = Candidate::TRANSMISSION as u32 / 10;
/// Additional cost of a parent over a link that is too bad: more than the cost of any other parent.
const WORN: u32 = 1 << 20;

/// The rules of a node's RPL. The default values are the rules of Redpoll's devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplayRules {
    pub counts_hops: bool,
    /// [`RplRules::initial_etx`]; 1 transmission in TinyRPL.
    pub initial_etx: u16,
    /// [`RplRules::switch_threshold`] for any number of targets; `None`: the default rule.
    pub switch_threshold: Option<u16>,
    /// [`RplRules::dao_interval`]; about 10 s in TinyRPL.
    pub dao_interval: Option<Duration>,
    /// [`RplRules::sends_plain_rank`]; true in Contiki.
    pub sends_plain_rank: bool,
}

impl Default for ReplayRules {
    fn default() -> Self {
        ReplayRules {
            counts_hops: false,
            initial_etx: StandardRules.initial_etx(),
            switch_threshold: None,
            dao_interval: StandardRules.dao_interval(),
            sends_plain_rank: StandardRules.sends_plain_rank(),
        }
    }
}

impl RplRules for ReplayRules {
    type Objective = ReplayObjective;

    fn objective(&self, code_point: u16) -> Option<ReplayObjective> {
        Some(match StandardRules.objective(code_point)? {
            StandardObjective::Zero if self.counts_hops => ReplayObjective::Hops,
            standard => ReplayObjective::Standard(standard),
        })
    }

    fn initial_etx(&self) -> u16 {
        self.initial_etx
    }

    fn switch_threshold(&self, targets: Option<usize>) -> u16 {
        match self.switch_threshold {
            Some(threshold) => threshold,
            // TinyRPL's objective function has a fixed threshold.
            None if self.counts_hops => THRESHOLD as u16,
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayObjective {
    Standard(StandardObjective),
    /// TinyRPL's objective function zero: each hop adds one step of rank, whatever the link's ETX.
    /// ETX only decides between neighbours of equal rank.
    Hops,
}

impl Objective for ReplayObjective {
    fn offer(self, candidate: Candidate, min_hop_rank_increase: u16) -> Option<Offer> {
        let ReplayObjective::Standard(standard) = self else {
            let (rank, etx) = (u32::from(candidate.rank), u32::from(candidate.etx));
            let min_hop = u32::from(min_hop_rank_increase);
            let hops = rank.checked_div(min_hop).unwrap_or_default();
            let worn = if self.is_worn(candidate.etx) { WORN } else { 0 };
            let cost = hops.saturating_mul(Candidate::TRANSMISSION.into());
            let cost = cost.saturating_add(etx).saturating_add(worn);
            return Offer::new(cost, rank.saturating_add(min_hop));
        };
        standard.offer(candidate, min_hop_rank_increase)
    }

    fn is_eligible(self, etx: u16) -> bool {
        match self {
            ReplayObjective::Standard(standard) => standard.is_eligible(etx),
            ReplayObjective::Hops => etx <= LINK_METRIC_MAX,
        }
    }

    fn prefers(self, other: Offer, present: Offer, threshold: u16) -> bool {
        match self {
            ReplayObjective::Standard(standard) => standard.prefers(other, present, threshold),
            ReplayObjective::Hops => present.cost.saturating_sub(other.cost) >= THRESHOLD,
        }
    }

    /// Returns whether the link is too bad for a parent. In that case TinyRPL accepts the next
    /// sender of a DIO as parent.
    fn is_worn(self, etx: u16) -> bool {
        match self {
            ReplayObjective::Standard(standard) => standard.is_worn(etx),
            ReplayObjective::Hops => !self.is_eligible(etx),
        }
    }

    fn needs_proof(self) -> bool {
        match self {
            ReplayObjective::Standard(standard) => standard.needs_proof(),
            ReplayObjective::Hops => false,
        }
    }

    fn forgives_at_once(self) -> bool {
        match self {
            ReplayObjective::Standard(standard) => standard.forgives_at_once(),
            ReplayObjective::Hops => true,
        }
    }

    /// Returns the ETX after a frame. A dropped frame counts with the number of its attempts, and
    /// the newest frame has a weight of a fifth.
    fn etx_after(self, etx: u16, attempts: u8) -> Option<u16> {
        match self {
            ReplayObjective::Standard(standard) => standard.etx_after(etx, attempts),
            ReplayObjective::Hops => {
                let sample = u32::from(attempts.max(1));
                let sample = sample.saturating_mul(Candidate::TRANSMISSION.into());
                let old = u32::from(etx).saturating_mul(8);
                let etx = old.saturating_add(sample.saturating_mul(2)) / 10;
                Some(etx.min(u16::MAX.into()) as u16)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use redpoll_wire::rpl::objective;

    use super::*;

    fn offer(objective: ReplayObjective, rank: u16, etx: u16) -> Offer {
        let candidate = Candidate { rank, etx };
        objective
            .offer(candidate, 128)
            .expect("the candidate can be a parent")
    }

    #[test]
    fn only_objective_function_zero_is_replaced() {
        let standard = ReplayRules::default();
        let hops = ReplayRules {
            counts_hops: true,
            ..standard
        };
        for (code_point, it, by_hops) in [
            (objective::MRHOF, Some(StandardObjective::Mrhof), false),
            (objective::OF0, Some(StandardObjective::Zero), true),
            (7, None, false),
        ] {
            let it = it.map(ReplayObjective::Standard);
            assert_eq!(standard.objective(code_point), it);
            let tinyrpl = Some(ReplayObjective::Hops).filter(|_| by_hops);
            assert_eq!(hops.objective(code_point), tinyrpl.or(it));
        }
    }

    /// The fourth consecutive frame that fails after five attempts raises a link from an ETX of 1
    /// above TinyRPL's 3.
    #[test]
    fn a_link_is_given_up_with_the_fourth_failure() {
        let mut etx = Candidate::TRANSMISSION;
        let after = core::array::from_fn(|_| {
            etx = ReplayObjective::Hops.etx_after(etx, 5).unwrap();
            etx
        });
        assert_eq!(after, [230, 312, 377, 429]);
        assert!(after.map(|etx| ReplayObjective::Hops.is_worn(etx)) == [false, false, false, true]);
    }

    /// Under [`ReplayObjective::Hops`] a root with a bad link is better than a router with a good
    /// link until the bad link is worn. OF0 of RFC 6552 prefers the router earlier.
    #[test]
    fn by_hops_the_root_is_preferred_until_its_link_is_worn() {
        let of0 = ReplayObjective::Standard(StandardObjective::Zero);
        for (objective, etx, rank, changes) in [
            (of0, 128, 256, false),
            (of0, 230, 512, true),
            (ReplayObjective::Hops, 128, 256, false),
            (ReplayObjective::Hops, 230, 256, false),
            (ReplayObjective::Hops, 384, 256, true),
            (ReplayObjective::Hops, 429, 256, true),
        ] {
            let root = offer(objective, 128, etx);
            let router = offer(objective, 256, 128);
            assert_eq!(root.rank, rank, "{objective:?}");
            assert_eq!(objective.prefers(router, root, 0), changes, "{etx}");
        }
        assert!(!ReplayObjective::Hops.is_worn(384));
    }

    /// A step of rank is 128 here, so the rank becomes infinite after some 500 hops.
    #[test]
    fn a_rank_that_would_be_infinite_is_no_offer() {
        for (rank, is_offer) in [(0xff7e, true), (0xff7f, false), (0xfffe, false)] {
            let candidate = Candidate { rank, etx: 128 };
            let offer = ReplayObjective::Hops.offer(candidate, 128);
            assert_eq!(offer.is_some(), is_offer, "{rank:#x}");
        }
    }
}
