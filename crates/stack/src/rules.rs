//! The parts of RPL that RFC 6550 leaves to an implementation: objective functions (§3.2.1), which
//! choose the parent and derive the rank, and some parameters.

use redpoll_base::Duration;
use redpoll_wire::rpl::{INFINITE_RANK, objective};

/// MAX_LINK_METRIC (RFC 6719 §5): an ETX of 4.
const MAX_LINK_METRIC: u16 = 4 * Candidate::TRANSMISSION;
/// MAX_PATH_COST (RFC 6719 §5): an ETX of 256.
const MAX_PATH_COST: u32 = 256 * Candidate::TRANSMISSION as u32;
/// MINIMUM_STEP_OF_RANK and MAXIMUM_STEP_OF_RANK (RFC 6552 §6.3).
const STEP_OF_RANK: (u32, u32) = (1, 9);

/// The rules of an implementation of RPL: its objective functions, and parameters that RFC 6550
/// leaves open. A node's [`Profile`](crate::Profile) names them. The methods with a default are
/// this engine's parameters.
pub trait RplRules: Copy {
    /// The objective function of a DODAG.
    type Objective: Objective;

    /// Returns the objective function with this code point (RFC 6550 §20.5); `None` if the node
    /// does not have it, so that it joins no DODAG that uses the function.
    fn objective(&self, code_point: u16) -> Option<Self::Objective>;

    /// Returns the ETX of a link before the first frame, in 128ths (RFC 6551 §4.3.2).
    fn initial_etx(&self) -> u16 {
        2 * Candidate::TRANSMISSION
    }

    /// Returns PARENT_SWITCH_THRESHOLD of MRHOF, in 128ths of ETX (RFC 6719 §5). `targets` is the
    /// number of targets in the node's sub-DODAG; `None` if the node has not sent a DAO since it
    /// joined, so that no node depends on its choice. The default for `None` is 0: the node may
    /// leave its parent for an equal neighbour. The default for up to 3 targets is the recommended
    /// 192. It is twice this value from 4 targets on, and four times from 16 on, because the DAOs
    /// for a moved sub-DODAG load all routers up to the root (ADR 52).
    fn switch_threshold(&self, targets: Option<usize>) -> u16 {
        let one = 3 * Candidate::TRANSMISSION / 2;
        match targets {
            None => 0,
            Some(0..4) => one,
            Some(4..16) => 2 * one,
            Some(_) => 4 * one,
        }
    }

    /// Returns the time between two DAOs of the node's own address, to which the node adds up to a
    /// tenth. All routers on the way up forward each DAO. `None`: half of the route's lifetime.
    fn dao_interval(&self) -> Option<Duration> {
        None
    }

    /// Returns whether packet information contains the sender's rank in place of DAGRank, against
    /// RFC 6550 §11.2. A router that does this mistakes the packets of other routers for a loop.
    fn sends_plain_rank(&self) -> bool {
        false
    }
}

/// An objective function: it chooses the parent, and derives the node's rank from it. The methods
/// with a default are the rules of this engine that RFC 6550 leaves open.
pub trait Objective: Copy {
    /// Returns the value of a neighbour as the parent; `None` if it cannot be the parent.
    fn offer(self, candidate: Candidate, min_hop_rank_increase: u16) -> Option<Offer>;

    /// Returns whether the link to a neighbour is good enough for a new parent. The present parent
    /// stays, even with a worse link, until a neighbour with an eligible link is preferred.
    fn is_eligible(self, etx: u16) -> bool;

    /// Returns whether `other` replaces the present parent. `threshold` is PARENT_SWITCH_THRESHOLD
    /// (RFC 6719 §5). It is 0 for a leaf, and in storing mode for any node, before its first DAO.
    fn prefers(self, other: Offer, present: Offer, threshold: u16) -> bool;

    /// Returns whether the link to the parent is so bad that the node gives up this parent. A
    /// neighbour of the node's own rank may replace it. Without such a neighbour, the node detaches
    /// from the DODAG, and joins again with the next DIO.
    fn is_worn(self, _etx: u16) -> bool {
        false
    }

    /// Returns whether only a neighbour that has acknowledged a frame may replace a parent that
    /// acknowledges frames.
    fn needs_proof(self) -> bool {
        true
    }

    /// Returns whether a DIO over a bad link resets the link's ETX each time, however recently the
    /// link was measured.
    fn forgives_at_once(self) -> bool {
        false
    }

    /// Returns the ETX of a link after a frame with `attempts` transmissions, for a function that
    /// estimates links itself. A neighbour with this estimate is never considered unreachable.
    /// `None`: the engine estimates the link.
    fn etx_after(self, _etx: u16, _attempts: u8) -> Option<u16> {
        None
    }
}

/// The properties of a neighbour that an objective function compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The rank that the neighbour has advertised.
    pub rank: u16,
    /// ETX of the link to the neighbour, in 128ths.
    pub etx: u16,
}

impl Candidate {
    /// The ETX of one transmission: ETX is multiplied by 128 (RFC 6551 §4.3.2).
    pub const TRANSMISSION: u16 = 128;
}

/// The value of a neighbour as the parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Offer {
    /// The cost by which offers are compared.
    pub cost: u32,
    /// The rank that the node would have.
    pub rank: u16,
}

impl Offer {
    /// Returns an offer, unless the rank is infinite.
    pub fn new(cost: u32, rank: u32) -> Option<Self> {
        let rank = u16::try_from(rank).ok().filter(|it| *it < INFINITE_RANK)?;
        Some(Offer { cost, rank })
    }
}

/// The rules of devices: the objective functions of the standards, and the engine's parameters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct StandardRules;

impl RplRules for StandardRules {
    type Objective = StandardObjective;

    fn objective(&self, code_point: u16) -> Option<StandardObjective> {
        match code_point {
            objective::MRHOF => Some(StandardObjective::Mrhof),
            objective::OF0 => Some(StandardObjective::Zero),
            _ => None,
        }
    }
}

/// An objective function of a standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StandardObjective {
    /// Minimum rank with hysteresis, of ETX (RFC 6719).
    Mrhof,
    /// Objective function zero (RFC 6552).
    Zero,
}

impl Objective for StandardObjective {
    fn offer(self, candidate: Candidate, min_hop_rank_increase: u16) -> Option<Offer> {
        let (rank, etx) = (u32::from(candidate.rank), u32::from(candidate.etx));
        let min_hop = u32::from(min_hop_rank_increase);
        match self {
            // RFC 6719 §3.3: the rank is the larger of path cost and parent's rank plus one hop.
            StandardObjective::Mrhof => {
                let cost = rank.saturating_add(etx);
                if cost > MAX_PATH_COST {
                    return None;
                }
                Offer::new(cost, cost.max(rank.saturating_add(min_hop)))
            }
            // RFC 6552 §4.1; the step of rank is 3 ETX - 2, as in RFC 8180 §5.1.2.
            StandardObjective::Zero => {
                let thrice = etx.saturating_mul(3);
                let thrice = thrice.checked_div(Candidate::TRANSMISSION.into());
                let step = thrice.unwrap_or_default().saturating_sub(2);
                let step = step.clamp(STEP_OF_RANK.0, STEP_OF_RANK.1);
                let rank = rank.saturating_add(step.saturating_mul(min_hop));
                Offer::new(rank, rank)
            }
        }
    }

    /// Returns whether a link is good enough for a parent (RFC 6719 §3.2.2, RFC 6552 §4.2.1 (2)).
    fn is_eligible(self, etx: u16) -> bool {
        etx <= MAX_LINK_METRIC
    }

    /// RFC 6719 §3.2.2 (3): MRHOF needs an improvement by `threshold`. RFC 6552 §4.2.1 (8), (10):
    /// objective function zero prefers a lower rank, and at equal ranks the present parent.
    fn prefers(self, other: Offer, present: Offer, threshold: u16) -> bool {
        let better = present.cost.saturating_sub(other.cost);
        match self {
            StandardObjective::Mrhof => better >= threshold.max(1).into(),
            StandardObjective::Zero => better > 0,
        }
    }
}
