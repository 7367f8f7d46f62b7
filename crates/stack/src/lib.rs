//! A Redpoll node: everything between a radio and an application.
//!
//! [`Node`] joins the MAC, 6LoWPAN, IPv6 with ICMPv6 and UDP, and the TCP
//! engine. It is sans-I/O: frames, packets, radio results and the time come in
//! as arguments; radio work, packets for the host side and events go out by
//! `poll_*`. The memory of every table and buffer is the caller's
//! ([`NodeMemory`]).
//!
//! After any call into a node its driver drains, in any order, until each
//! yields nothing: [`Node::poll_event`], [`Node::poll_radio`] and
//! [`Node::poll_packet`]; and then sleeps until [`Node::poll_at`]. For a node on a radio
//! [`Node::drive`] does that.
//!
//! # Two nodes and a connection
//!
//! Here without radios: each gives its packets to the other.
//!
//! ```
//! use redpoll_base::{Addr, Instant, Rng, StaticMemory};
//! use redpoll_stack::transport::Endpoint;
//! use redpoll_stack::{Node, NodeConfig, NodeEvent, Route, RouterStorage, Via};
//!
//! fn node(last: u8) -> Node<StaticMemory> {
//!     let address = Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
//!     let config = NodeConfig::over_ip(address, [last; 16]);
//!     let storage = Box::leak(Box::new(RouterStorage::NEW));
//!     let mut node = Node::new(config, storage.memory(), Rng::new(last.into()));
//!     let everything = Route { prefix: Addr::UNSPECIFIED, len: 0, via: Via::Host };
//!     node.add_route(everything).unwrap();
//!     node
//! }
//!
//! let (mut client, mut server) = (node(1), node(2));
//! let now = Instant::ZERO;
//! let listener = server.tcp_listen(7).unwrap();
//! let to = Endpoint::new(server.address(), 7);
//! let conn = client.tcp_connect(now, to).unwrap();
//! client.tcp_send(now, conn, b"hello").unwrap();
//! let mut packet = [0; 1280];
//! loop {
//!     if let Some(len) = client.poll_packet(now, &mut packet) {
//!         server.input_packet(now, &packet[..len]).unwrap();
//!     } else if let Some(len) = server.poll_packet(now, &mut packet) {
//!         client.input_packet(now, &packet[..len]).unwrap();
//!     } else {
//!         break;
//!     }
//! }
//! assert_eq!(server.poll_event(), Some(NodeEvent::Accepted(listener)));
//! let accepted = server.tcp_accept(listener).unwrap();
//! let mut bytes = [0; 16];
//! let len = server.tcp_recv(now, accepted, &mut bytes).unwrap();
//! assert_eq!(&bytes[..len], b"hello");
//! ```
//!
//! # The send path
//!
//! A TCP segment is made when the link has room for a datagram: data waits in
//! the connection's buffer, and the acknowledgement that goes out is the
//! freshest. From then on 6LoWPAN holds the segment's header and reads each
//! fragment's bytes from the connection at the moment its frame is built.
//!
//! # Another transport
//!
//! A node may have another transport in the place of its TCP: a
//! [`StreamTransport`], given by [`Node::with_transport`]. Applications that call
//! [`Streams`] work over either.
//!
//! # Features
//!
//! RPL, link-layer security and duty-cycled MACs are features of this crate. What TCP and
//! 6LoWPAN can do is chosen by the features of `redpoll-tcp` and `redpoll-lowpan`; the
//! default feature of this crate has most of them on.
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

pub mod assist;
mod counters;
mod error;
mod host;
mod ids;
mod link;
mod net;
mod node;
mod packet;
mod segments;
mod transports;

pub use counters::{DropReason, NodeCounters};
pub use error::Error;
pub use ids::{ConnId, ListenerId, NodeEvent, UdpId};
pub use link::{PollConfig, PollPolicy};
pub use net::joiner::PartialSlot;
pub use net::nd::{Advertised, NdConfig};
pub use net::routing::{Neighbour, Route, RouteSlot, Via};
#[cfg(feature = "rpl")]
pub use net::routing::{RplConfig, RplCounters, RplMemory, RplNeighbour, RplRole, RplRoot};
pub use node::Node;
pub use node::config::{NodeConfig, NodeMemory, PARENTS_MAX, SleepyConfig};
pub use node::storage::{
    BorderStorage, Connections, Datagrams, LeafStorage, Listeners, NodeStorage, Packets,
    RouterStorage, Routes,
};
pub use node::tables::Tables;
pub use segments::SegmentChoice;
pub use transports::tcp::{ConnectionSlot, Listen, ListenerSlot};
pub use transports::udp::UdpSlot;
pub use transports::{
    Arrived, Ask, Handle, NoStreams, Outcome, Pulled, Reach, Reply, Side, Stream, StreamTransport,
    Streams, Transport, Trouble,
};

pub use redpoll_tcp::{FastOpenServer, HalfOpen};

pub use redpoll_base as base;
pub use redpoll_lowpan as lowpan;
pub use redpoll_mac as mac;
pub use redpoll_tcp as transport;
pub use redpoll_wire as wire;
