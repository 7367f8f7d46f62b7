//! What makes a node a border router.
//!
//! A border router is a [`Node`](redpoll_stack::Node) with a host side. This
//! crate adds the two things that such a node needs and no other does:
//!
//! - [`Gate`]: the rules for packets between mesh and host, by the mesh's
//!   prefix, with a counter a reason;
//! - [`Splice`]: a port forward: it joins a byte stream on the host to a TCP
//!   connection of the border router's own engine into the mesh, with
//!   back-pressure and half-close in both directions.
//!
//! Both are sans-I/O: TUN devices and host sockets belong to `redpoll-linux`.
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

mod gate;
mod splice;

pub use gate::{Gate, GateCounters, Rejected, Withheld};
pub use splice::{Splice, ToHost};
