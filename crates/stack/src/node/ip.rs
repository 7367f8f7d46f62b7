//! Packets: to this node, through this node, from this node.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_lowpan::SlotId;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};

use super::Node;
use super::link::{LINK_MTU, Origin, link_address};
use crate::counters::DropReason;
use crate::icmp::IcmpError;
use crate::routes::Via;

/// Why a packet was not passed on, and the error that its sender may get.
pub(super) struct Refusal(pub(super) DropReason, pub(super) Option<IcmpError>);

impl From<DropReason> for Refusal {
    fn from(reason: DropReason) -> Self {
        Refusal(reason, None)
    }
}

/// What becomes of the slot after an upper layer has seen its packet.
pub(super) enum Outcome {
    /// The packet has done its work.
    Done,
    /// The slot now holds a reply of this length, to be sent.
    Reply(usize),
}

impl<M: Memory + 'static> Node<M> {
    /// A packet from the host side (TUN, a direct link).
    ///
    /// # Errors
    /// The reason why it was dropped; it is counted as well.
    pub fn input_packet(&mut self, now: Instant, packet: &[u8]) -> Result<(), DropReason> {
        let refuse = |node: &mut Self, reason| {
            node.counters.drop(reason);
            Err(reason)
        };
        if packet.len() > LINK_MTU {
            self.refuse_too_big(now, packet);
            return refuse(self, DropReason::TooBig);
        }
        if Ipv6Header::parse(packet).is_err() {
            return refuse(self, DropReason::Malformed);
        }
        let Some(slot) = self.lowpan.allocate(packet.len()) else {
            return refuse(self, DropReason::NoSlot);
        };
        self.lowpan.packet_mut(slot).copy_from_slice(packet);
        self.input_slot(now, slot, Origin::Host);
        Ok(())
    }

    /// Tells the sender of an oversized packet how much the mesh takes.
    fn refuse_too_big(&mut self, now: Instant, packet: &[u8]) {
        let Some(beginning) = packet.get(..LINK_MTU) else {
            return;
        };
        if let Some(slot) = self.lowpan.allocate(LINK_MTU) {
            self.lowpan.packet_mut(slot).copy_from_slice(beginning);
            let mtu = LINK_MTU as u32;
            if !self.answer_with(now, slot, IcmpError::PacketTooBig { mtu }) {
                self.lowpan.release(slot);
            }
        }
    }

    /// The next packet for the host side, written to the start of `out`, which
    /// must hold 1280 bytes. Returns its length.
    pub fn poll_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        while let Some(slot) = self.host.pop() {
            let packet = self.lowpan.packet(slot);
            let len = packet.len();
            let copied = out.get_mut(..len).map(|o| o.copy_from_slice(packet));
            self.lowpan.release(slot);
            if copied.is_some() {
                return Some(len);
            }
        }
        self.pull_for_host(now, out)
    }

    /// A segment of one of this node's connections to the host side, whole.
    fn pull_for_host(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let routes = &self.routes;
        let max_len = LINK_MTU.saturating_sub(Ipv6Header::LEN);
        loop {
            let pulled = self
                .tcp
                .pull(now, max_len, |dst| routes.lookup(dst) == Some(Via::Host))?;
            let handle = pulled.handle;
            let header = pulled.desc.header.as_bytes();
            let payload_len = usize::from(pulled.desc.payload_len);
            let upper_len = header.len().saturating_add(payload_len);
            let ip = Ipv6Header {
                dscp: 0,
                ecn: pulled.desc.ecn,
                flow_label: 0,
                payload_len: upper_len as u16,
                next_header: next_header::TCP,
                hop_limit: self.config.hop_limit,
                src: pulled.src,
                dst: pulled.dst,
            };
            let total = Ipv6Header::LEN.saturating_add(upper_len);
            let written = out.get_mut(..total).and_then(|packet| {
                let (ip_area, rest) = packet.split_at_mut_checked(Ipv6Header::LEN)?;
                let (header_area, payload) = rest.split_at_mut_checked(header.len())?;
                ip_area.copy_from_slice(&ip.to_bytes());
                header_area.copy_from_slice(header);
                let read = self.tcp.read(handle, 0, payload).ok()?;
                (read == payload_len).then_some(total)
            });
            match written {
                Some(len) => {
                    self.counters.originated = self.counters.originated.wrapping_add(1);
                    self.tcp.on_sent(handle, now);
                    return Some(len);
                }
                // Gone already, or `out` is too small: the link lost it.
                None => self.tcp.on_lost(handle, now),
            }
        }
    }

    /// Takes care of the packet in `slot`, and of the slot.
    pub(super) fn input_slot(&mut self, now: Instant, slot: SlotId, origin: Origin) {
        let result = self.dispatch(now, slot, origin);
        match result {
            Ok(()) => {}
            Err(Refusal(reason, error)) => {
                self.counters.drop(reason);
                match error {
                    Some(error) if self.answer_with(now, slot, error) => {}
                    _ => self.lowpan.release(slot),
                }
            }
        }
    }

    fn dispatch(&mut self, now: Instant, slot: SlotId, origin: Origin) -> Result<(), Refusal> {
        let packet = self.lowpan.packet(slot);
        let (header, _) = Ipv6Header::parse(packet).map_err(|_| DropReason::Malformed)?;
        if header.src.is_multicast() {
            return Err(DropReason::BadSource.into());
        }
        if self.is_mine(&header.dst) {
            self.counters.delivered = self.counters.delivered.wrapping_add(1);
            return match self.deliver(now, slot, &header)? {
                Outcome::Done => {
                    self.lowpan.release(slot);
                    Ok(())
                }
                Outcome::Reply(len) => {
                    self.lowpan.resize(slot, len);
                    self.counters.originated = self.counters.originated.wrapping_add(1);
                    self.send_slot(now, slot, Origin::Own)
                }
            };
        }
        // Multicast stays on its link: nobody here has groups beyond it.
        if header.dst.is_multicast() || !self.config.forwards {
            return Err(DropReason::NoRoute.into());
        }
        self.forward(now, slot, &header, origin)
    }

    pub(super) fn is_mine(&self, dst: &Addr) -> bool {
        *dst == self.config.address
            || *dst == self.link_local
            || *dst == ipv6::addr::LINK_LOCAL_ALL_NODES
            || *dst == ipv6::addr::solicited_node(&self.config.address)
            || (self.config.forwards && *dst == ipv6::addr::LINK_LOCAL_ALL_ROUTERS)
    }

    /// RFC 8200 §3, RFC 4291 §2.5.6: passes a packet on for others.
    fn forward(
        &mut self,
        now: Instant,
        slot: SlotId,
        header: &Ipv6Header,
        origin: Origin,
    ) -> Result<(), Refusal> {
        if ipv6::addr::is_link_local(&header.src) || ipv6::addr::is_link_local(&header.dst) {
            return Err(Refusal(DropReason::Scope, Some(IcmpError::BeyondScope)));
        }
        if ipv6::decrement_hop_limit(self.lowpan.packet_mut(slot)).is_none() {
            let error = IcmpError::HopLimitExceeded;
            return Err(Refusal(DropReason::HopLimit, Some(error)));
        }
        self.send_slot(now, slot, origin)?;
        self.counters.forwarded = self.counters.forwarded.wrapping_add(1);
        Ok(())
    }

    /// Where packets to `dst` go: to a registered neighbour directly, else by
    /// the routes; link-local ones never leave the link.
    pub(super) fn via(&self, dst: &Addr) -> Option<Via> {
        if ipv6::addr::is_link_local(dst) {
            return Some(Via::OnLink);
        }
        if dst.is_multicast() {
            return Some(Via::Neighbour(Address::BROADCAST));
        }
        match self.neighbours.lookup(dst) {
            Some(link) => Some(Via::Neighbour(link)),
            None => self.routes.lookup(dst),
        }
    }

    /// Puts the packet in `slot` on its way by the routing table.
    pub(super) fn send_slot(
        &mut self,
        now: Instant,
        slot: SlotId,
        origin: Origin,
    ) -> Result<(), Refusal> {
        let (header, _) =
            Ipv6Header::parse(self.lowpan.packet(slot)).map_err(|_| DropReason::Malformed)?;
        let dst = header.dst;
        let via = self.via(&dst);
        let no_route = Refusal(DropReason::NoRoute, Some(IcmpError::NoRoute));
        match via {
            // Back to where it came from would be a loop.
            Some(Via::Host) if origin == Origin::Host => Err(no_route),
            Some(Via::Host) => self
                .host
                .push(slot)
                .map_err(|_| DropReason::HostQueueFull.into()),
            Some(via) => {
                let next_hop = link_address(via, &dst).ok_or(no_route)?;
                self.lowpan.queue(now, slot, next_hop);
                Ok(())
            }
            None => Err(no_route),
        }
    }
}
