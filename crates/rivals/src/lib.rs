//! TCPs of other stacks for comparison with Redpoll's. Each is a transport that a
//! [`Node`](redpoll_stack::Node) may have instead of its TCP.
//!
//! - [`uip`]: one unacknowledged segment, as Contiki's uIP, with its own timer, with a weak
//!   estimate of the round trip, or with the timer of RFC 6298;
//! - [`linux`]: a host like Linux, for the other end;
//! - [`blip`]: the TCP of TinyOS's BLIP, with its defects, each of which a switch corrects;
//! - `smol` (feature `smoltcp`): the crate smoltcp.
//!
//! In addition, a protocol without TCP for images over the air: [`bdx`], Matter's bulk data
//! exchange.
//!
//! Except `smol`, the rivals follow the documented behaviour of the originals and not their
//! sources, with the same arithmetic, clocks and defects. `docs/rivals.md` lists the release, the
//! facts and the assumptions of each rival.
//!
//! A [`Protocol`] makes the decisions, a [`Table`] has the connections, and [`Rival`] is the
//! rival that a node has.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "smoltcp")]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod bdx;
pub mod blip;
mod body;
pub mod linux;
mod protocol;
mod rival;
mod segment;
#[cfg(feature = "smoltcp")]
pub mod smol;
mod table;
mod transport;
pub mod uip;

pub use body::Body;
pub use protocol::{Out, Protocol};
pub use rival::Rival;
pub use table::{Port, Slot, Table};
