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

mod addr;
pub mod checksum;
mod copy;
pub mod crc;
mod delivery;
mod divide;
mod ecn;
pub mod events;
mod hash;
mod least;
mod memory;
mod ring;
mod rng;
mod time;

pub use addr::Addr;
pub use copy::{copy, move_within};
pub use delivery::Delivery;
pub use divide::{divide, divide_long};
pub use ecn::Ecn;
pub use hash::half_sip_hash;
pub use least::least;
pub use memory::{
    Bytes, Forwarding, HostMemory, LeafMemory, Memory, NeverForwards, StaticKind, StaticMemory,
};
pub use ring::Ring;
pub use rng::Rng;
pub use time::{Duration, Instant, Wake, earliest};
