//! Routing of a mesh.

use redpoll_base::Duration;
use redpoll_stack::wire::rpl::Configuration;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Routing {
    /// Routes computed before the run: paths of least cost over the medium's links.
    Fixed,
    /// Routes that the nodes find with RPL (RFC 6550).
    Rpl(RplParams),
}

impl Routing {
    pub const fn rpl(&self) -> Option<&RplParams> {
        match self {
            Routing::Rpl(params) => Some(params),
            Routing::Fixed => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RplParams {
    /// Storing or non-storing mode; see [`redpoll_stack::wire::rpl::mode`].
    pub mode: u8,
    pub configuration: Configuration,
    /// Time between two versions of the DODAG, if the root starts new ones.
    pub version_interval: Option<Duration>,
    pub dao_delay: Duration,
    pub dao_ack: bool,
    pub dao_targets: u8,
    pub dtsn_each_dio: bool,
    pub probe_interval: Duration,
    /// Time between two DAOs of a node; `None`: half a lifetime.
    pub dao_interval: Option<Duration>,
    /// ETX of an unused link, in 128ths.
    pub initial_etx: u16,
    /// Improvement over the current parent that makes MRHOF switch, in 128ths of an ETX; `None`:
    /// depends on the number of targets.
    pub switch_threshold: Option<u16>,
    /// Whether objective function zero counts hops.
    pub counts_hops: bool,
    /// Time between two solicitations of a node without a DODAG.
    pub dis_interval: Duration,
    pub neighbours: u16,
    /// Maximum number of RPL targets of a router; `None`: the number of nodes, at most a thousand.
    pub routes: Option<u16>,
    /// Whether packets from outside get an outer IPv6 header for RPL (RFC 6553 §4).
    pub tunnels: bool,
    /// Whether packet information contains ranks instead of DAGRanks.
    pub plain_sender_rank: bool,
    /// Whether overloaded nodes announce their load, so that others avoid them.
    pub load_aware: bool,
}
