//! Redpoll's codecs: IPv6, ICMPv6 with neighbour discovery, UDP,
//! IEEE 802.15.4, 6LoWPAN, RPL and SLIP.
//!
//! Headers are emitted through a [`Cursor`], so that length and content cannot
//! disagree. Parsers are total: whatever the bytes, they return a value that is
//! valid by construction, or an [`Error`]. Nothing here keeps state, allocates
//! or knows the time.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]
#![warn(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod cursor;
mod error;
pub mod icmpv6;
pub mod ieee802154;
pub mod ipv6;
pub mod rpl;
pub mod sixlowpan;
pub mod slip;
pub mod udp;

pub use cursor::Cursor;
pub use error::{Error, NoRoom};
