//! Packets to, through and from this node.

use redpoll_base::{Addr, Instant, Memory, copy};
use redpoll_lowpan::SlotId;
use redpoll_tcp::Algorithms;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header};

use super::Node;
use super::headers::seen;
use crate::assist::{Assist, Disposition};
use crate::counters::DropReason;
use crate::net::icmp::{IcmpError, Refusal};
use crate::packet::{LINK_MTU, NextHop, Origin, Packet, is_unicast};
use crate::profile::Profile;
use crate::transports::{Ask, Pulled, Reach, Side, StreamTransport, Transports};

impl<P: Profile> Node<P> {
    /// Processes a packet from the host side (TUN, a direct link).
    ///
    /// # Errors
    /// The reason of the drop, which is also counted.
    pub fn input_packet(&mut self, now: Instant, packet: &[u8]) -> Result<(), DropReason> {
        self.input_from_host(now, packet)
            .inspect_err(|reason| self.counters.drop(*reason))
    }

    fn input_from_host(&mut self, now: Instant, packet: &[u8]) -> Result<(), DropReason> {
        let (header, _) = Ipv6Header::parse_partial(packet).map_err(|_| DropReason::Malformed)?;
        // RFC 8200 §3: bytes after the payload are not part of the packet.
        let announced = Ipv6Header::LEN.saturating_add(header.payload_len.into());
        let packet = packet.get(..announced).ok_or(DropReason::Malformed)?;
        if packet.len() > self.mtu_from_host(&header.dst) {
            self.refuse_too_big(now, header, packet);
            return Err(DropReason::TooBig);
        }
        let slot = self.copy_in(packet).ok_or(DropReason::NoSlot)?;
        let origin = Origin::Host;
        self.input(
            now,
            &Packet {
                slot,
                header,
                origin,
            },
        );
        Ok(())
    }

    /// Returns the length of the longest packet that the host side may send to `dst`. A packet for
    /// this node only has to fit into a slot.
    fn mtu_from_host(&self, dst: &Addr) -> usize {
        if self.net.identity.is_own(dst) {
            self.link.lowpan.slot_size().max(LINK_MTU)
        } else {
            LINK_MTU
        }
    }

    fn copy_in(&mut self, packet: &[u8]) -> Option<SlotId> {
        let slot = self.link.lowpan.allocate(packet.len())?;
        copy(packet, self.link.lowpan.packet_mut(slot));
        Some(slot)
    }

    /// Reports the MTU of the mesh to the sender of an oversized packet.
    fn refuse_too_big(&mut self, now: Instant, header: Ipv6Header, packet: &[u8]) {
        let Some(slot) = packet.get(..LINK_MTU).and_then(|start| self.copy_in(start)) else {
            return;
        };
        let packet = Packet {
            slot,
            header,
            origin: Origin::Host,
        };
        let mtu = LINK_MTU as u16;
        let answered = match self.net.admit(&packet) {
            Ok(()) => self.answer_with(now, &packet, IcmpError::PacketTooBig { mtu }),
            Err(_) => false,
        };
        if !answered {
            self.link.lowpan.release(slot);
        }
    }

    /// Writes the next packet for the host side to the start of `out` and returns its length. `out`
    /// must hold at least 1,280 bytes. Its length is the MTU of the host side for this node's own
    /// segments.
    pub fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        while let Some(slot) = self.host.pop() {
            let packet = self.link.lowpan.packet(slot);
            let len = packet.len();
            let copied = out.get_mut(..len).map(|o| o.copy_from_slice(packet));
            self.link.lowpan.release(slot);
            if copied.is_some() {
                return Some(len);
            }
            self.counters.drop(DropReason::TooBig);
        }
        self.pull_for_host(now, out)
    }

    fn pull_for_host(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let max_len = out.len().max(LINK_MTU).saturating_sub(Ipv6Header::LEN);
        loop {
            let (pulled, next_hop) = self.pull(now, Side::Host, max_len)?;
            if next_hop.is_none() {
                self.on_no_route(now, &pulled);
                continue;
            }
            let hop_limit = self.net.identity.hop_limit;
            match write_pulled(&self.transports, &pulled, hop_limit, out) {
                Some(len) => {
                    self.counters.originated = self.counters.originated.wrapping_add(1);
                    self.transports.on_sent(now, pulled.handle);
                    return Some(len);
                }
                // `out` is too small. TCP handles this as the loss of the segment on the link.
                None => {
                    self.counters.drop(DropReason::TooBig);
                    self.transports.on_lost(now, pulled.handle);
                }
            }
        }
    }

    /// Makes a segment that leaves through the interface `side`. Returns the segment, and its next
    /// hop if it has one. The radio and the host side share this function, because the compiler
    /// makes a copy of [`Transports::pull`] for each closure.
    pub(super) fn pull(
        &mut self,
        now: Instant,
        side: Side,
        max_len: usize,
    ) -> Option<(Pulled, Option<Address>)> {
        let (net, link) = (&self.net, &self.link);
        let ask = Ask {
            side,
            max_len,
            own: net.identity.own(),
        };
        let reach = |dst: &_| match net.reach(now, side, dst) {
            Reach::Here(next_hop) if link.is_full_for(next_hop) => Reach::Elsewhere,
            reach => reach,
        };
        self.transports.pull(now, &ask, reach)
    }

    /// Drops a segment without a next hop, and reports it as lost. Its connection pauses after two
    /// consecutive losses.
    pub(super) fn on_no_route(&mut self, now: Instant, pulled: &Pulled) {
        self.net.routing.on_unreachable(now, &pulled.dst);
        self.counters.drop(DropReason::NoRoute);
        self.transports.on_lost(now, pulled.handle);
    }

    pub(super) fn input(&mut self, now: Instant, packet: &Packet) {
        self.take(now, packet);
        self.send_messages(now);
        self.drain_assistant(now);
    }

    #[inline(never)] // stack: this function's stack frame is free before messages are sent
    fn take(&mut self, now: Instant, packet: &Packet) {
        let result = self.dispatch(now, packet);
        self.conclude(now, packet, result);
    }

    /// Delivers or forwards a packet. A refused packet keeps its slot.
    fn dispatch(&mut self, now: Instant, packet: &Packet) -> Result<(), Refusal> {
        if P::Assist::GROUPS && self.is_for_group(&packet.header.dst) {
            return self.on_group(now, packet);
        }
        let view = seen(&mut self.link.lowpan, packet);
        self.net.screen(packet, &view)?;
        if self.net.is_mine(&packet.header.dst) {
            self.counters.delivered = self.counters.delivered.wrapping_add(1);
            return self.deliver(now, packet);
        }
        if !P::Memory::ROUTES {
            return Err(DropReason::NoRoute.into());
        }
        self.forward(now, *packet)
    }

    /// Forwards a packet (RFC 8200 §3, RFC 4291 §2.5.6).
    fn forward(&mut self, now: Instant, mut packet: Packet) -> Result<(), Refusal> {
        self.net.may_forward(&packet.header)?;
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        let Some(hop_limit) = ipv6::decrement_hop_limit(bytes) else {
            let error = IcmpError::HopLimitExceeded;
            return Err(Refusal(DropReason::HopLimit, Some(error)));
        };
        packet.header.hop_limit = hop_limit;
        let mut view = seen(&mut self.link.lowpan, &packet);
        if let Some(other) = self.net.routing.pass(now, &mut view)? {
            self.link.queue(now, packet.slot, other);
            return Ok(());
        }
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        match self.net.on_forward(now, &packet.header, bytes) {
            Disposition::Forward => {
                self.send(now, &packet)?;
                self.counters.forwarded = self.counters.forwarded.wrapping_add(1);
            }
            Disposition::Keep => {
                self.link.lowpan.release(packet.slot);
                self.counters.kept = self.counters.kept.wrapping_add(1);
            }
        }
        Ok(())
    }

    /// Queues a packet for its next hop. On an error the caller still owns the slot.
    pub(super) fn send(&mut self, now: Instant, packet: &Packet) -> Result<(), Refusal> {
        let next_hop = self.net.next_hop(now, packet)?;
        self.send_by(now, packet, next_hop)
    }

    pub(super) fn send_by(
        &mut self,
        now: Instant,
        packet: &Packet,
        next_hop: NextHop,
    ) -> Result<(), Refusal> {
        if !P::Memory::HAS_RADIO {
            return self.send_to_host(packet);
        }
        self.encapsulate(now, packet, next_hop)?;
        match next_hop {
            NextHop::Link(neighbour) if self.link.has_no_queue_for(neighbour) => {
                Err(DropReason::NoSlot.into())
            }
            // The answer to a packet that was reassembled may be longer than the link's MTU.
            NextHop::Link(_)
                if P::Memory::JOINS_FRAGMENTS
                    && self.link.lowpan.packet(packet.slot).len() > LINK_MTU =>
            {
                Err(DropReason::TooBig.into())
            }
            NextHop::Link(neighbour) => {
                self.admit_neighbour(now, neighbour)?;
                self.link.queue(now, packet.slot, neighbour);
                Ok(())
            }
            NextHop::Host => self.send_to_host(packet),
        }
    }

    #[inline(always)] // size
    fn send_to_host(&mut self, packet: &Packet) -> Result<(), Refusal> {
        let pushed = self.host.push(packet.slot);
        pushed.map_err(|_| DropReason::HostQueueFull.into())
    }

    /// Limits a router's packets to unverified neighbours, as any host can send to any address.
    pub(super) fn admit_neighbour(
        &mut self,
        now: Instant,
        neighbour: Address,
    ) -> Result<(), Refusal> {
        let is_known = !P::Memory::ROUTES
            || !is_unicast(neighbour)
            || self.link.is_proven(neighbour)
            || self.net.routing.names(now, neighbour);
        if is_known || self.link.admits_unverified(now, neighbour) {
            return Ok(());
        }
        let error = IcmpError::ADDRESS_UNREACHABLE;
        Err(Refusal(DropReason::AddressUnreachable, Some(error)))
    }
}

/// Writes a segment as a packet to `out`. Returns the packet's length; `None` if it does not fit.
pub(super) fn write_pulled<M: Memory + 'static, T: StreamTransport, A: Algorithms>(
    transports: &Transports<M, T, A>,
    pulled: &Pulled,
    hop_limit: u8,
    out: &mut [u8],
) -> Option<usize> {
    let ip = pulled.ip_header(hop_limit);
    let total = Ipv6Header::LEN.saturating_add(ip.payload_len.into());
    let header = pulled.header();
    let (ip_area, rest) = out
        .get_mut(..total)?
        .split_at_mut_checked(Ipv6Header::LEN)?;
    let (header_area, payload) = rest.split_at_mut_checked(header.len())?;
    ip_area.copy_from_slice(&ip.to_bytes());
    header_area.copy_from_slice(header);
    let read = transports.read(pulled.handle, 0, payload).ok()?;
    (read == payload.len()).then_some(total)
}
