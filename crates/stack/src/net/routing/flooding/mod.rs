//! Flooding, as a test of the interface of routing protocols: each packet reaches all nodes, and
//! needs no routes.
//!
//! The source puts a packet into an outer packet to all neighbours (RFC 2473), with a number in a
//! hop-by-hop option. Each node forwards an outer packet once. The destination of the inner packet
//! decapsulates it.

mod tests;

use redpoll_base::{Addr, Instant, Memory};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header, addr, next_header};

use super::protocol::Protocol;
use super::{Routing, Table, Way};
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::net::identity::Identity;
use crate::net::plan::{Insertion, Onward, Plan};
use crate::packet::{NextHop, PacketView};
use crate::profile::Profile;

/// The type of the option: a type for experiments, which other nodes skip (RFC 4727 §3.3).
const OPTION: u8 = 0x1e;

#[derive(Default)]
pub(super) struct Flooding {
    number: u16,
    /// Sources and numbers of the latest packets.
    seen: [(Addr, u16); 8],
}

impl<P: Profile> Routing<P> {
    pub(crate) fn begin_flooding(&mut self) {
        self.way = Way::Flooding(Flooding::default());
    }
}

impl Flooding {
    /// Returns whether this packet has arrived before, and records it.
    fn knows(&mut self, packet: (Addr, u16)) -> bool {
        let is_known = self.seen.contains(&packet);
        if !is_known {
            self.seen.rotate_right(1);
            self.seen[0] = packet;
        }
        is_known
    }
}

impl<M: Memory + 'static> Protocol<M> for Flooding {
    fn next_hop(&self, _now: Instant, _table: &Table<M>, _dst: &Addr) -> Option<NextHop> {
        Some(NextHop::Link(Address::BROADCAST))
    }

    /// Accepts unicast packets in broadcast frames, because a flood has only broadcast frames.
    fn admit(
        &self,
        _identity: &Identity,
        _packet: &PacketView<'_>,
        admitted: Result<(), DropReason>,
    ) -> Result<(), DropReason> {
        match admitted {
            Err(DropReason::LinkBroadcast) => Ok(()),
            admitted => admitted,
        }
    }

    fn encapsulate(
        &mut self,
        _now: Instant,
        identity: &Identity,
        _table: &Table<M>,
        packet: &mut PacketView<'_>,
        _next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        let dst = addr::LINK_LOCAL_ALL_NODES;
        if packet.header.dst.is_multicast() || addr::is_link_local(&packet.header.dst) {
            return Ok(Plan::Keep);
        }
        self.number += 1;
        let [high, low] = self.number.to_be_bytes();
        let option = [next_header::IPV6, 0, OPTION, 4, high, low, 0, 0];
        let mut insertion = Insertion::new(next_header::HOP_BY_HOP, &option).unwrap();
        insertion.outer = Some(identity.header(identity.address, dst, next_header::NONE));
        insertion.is_vital = true;
        Ok(Plan::Insert(insertion))
    }

    fn onward(
        &mut self,
        _now: Instant,
        identity: &Identity,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Onward>, Refusal> {
        let [_, _, OPTION, _, high, low, _, _, inner @ ..] = &packet.bytes[Ipv6Header::LEN..]
        else {
            return Ok(None);
        };
        if self.knows((packet.header.src, u16::from_be_bytes([*high, *low]))) {
            return Err(DropReason::NoRoute.into());
        }
        let (inner, _) = Ipv6Header::parse_partial(inner).map_err(|_| DropReason::Malformed)?;
        if identity.is_own(&inner.dst) {
            return Ok(None);
        }
        ipv6::decrement_hop_limit(packet.bytes).ok_or(DropReason::HopLimit)?;
        let next = Address::BROADCAST;
        Ok(Some(Onward {
            next,
            absent: crate::net::icmp::IcmpError::NO_ROUTE,
        }))
    }

    fn opens(&self, _src: &Addr) -> Result<bool, DropReason> {
        Ok(true)
    }
}
