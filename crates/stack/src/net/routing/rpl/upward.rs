//! Upward routes (RFC 6550 §8): DIOs, the choice of a parent, repair.

use core::cmp::Reverse;

use redpoll_base::{Duration, Instant, divide, least};
use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::{Dio, INFINITE_RANK, Sequence, mode};

use super::config::count;
use super::downward::jittered;
use super::neighbours::RplNeighbour;
use super::{Dodag, DodagOf, Rpl, STORES, Table, times};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::routes::{DownwardRoute, HAS_TARGETS};
use crate::profile::Profile;
use crate::rules::{Candidate, Objective, Offer, RplRules};

/// How often what has ended is cleared away.
pub(super) const UPKEEP: Duration = Duration::from_secs(60);
/// A neighbour that did not answer is believed again when it is heard so long after,
/// in seconds.
const GONE_S: u16 = 60;
/// A node that has lost its last parent waits so many of Trickle's shortest intervals
/// for its sub-DODAG to hear of it, and a root that starts for its neighbours.
const QUIET_INTERVALS: u64 = 4;
/// A rank that has changed by so many MinHopRankIncreases is told at once.
const LARGE_CHANGE: u16 = 4;
/// Additional cost of an overloaded neighbour where that is heeded: two transmissions, a
/// parameter of ours.
const OVERLOAD: u32 = 2 * Candidate::TRANSMISSION as u32;
/// What it costs more that a neighbour has no room for routes.
const FULL: u32 = 8 * 128;
/// Additional cost of a neighbour that has never acknowledged a frame: all others are better.
const UNPROVEN: u32 = 1 << 24;
/// A node is overloaded for so long after it had to turn a datagram away.
const OVERLOADED: Duration = Duration::from_secs(60);
/// A root takes no more than one new version from others in so long.
const VERSION_PAUSE: Duration = Duration::from_secs(60);

impl<P: Profile> Rpl<P> {
    /// MinHopRankIncrease, in a DODAG.
    fn min_hop(&self) -> Option<u16> {
        let dodag = self.dodag.as_ref()?;
        Some(dodag.configuration.min_hop_rank_increase)
    }

    pub(super) fn configure_trickle(&mut self) {
        if let Some(dodag) = &self.dodag {
            let it = &dodag.configuration;
            self.trickle
                .configure(it.interval_min, it.interval_doublings, it.redundancy);
        }
    }

    /// So many datagrams in all have found no room at this node.
    pub(crate) fn on_load(&mut self, now: Instant, turned_away: u32) {
        if turned_away != self.turned_away {
            self.turned_away = turned_away;
            self.overloaded_until = now + OVERLOADED;
        }
    }

    /// Whether it says that it is overloaded (RFC 6551 §3.1).
    pub(super) fn is_overloaded(&self, now: Instant) -> bool {
        self.shared.config.load_aware && now < self.overloaded_until
    }

    /// Somebody asks for a DODAG (§8.3).
    pub(super) fn on_dis(&mut self, now: Instant, link: Peer, to_group: bool) {
        if !self.is_joined() {
            return;
        }
        match to_group {
            false => self.replies.answer_dis(link),
            true if self.is_leaf() => {}
            true => self.reset_trickle(now),
        }
    }

    /// Something is not as it should be (§8.3).
    pub(super) fn reset_trickle(&mut self, now: Instant) {
        if self.trickle.on_inconsistent(now, &mut self.shared.rng) {
            count(&mut self.shared.counters.trickle_resets);
        }
    }

    pub(super) fn on_dio(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        table: &mut Table<P::Memory>,
        link: Peer,
        dio: &Dio<'_>,
    ) -> Result<(), DropReason> {
        self.check_rank(link, dio)?;
        let dodag = self.dodag.as_ref();
        let is_known =
            dodag.is_some_and(|dodag| dodag.id == dio.dodag && dodag.instance == dio.instance);
        if self.is_root() {
            self.on_dio_at_root(now, link, dio, is_known);
            return Ok(());
        }
        if !is_known {
            // One DODAG is enough: the first whose root is grounded.
            if self.is_joined() {
                count(&mut self.shared.counters.foreign);
                self.lose_neighbour(now, table, link);
                return Ok(());
            }
            self.consider_joining(dio, identity);
            let dodag = self.dodag.as_ref();
            if dodag.is_none_or(|dodag| dodag.id != dio.dodag) {
                count(&mut self.shared.counters.foreign);
                return Ok(());
            }
        }
        self.on_dio_of_dodag(now, table, link, dio);
        Ok(())
    }

    /// A rank that the sender cannot have (§8.2.2.2, §8.2.2.4 (1)): one below the
    /// root's, or a root's of a node that is none.
    fn check_rank(&self, link: Peer, dio: &Dio<'_>) -> Result<(), DropReason> {
        let told = dio.options.configuration();
        let told = told.map(|configuration| configuration.min_hop_rank_increase);
        let Some(root_rank) = told.or(self.min_hop()) else {
            return Ok(());
        };
        let is_root = Peer::at(&dio.dodag) == Some(link);
        let lowest = match is_root {
            true => root_rank,
            false => root_rank.saturating_add(root_rank),
        };
        match dio.rank < lowest || dio.dodag.is_multicast() || dio.dodag.is_unspecified() {
            true => Err(DropReason::Malformed),
            false => Ok(()),
        }
    }

    /// A root hears of its own DODAG. Who is in a version that the root knows nothing of
    /// has been in it before the root started; or lies.
    fn on_dio_at_root(&mut self, now: Instant, link: Peer, dio: &Dio<'_>, is_own: bool) {
        let Some(version) = self.dodag.filter(|_| is_own).map(|dodag| dodag.version) else {
            count(&mut self.shared.counters.foreign);
            return;
        };
        let listens = self.quiet_until.is_some();
        let is_new = version.is_stale_after(dio.version);
        let is_rare = self.limits.version_at <= now;
        if listens && (is_new || version == dio.version)
            || is_new && is_rare && self.is_believed(now, link)
        {
            if let Some(dodag) = &mut self.dodag {
                dodag.version = dio.version.next();
            }
            if !listens {
                self.limits.version_at = now + VERSION_PAUSE;
                self.trickle.start(now, &mut self.shared.rng);
            }
            count(&mut self.shared.counters.versions);
        } else if is_new {
            count(&mut self.shared.counters.versions_ignored);
        } else if dio.version != version || dio.rank == INFINITE_RANK {
            // Who is behind, or has lost its way, is to hear from us soon.
            self.reset_trickle(now);
        }
        let heard = (link, dio.rank);
        let unknown = self.shared.rules.initial_etx();
        let _ = self
            .candidates
            .admit((now, unknown), heard, dio.version, None);
    }

    /// Takes over a DODAG's parameters, if this node can work by them (§9.2 (1), §8.5).
    #[inline(never)] // size
    fn consider_joining(&mut self, dio: &Dio<'_>, identity: &mut Identity) {
        let stores = STORES && dio.mode == mode::STORING;
        let is_known = stores || dio.mode == mode::NON_STORING;
        if dio.rank == INFINITE_RANK || !is_known {
            return;
        }
        let (Some(configuration), Some(prefix)) =
            (dio.options.configuration(), dio.options.prefix())
        else {
            return;
        };
        let Some(objective) = self.shared.rules.objective(configuration.objective) else {
            return;
        };
        let prefix_of = addr::prefix(&prefix.prefix, 64);
        // §6.7.10, A: the node forms its address, if it was not told one.
        if identity.address.is_unspecified()
            && prefix.autonomous
            && let Some(own) = self.own
        {
            identity.address = own.within(&prefix_of);
        }
        self.dodag = Some(Dodag {
            id: dio.dodag,
            instance: dio.instance,
            version: dio.version,
            mode: dio.mode,
            grounded: dio.grounded,
            preference: dio.preference,
            prefix: prefix_of,
            configuration,
            objective,
        });
        self.lowest = INFINITE_RANK;
        self.quiet_until = None;
        self.configure_trickle();
    }

    #[inline(never)] // size
    fn on_dio_of_dodag(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        link: Peer,
        dio: &Dio<'_>,
    ) {
        let Some(dodag) = &self.dodag else {
            return;
        };
        let objective = dodag.objective;
        let known = self.candidates.get(link);
        let triggers = known.is_some_and(|it| it.dtsn.is_stale_after(dio.dtsn));
        let version = dodag.version;
        let is_parent = self.parent == Some(link);
        let before = (self.parent, self.rank);
        let is_root = dodag.is_rooted_at(link);
        let is_newer = match version.compare(dio.version) {
            Some(order) => order.is_lt(),
            // §7.2 (4): the root alone increments it, so what it says is the latest.
            None => is_root,
        };
        // Whoever invented a version that no node is in must not strand this node there.
        let returns = self.is_adrift && self.quiet_until.is_none() && dio.rank != INFINITE_RANK;
        if is_newer || returns && dio.version != version {
            // §8.2.2.4 (5): a node follows the root or its parent into the next version. It
            // follows others if they acknowledge frames: at once without a parent, otherwise
            // after a while and not often.
            let is_followed = is_parent
                || is_root
                || self.is_believed(now, link)
                    && (self.parent.is_none() || self.limits.admit_version(now));
            if is_followed {
                self.join_version(now, table, dio.version);
            } else {
                count(&mut self.shared.counters.versions_ignored);
            }
        } else if dio.version != version && dio.rank != INFINITE_RANK {
            // §8.2.2.1: it is behind, and no parent until it has heard of the new one.
            self.reset_trickle(now);
        }
        let overloaded = dio.options.is_overloaded();
        let joined = self.dodag.as_ref().map_or(version, |dodag| dodag.version);
        let heard = (link, dio.rank);
        let at = (now, self.shared.rules.initial_etx());
        let Some(neighbour) = self.candidates.admit(at, heard, joined, before.0) else {
            count(&mut self.shared.counters.neighbours_refused);
            return;
        };
        neighbour.rank = dio.rank;
        neighbour.version = dio.version;
        neighbour.overloaded = overloaded;
        // What was measured long ago, or before everything changed, need not be so still.
        let is_bad = neighbour.is_gone() || !objective.is_eligible(neighbour.etx);
        let is_old = neighbour.unmeasured_s(now) >= GONE_S || objective.forgives_at_once();
        if is_bad && (self.parent.is_none() || is_old) {
            neighbour.forgive(self.shared.rules.initial_etx());
        }
        neighbour.dtsn = dio.dtsn;
        self.reconsider(now, table);
        if is_parent && triggers {
            self.on_trigger(now, table);
        }
        if dio.rank == INFINITE_RANK && self.is_joined() && !is_parent {
            // It has lost its way, and looks for another one.
            self.reset_trickle(now);
        } else if before == (self.parent, self.rank)
            && dio.version == version
            && self.dag_rank(dio.rank) < self.dag_rank(self.rank)
        {
            // §8.3. What is farther from the root says nothing to those behind this node.
            self.trickle.on_consistent();
        }
    }

    /// Whether a version that the neighbour `link` advertises may be genuine: the neighbour has
    /// acknowledged a frame, or no neighbour has. Otherwise asks the neighbour for a DIO, which
    /// shows whether it acknowledges frames.
    fn is_believed(&mut self, now: Instant, link: Peer) -> bool {
        let mut is_believed = true;
        for it in self.candidates.iter().filter(|it| it.answers()) {
            is_believed = it.link == link;
            if is_believed {
                break;
            }
        }
        if !is_believed {
            self.shared.probes.ask(now, link);
        }
        is_believed
    }

    /// §8.2.2.1, §8.2.2.4 (5): nothing of the former version counts any more.
    fn join_version(&mut self, now: Instant, table: &mut Table<P::Memory>, version: Sequence) {
        if let Some(dodag) = &mut self.dodag {
            dodag.version = version;
        }
        // Who is behind this node in the new version will say so. What it knew may be
        // above it now: told again, such targets would go round in circles.
        table.each_downward(|_, downward| {
            if !downward.is_host() {
                downward.fade(now);
            }
        });
        self.lowest = INFINITE_RANK;
        self.rank = INFINITE_RANK;
        self.parent = None;
        self.is_adrift = false;
        self.quiet_until = None;
        self.limits.version_joined();
        self.on_detached();
        count(&mut self.shared.counters.versions);
    }

    /// A neighbour is in no DODAG of ours any more.
    pub(super) fn lose_neighbour(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        link: Peer,
    ) {
        if let Some(neighbour) = self.candidates.get_mut(link) {
            neighbour.rank = INFINITE_RANK;
            self.reconsider(now, table);
        }
    }

    /// The parent takes this node for its own: what it has said of its rank is out of
    /// date. It is not the parent any more until it says anew what it is.
    pub(super) fn on_loop(&mut self, now: Instant, table: &mut Table<P::Memory>, parent: Peer) {
        count(&mut self.shared.counters.loops);
        self.lose_neighbour(now, table, parent);
        self.shared.probes.schedule(Some(parent));
    }

    /// The offer of a neighbour that may be the parent by the rules of §8.2.2.
    fn offer(&self, dodag: &DodagOf<P>, neighbour: &RplNeighbour) -> Option<Offer> {
        let is_there = neighbour.rank != INFINITE_RANK && !neighbour.is_gone();
        if neighbour.version != dodag.version || !is_there {
            return None;
        }
        let configuration = &dodag.configuration;
        let min_hop = configuration.min_hop_rank_increase;
        let mut offer = dodag.objective.offer(neighbour.candidate(), min_hop)?;
        if self.shared.config.load_aware && neighbour.overloaded {
            offer.cost = offer.cost.saturating_add(OVERLOAD);
        }
        // §8.2.2.4 (3).
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

    /// What the parent offers, if it still may be the parent.
    fn present_offer(&self, dodag: &DodagOf<P>) -> Option<Offer> {
        let parent = self.candidates.get(self.parent?)?;
        self.offer(dodag, parent)
    }

    /// Chooses the parent anew (RFC 6719 §3.2).
    pub(super) fn reconsider(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        if self.is_root() || self.quiet_until.is_some() {
            return;
        }
        let Some(dodag) = &self.dodag else {
            return;
        };
        let present = self.present_offer(dodag);
        // Who is nearer to the root than this node has said that it is, is not behind it
        // (§8.2.1 (5)).
        let parent = self.parent.and_then(|parent| self.candidates.get(parent));
        let is_worn = parent.is_some_and(|it| dodag.objective.is_worn(it.etx));
        let farthest = match self.is_joined() {
            true if is_worn => self.rank.saturating_add(1),
            true => self.rank.min(self.advertised),
            false => INFINITE_RANK,
        };
        // RFC 6719 §3.2.2 (3): hysteresis is allowed, and is there for those who rely on the
        // present parent. Nobody is behind a leaf, and before its first DAO nobody knows of it:
        // whoever answered first may be a hop farther than who answered second.
        let threshold = match self.is_leaf() && !self.daos.is_known {
            true => 0,
            false => self.shared.rules.switch_threshold(),
        };
        // ADR 38: a node leaves a parent that acknowledges frames for such a neighbour only, and asks
        // a better one for a DIO, to which the neighbour has to acknowledge a frame.
        let needs_proof = dodag.objective.needs_proof();
        let is_sure = present.is_some() && parent.is_some_and(RplNeighbour::answers);
        let possible = self.candidates.iter().filter_map(|neighbour| {
            let link = neighbour.link;
            let is_near = Some(link) != self.parent && neighbour.rank < farthest;
            if !is_near || !dodag.objective.is_eligible(neighbour.etx) {
                return None;
            }
            let mut offer = self.offer(dodag, neighbour)?;
            let is_better = present.is_none_or(|it| dodag.objective.prefers(offer, it, threshold));
            // In storing mode the routes say who else is behind it.
            let is_behind = dodag.is_storing() && table.leads_down_through(now, link);
            if needs_proof && !neighbour.answers() {
                offer.cost = offer.cost.saturating_add(UNPROVEN);
            }
            (is_better && !is_behind).then_some(((offer, link), (offer, link)))
        });
        let better = match least(possible) {
            Some((offer, link)) if is_sure && offer.cost >= UNPROVEN => {
                self.shared.probes.ask(now, link);
                None
            }
            better => better,
        };
        match (better, present) {
            (Some((offer, link)), _) => self.choose(now, table, link, offer),
            (None, Some(offer)) => self.take_rank(now, offer.rank),
            (None, None) if self.parent.is_some() => self.detach(now, table),
            (None, None) => {}
        }
    }

    fn choose(&mut self, now: Instant, table: &mut Table<P::Memory>, link: Peer, offer: Offer) {
        let former = self.parent.replace(link);
        self.is_adrift = false;
        let joins = !self.is_joined();
        self.take_rank(now, offer.rank);
        if let Some(neighbour) = self.candidates.get_mut(link) {
            neighbour.full = false;
        }
        count(&mut self.shared.counters.parent_changes);
        if !self.is_leaf() {
            if joins {
                self.trickle.start(now, &mut self.shared.rng);
            } else {
                self.reset_trickle(now);
            }
            // Children that did not hear that the way was lost tell of themselves again.
            if joins {
                self.dtsn = self.dtsn.next();
            }
        }
        let former = former.filter(|former| *former != link);
        self.on_new_parent(now, table, former, joins);
    }

    fn take_rank(&mut self, now: Instant, rank: u16) {
        if rank == self.rank {
            return;
        }
        self.rank = rank;
        self.lowest = self.lowest.min(rank);
        // Others hear of a small change with the next DIO.
        let large = self.min_hop().unwrap_or(1).saturating_mul(LARGE_CHANGE);
        if rank.abs_diff(self.advertised) >= large && !self.is_leaf() {
            self.reset_trickle(now);
        }
    }

    /// §8.2.2.5: no way to the root is left. The sub-DODAG is told; what this node knew
    /// of it is worth nothing.
    fn detach(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        count(&mut self.shared.counters.detached);
        self.parent = None;
        self.rank = INFINITE_RANK;
        for neighbour in self.candidates.iter_mut() {
            neighbour.rank = INFINITE_RANK;
        }
        table.retain_downward(DownwardRoute::is_host);
        self.on_detached();
        if !self.is_leaf() {
            self.dio_due = true;
            self.trickle.start(now, &mut self.shared.rng);
        }
        let quiet = times(self.trickle.shortest(), QUIET_INTERVALS);
        self.quiet_until = Some(now + quiet);
        self.dis_at = now + quiet.divided_by(2);
    }

    /// A root has listened long enough; or a node that was detached may join again, and
    /// as one that was never there (§8.2.2.1).
    pub(super) fn end_quiet(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        if self.is_root() {
            self.trickle.start(now, &mut self.shared.rng);
            return;
        }
        self.lowest = INFINITE_RANK;
        self.reconsider(now, table);
    }

    /// A node without a parent asks for one, ever and again.
    pub(super) fn solicit(&mut self, now: Instant) {
        self.replies.dis_due = true;
        self.is_adrift = true;
        self.dis_at = now + jittered(self.shared.config.dis_interval, &mut self.shared.rng);
    }

    /// The link to a neighbour that could be the parent is measured: it is asked for a
    /// DIO (§8.3).
    pub(super) fn probe(&mut self, now: Instant) {
        self.probe_at = now + jittered(self.shared.config.probe_interval, &mut self.shared.rng);
        let Some(dodag) = &self.dodag else {
            return;
        };
        // No worse than the parent by more than what would make it the parent.
        let limit = self.present_offer(dodag).map_or(u32::MAX, |offer| {
            let interest = self.shared.rules.switch_threshold();
            offer.cost.saturating_add(interest.into())
        });
        // Whom nothing was sent to first, then whose link was measured longest ago; of
        // several the last one.
        let possible = self.candidates.iter().rev().filter_map(|it| {
            let is_other = Some(it.link) != self.parent && dodag.objective.is_eligible(it.etx);
            let offer = self.offer(dodag, it).filter(|_| is_other)?;
            let age = u32::from(it.is_unknown()) << 16 | u32::from(it.unmeasured_s(now));
            (offer.cost <= limit).then_some((Reverse(age), it.link))
        });
        let chosen = least(possible);
        self.shared.probes.schedule(chosen);
    }

    /// Clears away what has ended.
    pub(super) fn keep_up(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        self.end_hosts(now, table);
        if HAS_TARGETS {
            table.expire(now);
            self.prove_any(now, table);
        }
        for neighbour in self.candidates.iter_mut() {
            neighbour.full = false;
        }
        self.reconsider(now, table);
    }

    /// DAGRank (§3.5.1).
    #[inline(never)] // size
    pub(super) fn dag_rank(&self, rank: u16) -> u16 {
        divide(rank.into(), self.min_hop().unwrap_or(1).into()) as u16
    }

    /// The rank that its DIOs have: a leaf's is infinite (§8.5 (2)).
    pub(super) fn advertised_rank(&self) -> u16 {
        match self.is_leaf() {
            true => INFINITE_RANK,
            false => self.rank,
        }
    }
}
