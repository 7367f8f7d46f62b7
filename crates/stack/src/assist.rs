//! Help from the middle: what a router may do for the packets that it passes on,
//! such as caching segments or adjusting windows.
//!
//! The seam is on whole packets, between the routers' checks and the choice of the
//! next hop. An assistant has memory and timers of its own and says by
//! [`Verdict`] what becomes of a packet; packets of its own it hands out by
//! [`Assist::poll_packet`]. Fragments that pass through without being put together
//! (RFC 8930) are not shown to it.

use redpoll_base::{Instant, Wake};
use redpoll_wire::ipv6::Ipv6Header;

/// A packet that a router is about to pass on.
#[derive(Debug)]
pub struct Passing<'p> {
    /// Its IPv6 header. The hop limit is the one that it leaves with.
    pub header: &'p Ipv6Header,
    /// The whole packet, which may be edited in place but not become longer. Who
    /// changes what a checksum covers changes the checksum too.
    pub bytes: &'p mut [u8],
}

/// What becomes of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is passed on.
    Pass,
    /// It ends here: the assistant has kept what it wanted of it. Counted in
    /// [`NodeCounters::kept`](crate::NodeCounters::kept).
    Keep,
}

/// An assistant of a router.
pub trait Assist {
    /// A packet for another node is about to be passed on.
    fn on_forward(&mut self, now: Instant, packet: &mut Passing<'_>) -> Verdict;

    /// The radio has received a frame: for this node or for another one, intact or
    /// broken, as far as the driver tells ([`Node::on_heard`](crate::Node::on_heard)).
    /// `passing`: of an intact data frame for another node what is behind its MAC header,
    /// unless it is secured.
    fn on_heard(&mut self, _now: Instant, _passing: Option<&[u8]>) {}

    /// The next packet that the assistant sends by itself, written to the start of
    /// `out`, which holds 1,280 bytes: its length. It is routed like one that the
    /// node makes, and its source may be any address.
    fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize>;

    /// The node has no room for a packet of the assistant's at the moment. It says by
    /// [`Assist::poll_at`] when it asks again.
    fn on_no_room(&mut self, _now: Instant) {}

    /// When the assistant has something to do next: [`Assist::poll_packet`] is then
    /// called.
    fn poll_at(&self) -> Option<Wake>;
}

/// No assistant: every packet is passed on as it is.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoAssist;

impl Assist for NoAssist {
    fn on_forward(&mut self, _: Instant, _: &mut Passing<'_>) -> Verdict {
        Verdict::Pass
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}

/// Counts what is passed on, by the protocol behind the IPv6 header.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Packets with TCP right behind the IPv6 header.
    pub tcp: u32,
    /// All others.
    pub others: u32,
    /// Bytes of both, IPv6 headers included.
    pub bytes: u64,
}

impl Assist for Counter {
    fn on_forward(&mut self, _: Instant, packet: &mut Passing<'_>) -> Verdict {
        let kind = match packet.header.next_header {
            redpoll_wire::ipv6::next_header::TCP => &mut self.tcp,
            _ => &mut self.others,
        };
        *kind = kind.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(packet.bytes.len() as u64);
        Verdict::Pass
    }

    fn poll_packet(&mut self, _: Instant, _: &mut [u8]) -> Option<usize> {
        None
    }

    fn poll_at(&self) -> Option<Wake> {
        None
    }
}
