//! The trait [`Radio`](redpoll_mac::Radio) over a driver that has a receiver and a transmitter,
//! and nothing else: whoever has such a driver, say of `embassy-nrf`, writes the few lines of
//! [`Transceiver`] for it.
//!
//! What is here besides is the address filter, and that orders meet the driver only where it
//! can take them. Acknowledgements are the node's, CSMA-CA is, and so are repetitions: in
//! [`RadioCaps`](redpoll_mac::RadioCaps) nothing is set, since such a driver can keep none of
//! these times.
//!
//! Two halves share an [`Exchange`], both in one task or in two of one executor: a
//! [`TransceiverRadio`] is the node's radio, an [`Operator`] has the driver.
//!
//! - `driver.rs`: what is asked of a driver, and of a clock;
//! - `exchange.rs`: what passes between the halves;
//! - `radio.rs`, `operator.rs`: the halves;
//! - [`nrf52840`]: facts of that chip.
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
