//! The DODAG that a root begins, and its versions.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::Sequence;

use super::{Dodag, Upward};
use crate::net::identity::Identity;
use crate::net::routing::rpl::config::{Role, RplRole, count};
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::{earlier, has_come, times};
use crate::profile::Profile;
use crate::rules::RplRules;

/// Whether this build contains the code of a root.
pub(in crate::net::routing::rpl) const IS_BUILT: bool = true;
/// Number of Trickle's shortest intervals for which a root that has just started listens.
const QUIET_INTERVALS: u64 = 2;

/// The time at which a root begins the next version of its DODAG, and the interval of versions.
#[derive(Debug, Default)]
pub(super) struct RootVersions {
    begin_at: Option<Instant>,
    interval: Option<Duration>,
}

impl RootVersions {
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        earlier(at, &self.begin_at)
    }
}

impl<P: Profile> Upward<P> {
    pub(in crate::net::routing::rpl) const fn is_root(&self) -> bool {
        matches!(self.role, Role::Root)
    }

    /// Begins the DODAG of a root (RFC 6550 §8.2.2.2). The root first listens for its neighbours'
    /// version: a root that has restarted must begin a new version, or it would get no DAOs.
    pub(super) fn begin_as_root(
        &mut self,
        now: Instant,
        role: &RplRole,
        identity: &Identity,
        rules: &P::Rules,
    ) {
        let RplRole::Root(root) = role else {
            return;
        };
        let configuration = root.configuration;
        let Some(objective) = rules.objective(configuration.objective) else {
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
        // ROOT_RANK (RFC 6550 §17).
        self.rank = configuration.min_hop_rank_increase;
        self.lowest = self.rank;
        self.configure_trickle();
        self.dis_due = true;
        self.quiet_until = Some(now + times(self.trickle.shortest(), QUIET_INTERVALS));
        self.root.interval = root.version_interval;
        self.root.begin_at = root.version_interval.map(|interval| now + interval);
    }

    /// Begins a new version of the DODAG (RFC 6550 §3.2.2, §8.2.2.1). Returns `false` if this node
    /// is not a root, or has just started and still listens for the present version.
    pub(in crate::net::routing::rpl) fn begin_version(&mut self, cx: &mut Context<'_, P>) -> bool {
        if !self.is_root() {
            return false;
        }
        let interval = self.root.interval;
        self.root.begin_at = interval.map(|interval| cx.now + interval);
        let Some(dodag) = self.dodag.as_mut().filter(|_| self.quiet_until.is_none()) else {
            return false;
        };
        dodag.version = dodag.version.next();
        self.trickle.start(cx.now, &mut cx.shared.rng);
        count(&mut cx.shared.counters.versions);
        true
    }

    pub(in crate::net::routing::rpl) fn run_versions(&mut self, cx: &mut Context<'_, P>) {
        if has_come(&self.root.begin_at, cx.now) {
            self.begin_version(cx);
        }
    }
}
