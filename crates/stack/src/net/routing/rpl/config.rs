//! What a node that routes by RPL is told, and what it counts.

use redpoll_base::{Addr, Duration, Memory};
use redpoll_wire::rpl::Configuration;

use super::RplNeighbour;

/// Targets in one DAO at most: with these it fits into one frame.
pub(super) const TARGETS_MAX: u8 = 4;

/// How a node takes part in a DODAG, and its own parameters: what all nodes share comes
/// from the root.
#[derive(Clone, Debug)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
#[non_exhaustive]
pub struct RplConfig {
    /// Whether DAOs ask for acknowledgements (K, RFC 6550 §6.4.1).
    pub dao_ack: bool,
    /// Targets in one DAO, 1 to 4; 4 by default. With more than one, each has transit
    /// information of its own (RFC 6550 §9.4). Some routers read only the last target.
    pub dao_targets: u8,
    /// A DAO that was repeated so often counts as given up: in storing mode the node looks
    /// for another parent. It goes on repeating it. RFC 6550 leaves it open; 3.
    pub dao_retries: u8,
    /// Packets of others get their packet information, and their source route, in an
    /// outer header (RFC 6553 §4, RFC 6554 §4.1). `false`: it is put into the packet
    /// itself, which is against the standard and 40 bytes shorter.
    pub tunnels: bool,
    /// Whether a node that has more to carry than it can says so, and whether others
    /// avoid it then (RFC 6551 §3.1, the O flag). Off by default.
    pub load_aware: bool,
    /// Whether each multicast DIO increments the DTSN, so that every node behind this router
    /// sends its DAO again (RFC 6550 §9.6). This repairs the effects of lost DAOs, and costs
    /// all routers on the way a DAO each time. Off by default.
    pub dtsn_each_dio: bool,
    /// DelayDAO (RFC 6550 §9.5): 1 s by default (§17).
    pub dao_delay: Duration,
    /// Mean time in which a first acknowledgement has to come; twice as long with each
    /// DAO that is repeated, six times. RFC 6550 leaves it open; 5 s.
    pub dao_timeout: Duration,
    /// Time between two solicitations of a node without a DODAG. RFC 6550 leaves it
    /// open; 30 s.
    pub dis_interval: Duration,
    /// Mean time between two probes of the link to a possible parent. RFC 6550 leaves it
    /// open; 90 s.
    pub probe_interval: Duration,
    /// Seed of delays and first numbers.
    pub seed: u64,
}

/// What a node is to a DODAG.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RplRole {
    /// Its root. Only a build with the feature `rpl-root` can make an [`RplRoot`].
    Root(RplRoot),
    /// Joins, and others may join through it.
    Router,
    /// Only joins (RFC 6550 §8.5).
    Leaf,
}

/// What a root tells everybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RplRoot {
    /// RPLInstanceID.
    pub instance: u8,
    /// The DODAG's prefix of 64 bits. The root's address within it is the DODAGID.
    pub prefix: Addr,
    /// Storing or non-storing; see [`redpoll_wire::rpl::mode`].
    pub mode: u8,
    /// The rest.
    pub configuration: Configuration,
    /// How often it begins a new version of the DODAG, of which all nodes choose their places
    /// anew (RFC 6550 §3.2.2); `None`: when it is told so, or has to.
    pub version_interval: Option<Duration>,
}

#[cfg(feature = "rpl-root")]
impl RplRoot {
    /// A root of the default instance.
    pub const fn new(prefix: Addr, mode: u8, configuration: Configuration) -> Self {
        RplRoot {
            instance: redpoll_wire::rpl::DEFAULT_INSTANCE,
            prefix,
            mode,
            configuration,
            version_interval: None,
        }
    }
}

impl RplConfig {
    /// The usual parameters.
    pub const fn new(seed: u64) -> Self {
        RplConfig {
            dao_delay: Duration::from_secs(1),
            dao_ack: true,
            dao_targets: TARGETS_MAX,
            dao_timeout: Duration::from_secs(5),
            dao_retries: 3,
            dis_interval: Duration::from_secs(30),
            probe_interval: Duration::from_secs(90),
            tunnels: true,
            load_aware: false,
            dtsn_each_dio: false,
            seed,
        }
    }

    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

/// A [`RplRole`] without what a root tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Root,
    Router,
    Leaf,
}

impl Role {
    pub(super) const fn of(role: &RplRole) -> Self {
        match role {
            RplRole::Root(_) => Role::Root,
            RplRole::Router => Role::Router,
            RplRole::Leaf => Role::Leaf,
        }
    }
}

/// The memory of a node that routes by RPL, beside its table of routes.
pub struct RplMemory<M: Memory + 'static> {
    /// One entry a candidate neighbour: possible parents, and children that were heard.
    pub neighbours: M::Table<Option<RplNeighbour>>,
}

/// What a node's RPL has done and left out. Counters wrap after 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RplCounters {
    /// DIOs sent.
    pub dios_sent: u32,
    /// Messages of each kind that have come from neighbours or, of DAOs and their
    /// acknowledgements, from farther away: well-formed ones.
    pub dios_received: u32,
    /// DISs among them.
    pub diss_received: u32,
    /// DAOs among them, No-Paths included.
    pub daos_received: u32,
    /// DAO-ACKs among them.
    pub dao_acks_received: u32,
    /// DISs sent.
    pub diss_sent: u32,
    /// DAOs sent, those that are repeated and No-Paths included.
    pub daos_sent: u32,
    /// DAO-ACKs sent.
    pub dao_acks_sent: u32,
    /// Another preferred parent than before.
    pub parent_changes: u32,
    /// The last parent was lost, and the sub-DODAG poisoned.
    pub detached: u32,
    /// New versions of the DODAG that were joined; a root's: begun.
    pub versions: u32,
    /// Trickle has begun anew for an inconsistency.
    pub trickle_resets: u32,
    /// DAOs that were given up.
    pub daos_given_up: u32,
    /// DAOs of this node that were refused.
    pub daos_refused: u32,
    /// Targets that found no room here.
    pub targets_refused: u32,
    /// Control messages that are malformed, or contradict what is known: ranks that
    /// nobody but the root can have, DAOs from the parent, targets that cannot be.
    pub implausible: u32,
    /// Control messages of another instance, DODAG, mode or objective function.
    pub foreign: u32,
    /// DAOs, and No-Paths, that were older than what is known, or not their sender's.
    pub stale: u32,
    /// Versions of the DODAG that were heard and not joined.
    pub versions_ignored: u32,
    /// DAOs of the preferred parent, or packets that it has sent up: it takes this node for
    /// its own, and is not the parent any more until it says what its rank is.
    pub loops: u32,
    /// Packets whose direction and ranks contradicted each other for the first time.
    pub rank_errors: u32,
    /// Packets that were given back for want of a route.
    pub forwarding_errors: u32,
    /// Packets that came back, and whose route was removed.
    pub returned: u32,
    /// Stops of source routes that their parents did not reach, and that were forgotten.
    pub lost_stops: u32,
    /// Routes that were removed because their next hop did not acknowledge frames.
    pub routes_unacked: u32,
    /// Targets of DAOs that were ignored because their next hop had not acknowledged a frame,
    /// and the next hop of the present route had.
    pub daos_unproven: u32,
    /// Neighbours for which there was no room.
    pub neighbours_refused: u32,
    /// Registrations of hosts that were refused: of addresses that are others', out of date,
    /// or without room.
    pub registrations_refused: u32,
}

pub(super) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
