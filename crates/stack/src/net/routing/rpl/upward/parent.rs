//! The preferred parent and the rank (RFC 6550 §8.2, RFC 6719 §3): choice, loss, solicitations.

use core::cmp::Reverse;

use redpoll_base::{event, least};
use redpoll_wire::rpl::INFINITE_RANK;

use super::{DodagOf, RplNeighbour, Upward};
use crate::net::routing::Peer;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::{jittered, times};
use crate::profile::Profile;
use crate::rules::{Candidate, Objective, Offer, RplRules};

/// Number of Trickle's shortest intervals for which a node that has lost its last parent joins no
/// DODAG, so that its sub-DODAG learns of the loss first.
const QUIET_INTERVALS: u64 = 4;
/// Smallest change of the rank, in MinHopRankIncreases, that a node advertises at once.
pub(super) const LARGE_CHANGE: u16 = 4;
/// Additional cost of an overloaded neighbour if the node is aware of load: two transmissions.
/// RFC 6551 §3.1 leaves the effect of overload on the choice of the parent open.
const OVERLOAD: u32 = 2 * Candidate::TRANSMISSION as u32;
/// Additional cost of a neighbour whose table of routes is full: eight transmissions.
const FULL: u32 = 8 * Candidate::TRANSMISSION as u32;
/// Additional cost of a neighbour that has never acknowledged a frame: all others are better.
const UNPROVEN: u32 = 1 << 24;
/// Added to the age of a probe candidate that has received no frame yet: more than any age in
/// seconds, which has 16 bits.
const NEVER_MEASURED: u32 = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::net::routing::rpl) enum Change {
    /// The parent is the same.
    None,
    /// The node has a different parent than before, or has a parent again.
    Parent {
        former: Option<Peer>,
        /// Whether the node had no rank before.
        joins: bool,
    },
    /// The node has lost its last parent.
    Detached,
}

impl<P: Profile> Upward<P> {
    /// Returns the cost of a neighbour as the parent and the rank that this node would have; `None`
    /// if the neighbour cannot be the parent (RFC 6550 §8.2.2).
    fn offer(
        &self,
        cx: &Context<'_, P>,
        dodag: &DodagOf<P>,
        neighbour: &RplNeighbour,
    ) -> Option<Offer> {
        let is_there = neighbour.rank != INFINITE_RANK && !neighbour.is_gone();
        if neighbour.version != dodag.version || !is_there {
            return None;
        }
        let configuration = &dodag.configuration;
        let min_hop = configuration.min_hop_rank_increase;
        let mut offer = dodag.objective.offer(neighbour.candidate(), min_hop)?;
        if cx.shared.config.load_aware && neighbour.overloaded {
            offer.cost = offer.cost.saturating_add(OVERLOAD);
        }
        // RFC 6550 §8.2.2.4 (3).
        let limit = match configuration.max_rank_increase {
            0 => INFINITE_RANK,
            increase => self.lowest.saturating_add(increase),
        };
        if offer.rank > limit {
            return None;
        }
        if neighbour.full {
            offer.cost = offer.cost.saturating_add(FULL);
        }
        Some(offer)
    }

    /// Returns the offer of the present parent, if it still may be the parent.
    fn present_offer(&self, cx: &Context<'_, P>, dodag: &DodagOf<P>) -> Option<Offer> {
        let parent = self.candidates.get(self.parent?)?;
        self.offer(cx, dodag, parent)
    }

    /// Chooses the preferred parent (RFC 6719 §3.2). `is_known`: a DAO of this node has left
    /// since it joined.
    pub(in crate::net::routing::rpl) fn reconsider(
        &mut self,
        cx: &mut Context<'_, P>,
        is_known: bool,
    ) -> Change {
        if self.is_root() || self.quiet_until.is_some() {
            return Change::None;
        }
        let Some(dodag) = &self.dodag else {
            return Change::None;
        };
        // A neighbour with a lower rank than this node has advertised is not in the sub-DODAG of
        // this node (RFC 6550 §8.2.1 (5)).
        let parent = self.parent.and_then(|parent| self.candidates.get(parent));
        let is_worn = parent.is_some_and(|it| dodag.objective.is_worn(it.etx));
        let present = self.present_offer(cx, dodag).filter(|_| !is_worn);
        let farthest = match self.is_joined() {
            true if is_worn => self.rank.saturating_add(1),
            true => self.rank_to_children(),
            false => INFINITE_RANK,
        };
        // RFC 6719 §3.2.2 (3) allows hysteresis, which serves the nodes behind this one. In storing
        // mode, and for a leaf, no node is behind this one before its first DAO. This node may not
        // have heard its best neighbour by then, so it changes parents without hysteresis. In
        // non-storing mode a router has children long before its first DAO.
        let is_new = !is_known && (dodag.is_storing() || self.is_leaf());
        let is_eligible = parent.is_some_and(|it| dodag.objective.is_eligible(it.etx));
        let targets = match is_eligible {
            true => cx.table.downwards().count(),
            false => 0,
        };
        let targets = (!is_new).then_some(targets);
        let threshold = cx.shared.rules.switch_threshold(targets);
        let own = self.own.filter(|_| dodag.is_storing());
        let order = |link| own.map_or(0, |own| own.order_of(link));
        // RFC 6719 §3.2.2: of neighbours with the smallest cost, any may be chosen.
        let mixes = is_new && threshold == 0;
        let is_first = |offer: Offer, present: Offer, link| {
            let parent = self.parent.map(order);
            mixes && offer.cost == present.cost && parent.is_some_and(|it| order(link) < it)
        };
        // ADR 38: only a neighbour that acknowledges frames replaces a parent that does so. The
        // node sends a better neighbour a DIS, to see whether the neighbour acknowledges it.
        let needs_proof = dodag.objective.needs_proof();
        let is_sure = present.is_some() && parent.is_some_and(RplNeighbour::answers);
        let possible = self.candidates.iter().filter_map(|neighbour| {
            let link = neighbour.link;
            let is_near = Some(link) != self.parent && neighbour.rank < farthest;
            if !is_near || !dodag.objective.is_eligible(neighbour.etx) {
                return None;
            }
            let mut offer = self.offer(cx, dodag, neighbour)?;
            let is_better = present.is_none_or(|it| {
                dodag.objective.prefers(offer, it, threshold) || is_first(offer, it, link)
            });
            // In storing mode the routes show which other nodes are in the sub-DODAG.
            let is_behind = dodag.is_storing() && cx.table.leads_down_through(cx.now, link);
            if needs_proof && !neighbour.answers() {
                offer.cost = offer.cost.saturating_add(UNPROVEN);
            }
            let key = (offer, order(link), link);
            (is_better && !is_behind).then_some((key, (offer, link)))
        });
        let better = match least(possible) {
            Some((offer, link)) if is_sure && offer.cost >= UNPROVEN => {
                cx.shared.probes.ask(cx.now, link);
                None
            }
            better => better,
        };
        match (better, present) {
            (Some((offer, link)), _) => return self.choose(cx, link, offer),
            (None, Some(offer)) => self.take_rank(cx, offer.rank),
            (None, None) if self.parent.is_some() => {
                self.detach(cx);
                return Change::Detached;
            }
            (None, None) => {}
        }
        Change::None
    }

    fn choose(&mut self, cx: &mut Context<'_, P>, link: Peer, offer: Offer) -> Change {
        let former = self.parent.replace(link);
        self.is_adrift = false;
        let joins = !self.is_joined();
        self.take_rank(cx, offer.rank);
        if let Some(neighbour) = self.candidates.get_mut(link) {
            neighbour.full = false;
        }
        count(&mut cx.shared.counters.parent_changes);
        event!(Info, "new RPL parent: {link:?}; own rank {}", self.rank);
        if !self.is_leaf() {
            if joins {
                self.trickle.start(cx.now, &mut cx.shared.rng);
            } else {
                self.reset_trickle(cx);
            }
        }
        let former = former.filter(|former| *former != link);
        Change::Parent { former, joins }
    }

    fn take_rank(&mut self, cx: &mut Context<'_, P>, rank: u16) {
        if rank == self.rank {
            return;
        }
        self.rank = rank;
        self.lowest = self.lowest.min(rank);
        // A small change of the rank does not reset Trickle: the next regular DIO advertises it.
        let large = self.min_hop().unwrap_or(1).saturating_mul(LARGE_CHANGE);
        if rank.abs_diff(self.advertised) >= large && !self.is_leaf() {
            self.reset_trickle(cx);
        }
    }

    /// Detaches from the DODAG for lack of a parent, and poisons the sub-DODAG (RFC 6550 §8.2.2.5).
    fn detach(&mut self, cx: &mut Context<'_, P>) {
        count(&mut cx.shared.counters.detached);
        self.parent = None;
        self.rank = INFINITE_RANK;
        for neighbour in self.candidates.iter_mut() {
            neighbour.rank = INFINITE_RANK;
        }
        if !self.is_leaf() {
            self.dio_due = true;
            self.trickle.start(cx.now, &mut cx.shared.rng);
        }
        let quiet = times(self.trickle.shortest(), QUIET_INTERVALS);
        self.quiet_until = Some(cx.now + quiet);
        self.dis_at = cx.now + quiet.divided_by(2);
    }

    /// Solicits DIOs from all neighbours, periodically, as long as there is no parent.
    pub(super) fn solicit(&mut self, cx: &mut Context<'_, P>) {
        self.dis_due = true;
        self.is_adrift = true;
        self.dis_at = cx.now + jittered(cx.shared.config.dis_interval, &mut cx.shared.rng);
    }

    /// Probes a neighbour that may become the parent, to measure its link (RFC 6550 §8.3).
    pub(super) fn probe(&mut self, cx: &mut Context<'_, P>) {
        self.probe_at = cx.now + jittered(cx.shared.config.probe_interval, &mut cx.shared.rng);
        let Some(dodag) = &self.dodag else {
            return;
        };
        // The highest cost of a neighbour that a better measurement could make the parent.
        let limit = self.present_offer(cx, dodag).map_or(u32::MAX, |offer| {
            let interest = cx.shared.rules.switch_threshold(Some(0));
            offer.cost.saturating_add(interest.into())
        });
        // First a neighbour to which no frame was sent, then the one whose link was measured
        // longest ago. If several are equal, the last one in the table.
        let possible = self.candidates.iter().rev().filter_map(|it| {
            let is_other = Some(it.link) != self.parent && dodag.objective.is_eligible(it.etx);
            let offer = self.offer(cx, dodag, it).filter(|_| is_other)?;
            let never = if it.is_unknown() { NEVER_MEASURED } else { 0 };
            let age = never | u32::from(it.unmeasured_s(cx.now));
            (offer.cost <= limit).then_some((Reverse(age), it.link))
        });
        cx.shared.probes.schedule(least(possible));
    }
}
