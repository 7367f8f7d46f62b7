//! Changes that a viewer may make.

use serde::Deserialize;

/// Something to change. Nodes and interferers are indices.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The node's radio is switched off; its processor goes on.
    Kill {
        /// Which node.
        node: u32,
    },
    /// It is switched on again.
    Revive {
        /// Which node.
        node: u32,
    },
    /// The node stands elsewhere from now on. Routes that are given stay as they are.
    Move {
        /// Which node.
        node: u32,
        /// Where to, in metres.
        x_m: f64,
        /// Where to, in metres.
        y_m: f64,
    },
    /// A share of the frames between two nodes is lost, in one direction.
    Lose {
        /// Sender; `None` is any.
        from: Option<u32>,
        /// Receiver; `None` is any.
        to: Option<u32>,
        /// Share of the frames, 0 to 1; 0 ends it.
        share: f64,
    },
    /// An interferer is on the air.
    Interfere {
        /// Where, in metres.
        x_m: f64,
        /// Where, in metres.
        y_m: f64,
        /// How far it disturbs, in metres; with path loss, about.
        range_m: f64,
        /// Share of the time that it is on the air, 0.01 to 0.99.
        busy: f64,
    },
    /// An interferer has no more bursts.
    Silence {
        /// Which one.
        interferer: u32,
    },
    /// A node sends bytes to another over TCP.
    Transfer {
        /// From this node.
        from: u32,
        /// To this one.
        to: u32,
        /// Number of bytes, from 1 on.
        bytes: u64,
    },
}

/// Why something is not done.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such node.
    #[error("there is no node number {0}")]
    NoNode(u32),
    /// There is no such interferer.
    #[error("there is no interferer number {0}")]
    NoInterferer(u32),
    /// The node is off.
    #[error("{0} is already off")]
    IsOff(String),
    /// The node is on.
    #[error("{0} is already on")]
    IsOn(String),
    /// Links do not depend on positions in this scenario.
    #[error(
        "the links of this scenario are listed or measured, so they do not depend on positions"
    )]
    LinksAreGiven,
    /// Time has to pass first.
    #[error("too many nodes were moved at the same moment; try again later")]
    TooManyMoves,
    /// No share.
    #[error("got {0} as a share of the frames; allowed: 0 to 1")]
    Share(f64),
    /// No share of the time.
    #[error("got {0} as a share of the time; allowed: 0.01 to 0.99")]
    Busy(f64),
    /// No place.
    #[error("not a position or range in metres; allowed: up to a thousand kilometres")]
    Place,
    /// No transfer.
    #[error("allowed: 1 byte to 4 GiB, between two nodes")]
    Transfer,
    /// No connection is left.
    #[error("{0} has no free connection for the transfer")]
    NoRoom(String),
    /// There are a thousand already.
    #[error("a run can have at most 1,000 interferers and 1,000 transfers; this would be one more")]
    TooMany,
}
