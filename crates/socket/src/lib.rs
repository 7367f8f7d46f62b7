#![doc = include_str!("../README.md")]
//!
//! # Three ways
//!
//! An application can call a [`Node`](redpoll_stack::Node) directly and handle its
//! [events](redpoll_stack::NodeEvent), as the example `event_driven` does. [`posix`] is a socket
//! interface over a table in the caller's memory. Its calls return at once; those of
//! [`posix::blocking`] wait in a method that the caller supplies, as in the example `threaded`.
//! `nal` has futures.
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

mod errno;
#[cfg(feature = "async")]
pub mod nal;
pub mod posix;

pub use errno::Errno;
pub use redpoll_stack as stack;
