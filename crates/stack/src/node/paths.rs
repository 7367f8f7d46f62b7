//! Where a packet goes next: what routes and registrations come to.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::nd::{Neighbour, Neighbours};
use crate::routes::{RouteSlot, Routes, Via};
use crate::tcp::{Reach, Side};

/// Routes, and neighbours that have registered.
pub(super) struct Paths<M: Memory + 'static> {
    pub(super) routes: Routes<M::Table<Option<RouteSlot>>>,
    pub(super) neighbours: Neighbours<M::Table<Option<Neighbour>>>,
}

/// The next node on a packet's way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextHop {
    /// Over the radio, to this neighbour or, for groups, to all.
    Link(Address),
    /// The host side.
    Host,
}

impl<M: Memory + 'static> Paths<M> {
    /// The next hop of packets to `dst`: link-local ones never leave the link,
    /// registered neighbours are near, the others have routes.
    pub(super) fn next_hop(&self, now: Instant, dst: &Addr) -> Option<NextHop> {
        if dst.is_multicast() {
            return Some(NextHop::Link(Address::BROADCAST));
        }
        if dst.is_unspecified() || is_loopback(dst) {
            return None;
        }
        let via = if addr::is_link_local(dst) {
            Via::OnLink
        } else {
            match self.neighbours.lookup(dst, now) {
                Some(link) => Via::Neighbour(link),
                None => self.routes.lookup(dst)?,
            }
        };
        let link = match via {
            Via::Host => return Some(NextHop::Host),
            Via::Neighbour(link) => link,
            Via::OnLink => addr::link_address(dst),
        };
        is_unicast(link).then_some(NextHop::Link(link))
    }

    /// The same, for a connection that looks for work on one side.
    pub(super) fn reach(&self, now: Instant, side: Side, dst: &Addr) -> Reach<Address> {
        match (self.next_hop(now, dst), side) {
            (None, _) => Reach::Nowhere,
            (Some(NextHop::Link(link)), Side::Link) => Reach::Here(link),
            (Some(NextHop::Host), Side::Host) => Reach::Here(Address::Absent),
            _ => Reach::Elsewhere,
        }
    }
}

/// `::1`: packets from or to it are never on a link (RFC 4291 §2.5.3).
pub(super) fn is_loopback(addr: &Addr) -> bool {
    u128::from_be_bytes(addr.0) == 1
}

/// Whether frames to this address reach one node. An interface identifier that
/// stands for the broadcast address must not turn a packet into a flood.
pub(super) fn is_unicast(link: Address) -> bool {
    match link {
        // IEEE 802.15.4-2015 §6.4: 0xfffe says "no short address".
        Address::Short(short) => short < 0xfffe,
        Address::Extended(_) => true,
        Address::Absent => false,
    }
}
