//! Assistants: what a router may do to the packets that it forwards, such as caching segments or
//! adjusting windows.
//!
//! An assistant sees whole packets, after the router's checks and before the choice of the next
//! hop. It has its own memory and timers. [`Disposition`] decides whether the router forwards a
//! packet, and [`Assist::poll_packet`] sends the assistant's own packets. Fragments that are
//! forwarded without reassembly (RFC 8930) are not shown to it.

use redpoll_base::{Instant, Wake};
use redpoll_wire::ipv6::Ipv6Header;

/// A packet that a router is about to forward.
#[derive(Debug)]
pub struct Passing<'p> {
    /// Its IPv6 header, with the hop limit already decremented.
    pub header: &'p Ipv6Header,
    /// The whole packet, which may be edited in place but not become longer. An assistant that
    /// changes bytes covered by a checksum also changes the checksum.
    pub bytes: &'p mut [u8],
}

/// Whether the router forwards a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// The router forwards it.
    Forward,
    /// The router drops it, because the assistant has processed it. Counted in
    /// [`NodeCounters::kept`](crate::NodeCounters::kept).
    Keep,
}

/// An assistant of a router.
pub trait Assist {
    /// Decides about a packet for another node before the router forwards it.
    fn on_forward(&mut self, now: Instant, packet: &mut Passing<'_>) -> Disposition;

    /// Handles a received frame for any node, intact or damaged, if the driver reports it
    /// ([`Node::on_heard`](crate::Node::on_heard)). `passing` is the MAC payload of an intact,
    /// unsecured data frame for another node.
    fn on_heard(&mut self, _now: Instant, _passing: Option<&[u8]>) {}

    /// Writes the next packet of the assistant to the start of `out`, which holds 1,280 bytes, and
    /// returns its length. The packet is routed as one of the node's own; its source may be any
    /// address.
    fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize>;

    /// Reports that the node has no room for a packet of the assistant, which chooses the next
    /// attempt by [`Assist::poll_at`].
    fn on_no_room(&mut self, _now: Instant) {}

    /// The time of the next call of [`Assist::poll_packet`].
    fn poll_at(&self) -> Option<Wake>;
}

/// No assistant: every packet is forwarded unchanged.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoAssist;

impl Assist for NoAssist {
    fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Disposition {
        Disposition::Forward
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}

/// Counts the forwarded packets by the next header of their IPv6 header.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Packets with TCP directly after the IPv6 header.
    pub tcp: u32,
    /// Other packets.
    pub others: u32,
    /// Bytes of all packets, with IPv6 headers.
    pub bytes: u64,
}

impl Assist for Counter {
    fn on_forward(&mut self, _: Instant, packet: &mut Passing<'_>) -> Disposition {
        let kind = match packet.header.next_header {
            redpoll_wire::ipv6::next_header::TCP => &mut self.tcp,
            _ => &mut self.others,
        };
        *kind = kind.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(packet.bytes.len() as u64);
        Disposition::Forward
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}
