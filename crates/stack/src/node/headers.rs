//! Applies routing's header changes to a packet, in place in the buffer of its slot.

use redpoll_base::{Ecn, Instant, Memory, move_within};
use redpoll_lowpan::Lowpan;
use redpoll_wire::ipv6::{self, Ipv6Header};

use super::Node;
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::net::plan::{Insertion, Onward, Plan};
use crate::net::routing::HAS_PROTOCOL;
use crate::packet::{LINK_MTU, NextHop, Packet, PacketView};
use crate::profile::Profile;

/// Offsets in the IPv6 header (RFC 8200 §3).
const PAYLOAD_LEN_AT: usize = 4;
const NEXT_HEADER_AT: usize = 6;
const DST_AT: usize = 24;

impl<P: Profile> Node<P> {
    /// Applies the header changes for a packet that leaves for `next_hop`.
    pub(super) fn encapsulate(
        &mut self,
        now: Instant,
        packet: &Packet,
        next_hop: NextHop,
    ) -> Result<(), Refusal> {
        if !HAS_PROTOCOL {
            return Ok(());
        }
        let view = seen(&mut self.link.lowpan, packet);
        match self.net.encapsulate(now, view, next_hop)? {
            Plan::Keep => Ok(()),
            Plan::Strip(len) => self.strip(packet, len),
            Plan::Insert(insertion) => match self.insert(packet, &insertion) {
                false if insertion.is_vital => Err(DropReason::TooBig.into()),
                _ => Ok(()),
            },
        }
    }

    /// Removes the first extension header, of `len` bytes.
    fn strip(&mut self, packet: &Packet, len: usize) -> Result<(), Refusal> {
        let lowpan = &mut self.link.lowpan;
        let bytes = lowpan.packet_mut(packet.slot);
        let total = bytes.len();
        let from = Ipv6Header::LEN.saturating_add(len);
        if from > total {
            return Err(DropReason::Malformed.into());
        }
        let next = match len {
            0 => packet.header.next_header,
            _ => bytes.get(Ipv6Header::LEN).copied().unwrap_or_default(),
        };
        move_within(bytes, from..total, Ipv6Header::LEN);
        let rest = total.saturating_sub(len);
        set_following(bytes, next, rest.saturating_sub(Ipv6Header::LEN));
        lowpan.resize(packet.slot, rest);
        Ok(())
    }

    /// Inserts an extension header after the packet's IPv6 header. If there is an outer header,
    /// puts both headers before the packet instead. Returns `false` if the result is too long.
    fn insert(&mut self, packet: &Packet, insertion: &Insertion) -> bool {
        let lowpan = &mut self.link.lowpan;
        let len = lowpan.packet(packet.slot).len();
        let extension = insertion.extension();
        let (at, ahead) = match insertion.outer {
            Some(_) => (0, Ipv6Header::LEN),
            None => (Ipv6Header::LEN, 0),
        };
        let more = extension.len().saturating_add(ahead);
        let total = len.saturating_add(more);
        if total > LINK_MTU.min(lowpan.slot_size()) || at > len {
            return false;
        }
        lowpan.resize(packet.slot, total);
        let bytes = lowpan.packet_mut(packet.slot);
        move_within(bytes, at..len, at.saturating_add(more));
        if let Some(outer) = insertion.outer
            && let Some(area) = bytes.get_mut(..Ipv6Header::LEN)
        {
            area.copy_from_slice(&outer.to_bytes());
        }
        set_following(bytes, insertion.kind, total.saturating_sub(Ipv6Header::LEN));
        let area = bytes.get_mut(Ipv6Header::LEN..).unwrap_or_default();
        if let Some(area) = area.get_mut(..extension.len()) {
            area.copy_from_slice(extension);
        }
        if let Some(dst) = insertion.dst
            && let Some(area) = bytes.get_mut(DST_AT..Ipv6Header::LEN)
        {
            area.copy_from_slice(&dst.0);
        }
        true
    }

    /// Sends a packet to the next hop of its source route. If that neighbour recently failed to
    /// answer frames, the packet is refused.
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        packet: &Packet,
        Onward { next, absent }: Onward,
    ) -> Result<(), Refusal> {
        if !HAS_PROTOCOL {
            return Ok(());
        }
        if self.link.take_silence(now, next) || self.admit_neighbour(now, next).is_err() {
            return Err(Refusal(DropReason::AddressUnreachable, Some(absent)));
        }
        self.counters.forwarded = self.counters.forwarded.wrapping_add(1);
        self.link.queue(now, packet.slot, next);
        Ok(())
    }

    /// Removes the outer header of a packet and processes the inner packet, which begins at
    /// `start`.
    pub(super) fn unwrap(
        &mut self,
        now: Instant,
        packet: &Packet,
        start: usize,
    ) -> Result<(), Refusal> {
        if !HAS_PROTOCOL {
            return Ok(());
        }
        let lowpan = &mut self.link.lowpan;
        let bytes = lowpan.packet_mut(packet.slot);
        let len = bytes.len();
        move_within(bytes, start..len, 0);
        lowpan.resize(packet.slot, len.saturating_sub(start));
        // RFC 6040 §4.2: CE of the outer header is copied to the inner one.
        if packet.header.ecn == Ecn::Ce && !ipv6::mark_ce(lowpan.packet_mut(packet.slot)) {
            return Err(DropReason::Malformed.into());
        }
        match self.link.open(packet.slot, packet.origin) {
            Ok(inner) => self.input(now, &inner),
            Err(reason) => self.counters.drop(reason),
        }
        Ok(())
    }
}

/// Returns the view of a packet for a routing protocol; without bytes if the node has no protocol.
pub(super) fn seen<'p, M: Memory + 'static>(
    lowpan: &'p mut Lowpan<M>,
    packet: &'p Packet,
) -> PacketView<'p> {
    packet.view(match HAS_PROTOCOL {
        true => lowpan.packet_mut(packet.slot),
        false => &mut [],
    })
}

fn set_following(packet: &mut [u8], next: u8, payload_len: usize) {
    if let Some(area) = packet.get_mut(PAYLOAD_LEN_AT..NEXT_HEADER_AT) {
        area.copy_from_slice(&(payload_len as u16).to_be_bytes());
    }
    if let Some(place) = packet.get_mut(NEXT_HEADER_AT) {
        *place = next;
    }
}
