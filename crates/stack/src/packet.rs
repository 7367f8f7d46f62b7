//! The handle by which a packet passes between a node's three parts: link, net and transports.

use redpoll_lowpan::SlotId;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::Ipv6Header;

/// The IPv6 packet size that 6LoWPAN must carry (RFC 4944 §4), and the largest that a node sends by
/// the radio.
pub(crate) const LINK_MTU: usize = 1280;

/// A packet in a slot of 6LoWPAN, with its header parsed. The function that takes a packet forwards
/// it or releases its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) slot: SlotId,
    /// The header in the slot, except for a hop limit that a router has decremented.
    pub(crate) header: Ipv6Header,
    pub(crate) origin: Origin,
}

impl Packet {
    pub(crate) fn view<'p>(&'p self, bytes: &'p mut [u8]) -> PacketView<'p> {
        PacketView {
            header: &self.header,
            origin: self.origin,
            bytes,
        }
    }
}

/// The origin of a packet, for the rules that depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    Link { from: Address, broadcast: bool },
    Host,
    Own,
}

#[derive(Debug)]
pub(crate) struct PacketView<'p> {
    pub(crate) header: &'p Ipv6Header,
    #[allow(dead_code, reason = "in some builds no protocol reads the field")]
    pub(crate) origin: Origin,
    pub(crate) bytes: &'p mut [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NextHop {
    /// A neighbour on the radio; for a multicast packet, all neighbours.
    Link(Address),
    Host,
}

impl Origin {
    pub(crate) fn is_behind(self, next_hop: NextHop) -> bool {
        match (self, next_hop) {
            (Origin::Link { from, .. }, NextHop::Link(to)) => is_unicast(to) && from == to,
            (Origin::Host, NextHop::Host) => true,
            _ => false,
        }
    }
}

/// Returns whether frames to this address reach one node. An interface identifier that contains the
/// broadcast address must not turn a packet into a flood.
pub(crate) fn is_unicast(link: Address) -> bool {
    match link {
        // IEEE 802.15.4-2015 §6.4: 0xfffe means "no short address".
        Address::Short(short) => short < 0xfffe,
        Address::Extended(_) => true,
        Address::Absent => false,
    }
}
