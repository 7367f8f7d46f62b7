//! RPL (RFC 6550): a DODAG with routes up to its root, and routes down from it.
//!
//! The implementation in a node has three parts. Each part changes only its own fields:
//!
//! - [`Upward`] (`upward/`): membership, DIOs and DISs, the parent, rank, repair (RFC 6550 §8);
//! - [`Downward`] (`downward/`): DAOs, targets, source routes, hosts without RPL (RFC 6550 §9,
//!   RFC 9010);
//! - [`Loops`] (`loops.rs`): checks of packet information (RFC 6550 §11, RFC 6553).
//!
//! `Downward` reads facts of `Upward`; the reverse never happens. [`RplParts`] (`parts.rs`)
//! dispatches messages and timers, and passes the consequences of an event in one part to the
//! others. `shared.rs` has parameters, random numbers, counters and probes, `headers.rs` the
//! headers of packets inside the DODAG, and `protocol.rs` implements the interface to the rest of
//! the node.
//!
//! A module in a folder `absent`, or a file `absent.rs`, replaces one that a build leaves out. It
//! has the same interface, and its state takes no memory.
//!
//! Not implemented from RFC 6550: security (§10), multicast (§12), local instances and more than
//! one DODAG (§5), floating DODAGs (§8.2.2.6), metric containers other than the node state.

mod config;
mod downward;
mod headers;
mod loops;
mod parts;
mod peer;
mod protocol;
mod shared;
mod timing;
mod upward;

use redpoll_base::Addr;

pub use config::{RplConfig, RplCounters, RplMemory, RplRole, RplRoot};
pub(crate) use downward::UnackedHop;
pub(super) use headers::EXTENSION_MAX;
pub(crate) use peer::Peer;
pub(super) use protocol::{MESSAGE_MAX, Rpl};
pub(super) use redpoll_wire::rpl::is_option;
pub use upward::RplNeighbour;

use downward::Downward;
use loops::{Loops, Passage};
use parts::RplParts;
use shared::{Context, Shared};
use upward::Upward;

#[derive(Clone, Copy, Debug)]
struct Envelope {
    code: u8,
    dst: Addr,
}

#[derive(Clone, Copy, Debug)]
struct DaoSender {
    src: Addr,
    /// The neighbour with the address `src`; `None` if a neighbour forwarded the message.
    near: Option<Peer>,
}
