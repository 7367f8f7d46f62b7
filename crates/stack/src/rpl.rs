//! What programs call of a node that routes by RPL.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;

use crate::Node;
use crate::profile::Profile;

pub use crate::net::routing::{RplConfig, RplCounters, RplMemory, RplNeighbour, RplRole, RplRoot};

impl<P: Profile> Node<P> {
    /// From now on this node finds its routes by RPL (RFC 6550). A root's address must
    /// be known before.
    pub fn route_by_rpl(
        &mut self,
        now: Instant,
        role: RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
    ) where
        P::Rules: Default,
    {
        self.route_by_rpl_with(now, P::Rules::default(), role, config, memory);
    }

    /// As [`Node::route_by_rpl`], with other rules than the default ones.
    pub fn route_by_rpl_with(
        &mut self,
        now: Instant,
        rules: P::Rules,
        role: RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
    ) {
        let net = &mut self.net;
        let identity = &net.identity;
        net.routing
            .begin_rpl(now, rules, &role, config, memory, identity);
    }

    /// Global repair (RFC 6550 §3.2.2): the root begins a new version of its DODAG, in which
    /// every node chooses its place anew. `false` if this node is no root, or one that has just
    /// started and listens which version there is. It costs every node DIOs and a DAO, and
    /// ways down until these have come: not something to do every minute.
    pub fn begin_rpl_version(&mut self, now: Instant) -> bool {
        self.net.routing.begin_version(now)
    }

    /// What its RPL has done so far.
    pub fn rpl_counters(&self) -> RplCounters {
        self.net.routing.rpl_counters()
    }

    /// Its rank ([`INFINITE_RANK`](redpoll_wire::rpl::INFINITE_RANK) without a way to
    /// the root), and the link-layer address of its preferred parent; `None` if it does not
    /// route by RPL.
    pub fn rpl_place(&self) -> Option<(u16, Option<Address>)> {
        self.net.routing.rpl_place()
    }

    /// How many targets it has ways down to.
    pub fn rpl_targets(&self, now: Instant) -> usize {
        self.net.routing.targets(now)
    }
}
