//! Sockets over a Redpoll [`Node`](redpoll_stack::Node).
//!
//! A node is driven by calls: packets, radio results and the time go in, work
//! and events come out. An application can use it directly and act on its
//! [events](redpoll_stack::NodeEvent), as in an event-driven system; the
//! example `event_driven` shows how. This crate has two more ways:
//!
//! - [`posix`]: `socket`, `bind`, `connect`, `poll` and so on over a table in
//!   the caller's memory. Calls answer at once; [`posix::blocking`] are those
//!   that wait, by means that the caller gives: an RTOS, a host's threads, a
//!   simulator. The example `threaded` has a thread a node.
//! - [`nal`]: futures with the traits of `embedded-io-async` and
//!   `embedded-nal-async`, for any executor (feature `async`, on by default).
//!
//! Wakers, descriptors and options live here, in tables of the caller's; a
//! connection knows nothing of them and does not grow by them.
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
