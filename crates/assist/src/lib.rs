//! Help from the middle: what a router may do for the TCP connections that pass
//! through it, without being an end of any of them.
//!
//! - [`cache`]: at any router, keeps copies of segments, sends them again from there, and
//!   acknowledges what has been acknowledged;
//! - [`spare`]: at a border router, stands in for the small window of a node with one segment
//!   at a time;
//! - [`taim`]: at a border router, spaces out and re-orders the packets of
//!   different connections so that these get equal shares.
//!
//! Nothing here has a clock, a socket or a heap: packets are shown to an engine
//! with the time, and it says when which of them may leave.
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

pub mod cache;
pub mod spare;
pub mod taim;
