//! The root of a DODAG: its versions, its paths in non-storing mode, and its inquiries.

mod inquiry;
mod path;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::{Sequence, Transit};

use super::config::{Role, RplRole, count};
use super::{Dodag, DodagOf, Peer, Rpl, Table, earlier, has_come, times};
use crate::net::identity::Identity;
use crate::net::routing::routes::DownwardRoute;
use crate::rules::RplRules;

use crate::profile::Profile;
use inquiry::Inquiries;
pub(super) use path::Path;

/// Whether a node may be the root.
pub(super) const IS_BUILT: bool = true;
/// The longest source routing header: 64 stops whose addresses are two bytes each, or eight whole
/// ones.
pub(super) const ROUTE_MAX: usize = 136;

/// The state of a root.
#[derive(Debug, Default)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct RootState {
    /// When the root begins the next version.
    version_at: Option<Instant>,
    version_interval: Option<Duration>,
    inquiries: Inquiries,
}

impl RootState {
    /// `at`, or the time at which the root has something to do if that is earlier.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        earlier(earlier(at, &self.version_at), &self.inquiries.at)
    }

    /// Whether an echo request is due.
    pub(super) fn asks(&self) -> bool {
        self.inquiries.is_due()
    }

    /// Whether the target `to` behind `link` has just answered.
    pub(super) fn is_confirmed(&self, to: &Addr, link: Peer) -> bool {
        self.inquiries.is_confirmed(to, link)
    }

    /// A target of the table has yet to answer.
    pub(super) fn schedule(&mut self, now: Instant) {
        self.inquiries.schedule(now);
    }

    /// Asks for this target before its DAO changes the table.
    pub(super) fn offer(&mut self, now: Instant, target: (Addr, Peer), transit: &Transit) {
        self.inquiries.offer(now, target, transit);
    }
}

impl<P: Profile> Rpl<P> {
    pub(super) const fn is_root(&self) -> bool {
        matches!(self.role, Role::Root)
    }

    /// §8.2.2.2: this node's own DODAG, if it is a root. It first listens who is in it already: a
    /// root that has restarted must begin a new version, or nobody would send it DAOs.
    pub(super) fn begin_as_root(&mut self, now: Instant, role: &RplRole, identity: &Identity) {
        let RplRole::Root(root) = role else {
            return;
        };
        let configuration = root.configuration;
        let Some(objective) = self.shared.rules.objective(configuration.objective) else {
            return;
        };
        self.dodag = Some(Dodag {
            id: identity.address,
            instance: root.instance,
            version: Sequence::FIRST,
            mode: root.mode,
            grounded: true,
            preference: 0,
            prefix: addr::prefix(&root.prefix, 64),
            configuration,
            objective,
        });
        // ROOT_RANK (§17).
        self.rank = configuration.min_hop_rank_increase;
        self.lowest = self.rank;
        self.configure_trickle();
        self.replies.dis_due = true;
        self.quiet_until = Some(now + times(self.trickle.shortest(), 2));
        self.root.version_interval = root.version_interval;
        self.root.version_at = root.version_interval.map(|interval| now + interval);
    }

    /// §3.2.2, §8.2.2.1: the DODAG forms anew. `false` if this node is no root, or one that has
    /// just started and listens which version there is.
    pub(super) fn begin_version(&mut self, now: Instant) -> bool {
        if !self.is_root() {
            return false;
        }
        let interval = self.root.version_interval;
        self.root.version_at = interval.map(|interval| now + interval);
        let Some(dodag) = self.dodag.as_mut().filter(|_| self.quiet_until.is_none()) else {
            return false;
        };
        dodag.version = dodag.version.next();
        self.trickle.start(now, &mut self.shared.rng);
        count(&mut self.shared.counters.versions);
        true
    }

    /// Runs the timers of a root.
    pub(super) fn run_root(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        if has_come(&self.root.version_at, now) {
            self.begin_version(now);
        }
        self.run_inquiries(now, table);
    }

    /// Limits the lifetime of a route in non-storing mode. A target to whose parent there is no
    /// path yet lasts one lifetime unit, because its sender repeats a DAO without an
    /// acknowledgement. A DAO does not shorten the route of a target that has answered.
    pub(super) fn limit(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        dodag: &DodagOf<P>,
        to: &Addr,
        known: Option<DownwardRoute>,
        downward: &mut DownwardRoute,
    ) {
        let is_behind = dodag.first_hop(self.own, to, downward.link).is_none();
        let parent = downward.link.within(&dodag.prefix);
        if let Some(known) = known.filter(|known| known.hop.is_proven() && !known.is_gone()) {
            downward.lengthen(&known);
        } else if is_behind
            && !downward.hop.is_proven()
            && self.path(now, table, dodag, &parent).is_none()
        {
            downward.shorten(now, self.brief_s());
        }
    }

    /// A No-Path for the target `known` has come, in non-storing mode. Returns whether the root
    /// asks the target, which has answered before, instead of removing it.
    pub(super) fn doubts(&mut self, now: Instant, known: &mut DownwardRoute) -> bool {
        if !known.hop.is_proven() || known.is_gone() {
            return false;
        }
        if known.hop.answers() {
            known.hop.on_unanswered();
        }
        self.root.schedule(now);
        true
    }
}
