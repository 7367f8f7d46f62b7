//! Redpoll's TCP under packetdrill.
//!
//! A packetdrill script can run against the engine in two ways. Both use the same sockets over the
//! host side of a [`Node`](redpoll_stack::Node):
//! - as a shared library: `packetdrill --so_filename=.../libredpoll_packetdrill.so` loads this
//!   crate's `cdylib` and calls `packetdrill_interface_init`;
//! - with [`script::run`], a small interpreter of the same syntax, which needs no tool and runs the
//!   project's own scripts in `scripts/`.
//!
//! The parts, from the lowest layer:
//! - [`Host`]: a node, a virtual clock and the packets that the node sent;
//! - [`Sockets`]: the POSIX-like calls of `redpoll-socket` over the host, which never block;
//! - `ffi`: packetdrill's C interface, with the only unsafe code; its calls block in `shim`;
//! - [`script`]: the interpreter.
//!
//! # Manual use
//!
//! ```text
//! cargo build -p redpoll-packetdrill
//! packetdrill --ip_version=ipv6 --local_ip=fd3d:fa7b:d17d::1 --remote_ip=2001:db8::1 \
//!     --gateway_ip=fd3d:fa7b:d17d:8888::1 --so_flags=local=fd3d:fa7b:d17d::1,rcvbuf=16384 \
//!     --so_filename=$PWD/target/debug/libredpoll_packetdrill.so script.pkt
//! ```
//!
//! # Unsupported
//!
//! This crate does not support:
//! - Packets of more than 1500 bytes, whatever the value of `mtu`.
//! - IPv4 in the engine: IPv4 packets are translated to IPv6 (RFC 7915 §4, §5). Fragments, IP
//!   options and ICMP messages other than errors are dropped.
//! - Window scaling, urgent data, `MSG_MORE`, `MSG_WAITALL`, `TCP_INFO`, `epoll`, `splice` and
//!   `pipe`.
//! - `SO_RCVBUF`, `SO_SNDBUF` and `TCP_MAXSEG` of one socket. They are parameters of the node:
//!   before the first `listen` or `connect` they apply to all sockets. A later call that would
//!   change a value fails with `EOPNOTSUPP` and a message on the standard error.
//! - The backlog of `listen`: only the number of connections is limited.
#![deny(unsafe_code)]

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
