//! The interfaces of a border router to Linux.
//!
//! - [`tun`]: a TUN interface with its address, which exists as long as the process;
//! - [`namespace`]: an unprivileged user and network namespace for the interface;
//! - [`forward`]: loopback connections that the border router's own TCP carries into the mesh,
//!   which needs no privilege;
//! - [`gateway`]: the poll loop that joins a TUN interface and forwards to a mesh in real time;
//! - [`advertiser`]: router advertisements for other computers;
//! - [`mod@line`]: streams of bytes to nodes that run elsewhere;
//! - [`links`]: interfaces that appear and vanish;
//! - [`nfqueue`]: packets that the kernel forwards and holds until it gets a verdict;
//! - [`entropy`]: unpredictable random bytes;
//! - [`processor`]: processor time of this thread;
//! - [`radio`]: sticks that speak Spinel, and frames in UDP datagrams;
//! - [`reach`]: the destinations outside a mesh that its nodes may reach;
//! - [`privilege`]: becoming another user, dropping capabilities, and a sandbox;
//! - [`signals`] and [`child`]: an orderly end, and programs that run next to the mesh.
//!
//! A mesh may be simulated or behind a radio: this crate uses only the traits [`gateway::Mesh`] and
//! [`forward::MeshTcp`].
//!
//! Unsafe code is confined to `ioctl`, `child`, `privilege` and `namespace`; each block has a
//! reason.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![warn(clippy::match_bool)]

pub mod advertiser;
pub mod child;
pub mod entropy;
pub mod forward;
pub mod gateway;
mod ioctl;
pub mod line;
pub mod links;
pub mod namespace;
pub mod nfqueue;
pub mod privilege;
pub mod processor;
pub mod radio;
pub mod reach;
pub mod signals;
pub mod tun;
