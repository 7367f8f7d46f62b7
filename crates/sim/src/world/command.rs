//! Commands of a viewer.

use serde::Deserialize;

/// A change of a running world. Nodes and interferers are given by index.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Switches off the node's radio; its processor continues.
    Kill {
        node: u32,
    },
    /// Switches the node's radio on again.
    Revive {
        node: u32,
    },
    /// Moves a node. Fixed routes stay as they are.
    Move {
        node: u32,
        /// New position in metres.
        x_m: f64,
        y_m: f64,
    },
    /// Drops a share of the frames between two nodes, in one direction.
    Lose {
        /// Sender; `None`: any node.
        from: Option<u32>,
        /// Receiver; `None`: any node.
        to: Option<u32>,
        /// Share of the frames that are lost, 0 to 1; 0 ends the losses.
        share: f64,
    },
    Interfere {
        /// Position in metres.
        x_m: f64,
        y_m: f64,
        /// Range of the interference in metres; approximate with path loss.
        range_m: f64,
        /// Share of the time in which the interferer transmits, 0.01 to 0.99.
        busy: f64,
    },
    Silence {
        interferer: u32,
    },
    /// Sends bytes from one node to another over TCP.
    Transfer {
        from: u32,
        to: u32,
        /// Number of bytes, at least 1.
        bytes: u64,
    },
    /// Attacks a node from beyond the border router, or over the air from the attacker's radio of
    /// the scenario, in place of the previous attack.
    Attack {
        node: u32,
        /// Name of an attack of the drill that fits the scenario; `None` ends the attack.
        name: Option<String>,
    },
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Refusal {
    #[error("there is no node number {0}")]
    NoNode(u32),
    #[error("there is no interferer number {0}")]
    NoInterferer(u32),
    #[error("{0} is already off")]
    IsOff(String),
    #[error("{0} is already on")]
    IsOn(String),
    #[error(
        "a node cannot be moved in this scenario: its links are listed or measured, and do not \
         depend on positions"
    )]
    LinksAreGiven,
    /// Too many nodes were moved during a transmission.
    #[error("too many nodes were moved at the same moment; try again later")]
    TooManyMoves,
    /// The share of dropped frames is not between 0 and 1.
    #[error("got {0} as the share of frames to drop; allowed: 0 to 1")]
    Share(f64),
    /// The interferer's share of time is not between 0.01 and 0.99.
    #[error(
        "got {0} as the share of time in which the interferer transmits; allowed: 0.01 to 0.99"
    )]
    Busy(f64),
    #[error(
        "not a possible position or range; allowed: positions from -1,000,000 to 1,000,000 m, \
         ranges from 0.1 to 1,000,000 m"
    )]
    Place,
    /// The transfer has no bytes or too many bytes, or both its ends are the same node.
    #[error("not a possible transfer; allowed: 1 byte to 4 GiB, between two different nodes")]
    Transfer,
    #[error(
        "there is no attack called {0:?}, or it does not fit this scenario: an attack over the air \
         needs a node of the kind attacker, and an attack on RPL, link security or fragment \
         recovery needs a scenario that uses it; `redpoll drill --list` lists the attacks"
    )]
    NoAttack(String),
    #[error("{0} is the attacker; attack another node")]
    IsAttacker(String),
    #[error("{0} has no free connection of Redpoll's TCP for the transfer")]
    NoRoom(String),
    /// A thousand interferers or transfers exist already.
    #[error("a run can have at most 1,000 interferers and 1,000 transfers; this would be one more")]
    TooMany,
}
