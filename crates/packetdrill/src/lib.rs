//! Redpoll's TCP under packetdrill.
//!
//! Two ways to run a packetdrill script against the engine, through the same
//! sockets over the host side of a [`Node`](redpoll_stack::Node):
//!
//! - as a shared library: `packetdrill --so_filename=.../libredpoll_packetdrill.so`
//!   loads this crate's `cdylib` and calls `packetdrill_interface_init`;
//! - by [`script::run`], a small interpreter of the same syntax, for our own
//!   scripts in `scripts/` and without the tool.
//!
//! The parts, from below:
//!
//! - [`Host`]: a node, a virtual clock and the packets that the node sent;
//! - [`Sockets`]: the POSIX-like calls of `redpoll-socket` over it, that never wait;
//! - `ffi`: the tool's C interface. The only unsafe code; its calls wait by
//!   means of `shim`;
//! - [`script`]: the interpreter.
//!
//! # By hand
//!
//! ```text
//! cargo build -p redpoll-packetdrill
//! packetdrill --ip_version=ipv6 --local_ip=fd3d:fa7b:d17d::1 --remote_ip=2001:db8::1 \
//!     --gateway_ip=fd3d:fa7b:d17d:8888::1 --so_flags=local=fd3d:fa7b:d17d::1,rcvbuf=16384 \
//!     --so_filename=$PWD/target/debug/libredpoll_packetdrill.so script.pkt
//! ```
//!
//! # What is not supported
//!
//! - Packets of more than 1500 bytes, whatever `mtu` says.
//! - IPv4 is IPv6 with other headers (RFC 7915 §4 and §5): the engine has no
//!   IPv4. Fragments, IP options and ICMP other than errors do not pass.
//! - Window scaling, urgent data, `MSG_MORE`, `MSG_WAITALL`, `TCP_INFO`, `epoll`,
//!   `splice` and `pipe`.
//! - `SO_RCVBUF`, `SO_SNDBUF` and `TCP_MAXSEG` of one socket: they are parameters
//!   of the node. So they count for all when they are set before the first
//!   `listen` or `connect`; later a call that would change something fails with
//!   `EOPNOTSUPP`, and the standard error says so.
//! - The backlog of `listen` is not a limit; the number of connections is.
#![deny(unsafe_code)]
#![warn(missing_docs)]

#[cfg(test)]
mod errno;
#[allow(unsafe_code, reason = "the C interface of packetdrill")]
mod ffi;
mod host;
pub mod script;
mod settings;
mod shim;
mod sockets;
mod v4;

pub use host::{Host, SentPacket};
pub use redpoll_socket::Errno;
pub use settings::Settings;
pub use sockets::{Shutdown, Sockets};
