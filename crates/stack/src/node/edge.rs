//! The edge of the DODAG: removes RPL's headers from packets that leave it and from packets that
//! end at this node (RFC 9008).

use redpoll_base::{Instant, move_within};
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::rpl::{PacketInformation, has_source_route, hop_by_hop_len};

use super::Node;
use super::outer::{NEXT_HEADER_AT, set_payload_len};
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::packet::Packet;
use crate::profile::Profile;

/// Whether packets may leave the DODAG here: at a root, or for a host that does not know RPL.
/// Other nodes only take the hop-by-hop header from control messages for themselves.
const IS_EDGE: bool = cfg!(any(feature = "rpl-root", feature = "rpl-hosts"));

impl<P: Profile> Node<P> {
    /// Removes RPL's packet information from a packet that leaves the DODAG (RFC 9008 §7, §8), and
    /// refuses one that has a source route (RFC 6554 §5.1).
    pub(super) fn undress(
        &mut self,
        packet: &Packet,
        has_information: bool,
    ) -> Result<(), Refusal> {
        let slot = packet.slot;
        let bytes = self.link.lowpan.packet_mut(slot);
        if IS_EDGE && has_source_route(bytes) {
            return Err(DropReason::SourceRoute.into());
        }
        let hop_by_hop = hop_by_hop_len(bytes);
        let behind = match hop_by_hop {
            0 => packet.header.next_header,
            _ => bytes.get(Ipv6Header::LEN).copied().unwrap_or_default(),
        };
        // A header that holds other options stays, because hosts skip RPL's option (RFC 8200
        // §4.2). The rank in it becomes 0 (RFC 9008 §6).
        if IS_EDGE && (!has_information || hop_by_hop != PacketInformation::LEN) {
            if let Some(mut information) = PacketInformation::find(bytes) {
                information.sender_rank = 0;
                information.replace(bytes);
            }
            return Ok(());
        }
        let from = Ipv6Header::LEN.saturating_add(hop_by_hop);
        let len = bytes.len();
        if from > len {
            return Err(DropReason::Malformed.into());
        }
        move_within(bytes, from..len, Ipv6Header::LEN);
        if let Some(next) = bytes.get_mut(NEXT_HEADER_AT) {
            *next = behind;
        }
        let rest = len.saturating_sub(hop_by_hop);
        set_payload_len(bytes, rest.saturating_sub(Ipv6Header::LEN));
        self.link.lowpan.resize(slot, rest);
        Ok(())
    }

    /// Removes the hop-by-hop header before a control message: echo requests are answered in
    /// place.
    #[inline(never)] // size
    pub(super) fn bare(&mut self, packet: &Packet) -> Result<Packet, Refusal> {
        self.undress(packet, true)?;
        let bytes = self.link.lowpan.packet(packet.slot);
        let (header, _) = Ipv6Header::parse_partial(bytes).map_err(|_| DropReason::Malformed)?;
        Ok(Packet { header, ..*packet })
    }

    /// Decapsulates a packet for this node (RFC 2473 §3.3). Only nodes of the DODAG encapsulate
    /// (RFC 9008 §4.1): a tunnel from outside would let any host send packets in the name of the
    /// node that decapsulates them.
    pub(super) fn unwrap(
        &mut self,
        now: Instant,
        packet: &Packet,
        offset: usize,
    ) -> Result<(), Refusal> {
        if !self.net.routing.is_inside(&packet.header.src) {
            return Err(DropReason::UnknownProtocol.into());
        }
        let slot = packet.slot;
        let outer_ecn = packet.header.ecn;
        let start = Ipv6Header::LEN.saturating_add(offset);
        let bytes = self.link.lowpan.packet_mut(slot);
        let len = bytes.len();
        let inner = bytes.get(start..).unwrap_or_default();
        let (header, payload) = Ipv6Header::parse(inner).map_err(|_| DropReason::Malformed)?;
        // A third level of encapsulation is refused, which bounds the recursion.
        let nested = ipv6::skip_extension_headers(header.next_header, payload);
        if nested.is_ok_and(|(protocol, _)| protocol == next_header::IPV6) {
            return Err(DropReason::UnknownProtocol.into());
        }
        move_within(bytes, start..len, 0);
        let rest = len.saturating_sub(start);
        self.link.lowpan.resize(slot, rest);
        // RFC 6040 §4.2: a mark of the outer header is copied to the inner one.
        if outer_ecn == redpoll_base::Ecn::Ce && !ipv6::mark_ce(self.link.lowpan.packet_mut(slot)) {
            return Err(DropReason::Malformed.into());
        }
        match self.link.open(slot, packet.origin) {
            Ok(inner) => self.input(now, &inner),
            Err(reason) => self.counters.drop(reason),
        }
        Ok(())
    }
}
