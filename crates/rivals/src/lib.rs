//! Other TCPs to compare Redpoll's with, each a transport that a
//! [`Node`](redpoll_stack::Node) may have in the place of its TCP.
//!
//! - [`uip`]: one unacknowledged segment, as Contiki's uIP, with its own timer, with
//!   a weak estimate of the round trip, or with the timer of RFC 6298;
//! - [`linux`]: a host like Linux, for the other end;
//! - [`blip`]: the TCP of TinyOS's BLIP, with its defects, each corrected by a switch.
//!
//! In addition, a protocol without TCP for images over the air: [`bdx`], Matter's bulk data
//! exchange.
//!
//! They follow the documented behaviour of the originals and not their sources. They keep the
//! arithmetic, clocks and defects of the originals. `docs/rivals.md` lists the release, the
//! facts and the assumptions of each.
//!
//! The parts: a protocol decides ([`Protocol`]), a [`Table`] has the
//! connections, and [`Rival`] is whichever of them a node has.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

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
