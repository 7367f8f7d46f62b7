//! The headers that RPL adds to packets inside the DODAG: packet information, source routes and
//! outer headers (RFC 6553, RFC 6554, RFC 9008).

use redpoll_base::{Addr, Instant, move_within};
use redpoll_lowpan::SlotId;
#[cfg(feature = "rpl-root")]
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::rpl::PacketInformation;
#[cfg(feature = "rpl-root")]
use redpoll_wire::rpl::{SourceRoute, srh_len};

use super::Node;
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::net::routing::rpl::Dress;
#[cfg(feature = "rpl-root")]
use crate::net::routing::rpl::Path;
use crate::packet::{LINK_MTU, NextHop, Origin, Packet};
use crate::profile::Profile;

/// Where in an IPv6 header the next header stands, and where the payload's length.
pub(super) const NEXT_HEADER_AT: usize = 6;
const PAYLOAD_LEN_AT: usize = 4;
/// The longest extension header that is put into packets: a source route of 64 stops
/// whose addresses are two bytes each, or of eight whole ones.
#[cfg(feature = "rpl-root")]
const EXTENSION_MAX: usize = 136;

impl<P: Profile> Node<P> {
    /// Gives a packet that is about to leave what RPL's routers want to see in it, or
    /// takes it away where it leaves the DODAG.
    pub(super) fn dress(
        &mut self,
        now: Instant,
        packet: &Packet,
        next_hop: NextHop,
    ) -> Result<(), Refusal> {
        if !self.net.routing.is_rpl() {
            return Ok(());
        }
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        let present = PacketInformation::find(bytes);
        if next_hop == NextHop::Host {
            return self.undress(packet, present.is_some());
        }
        match self.net.routing.dress(now, &packet.header.dst, present) {
            Dress::Nothing => Ok(()),
            #[cfg(feature = "rpl-hosts")]
            Dress::Bare => self.undress(packet, present.is_some()),
            Dress::Information(information) if present.is_some() => {
                information.replace(bytes);
                Ok(())
            }
            Dress::Information(information) => {
                self.add_information(packet, information);
                Ok(())
            }
            #[cfg(feature = "rpl-root")]
            Dress::Route(path) if path.is_external() => {
                // The router at its end passes on what is inside.
                let down = PacketInformation {
                    down: true,
                    sender_rank: 0,
                    ..present.unwrap_or_default()
                };
                down.replace(bytes);
                self.add_route_header(packet, &path)
            }
            #[cfg(feature = "rpl-root")]
            Dress::Route(path) => self.add_route_header(packet, &path),
        }
    }

    fn add_information(&mut self, packet: &Packet, information: PacketInformation) {
        let outer = self.outer_for(packet, !information.down);
        let next = self.next_of(packet, outer.is_none());
        let header = information.header(next);
        // A packet that leaves no room for it goes without: it is information only.
        let _ = self.wrap(packet, next_header::HOP_BY_HOP, &header, outer);
    }

    #[cfg(feature = "rpl-root")]
    fn add_route_header(&mut self, packet: &Packet, path: &Path) -> Result<(), Refusal> {
        let first = path.first_stop();
        let outer = match path.is_external() {
            true => self.outer_to(packet, first),
            false => self.outer_for(packet, false),
        };
        let outer = outer.map(|outer| Ipv6Header {
            dst: first,
            ..outer
        });
        let next = self.next_of(packet, outer.is_none());
        let common = path.common();
        let len = srh_len(path.stops(), common);
        let mut buffer = [0; EXTENSION_MAX];
        let mut out = Cursor::new(&mut buffer);
        let emitted = SourceRoute::emit(next, common, path.addresses(), &mut out);
        if emitted.is_err() || out.position() != len {
            return Err(DropReason::TooBig.into());
        }
        let is_own = outer.is_none();
        if !self.wrap(packet, next_header::ROUTING, out.written(), outer) {
            return Err(DropReason::TooBig.into());
        }
        if is_own {
            let bytes = self.link.lowpan.packet_mut(packet.slot);
            if let Some(dst) = bytes.get_mut(24..Ipv6Header::LEN) {
                dst.copy_from_slice(&first.0);
            }
        }
        Ok(())
    }

    /// What follows behind a header that is put before, or into, this packet.
    fn next_of(&self, packet: &Packet, is_own: bool) -> u8 {
        match is_own {
            true => packet.header.next_header,
            false => next_header::IPV6,
        }
    }

    /// The outer header of a packet that this node has not made itself (RFC 6553 §4,
    /// RFC 6554 §4.1), if it is to have one. Up it leads to the root, down to where
    /// the packet goes (RFC 9008 §7).
    fn outer_for(&self, packet: &Packet, is_up: bool) -> Option<Ipv6Header> {
        let root = self.net.routing.tunnel()?;
        let dst = if is_up { root } else { packet.header.dst };
        if packet.origin == Origin::Own {
            return None;
        }
        self.outer_to(packet, dst)
    }

    /// An outer header of a packet, which leads to `dst`.
    fn outer_to(&self, packet: &Packet, dst: Addr) -> Option<Ipv6Header> {
        let identity = &self.net.identity;
        let src = identity.source_for(&packet.header.dst)?;
        Some(Ipv6Header {
            // RFC 6040 §4.1.
            ecn: packet.header.ecn,
            dscp: packet.header.dscp,
            ..identity.header(src, dst, next_header::NONE)
        })
    }

    /// Puts an extension header behind the packet's header or, with an `outer` one,
    /// both before it. `false` if there is no room.
    fn wrap(
        &mut self,
        packet: &Packet,
        kind: u8,
        extension: &[u8],
        outer: Option<Ipv6Header>,
    ) -> bool {
        let lowpan = &mut self.link.lowpan;
        let len = lowpan.packet(packet.slot).len();
        let at = if outer.is_some() { 0 } else { Ipv6Header::LEN };
        let ahead = if outer.is_some() { Ipv6Header::LEN } else { 0 };
        let more = ahead.saturating_add(extension.len());
        let total = len.saturating_add(more);
        if total > LINK_MTU.min(lowpan.slot_size()) || at > len {
            return false;
        }
        lowpan.resize(packet.slot, total);
        let bytes = lowpan.packet_mut(packet.slot);
        move_within(bytes, at..len, at.saturating_add(more));
        match outer {
            Some(outer) => {
                let header = Ipv6Header {
                    next_header: kind,
                    ..outer
                };
                if let Some(area) = bytes.get_mut(..Ipv6Header::LEN) {
                    area.copy_from_slice(&header.to_bytes());
                }
            }
            None => {
                if let Some(next) = bytes.get_mut(NEXT_HEADER_AT) {
                    *next = kind;
                }
            }
        }
        set_payload_len(bytes, total.saturating_sub(Ipv6Header::LEN));
        let area = bytes.get_mut(Ipv6Header::LEN..).unwrap_or_default();
        if let Some(area) = area.get_mut(..extension.len()) {
            area.copy_from_slice(extension);
        }
        true
    }

    /// A segment that was made whole gets what it is to have.
    pub(super) fn dress_held(
        &mut self,
        now: Instant,
        slot: SlotId,
        next_hop: Address,
    ) -> Result<(), Refusal> {
        let bytes = self.link.lowpan.packet(slot);
        let (header, _) = Ipv6Header::parse_partial(bytes).map_err(|_| DropReason::Malformed)?;
        let origin = Origin::Own;
        let packet = Packet {
            slot,
            header,
            origin,
        };
        self.dress(now, &packet, NextHop::Link(next_hop))
    }
}

/// Writes the payload length of an IPv6 header (RFC 8200 §3).
pub(super) fn set_payload_len(packet: &mut [u8], len: usize) {
    if let Some(area) = packet.get_mut(PAYLOAD_LEN_AT..NEXT_HEADER_AT) {
        area.copy_from_slice(&(len as u16).to_be_bytes());
    }
}
