//! Packets: to this node, through this node, from this node.

use redpoll_base::{Addr, Instant, Memory, copy};
use redpoll_lowpan::SlotId;
use redpoll_wire::ipv6::{self, Ipv6Header};

use super::Node;
use super::link::{LINK_MTU, Origin, write_pulled};
use super::paths::{NextHop, is_loopback};
use crate::counters::DropReason;
use crate::icmp::IcmpError;
use crate::tcp::Side;

/// Why a packet was not passed on, and the error that its sender may get.
pub(super) struct Refusal(pub(super) DropReason, pub(super) Option<IcmpError>);

impl From<(DropReason, Option<IcmpError>)> for Refusal {
    fn from((reason, error): (DropReason, Option<IcmpError>)) -> Self {
        Refusal(reason, error)
    }
}

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
        // RFC 8200 §3: what lies behind the payload is not part of the packet.
        let announced = match Ipv6Header::parse_partial(packet) {
            Ok((header, _)) => Ipv6Header::LEN.saturating_add(header.payload_len.into()),
            Err(_) => return refuse(self, DropReason::Malformed),
        };
        let Some(packet) = packet.get(..announced) else {
            return refuse(self, DropReason::Malformed);
        };
        if packet.len() > LINK_MTU {
            self.refuse_too_big(now, packet);
            return refuse(self, DropReason::TooBig);
        }
        let Some(slot) = self.lowpan.allocate(packet.len()) else {
            return refuse(self, DropReason::NoSlot);
        };
        copy(packet, self.lowpan.packet_mut(slot));
        self.input_slot(now, slot, Origin::Host);
        Ok(())
    }

    /// Tells the sender of an oversized packet how much the mesh takes.
    fn refuse_too_big(&mut self, now: Instant, packet: &[u8]) {
        let Some(beginning) = packet.get(..LINK_MTU) else {
            return;
        };
        if let Some(slot) = self.lowpan.allocate(LINK_MTU) {
            copy(beginning, self.lowpan.packet_mut(slot));
            let mtu = LINK_MTU as u32;
            let answered = match self.admit(slot, Origin::Host) {
                Ok(_) => self.answer_with(now, slot, IcmpError::PacketTooBig { mtu }),
                Err(_) => false,
            };
            if !answered {
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
            self.counters.drop(DropReason::TooBig);
        }
        self.pull_for_host(now, out)
    }

    /// A segment of one of this node's connections to the host side, whole.
    fn pull_for_host(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let max_len = LINK_MTU.saturating_sub(Ipv6Header::LEN);
        loop {
            let paths = &self.paths;
            let own = [self.link_local, self.config.address];
            let counters = &mut self.counters;
            let (pulled, _) = self
                .tcp
                .pull(now, Side::Host, max_len, own, counters, |dst| {
                    paths.reach(now, Side::Host, dst)
                })?;
            match write_pulled(&self.tcp, &pulled, self.config.hop_limit, out) {
                Some(len) => {
                    self.counters.originated = self.counters.originated.wrapping_add(1);
                    self.tcp.on_sent(pulled.handle, now);
                    return Some(len);
                }
                // `out` is too small: the link lost it.
                None => {
                    self.counters.drop(DropReason::TooBig);
                    self.tcp.on_lost(pulled.handle, now);
                }
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
                    Some(error) if origin != Origin::Own && self.answer_with(now, slot, error) => {}
                    _ => self.lowpan.release(slot),
                }
            }
        }
    }

    /// Checks the addresses of a packet from outside (RFC 4291 §2.5).
    fn admit(&self, slot: SlotId, origin: Origin) -> Result<Ipv6Header, DropReason> {
        // Its length was checked by whoever filled the slot.
        let (header, _) = Ipv6Header::parse_partial(self.lowpan.packet(slot))
            .map_err(|_| DropReason::Malformed)?;
        let (src, dst) = (&header.src, &header.dst);
        // §2.7: a group is never a source. What we have sent comes back in a
        // loop only, or from somebody who pretends to be us.
        if src.is_multicast() || is_loopback(src) || self.is_own(src) {
            return Err(DropReason::BadSource);
        }
        // §2.5.2, §2.5.3.
        if dst.is_unspecified() || is_loopback(dst) {
            return Err(DropReason::BadDestination);
        }
        match origin {
            // Like a host that is given somebody else's frame (RFC 1122
            // §3.3.6): all the neighbours have it as well.
            Origin::Link {
                broadcast: true, ..
            } if !dst.is_multicast() => Err(DropReason::LinkBroadcast),
            // §2.5.6: the host side is another link, and ours is the radio's:
            // an answer would go to the wrong one.
            Origin::Host
                if dst.is_multicast()
                    || ipv6::addr::is_link_local(src)
                    || ipv6::addr::is_link_local(dst) =>
            {
                Err(DropReason::Scope)
            }
            _ => Ok(header),
        }
    }

    fn dispatch(&mut self, now: Instant, slot: SlotId, origin: Origin) -> Result<(), Refusal> {
        let header = self.admit(slot, origin)?;
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
                    // Nobody is told of an answer that has no way.
                    let sent = self.send_slot(now, slot, Origin::Own);
                    sent.map_err(|Refusal(reason, _)| reason.into())
                }
            };
        }
        // Multicast stays on its link: nobody here has groups beyond it.
        if header.dst.is_multicast() || !self.config.forwards {
            return Err(DropReason::NoRoute.into());
        }
        self.forward(now, slot, &header, origin)
    }

    /// Whether this is one of the node's own unicast addresses.
    pub(super) fn is_own(&self, addr: &Addr) -> bool {
        !addr.is_unspecified() && (*addr == self.config.address || *addr == self.link_local)
    }

    /// Whether packets to this address are for the node: its own, and groups
    /// (RFC 4291 §2.8).
    pub(super) fn is_mine(&self, dst: &Addr) -> bool {
        self.is_own(dst)
            || *dst == ipv6::addr::LINK_LOCAL_ALL_NODES
            || *dst == ipv6::addr::solicited_node(&self.config.address)
            || *dst == ipv6::addr::solicited_node(&self.link_local)
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
        // RFC 4291 §2.5.2.
        if header.src.is_unspecified() {
            return Err(DropReason::BadSource.into());
        }
        if ipv6::addr::is_link_local(&header.dst) {
            return Err(DropReason::Scope.into());
        }
        // RFC 4443 §3.1, code 2.
        if ipv6::addr::is_link_local(&header.src) {
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

    /// Puts the packet in `slot` on its way. On an error the slot is still the
    /// caller's.
    pub(super) fn send_slot(
        &mut self,
        now: Instant,
        slot: SlotId,
        origin: Origin,
    ) -> Result<(), Refusal> {
        let (header, _) =
            Ipv6Header::parse(self.lowpan.packet(slot)).map_err(|_| DropReason::Malformed)?;
        let next_hop = self.paths.next_hop(now, &header.dst);
        match next_hop.filter(|next_hop| !origin.is_behind(*next_hop)) {
            Some(NextHop::Host) => self
                .host
                .push(slot)
                .map_err(|_| DropReason::HostQueueFull.into()),
            Some(NextHop::Link(link)) => {
                self.note_next_hop(link);
                if self.children.contains(link) {
                    self.lowpan.queue_indirect(now, slot, link);
                } else {
                    self.lowpan.queue(now, slot, link);
                }
                Ok(())
            }
            None => Err(Refusal(DropReason::NoRoute, Some(IcmpError::NoRoute))),
        }
    }
}
