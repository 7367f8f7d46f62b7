#![doc = include_str!("../README.md")]
//!
//! - `driver.rs`: the traits of a driver and of a clock;
//! - `radio.rs`, `operator.rs`: the node's half and the driver's half;
//! - `exchange.rs`: the state that both halves share;
//! - [`nrf52840`]: facts about that chip.
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

mod driver;
mod exchange;
pub mod nrf52840;
mod operator;
mod radio;

pub use driver::{Assessment, Ticker, Transceiver};
pub use exchange::Exchange;
pub use operator::Operator;
pub use radio::TransceiverRadio;
