//! Reassembly of IPv6 fragments for this node (RFC 8200 §4.5).

use redpoll_base::{Instant, Memory, move_within};
use redpoll_wire::icmpv6::parameter_problem;
use redpoll_wire::ipv6::Ipv6Header;

use super::Node;
use crate::counters::DropReason;
use crate::net::extension;
use crate::net::icmp::{IcmpError, Refusal};
use crate::net::joiner::{
    DATA, FRAGMENT_HEADER, Fragment, Joined, Joiner, Key, PartialSlot, Placement, has_all_headers,
};
use crate::packet::{Origin, Packet};
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// Enables the reassembly of IPv6 fragments for this node (RFC 8200 §4.5). `partials` limits
    /// the packets in reassembly. Each is in a slot of 6LoWPAN, and can have 8 bytes less than the
    /// slot: slots of 1,508 bytes hold the 1,500 bytes that RFC 8200 §5 requires. Without
    /// reassembly, the node answers a fragment with a parameter problem. This function compiles
    /// only with a kind of memory that [allows it](Memory::JOINS_FRAGMENTS).
    ///
    /// A packet is given up if it is incomplete after a minute, if its fragments overlap, or if it
    /// is the oldest and a new one needs its place.
    pub fn join_fragments(&mut self, partials: <P::Memory as Memory>::Table<PartialSlot>) {
        const {
            assert!(
                P::Memory::JOINS_FRAGMENTS,
                "this kind of memory cannot reassemble IPv6 fragments; use a `Memory` whose \
                 `JOINS_FRAGMENTS` is true"
            )
        };
        let slot_size = self.link.lowpan.slot_size();
        self.net.joiner = Some(Joiner::new(slot_size, partials));
    }

    /// Stores a fragment for this node. The fragment header starts `offset` bytes after the fixed
    /// IPv6 header.
    pub(super) fn collect(
        &mut self,
        now: Instant,
        packet: &Packet,
        offset: usize,
    ) -> Result<(), Refusal> {
        let header = &packet.header;
        let at = Ipv6Header::LEN.saturating_add(offset);
        let end = Ipv6Header::LEN.saturating_add(header.payload_len.into());
        let lowpan = &mut self.link.lowpan;
        let bytes = lowpan.packet(packet.slot);
        let bytes = bytes.get(at..end).ok_or(DropReason::Malformed)?;
        let fragment = Fragment::parse(bytes, at)?;
        let data = bytes.get(FRAGMENT_HEADER..).unwrap_or_default();
        if fragment.offset == 0 {
            check_headers(&fragment, data)?;
        }
        let key = Key {
            src: header.src,
            dst: header.dst,
            identification: fragment.identification,
        };
        let Some(joiner) = &mut self.net.joiner else {
            return Err(DropReason::UnknownProtocol.into());
        };
        let place = DATA.saturating_add(fragment.offset);
        let data = at.saturating_add(FRAGMENT_HEADER)..end;
        match joiner.on_fragment(key, &fragment, header.ecn) {
            Placement::Drop(reason) => return Err(reason.into()),
            Placement::Spoilt(slot) => {
                lowpan.release(slot);
                return Err(DropReason::Fragment.into());
            }
            Placement::Begin => {
                let oldest = joiner.begin(now, key, packet.slot, &fragment, header.ecn);
                if let Some(slot) = oldest {
                    lowpan.release(slot);
                    self.counters.drop(DropReason::Fragment);
                }
                lowpan.resize(packet.slot, usize::MAX);
                let bytes = lowpan.packet_mut(packet.slot);
                move_within(bytes, at..data.start, Ipv6Header::LEN);
                move_within(bytes, data, place);
            }
            Placement::Copy(slot) => {
                lowpan.copy_part(packet.slot, data, slot, place);
                if fragment.offset == 0 {
                    // The headers for an ICMPv6 error, in case the packet stays incomplete.
                    lowpan.copy_part(packet.slot, 0..Ipv6Header::LEN, slot, 0);
                    let header = at..at.saturating_add(FRAGMENT_HEADER);
                    lowpan.copy_part(packet.slot, header, slot, Ipv6Header::LEN);
                }
                lowpan.release(packet.slot);
            }
        }
        if let Some(joined) = joiner.take_joined() {
            self.deliver_joined(now, joined, packet.origin);
        }
        Ok(())
    }

    /// Delivers a complete packet as if it had arrived in one piece.
    fn deliver_joined(&mut self, now: Instant, joined: Joined, origin: Origin) {
        let lowpan = &mut self.link.lowpan;
        let bytes = lowpan.packet_mut(joined.slot);
        let end = DATA.saturating_add(joined.len);
        move_within(bytes, DATA..end, Ipv6Header::LEN);
        let Ok((first, _)) = Ipv6Header::parse_partial(bytes) else {
            return lowpan.release(joined.slot);
        };
        let header = Ipv6Header {
            payload_len: joined.len as u16,
            next_header: joined.next_header,
            ecn: joined.ecn,
            ..first
        };
        if let Some(head) = bytes.first_chunk_mut() {
            *head = header.to_bytes();
        }
        lowpan.resize(joined.slot, end.saturating_sub(FRAGMENT_HEADER));
        let packet = Packet {
            slot: joined.slot,
            header,
            origin,
        };
        let delivered = self.deliver(now, &packet);
        self.conclude(now, &packet, delivered);
    }

    /// Gives up packets that have been incomplete for too long.
    pub(super) fn give_up_fragments(&mut self, now: Instant) {
        if !P::Memory::JOINS_FRAGMENTS {
            return;
        }
        while let Some(late) = self.net.joiner.as_mut().and_then(|it| it.take_late(now)) {
            let Some(slot) = late.slot else { continue };
            let lowpan = &mut self.link.lowpan;
            lowpan.resize(slot, DATA.saturating_add(late.len));
            let header = Ipv6Header::parse_partial(lowpan.packet(slot));
            let Some((header, _)) = header.ok().filter(|_| late.len > 0) else {
                lowpan.release(slot);
                self.counters.drop(DropReason::Fragment);
                continue;
            };
            let packet = Packet {
                slot,
                header,
                origin: Origin::Own,
            };
            let error = Some(IcmpError::ReassemblyTimeExceeded);
            let late = Err(Refusal(DropReason::Fragment, error));
            self.conclude(now, &packet, late);
        }
    }
}

/// RFC 8200 §4.5: the first fragment contains all headers through the upper-layer header.
fn check_headers(fragment: &Fragment, data: &[u8]) -> Result<(), Refusal> {
    let code = parameter_problem::INCOMPLETE_HEADERS;
    let error = IcmpError::ParameterProblem { code, pointer: 0 };
    let incomplete = || Refusal(DropReason::Malformed, Some(error));
    let upper = extension::walk(fragment.next_header, data, false).map_err(|_| incomplete())?;
    let is_complete = has_all_headers(upper.protocol, data.get(upper.offset..).unwrap_or_default());
    is_complete.then_some(()).ok_or_else(incomplete)
}
