//! Functions for programs whose node routes by RPL.

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::Address;

use crate::Node;
use crate::profile::Profile;

pub use crate::net::routing::{RplConfig, RplCounters, RplMemory, RplNeighbour, RplRole, RplRoot};

impl<P: Profile> Node<P> {
    /// Starts RPL (RFC 6550) on this node. A root needs an address first. A node that can only be a
    /// leaf ([`Memory::ROUTES`]) joins as a leaf, whatever `role` is.
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

    /// Starts RPL as [`Node::route_by_rpl`] does, with these rules.
    pub fn route_by_rpl_with(
        &mut self,
        now: Instant,
        rules: P::Rules,
        role: RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
    ) {
        // A node that cannot forward must not be the parent of other nodes.
        let role = match P::Memory::ROUTES {
            true => role,
            false => RplRole::Leaf,
        };
        let net = &mut self.net;
        let identity = &net.identity;
        net.routing
            .begin_rpl(now, rules, &role, config, memory, identity);
    }

    /// Begins a new version of the DODAG, in which every node chooses its parent again (global
    /// repair, RFC 6550 §3.2.2). Returns `false` if this node is not a root, or has just started
    /// and still listens for the present version. A new version costs every node DIOs and a DAO,
    /// and there are no downward routes until the DAOs have arrived. Do not call this every minute.
    pub fn begin_rpl_version(&mut self, now: Instant) -> bool {
        self.net.routing.begin_version(now)
    }

    /// Returns the counters of RPL.
    pub fn rpl_counters(&self) -> RplCounters {
        self.net.routing.rpl_counters()
    }

    /// Returns the rank of this node ([`INFINITE_RANK`](redpoll_wire::rpl::INFINITE_RANK) without a
    /// route to the root) and the link-layer address of its preferred parent; `None` if it does not
    /// route by RPL.
    pub fn rpl_place(&self) -> Option<(u16, Option<Address>)> {
        self.net.routing.rpl_place()
    }

    /// Returns the number of targets in the table of routes.
    pub fn rpl_targets(&self, now: Instant) -> usize {
        self.net.routing.targets(now)
    }
}
