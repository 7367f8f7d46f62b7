//! The nodes.

use std::path::PathBuf;

use redpoll_base::Duration;

use super::apps::AppSpec;
use super::link::NodeKey;
use super::transport::{CongestionSpec, TransportSpec};
use crate::medium::RadioSpec;

/// Maximum number of connections of a node, including those for forwarded ports. A connection's
/// index has eight bits, and loops over the tables count to one more than the length.
pub const CONNECTIONS_MAX: u16 = 254;

/// First six bytes of every Redpoll node's EUI-64; the short address follows.
pub const EUI64_PREFIX: [u8; 6] = [0x02, 0x72, 0x70, 0, 0, 0];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Connects the mesh to the host, and forwards.
    Border,
    Router,
    Leaf,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl Role {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Role::Border => "border",
            Role::Router => "router",
            Role::Leaf => "leaf",
        }
    }
}

/// Interface of a node's firmware file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Interface {
    /// The interface of Contiki-NG's nodes for Cooja ([`foreign`](crate::foreign)).
    #[default]
    Cooja,
    /// `redpoll_module.h` ([`guest`](crate::guest)).
    Redpoll,
}

/// Transport of the apps on nodes of OpenThread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ThreadTcp {
    /// Redpoll's TCP over OpenThread's IPv6.
    Redpoll,
    /// OpenThread's own TCP.
    Tcplp,
    /// OpenThread's block-wise CoAP in place of a TCP.
    Coap,
}

impl ThreadTcp {
    /// Returns the TCP's name in scenarios.
    pub fn word(self) -> &'static str {
        match self {
            ThreadTcp::Redpoll => "redpoll",
            ThreadTcp::Tcplp => "tcplp",
            ThreadTcp::Coap => "coap",
        }
    }
}

/// Line of a node's console.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConsoleLine {
    /// Time from the beginning of the run.
    pub at: Duration,
    pub text: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NodeSpec {
    /// Unique name, also used in results.
    pub name: String,
    /// Short address, 1 to 0xfffd.
    pub short: u16,
    /// Extended address, in big-endian order.
    pub eui64: [u8; 8],
    pub position_m: (f64, f64),
    pub role: Role,
    /// Whether the node sleeps between its frames; only leaves do.
    pub sleepy: bool,
    /// Firmware file of the node, if the node runs another stack.
    pub module: Option<PathBuf>,
    pub interface: Interface,
    /// TCP of the apps, if the node runs OpenThread.
    pub thread: Option<ThreadTcp>,
    /// Lines that the firmware's console gets.
    pub console: Vec<ConsoleLine>,
    /// Address of the byte stream to the node, if the node runs outside the simulator.
    pub line: Option<String>,
    /// Whether the node is an attacker's radio, which runs no protocols.
    pub attacker: bool,
    /// Deviations of the node's radio from the medium's parameters.
    pub radio: RadioSpec,
    /// Clock drift in millionths, positive if fast; `None`: drawn at random.
    pub drift_ppm: Option<f64>,
    pub key: NodeKey,
    pub transport: TransportSpec,
    /// Congestion control, if `transport` is Redpoll's TCP.
    pub congestion: CongestionSpec,
    pub connections: u16,
    /// Number of additional connections, for host ports that are forwarded through the node.
    pub forwards: u16,
    pub apps: Vec<AppSpec>,
}

impl NodeSpec {
    /// Returns the mesh-local address of the node, if it is a node of OpenThread:
    /// fd72:6564:7468:: and its short address.
    pub(crate) fn thread_address(&self) -> [u8; 16] {
        let mut address = [0; 16];
        address[..6].copy_from_slice(&[0xfd, 0x72, 0x65, 0x64, 0x74, 0x68]);
        address[14..].copy_from_slice(&self.short.to_be_bytes());
        address
    }
}
