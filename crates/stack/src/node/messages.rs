//! Packets that the node creates itself: control messages, and the packets of the assistant.

use redpoll_base::{Instant, Memory, copy};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::nd;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Node;
use crate::Error;
use crate::assist::Assist;
use crate::counters::DropReason;
use crate::net::icmp::{self, Refusal};
use crate::net::outgoing::MESSAGE_MAX;
use crate::net::routing::{HAS_PROTOCOL, SIGNAL_MAX};
use crate::packet::{LINK_MTU, Origin};
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// Sends an ICMPv6 message, whose checksum is still zero. Returns whether there was room and a
    /// route for it.
    pub(super) fn send_icmp(&mut self, now: Instant, ip: Ipv6Header, message: &[u8]) -> bool {
        let sent = self.originate(now, ip, message.len(), |area| {
            copy(message, area);
            icmp::put_checksum(area, &ip)
        });
        // A protocol repeats a message that was not sent, as it repeats a lost message.
        match sent {
            Ok(()) => {}
            Err(Error::NoRoute) => self.counters.drop(DropReason::NoRoute),
            Err(_) => self.counters.drop(DropReason::NoSlot),
        }
        sent.is_ok()
    }

    pub(super) fn send_messages(&mut self, now: Instant) {
        if !P::Memory::HAS_RADIO {
            return;
        }
        while let Some(outgoing) = self.net.poll_message() {
            let identity = &self.net.identity;
            let (src, dst) = (outgoing.src, outgoing.dst);
            let ip = Ipv6Header {
                hop_limit: nd::HOP_LIMIT,
                ..identity.header(src, dst, next_header::ICMPV6)
            };
            let mut bytes = [0; MESSAGE_MAX];
            let mut out = Cursor::new(&mut bytes);
            match outgoing.emit(identity, P::Memory::ROUTES, &mut out) {
                Ok(()) => _ = self.send_icmp(now, ip, out.written()),
                Err(_) => self.counters.drop(DropReason::TooBig),
            }
        }
        if HAS_PROTOCOL {
            self.send_signals(now);
        }
    }

    fn send_signals(&mut self, now: Instant) {
        let no_slot = self.link.lowpan.counters().no_slot;
        let turned_away = no_slot.wrapping_add(self.counters.dropped(DropReason::NoSlot));
        self.net.routing.on_load(now, turned_away);
        loop {
            let mut bytes = [0; SIGNAL_MAX];
            let mut out = Cursor::new(&mut bytes);
            let Some(ip) = self.net.poll_signal(now, &mut out) else {
                return;
            };
            let has_left = self.send_icmp(now, ip, out.into_written());
            self.net.routing.on_message_sent(has_left);
        }
    }

    pub(super) fn drain_assistant(&mut self, now: Instant) {
        while self.net.assist.poll_at().is_some_and(|wake| wake.at <= now) {
            let lowpan = &mut self.link.lowpan;
            let Some(slot) = lowpan.allocate(LINK_MTU) else {
                self.net.assist.on_no_room(now);
                return;
            };
            let area = lowpan.packet_mut(slot);
            let Some(len) = self.net.assist.poll_packet(now, area) else {
                lowpan.release(slot);
                return;
            };
            lowpan.resize(slot, len);
            let packet = match self.link.open(slot, Origin::Own) {
                Ok(packet) => packet,
                Err(reason) => {
                    self.counters.drop(reason);
                    continue;
                }
            };
            match self.send(now, &packet) {
                Ok(()) => self.counters.originated = self.counters.originated.wrapping_add(1),
                Err(Refusal(reason, _)) => {
                    self.counters.drop(reason);
                    self.link.lowpan.release(packet.slot);
                }
            }
        }
    }
}
