//! The outside world of a border router on Linux.
//!
//! - [`tun`]: a TUN interface with its address, whose life ends with the process;
//! - [`namespace`]: an unprivileged user and network namespace to put it in;
//! - [`forward`]: loopback connections carried into the mesh by the border
//!   router's own TCP, which needs no privilege at all;
//! - [`gateway`]: the poll loop that joins these to a mesh in real time;
//! - [`advertiser`]: router advertisements for other computers;
//! - [`mod@line`]: streams of bytes to nodes that run elsewhere;
//! - [`nfqueue`]: packets that the kernel forwards and holds until it gets a verdict;
//! - [`entropy`]: unpredictable random bytes;
//! - [`processor`]: processor time of this thread;
//! - [`radio`]: sticks that speak Spinel, and frames in UDP datagrams;
//! - [`reach`]: what the nodes of a mesh may reach outside it;
//! - [`privilege`]: becoming another user, dropping capabilities, and a sandbox;
//! - [`signals`] and [`child`]: ending in order, and programs run beside the mesh.
//!
//! A mesh may be simulated or behind a radio: this crate uses only the traits [`gateway::Mesh`]
//! and [`forward::MeshTcp`].
//!
//! Unsafe code is confined to `ioctl`, `child`, `privilege` and `namespace`, each block with
//! its reason.
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![warn(clippy::match_bool)]

pub mod advertiser;
pub mod child;
pub mod entropy;
pub mod forward;
pub mod gateway;
mod ioctl;
pub mod line;
pub mod namespace;
pub mod nfqueue;
pub mod privilege;
pub mod processor;
pub mod radio;
pub mod reach;
pub mod signals;
pub mod tun;
