#![doc = include_str!("../README.md")]
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
pub mod hdlc;
pub mod icmpv6;
pub mod ieee802154;
pub mod ipv6;
pub mod rpl;
pub mod sixlowpan;
pub mod slip;
pub mod tcp;
pub mod udp;

pub use cursor::Cursor;
pub use error::{Error, NoRoom};
