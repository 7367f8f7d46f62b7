//! DISs and DIOs that are received (RFC 6550 §8.2, §8.3).

use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::{Dio, INFINITE_RANK, Sequence, mode};

use super::neighbours::Admission;
use super::parent::LARGE_CHANGE;
use super::{Dodag, STORES, Upward};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::profile::Profile;
use crate::rules::{Objective, RplRules};

/// Time without a measurement, in seconds, after which a DIO of a neighbour with a bad or dead link
/// makes the neighbour a candidate again.
const GONE_S: u16 = 60;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::net::routing::rpl) enum DioOutcome {
    /// The DIO does not change the entry of any neighbour.
    Ignored,
    /// The neighbour has left the DODAG of this node.
    NeighbourLost,
    /// The neighbour is in the DODAG of this node.
    Member,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::net::routing::rpl) struct BeforeDio {
    parent: Option<Peer>,
    rank: u16,
    version: Sequence,
    /// Whether the sender is the preferred parent.
    is_parent: bool,
    /// Whether the sender has incremented its DTSN.
    triggers: bool,
    pub(in crate::net::routing::rpl) joins: bool,
}

impl BeforeDio {
    /// Returns whether the parent asks for DAOs (RFC 6550 §9.6).
    pub(in crate::net::routing::rpl) fn asks_for_daos(&self) -> bool {
        self.is_parent && self.triggers
    }
}

/// Whether a node asks for a unicast DIO that confirms a doubtful one. Builds for non-storing mode
/// alone have no flash for this.
const DOUBTS: bool = STORES;

impl<P: Profile> Upward<P> {
    /// Answers a DIS of the neighbour `link` (RFC 6550 §8.3).
    pub(in crate::net::routing::rpl) fn on_dis(
        &mut self,
        cx: &mut Context<'_, P>,
        link: Peer,
        to_group: bool,
    ) {
        if !self.is_joined() {
            return;
        }
        match to_group {
            false => self.answer_dis(link),
            true if self.is_leaf() => {}
            true => self.reset_trickle(cx),
        }
    }

    /// Returns whether the sender must confirm a DIO by a unicast DIO: if the DIO has a newer
    /// version, or a rank far below that of this node. Any node can forge a DIO with the address of
    /// a neighbour; the neighbour's own answer to a DIS then refutes the forged DIO (RFC 6550
    /// §8.3). A node whose parent does not acknowledge frames requires no confirmation.
    #[inline(never)] // size
    pub(in crate::net::routing::rpl) fn doubts(
        &self,
        cx: &mut Context<'_, P>,
        link: Peer,
        dio: &Dio<'_>,
    ) -> bool {
        let Some(dodag) = self
            .joined()
            .filter(|dodag| DOUBTS && dodag.id == dio.dodag)
        else {
            return false;
        };
        let is_sure = match self.parent {
            Some(parent) => self.answers(parent),
            // A root that still listens after its start requires no confirmation.
            None => self.quiet_until.is_none() && self.answers(link),
        };
        let far = dodag
            .configuration
            .min_hop_rank_increase
            .saturating_mul(LARGE_CHANGE);
        let counters = &mut cx.shared.counters;
        if is_sure && dodag.version.is_stale_after(dio.version) {
            count(&mut counters.versions_ignored);
            return true;
        }
        let is_far = is_sure && dio.rank < self.rank.saturating_sub(far);
        if is_far {
            count(&mut counters.implausible);
        }
        is_far
    }

    /// Checks a DIO, and joins its DODAG if the node is in none.
    pub(in crate::net::routing::rpl) fn on_dio(
        &mut self,
        cx: &mut Context<'_, P>,
        identity: &mut Identity,
        link: Peer,
        dio: &Dio<'_>,
    ) -> Result<DioOutcome, DropReason> {
        self.check_rank(link, dio)?;
        let dodag = self.dodag.as_ref();
        let is_known =
            dodag.is_some_and(|dodag| dodag.id == dio.dodag && dodag.instance == dio.instance);
        if self.is_root() {
            self.on_dio_at_root(cx, link, dio, is_known);
            return Ok(DioOutcome::Ignored);
        }
        if !is_known {
            // The node stays in the DODAG that it has joined.
            if self.is_joined() {
                count(&mut cx.shared.counters.foreign);
                return Ok(match self.lose_neighbour(link) {
                    true => DioOutcome::NeighbourLost,
                    false => DioOutcome::Ignored,
                });
            }
            self.consider_joining(&cx.shared.rules, dio, identity);
            let dodag = self.dodag.as_ref();
            if dodag.is_none_or(|dodag| dodag.id != dio.dodag) {
                count(&mut cx.shared.counters.foreign);
                return Ok(DioOutcome::Ignored);
            }
        }
        Ok(DioOutcome::Member)
    }

    /// Refuses a rank that the sender cannot have (RFC 6550 §8.2.2.2, §8.2.2.4 (1)): a rank below
    /// that of the root, or the rank of the root if the sender is another node.
    fn check_rank(&self, link: Peer, dio: &Dio<'_>) -> Result<(), DropReason> {
        let configured = dio.options.configuration();
        let configured = configured.map(|configuration| configuration.min_hop_rank_increase);
        let Some(root_rank) = configured.or(self.min_hop()) else {
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

    /// Joins the DODAG of a DIO if this node can work by its parameters (RFC 6550 §9.2 (1), §8.5).
    #[inline(never)] // size
    fn consider_joining(&mut self, rules: &P::Rules, dio: &Dio<'_>, identity: &mut Identity) {
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
        let Some(objective) = rules.objective(configuration.objective) else {
            return;
        };
        let prefix_of = addr::prefix(&prefix.prefix, 64);
        // RFC 6550 §6.7.10, A: the node forms its address if it has none.
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

    /// Follows a DIO of the DODAG into another version.
    pub(in crate::net::routing::rpl) fn follow(
        &mut self,
        cx: &mut Context<'_, P>,
        link: Peer,
        dio: &Dio<'_>,
    ) -> Option<BeforeDio> {
        let version = self.dodag.as_ref()?.version;
        let known = self.candidates.get(link);
        let mut before = BeforeDio {
            parent: self.parent,
            rank: self.rank,
            version,
            is_parent: self.parent == Some(link),
            triggers: known.is_some_and(|it| it.dtsn.is_stale_after(dio.dtsn)),
            joins: false,
        };
        before.joins = self.follow_version(cx, link, dio, version);
        Some(before)
    }

    /// Records the contents of a DIO. Returns `false` if the table of neighbours is full.
    pub(in crate::net::routing::rpl) fn record(
        &mut self,
        cx: &mut Context<'_, P>,
        link: Peer,
        dio: &Dio<'_>,
        before: &BeforeDio,
    ) -> bool {
        let Some(dodag) = &self.dodag else {
            return false;
        };
        let objective = dodag.objective;
        let unknown = cx.shared.rules.initial_etx();
        let admission = Admission {
            now: cx.now,
            initial_etx: unknown,
            link,
            rank: dio.rank,
            version: dodag.version,
            keep: before.parent,
        };
        let Some(neighbour) = self.candidates.admit(&admission) else {
            count(&mut cx.shared.counters.neighbours_refused);
            return false;
        };
        neighbour.rank = dio.rank;
        neighbour.version = dio.version;
        neighbour.overloaded = dio.options.is_overloaded();
        // Measures a bad link again if the measurement is old, or if the node has no parent.
        let is_bad = neighbour.is_gone() || !objective.is_eligible(neighbour.etx);
        let is_old = neighbour.unmeasured_s(cx.now) >= GONE_S || objective.forgives_at_once();
        if is_bad && (self.parent.is_none() || is_old) {
            neighbour.forgive(unknown);
        }
        neighbour.dtsn = dio.dtsn;
        true
    }

    /// Decides whether a processed DIO is consistent or inconsistent for Trickle, and counts it
    /// (RFC 6550 §8.3).
    pub(in crate::net::routing::rpl) fn compare(
        &mut self,
        cx: &mut Context<'_, P>,
        dio: &Dio<'_>,
        before: &BeforeDio,
    ) {
        if dio.rank == INFINITE_RANK && self.is_joined() && !before.is_parent {
            // The sender has lost its parent, and needs a DIO to find another one.
            self.reset_trickle(cx);
        } else if (before.parent, before.rank) == (self.parent, self.rank)
            && dio.version == before.version
            && self.dag_rank(dio.rank) < self.dag_rank(self.rank)
        {
            // RFC 6550 §8.3: Trickle ignores a DIO of a node that is not nearer to the root than
            // this node, because the children of this node possibly do not hear that DIO.
            self.trickle.on_consistent();
        }
    }

    /// Removes the rank of the neighbour `link`. Returns `false` for an unknown neighbour.
    pub(super) fn lose_neighbour(&mut self, link: Peer) -> bool {
        let Some(neighbour) = self.candidates.get_mut(link) else {
            return false;
        };
        neighbour.rank = INFINITE_RANK;
        true
    }

    /// Processes a loop: the neighbour `parent` mistakes this node for its own parent, so the rank
    /// that `parent` has advertised is out of date. This node cannot choose `parent` again until
    /// the next DIO of `parent`. Returns whether the choice of the parent may change.
    pub(in crate::net::routing::rpl) fn on_loop(
        &mut self,
        cx: &mut Context<'_, P>,
        parent: Peer,
    ) -> bool {
        count(&mut cx.shared.counters.loops);
        self.lose_neighbour(parent)
    }
}
