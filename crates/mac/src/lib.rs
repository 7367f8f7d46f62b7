#![doc = include_str!("../README.md")]
//!
//! # Interface
//!
//! [`Mac`] owns no radio and no clock. A driver asks [`Mac::poll_radio`] for work, carries it
//! out, reports with [`Mac::on_radio_done`], passes received frames to [`Mac::input_frame`],
//! and calls [`Mac::on_timeout`] at [`Mac::poll_at`]. `Node::drive` of `redpoll-stack` is a driver
//! for every radio that implements the trait [`Radio`].
//!
//! Between two operations, and so during every backoff and retry delay, the radio of an always-on
//! node listens. [`MacConfig::deaf_backoff`] turns the receiver off during backoffs, to reproduce
//! radios that do so (Kumar et al. 2020 §4). The layer above decides when a node sleeps and which
//! frames wait for which neighbour ([`Mac::set_rest`], [`Mac::set_pending`]).
//!
//! A method of access other than CSMA-CA is a type that implements [`Access`]. If the method's
//! receivers are mostly off, its type [`Access::Cycle`] implements [`Cycle`]. The feature
//! `security` adds the module `security`: link-layer security.
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

mod access;
mod config;
mod counters;
mod driver;
mod duplicates;
mod event;
mod filter;
mod frame_buf;
mod ifs;
mod imm_ack;
mod mac;
mod pending;
mod radio;
mod retry;
#[cfg(feature = "security")]
pub mod security;

pub use access::{
    Access, Cargo, Channel, CsmaCa, Cycle, CycleEvent, CycleProperties, CycleStatus, Cycled,
    CycledResult, Errand, Meaning, Move, Target,
};
pub use config::MacConfig;
pub use counters::MacCounters;
pub use driver::{Radio, RadioEvent, RadioIdentity};
pub use event::{Indication, MacEvent, Service, Ticket, TxStatus};
pub use frame_buf::FrameBuf;
pub use ifs::Ifs;
pub use mac::{Mac, Promised, Rest};
pub use pending::PENDING_MAX;
pub use radio::{RadioCaps, RadioResult, RadioWork, RxInfo};
