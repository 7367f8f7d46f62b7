//! Creates packets of this node other than TCP segments.

use redpoll_base::{Instant, copy};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Node;
use super::groups::is_beyond_link;
use crate::Error;
use crate::assist::Assist;
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::packet::{LINK_MTU, Origin, Packet};
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// Allocates a packet, fills its upper layer by `fill`, and sends it.
    pub(super) fn originate(
        &mut self,
        now: Instant,
        header: Ipv6Header,
        upper_len: usize,
        fill: impl FnOnce(&mut [u8]) -> Option<()>,
    ) -> Result<(), Error> {
        let packet = self.begin_packet(now, header, upper_len)?;
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        let filled = bytes.get_mut(Ipv6Header::LEN..).and_then(fill);
        self.end_packet(now, &packet, filled.is_some())
    }

    #[inline(never)] // size: one copy of the code for all upper layers
    fn begin_packet(
        &mut self,
        now: Instant,
        header: Ipv6Header,
        upper_len: usize,
    ) -> Result<Packet, Error> {
        let total = upper_len.saturating_add(Ipv6Header::LEN);
        if total > LINK_MTU {
            return Err(Error::TooLong);
        }
        let dst = &header.dst;
        // The node has no loopback interface, and so no route to itself.
        // A root asks for all DAOs if a UDP datagram has no route, but not if an ICMPv6 message has
        // none: a DAO-ACK has no route until the path of its DAO is complete.
        let has_route = match header.next_header {
            next_header::ICMPV6 => self.net.routing.next_hop(now, dst).is_some(),
            _ => self.net.routing.seek_route(now, dst),
        };
        if self.net.identity.is_own(dst) || !has_route {
            return Err(Error::NoRoute);
        }
        let header = Ipv6Header {
            payload_len: upper_len as u16,
            ..header
        };
        let lowpan = &mut self.link.lowpan;
        let slot = lowpan.allocate(total).ok_or(Error::WouldBlock)?;
        copy(&header.to_bytes(), lowpan.packet_mut(slot));
        Ok(Packet {
            slot,
            header,
            origin: Origin::Own,
        })
    }

    /// Sends a packet of [`Self::begin_packet`]. `is_whole`: its upper layer was filled.
    #[inline(never)] // size: one copy of the code for all upper layers
    fn end_packet(&mut self, now: Instant, packet: &Packet, is_whole: bool) -> Result<(), Error> {
        let is_for_assistant = P::Assist::GROUPS && is_beyond_link(&packet.header.dst);
        if is_for_assistant && is_whole {
            match self.on_group(now, packet) {
                // The assistant does not distribute this packet: the node sends it to neighbours.
                Err(Refusal(DropReason::NoRoute, _)) => {}
                result => return self.end_group(packet, result),
            }
        }
        let failure = match is_whole {
            false => Error::TooLong,
            // The route is known, so the queue to the host side is full.
            true if self.send(now, packet).is_err() => Error::WouldBlock,
            true => {
                self.counters.originated = self.counters.originated.wrapping_add(1);
                return Ok(());
            }
        };
        self.link.lowpan.release(packet.slot);
        Err(failure)
    }

    /// Releases a multicast packet for which the assistant has no room.
    fn end_group(&mut self, packet: &Packet, result: Result<(), Refusal>) -> Result<(), Error> {
        result.map_err(|_| {
            self.link.lowpan.release(packet.slot);
            Error::WouldBlock
        })
    }
}
