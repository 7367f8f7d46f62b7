//! The configuration and the counters of a node that routes by RPL.

use redpoll_base::{Addr, Duration, Memory};
use redpoll_wire::rpl::Configuration;

use super::RplNeighbour;
use super::upward::STORES;

/// Targets in one DAO by default: with these it fits into one frame.
const TARGETS: u8 = 4;
/// Targets in one DAO at most. Only a router in storing mode has many.
pub(super) const TARGETS_MAX: u8 = if STORES { 20 } else { TARGETS };

/// The parameters of one node. The root distributes the parameters that all nodes share.
#[derive(Clone, Debug)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
#[non_exhaustive]
pub struct RplConfig {
    /// Whether DAOs ask for acknowledgements (K, RFC 6550 §6.4.1).
    pub dao_ack: bool,
    /// Targets in one DAO, 1 to 20, or to 4 in a build without `rpl-storing`; 4 by default. More
    /// than 4 targets need several frames. Each target has transit information of its own
    /// (RFC 6550 §9.4). Some routers read only the last target.
    pub dao_targets: u8,
    /// Repetitions after which a DAO counts as given up, so that in storing mode the node looks
    /// for another parent. The node continues to repeat the DAO. RFC 6550 leaves the number open;
    /// 3 by default.
    pub dao_retries: u8,
    /// Whether forwarded packets get packet information and source routes in an outer header
    /// (RFC 6553 §4, RFC 6554 §4.1). `false`: they are inserted into the packet itself, which these
    /// RFCs do not allow, and which is 40 bytes shorter.
    pub tunnels: bool,
    /// Whether an overloaded node sets the O flag in its DIOs, and avoids neighbours that set it
    /// (RFC 6551 §3.1). Off by default.
    pub load_aware: bool,
    /// Whether each multicast DIO increments the DTSN, so that every node behind this router
    /// sends its DAO again (RFC 6550 §9.6). This repairs the effects of lost DAOs, and costs
    /// every router between these nodes and the root a DAO each time. Off by default.
    pub dtsn_each_dio: bool,
    /// DelayDAO (RFC 6550 §9.5): 1 s by default (§17).
    pub dao_delay: Duration,
    /// Mean timeout of the first acknowledgement. Each repetition of the DAO doubles the timeout,
    /// to at most 64 times this value. RFC 6550 leaves it open; 5 s by default.
    pub dao_timeout: Duration,
    /// Mean time between DISs while there is no parent. RFC 6550 leaves it open; 30 s by default.
    pub dis_interval: Duration,
    /// Mean time between two probes of the link to a possible parent. RFC 6550 leaves it open;
    /// 90 s by default.
    pub probe_interval: Duration,
    /// Seed of the random delays and initial sequence numbers.
    pub seed: u64,
}

/// The role of a node in a DODAG.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RplRole {
    /// The root. Only a build with the feature `rpl-root` can make an [`RplRoot`].
    Root(RplRoot),
    /// Joins the DODAG, and may be the parent of other nodes.
    Router,
    /// Joins the DODAG, and is never a parent (RFC 6550 §8.5).
    Leaf,
}

/// The parameters that a root distributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RplRoot {
    /// RPLInstanceID.
    pub instance: u8,
    /// The DODAG's prefix of 64 bits. The root's address within it is the DODAGID.
    pub prefix: Addr,
    /// Mode of Operation: storing or non-storing; see [`redpoll_wire::rpl::mode`].
    pub mode: u8,
    /// DODAG Configuration option (RFC 6550 §6.7.6).
    pub configuration: Configuration,
    /// Interval of new versions of the DODAG, in which all nodes choose their parents again
    /// (RFC 6550 §3.2.2). `None`: only on request, or after a DIO of an unknown version.
    pub version_interval: Option<Duration>,
}

#[cfg(feature = "rpl-root")]
impl RplRoot {
    /// Returns a root of the default instance.
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
    /// Returns the default parameters.
    pub const fn new(seed: u64) -> Self {
        RplConfig {
            dao_delay: Duration::from_secs(1),
            dao_ack: true,
            dao_targets: TARGETS,
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

/// A [`RplRole`] without the parameters of a root.
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

/// The memory of a node that routes by RPL, in addition to its table of routes.
pub struct RplMemory<M: Memory + 'static> {
    /// One entry for each candidate neighbour: possible parents, and children that have sent DIOs.
    pub neighbours: M::Table<Option<RplNeighbour>>,
}

/// Counters of RPL in a node. They wrap after 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RplCounters {
    /// DIOs sent.
    pub dios_sent: u32,
    /// Well-formed DIOs received.
    pub dios_received: u32,
    /// Well-formed DISs received.
    pub diss_received: u32,
    /// Well-formed DAOs received, No-Paths included.
    pub daos_received: u32,
    /// Well-formed DAO-ACKs received.
    pub dao_acks_received: u32,
    /// DISs sent.
    pub diss_sent: u32,
    /// DAOs sent, repetitions and No-Paths included.
    pub daos_sent: u32,
    /// DAO-ACKs sent.
    pub dao_acks_sent: u32,
    /// Changes of the preferred parent.
    pub parent_changes: u32,
    /// Losses of the last parent, after which the node poisoned its sub-DODAG.
    pub detached: u32,
    /// New versions of the DODAG that the node joined or, as a root, began.
    pub versions: u32,
    /// Resets of Trickle because of an inconsistency.
    pub trickle_resets: u32,
    /// DAOs given up for lack of an acknowledgement.
    pub daos_given_up: u32,
    /// DAOs of this node that were rejected.
    pub daos_refused: u32,
    /// Targets that this node rejected because its table of routes was full, or because their next
    /// hop has never acknowledged a frame and already has the largest number of routes that a next
    /// hop may have before its first acknowledgement.
    pub targets_refused: u32,
    /// Malformed or implausible control messages: ranks that only the root can have, unconfirmed
    /// ranks far below the rank of this node, DAOs from the parent, impossible targets.
    pub implausible: u32,
    /// Control messages of another instance, DODAG, mode or objective function, and dropped packets
    /// of another instance.
    pub foreign: u32,
    /// DAOs and No-Paths that were older than the route in the table, or not from its next hop;
    /// and acknowledgements and errors that match no message of this node.
    pub stale: u32,
    /// DIOs of a new version of the DODAG that the node did not join.
    pub versions_ignored: u32,
    /// DAOs and upward packets that the preferred parent sent to this node. That neighbour mistakes
    /// this node for its own parent, and cannot be chosen as parent until its next DIO.
    pub loops: u32,
    /// Packets whose direction contradicted the rank of the sender.
    pub rank_errors: u32,
    /// Packets returned to the previous hop for lack of a route.
    pub forwarding_errors: u32,
    /// Packets that a next hop returned.
    pub returned: u32,
    /// Targets that a root removed because their parents reported them as unreachable.
    pub lost_stops: u32,
    /// Routes removed because their next hop did not acknowledge frames or, at a root in
    /// non-storing mode, because their target did not answer inquiries.
    pub routes_unacked: u32,
    /// Targets ignored because their next hop had not acknowledged a frame, and the next hop of
    /// the present route had.
    pub daos_unproven: u32,
    /// Neighbours ignored because the table of neighbours was full.
    pub neighbours_refused: u32,
    /// Registrations of hosts refused: the address belongs to another node, the registration is
    /// out of date, or there is no room.
    pub registrations_refused: u32,
}

pub(super) fn count(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
