//! Objective functions: which neighbour is the best parent, and the rank that it
//! gives (RFC 6719, RFC 6552).

use redpoll_wire::rpl::{INFINITE_RANK, objective};

use super::RplConfig;
use super::neighbours::{ETX, RplNeighbour};

/// How a node chooses its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Objective {
    /// Minimum rank with hysteresis, of ETX (RFC 6719).
    Mrhof,
    /// Objective function zero (RFC 6552).
    Zero,
    /// Objective function zero as TinyRPL has it: a hop is a step of rank, however bad.
    #[cfg(feature = "rpl-foreign")]
    Hops,
}

/// MAX_LINK_METRIC (RFC 6719 §5): an ETX of 4.
const MAX_LINK_METRIC: u16 = 4 * ETX;
/// A parent over a worse link is given up for another by TinyRPL (ETX_THRESHOLD).
#[cfg(feature = "rpl-foreign")]
const HOPS_LINK_METRIC: u16 = 3 * ETX;
/// What TinyRPL changes its parent for: a tenth of a transmission.
#[cfg(feature = "rpl-foreign")]
const HOPS_THRESHOLD: u32 = ETX as u32 / 10;
/// What such a parent costs more: all others are better.
#[cfg(feature = "rpl-foreign")]
const WORN: u32 = 1 << 20;
/// MAX_PATH_COST (RFC 6719 §5): an ETX of 256.
const MAX_PATH_COST: u32 = 256 * ETX as u32;
/// MINIMUM_STEP_OF_RANK and MAXIMUM_STEP_OF_RANK (RFC 6552 §6.3).
const STEP_OF_RANK: (u32, u32) = (1, 9);
/// What an overloaded neighbour costs more where that is heeded: two transmissions, a
/// parameter of ours.
const OVERLOAD: u32 = 2 * ETX as u32;

/// What a neighbour would be as the parent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Offer {
    /// By which offers are compared.
    pub(super) cost: u32,
    /// The rank that the node would have.
    pub(super) rank: u16,
}

impl Objective {
    /// The function with this code point, if it is here.
    pub(super) const fn of(code_point: u16) -> Option<Self> {
        match code_point {
            objective::MRHOF => Some(Objective::Mrhof),
            objective::OF0 => Some(Objective::Zero),
            _ => None,
        }
    }

    /// The same code point as this node takes it.
    #[cfg_attr(not(feature = "rpl-foreign"), expect(unused_variables))]
    pub(super) const fn as_told(self, config: &RplConfig) -> Self {
        match self {
            #[cfg(feature = "rpl-foreign")]
            Objective::Zero if config.counts_hops => Objective::Hops,
            it => it,
        }
    }

    /// What the neighbour is worth, if it may be the parent at all.
    pub(super) fn offer(
        self,
        neighbour: &RplNeighbour,
        min_hop_rank_increase: u16,
        heeds_load: bool,
    ) -> Option<Offer> {
        if neighbour.rank == INFINITE_RANK || neighbour.is_gone() {
            return None;
        }
        let (rank, etx) = (u32::from(neighbour.rank), u32::from(neighbour.etx));
        let min_hop = u32::from(min_hop_rank_increase);
        let (cost, rank) = match self {
            // RFC 6719 §3.3: the larger of path cost, and one hop more.
            Objective::Mrhof => {
                let cost = rank.saturating_add(etx);
                (cost, cost.max(rank.saturating_add(min_hop)))
            }
            // RFC 6552 §4.1; the step of rank after RFC 8180 §5.1.2, 3 ETX - 2.
            Objective::Zero => {
                let thrice = etx.saturating_mul(3).checked_div(ETX.into());
                let step = thrice.unwrap_or_default().saturating_sub(2);
                let step = step.clamp(STEP_OF_RANK.0, STEP_OF_RANK.1);
                let rank = rank.saturating_add(step.saturating_mul(min_hop));
                (rank, rank)
            }
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => {
                let hops = rank.checked_div(min_hop).unwrap_or_default();
                let worn = if self.is_eligible(neighbour) { 0 } else { WORN };
                let cost = hops.saturating_mul(ETX.into()).saturating_add(etx);
                let cost = cost.saturating_add(worn);
                (cost, rank.saturating_add(min_hop))
            }
        };
        if cost > MAX_PATH_COST && self == Objective::Mrhof {
            return None;
        }
        let overload = match heeds_load && neighbour.overloaded {
            true => OVERLOAD,
            false => 0,
        };
        let rank = u16::try_from(rank).ok().filter(|it| *it < INFINITE_RANK)?;
        let cost = cost.saturating_add(overload);
        Some(Offer { cost, rank })
    }

    /// Whether the link to a neighbour is good enough for a new parent (RFC 6719 §3.2.2,
    /// RFC 6552 §4.2.1 (2)). The present one stays as long as there is no other.
    pub(super) fn is_eligible(self, neighbour: &RplNeighbour) -> bool {
        match self {
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => neighbour.etx <= HOPS_LINK_METRIC,
            _ => neighbour.etx <= MAX_LINK_METRIC,
        }
    }

    /// Whether the link to the parent is so bad that a neighbour as far as this node will do, as
    /// with TinyRPL, which takes whoever is heard next.
    #[cfg_attr(not(feature = "rpl-foreign"), expect(unused_variables))]
    pub(super) fn is_worn(self, parent: &RplNeighbour) -> bool {
        match self {
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => !self.is_eligible(parent),
            _ => false,
        }
    }

    /// Whether a neighbour has to acknowledge a frame before it replaces a parent that does;
    /// TinyRPL does not ask for it.
    pub(super) const fn needs_proof(self) -> bool {
        match self {
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => false,
            _ => true,
        }
    }

    /// Whether a bad link counts as a new one with the next DIO over it, as TinyRPL has it.
    pub(super) const fn forgives_at_once(self) -> bool {
        match self {
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => true,
            _ => false,
        }
    }

    /// Whether `other` is so much better than the present parent that it takes its
    /// place (RFC 6719 §3.2.2 (3), RFC 6552 §4.2.1 (8), (10)): with MRHOF by `threshold`.
    pub(super) fn prefers(self, other: Offer, present: Offer, threshold: u16) -> bool {
        let better = present.cost.saturating_sub(other.cost);
        match self {
            Objective::Mrhof => better >= threshold.max(1).into(),
            Objective::Zero => better > 0,
            #[cfg(feature = "rpl-foreign")]
            Objective::Hops => better >= HOPS_THRESHOLD,
        }
    }
}
