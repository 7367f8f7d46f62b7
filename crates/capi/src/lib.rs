//! Redpoll for C.
//!
//! `include/redpoll.h` is the interface and describes every call; this crate implements it. A node
//! lives in the caller's memory; [`rp_sizeof_node`](node::rp_sizeof_node) returns the number of
//! bytes that it needs. Nothing is allocated, and there is no global state. The caller passes in
//! frames, results of the radio, packets and the time, and fetches work for the radio, packets and
//! answers. A node uses a radio, or the caller's IPv6 stack, and has the same sockets on both:
//! those of [`redpoll_socket::posix`].
//!
//! - `abi.rs`: the check that header and library match; `version.rs`: the version;
//! - `plan.rs`: the places of all parts in the caller's memory;
//! - `store.rs`: the kind of that memory, by which the compiler omits code for absent features;
//! - `config.rs`: the configuration of a node on a radio; `role.rs`: its roles;
//! - `entropy.rs`: the random bytes that C passes;
//! - `handle.rs`: the check that a pointer from C is a node;
//! - `node.rs`: a node on a radio: its creation, its radio and host side;
//! - `ip.rs`: a node above the caller's IPv6 stack: its creation, packets in and out;
//! - `every.rs`: address, timers, events and end of every node;
//! - `rpl.rs`: routing by RPL; `candidate.rs`: its memory for a neighbour;
//! - `groups.rs`: the multicast groups of a node; `membership.rs`: calls to join and leave them;
//! - `socket.rs`: non-blocking calls of sockets;
//! - `options.rs`: options of sockets, and the state of a connection;
//! - `waiting.rs`: blocking calls of sockets, which wait in a hook of the caller;
//! - `tcp/`: TCP alone, without nodes and sockets;
//! - `endpoint.rs`: one end of a connection; `measure.rs`: the state of a connection;
//! - `error.rs`: checks of pointers, and the numbers and texts of errors.
//!
//! Every entry point but `rp_version` and `rp_strerror` returns a negative number if it fails, one
//! of `RP_E*`.
//!
//! The feature `tcp` adds `tcp/`, the feature `node` nodes and sockets.
//! Without the feature `radio`, the functions of `config.rs`, `node.rs` and `rpl.rs` are absent.
#![cfg_attr(not(feature = "std"), no_std)]
#![warn(missing_docs)]

#[cfg(feature = "node")]
pub mod abi;
#[cfg(feature = "node")]
mod candidate;
#[cfg(feature = "radio")]
pub mod config;
#[cfg(any(feature = "node", feature = "tcp"))]
mod endpoint;
#[cfg(feature = "node")]
mod entropy;
mod error;
#[cfg(feature = "node")]
pub mod every;
#[cfg(feature = "node")]
pub mod groups;
#[cfg(feature = "node")]
mod handle;
#[cfg(feature = "node")]
pub mod ip;
#[cfg(any(feature = "node", feature = "tcp"))]
mod measure;
#[cfg(feature = "node")]
pub mod membership;
#[cfg(feature = "radio")]
pub mod node;
#[cfg(feature = "node")]
pub mod options;
#[cfg(feature = "node")]
mod plan;
#[cfg(feature = "node")]
pub mod role;
#[cfg(feature = "radio")]
pub mod rpl;
#[cfg(feature = "node")]
pub mod socket;
#[cfg(feature = "node")]
mod store;
#[cfg(feature = "tcp")]
pub mod tcp;
pub mod version;
#[cfg(feature = "node")]
pub mod waiting;

/// The library does not panic, but a `no_std` library must have a panic handler.
#[cfg(all(not(feature = "std"), not(test)))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
