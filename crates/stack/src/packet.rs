//! The handle by which a packet passes between a node's three conductors.

use redpoll_lowpan::SlotId;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// The IPv6 packet size that 6LoWPAN must carry (RFC 4944 §4) and that a node never
/// exceeds.
pub(crate) const LINK_MTU: usize = 1280;

/// A packet in a slot of 6LoWPAN, with its header parsed. Whoever holds it sends it
/// on or releases the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) slot: SlotId,
    /// What stands at the start of the slot, but for what a router changes in it on
    /// the way: the hop limit.
    pub(crate) header: Ipv6Header,
    pub(crate) origin: Origin,
}

impl Packet {
    /// The packet with these bytes, which are those of its slot.
    pub(crate) fn view<'p>(&'p self, bytes: &'p mut [u8]) -> PacketView<'p> {
        PacketView {
            header: &self.header,
            origin: self.origin,
            bytes,
        }
    }
}

/// Where a packet came from, for the rules that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// From this neighbour.
    Link { from: Address, broadcast: bool },
    /// From the host side.
    Host,
    /// This node made it.
    Own,
}

/// A packet as the IPv6 layer sees it: without its slot.
#[derive(Debug)]
pub(crate) struct PacketView<'p> {
    pub(crate) header: &'p Ipv6Header,
    #[allow(dead_code, reason = "a build may have no protocol that reads it")]
    pub(crate) origin: Origin,
    /// The packet, from its IPv6 header on.
    pub(crate) bytes: &'p mut [u8],
}

/// The next node on a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextHop {
    /// Over the radio, to this neighbour or, for groups, to all.
    Link(Address),
    /// The host side.
    Host,
}

impl Origin {
    /// Whether `next_hop` leads back there, which would be a loop.
    pub(crate) fn is_behind(self, next_hop: NextHop) -> bool {
        match (self, next_hop) {
            (Origin::Link { from, .. }, NextHop::Link(to)) => is_unicast(to) && from == to,
            (Origin::Host, NextHop::Host) => true,
            _ => false,
        }
    }
}

/// Whether frames to this address reach one node. An interface identifier that
/// stands for the broadcast address must not turn a packet into a flood.
pub(crate) fn is_unicast(link: Address) -> bool {
    match link {
        // IEEE 802.15.4-2015 §6.4: 0xfffe says "no short address".
        Address::Short(short) => short < 0xfffe,
        Address::Extended(_) => true,
        Address::Absent => false,
    }
}
