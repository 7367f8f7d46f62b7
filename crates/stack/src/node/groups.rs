//! Packets to multicast groups, which an [assistant](crate::assist) with [`Assist::GROUPS`] joins
//! and distributes.

use redpoll_base::{Addr, Instant, move_within};
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};

use super::Node;
use crate::assist::{Assist, ToGroup};
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::packet::{Origin, Packet};
use crate::profile::Profile;
use crate::transports::Side;

impl<P: Profile> Node<P> {
    /// Returns whether the assistant decides about packets to `dst`: to groups other than those of
    /// the node's own protocols.
    pub(super) fn is_for_group(&self, dst: &Addr) -> bool {
        dst.is_multicast() && !self.net.is_mine(dst)
    }

    /// Processes a multicast packet: one from outside, or one of this node to a group beyond the
    /// link. A refused packet keeps its slot.
    pub(super) fn on_group(&mut self, now: Instant, packet: &Packet) -> Result<(), Refusal> {
        let from = match packet.origin {
            Origin::Link { .. } => Some(Side::Link),
            Origin::Host => Some(Side::Host),
            Origin::Own => None,
        };
        self.net.admit_to_group(packet)?;
        let mut to_group = ToGroup {
            header: &packet.header,
            bytes: self.link.lowpan.packet_mut(packet.slot),
            from,
            node: self.net.identity.address,
        };
        let start = self.net.assist.on_group(now, &mut to_group)?;
        match (start, from) {
            (Some(start), Some(_)) => self.deliver_to_group(now, packet, start),
            (_, Some(_)) => {
                self.counters.kept = self.counters.kept.wrapping_add(1);
                self.consume(packet)
            }
            (_, None) => {
                self.counters.originated = self.counters.originated.wrapping_add(1);
                self.consume(packet)
            }
        }
    }

    /// Delivers the UDP packet that begins at byte `start` of `packet`. Refuses other protocols,
    /// because they would answer a multicast packet.
    fn deliver_to_group(
        &mut self,
        now: Instant,
        packet: &Packet,
        start: usize,
    ) -> Result<(), Refusal> {
        let lowpan = &mut self.link.lowpan;
        let bytes = lowpan.packet_mut(packet.slot);
        let len = bytes.len();
        move_within(bytes, start..len, 0);
        lowpan.resize(packet.slot, len.saturating_sub(start));
        let bytes = lowpan.packet(packet.slot);
        let (header, payload) = Ipv6Header::parse(bytes).map_err(|_| DropReason::Malformed)?;
        let upper = match header.next_header {
            next_header::HOP_BY_HOP => payload.first().copied(),
            other => Some(other),
        };
        if upper != Some(next_header::UDP) || !header.dst.is_multicast() {
            return Err(DropReason::UnknownProtocol.into());
        }
        let inner = Packet { header, ..*packet };
        self.net.admit_to_group(&inner)?;
        self.counters.delivered = self.counters.delivered.wrapping_add(1);
        // Packets to groups cause no ICMPv6 errors, because many nodes would send such an error at
        // the same time.
        let delivered = self.deliver(now, &inner);
        delivered.map_err(|Refusal(reason, _)| reason.into())
    }
}

/// Returns whether packets to `dst` go to a group whose scope is wider than the link.
pub(super) fn is_beyond_link(dst: &Addr) -> bool {
    dst.is_multicast() && !addr::is_link_scoped_multicast(dst)
}
