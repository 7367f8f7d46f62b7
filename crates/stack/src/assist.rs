//! Assistants, which process the packets that a router forwards, for example to cache segments or
//! to adjust windows.
//!
//! An assistant sees whole packets, after the router's checks and before the choice of the next
//! hop. It has its own memory and timers. [`Disposition`] decides whether the router forwards a
//! packet, and [`Assist::poll_packet`] sends the assistant's own packets. Fragments that are
//! forwarded without reassembly (RFC 8930) are not shown to it.
//!
//! An assistant may also join multicast groups and distribute their packets in the mesh
//! ([`Assist::GROUPS`]).

use redpoll_base::{Addr, Instant, Wake};
use redpoll_wire::ipv6::Ipv6Header;

use crate::counters::DropReason;
use crate::transports::Side;

/// A packet that a router is about to forward.
#[derive(Debug)]
pub struct Passing<'p> {
    /// The packet's IPv6 header, with the hop limit already decremented.
    pub header: &'p Ipv6Header,
    /// The whole packet, which may be edited in place but not become longer. An assistant that
    /// changes bytes covered by a checksum also changes the checksum.
    pub bytes: &'p mut [u8],
}

/// Whether the router forwards a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// The router forwards the packet.
    Forward,
    /// The router drops the packet, because the assistant has processed it. Counted in
    /// [`NodeCounters::kept`](crate::NodeCounters::kept).
    Keep,
}

/// A packet to a multicast group that the node has not joined by itself.
#[derive(Debug)]
pub struct ToGroup<'p> {
    /// The packet's IPv6 header.
    pub header: &'p Ipv6Header,
    /// The whole packet, which may be edited in place.
    pub bytes: &'p mut [u8],
    /// The side on which the packet arrived; `None`: this node sends it to a group beyond the link.
    pub from: Option<Side>,
    /// The node's global address; unspecified before it has one.
    pub node: Addr,
}

/// An assistant of a router.
pub trait Assist {
    /// Whether the assistant joins groups. If not, the compiler omits the node's code for packets
    /// to groups beyond the link (RFC 4291 §2.7): the node drops those that it receives, and sends
    /// its own to its neighbours only.
    const GROUPS: bool = false;

    /// Decides about a multicast packet. `Ok(Some(start))`: the node is a member, and its UDP
    /// sockets get the packet, or the one inside it that begins at byte `start`. `Ok(None)`: the
    /// packet ends here, because the assistant has stored it or the node is not a member. The
    /// assistant sends stored packets by [`Assist::poll_packet`].
    ///
    /// # Errors
    /// The reason why the node drops the packet. Exception: for a packet of this node,
    /// [`DropReason::NoRoute`] means that the node sends the packet to its neighbours only.
    fn on_group(
        &mut self,
        _now: Instant,
        _packet: &mut ToGroup<'_>,
    ) -> Result<Option<usize>, DropReason> {
        Err(DropReason::NoRoute)
    }

    /// Joins a group, or leaves it. Returns `false` if there is no room for another group, or the
    /// node is not a member of the group to leave.
    fn set_member(&mut self, _group: &Addr, _joins: bool) -> bool {
        false
    }

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

    /// Returns the time of the next call of [`Assist::poll_packet`].
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
