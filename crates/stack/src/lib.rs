#![doc = include_str!("../README.md")]
//!
//! # Interface
//!
//! Frames, packets, radio results and the time come in as arguments; radio work, packets for
//! the host side and events go out by `poll_*`. The memory of every table and buffer is the
//! caller's ([`NodeMemory`]).
//!
//! After any call into a node its driver drains [`Node::poll_event`], [`Node::poll_radio`] and
//! [`Node::poll_packet`], in any order, until each returns nothing, and then sleeps until
//! [`Node::poll_at`]. [`Node::drive`] does this for a node on a radio.
//!
//! # The send path
//!
//! A TCP segment is made when the link has room for a datagram. Until then its data wait in
//! the connection's buffer, so the acknowledgment that it carries is the latest. 6LoWPAN then
//! holds the segment's header, and reads the bytes of each fragment from the connection when
//! its frame is built.
//!
//! # Another transport
//!
//! A [`Profile`] may name a [`StreamTransport`] that a node has in place of its TCP. Applications
//! that call [`Streams`] work over TCP and over the other transport.
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
mod profile;
#[cfg(feature = "rpl")]
mod rpl;
mod rules;
mod segments;
mod transports;

pub use counters::{DropReason, NodeCounters};
pub use error::Error;
pub use ids::{ConnId, ListenerId, NodeEvent, UdpId};
pub use link::{PollConfig, PollPolicy};
pub use net::joiner::PartialSlot;
pub use net::nd::{Advertised, NdConfig};
pub use net::routing::{Neighbour, Route, RouteSlot, Via};
pub(crate) use node::config::PARENTS_MAX;
pub use node::config::{NodeConfig, NodeMemory, SleepyConfig};
pub use node::storage::{
    BorderStorage, Connections, Datagrams, LeafStorage, Listeners, NodeStorage, Packets,
    RouterStorage, Routes,
};
pub use node::tables::Tables;
pub use node::{LeafNode, Node};
pub use profile::{NodeConnection, Parts, Profile};
#[cfg(feature = "rpl")]
pub use rpl::*;
pub use rules::{Candidate, Objective, Offer, RplRules, StandardObjective, StandardRules};
pub use segments::{Handover, Pull};
pub use transports::tcp::{ConnectionSlot, Listen, ListenerSlot};
pub use transports::udp::UdpSlot;
pub use transports::{
    Arrived, Ask, Handle, NoStreams, Outcome, Pulled, Reach, Reply, Side, Stream, StreamTransport,
    Streams, Transport, Trouble,
};

pub use redpoll_base as base;
pub use redpoll_lowpan as lowpan;
pub use redpoll_mac as mac;
pub use redpoll_tcp as transport;
pub use redpoll_wire as wire;
