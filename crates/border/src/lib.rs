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

mod drops;
mod echo;
mod gate;
mod splice;

pub use drops::each_drop;
pub use gate::{Gate, GateCounters, Rejected, Withheld};
pub use splice::{Splice, ToHost};
