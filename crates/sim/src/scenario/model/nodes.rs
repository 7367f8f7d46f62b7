//! The nodes.

use std::path::PathBuf;

use super::apps::AppSpec;
use super::link::NodeKey;
use super::transport::{CongestionSpec, TransportSpec};
use crate::medium::RadioSpec;

/// The most connections of a node, those for forwards included: a connection's index
/// has eight bits, and the tables are walked with one more step than they are long.
pub const CONNECTIONS_MAX: u16 = 254;

/// The six bytes before the short address in the EUI-64 of every node of ours.
pub const EUI64_PREFIX: [u8; 6] = [0x02, 0x72, 0x70, 0, 0, 0];

/// What a node is to the mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Joins the mesh to the host, and forwards.
    Border,
    /// Forwards for others.
    Router,
    /// Does not forward.
    Leaf,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl Role {
    /// The word for it in a scenario.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Role::Border => "border",
            Role::Router => "router",
            Role::Leaf => "leaf",
        }
    }
}

/// One node.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeSpec {
    /// Unique name, as in results.
    pub name: String,
    /// Short address, 1 to 0xfffd.
    pub short: u16,
    /// Extended address, big-endian as it is printed.
    pub eui64: [u8; 8],
    /// Where it stands, in metres.
    pub position_m: (f64, f64),
    /// What it is to the mesh.
    pub role: Role,
    /// Sleeps between its frames; a leaf.
    pub sleepy: bool,
    /// The file of its firmware, if that is not ours.
    pub module: Option<PathBuf>,
    /// The address of the stream of bytes to it, if it runs elsewhere.
    pub line: Option<String>,
    /// What sets its radio apart.
    pub radio: RadioSpec,
    /// By how much its clock is fast, in millionths; `None`: drawn.
    pub drift_ppm: Option<f64>,
    /// Its key.
    pub key: NodeKey,
    /// Which TCP it has.
    pub transport: TransportSpec,
    /// Which congestion control that has, if it is Redpoll's.
    pub congestion: CongestionSpec,
    /// Connections that it has memory for.
    pub connections: u16,
    /// Connections beside those, which its apps' peers cannot take: for ports of a
    /// host that are forwarded through it.
    pub forwards: u16,
    /// What runs on it.
    pub apps: Vec<AppSpec>,
}
