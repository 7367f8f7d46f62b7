//! How nodes find their routes.

use redpoll_base::Duration;
use redpoll_stack::wire::rpl::Configuration;

/// Where routes come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routing {
    /// They are worked out before the run: paths of least cost over the medium's links.
    Fixed,
    /// The nodes find them themselves, by RPL (RFC 6550).
    Rpl(RplParams),
}

impl Routing {
    /// RPL's parameters, if the routes are its.
    pub const fn rpl(&self) -> Option<&RplParams> {
        match self {
            Routing::Rpl(params) => Some(params),
            Routing::Fixed => None,
        }
    }
}

/// RPL, the same in every node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RplParams {
    /// Storing or non-storing; see [`redpoll_stack::wire::rpl::mode`].
    pub mode: u8,
    /// What the root tells everybody.
    pub configuration: Configuration,
    /// How often the root begins a new version of the DODAG, if it does.
    pub version_interval: Option<Duration>,
    /// DelayDAO.
    pub dao_delay: Duration,
    /// DAOs ask for acknowledgements.
    pub dao_ack: bool,
    /// Targets in one DAO.
    pub dao_targets: u8,
    /// The DTSN counts up with each multicast DIO.
    pub dtsn_each_dio: bool,
    /// Mean time between two probes of a link.
    pub probe_interval: Duration,
    /// Time after which a node tells of itself again; `None`: twice in a lifetime.
    pub dao_interval: Option<Duration>,
    /// ETX of a link over which nothing was sent yet, in 128ths.
    pub initial_etx: u16,
    /// By how much a parent of MRHOF must be better than the present one, in 128ths.
    pub switch_threshold: u16,
    /// Objective function zero counts hops.
    pub counts_hops: bool,
    /// Time between two solicitations of a node without a DODAG.
    pub dis_interval: Duration,
    /// Candidate neighbours that a node has room for.
    pub neighbours: u16,
    /// Targets that a router has room for; `None`: as many as there are nodes, a
    /// thousand at most.
    pub routes: Option<u16>,
    /// Packets of others get an outer header.
    pub tunnels: bool,
    /// Packet information has ranks, not DAGRanks.
    pub plain_sender_rank: bool,
    /// Overloaded nodes say so, and are avoided.
    pub load_aware: bool,
}
