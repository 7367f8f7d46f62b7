//! Delivery of packets for this node, and answers, which overwrite the packet that they answer.

use redpoll_base::{Instant, Memory, move_within};
use redpoll_wire::icmpv6::parameter_problem;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::Node;
use crate::assist::Assist;
use crate::counters::DropReason;
use crate::net::extension::Upper;
use crate::net::icmp::{self, IcmpError, Refusal};
use crate::net::plan::Decapsulation;
use crate::net::{Consequence, Sender};
use crate::packet::{NextHop, Origin, Packet, is_unicast};
use crate::profile::Profile;
use crate::transports::{Arrived, Outcome, Reply};

impl<P: Profile> Node<P> {
    /// Delivers a packet to its upper layer. A refused packet keeps its slot.
    pub(super) fn deliver(&mut self, now: Instant, packet: &Packet) -> Result<(), Refusal> {
        let view = packet.view(self.link.lowpan.packet_mut(packet.slot));
        let (upper, payload) = match self.net.decapsulate(now, view)? {
            Decapsulation::Upper(upper, payload) => (upper, payload),
            Decapsulation::Onward(onward) => return self.go_on(now, packet, onward),
            Decapsulation::Inner(start) => return self.unwrap(now, packet, start),
        };
        let Upper {
            protocol,
            offset,
            pointer,
        } = upper;
        match protocol {
            next_header::ICMPV6 => return self.deliver_icmp(now, packet, offset),
            next_header::FRAGMENT if P::Memory::JOINS_FRAGMENTS && self.net.joiner.is_some() => {
                return self.collect(now, packet, offset);
            }
            next_header::NONE => return self.consume(packet),
            _ => {}
        }
        // Connections belong to the node's own addresses, not to anycast addresses.
        let is_anycast =
            P::Memory::ROUTES && self.net.identity.is_subnet_anycast(&packet.header.dst);
        if is_anycast && protocol == next_header::TCP {
            return Err(DropReason::BadDestination.into());
        }
        let header = &packet.header;
        let arrived = Arrived {
            header,
            local: self.net.identity.local(&header.dst),
            upper: payload.get(offset..).unwrap_or_default(),
        };
        let outcome = self
            .transports
            .input(now, protocol, &arrived, &mut self.counters);
        match outcome {
            Some(Outcome::Taken) => {
                if P::Assist::GROUPS && header.dst.is_multicast() {
                    self.transports.udp.mark_newest(arrived.upper);
                }
                self.consume(packet)
            }
            Some(Outcome::Drop(reason)) => Err(reason.into()),
            Some(Outcome::Reply(reply)) => self.reply(now, packet, &reply),
            Some(Outcome::Reset(reply)) => {
                let reason = DropReason::NoConnection;
                if !self.net.resets.admit(now) {
                    return Err(reason.into());
                }
                self.counters.drop(reason);
                self.reply(now, packet, &reply)
            }
            Some(Outcome::NoPort) => {
                let error = Some(IcmpError::PORT_UNREACHABLE);
                Err(Refusal(DropReason::NoUdpSocket, error))
            }
            None => {
                let code = parameter_problem::NEXT_HEADER;
                let error = Some(IcmpError::ParameterProblem { code, pointer });
                Err(Refusal(DropReason::UnknownProtocol, error))
            }
        }
    }

    pub(super) fn consume(&mut self, packet: &Packet) -> Result<(), Refusal> {
        self.link.lowpan.release(packet.slot);
        Ok(())
    }

    /// Overwrites a packet with a reply without payload, and sends the reply.
    fn reply(&mut self, now: Instant, answered: &Packet, reply: &Reply) -> Result<(), Refusal> {
        let bytes = reply.as_bytes();
        let (src, dst) = (answered.header.dst, answered.header.src);
        let header = Ipv6Header {
            payload_len: bytes.len() as u16,
            ..self.net.identity.header(src, dst, Reply::PROTOCOL)
        };
        let total = Ipv6Header::LEN.saturating_add(bytes.len());
        let lowpan = &mut self.link.lowpan;
        lowpan.resize(answered.slot, total);
        let (head, body) = lowpan
            .packet_mut(answered.slot)
            .split_at_mut_checked(Ipv6Header::LEN)
            .ok_or(DropReason::TooBig)?;
        head.copy_from_slice(&header.to_bytes());
        let body = body.get_mut(..bytes.len()).ok_or(DropReason::TooBig)?;
        body.copy_from_slice(bytes);
        self.send_answer(now, answered, header)
    }

    /// Sends the answer in the slot of the packet that it answers. An answer without a route causes
    /// no ICMPv6 error. After a restart a node may have no route yet, while peers send segments of
    /// its former connections. RFC 9293 §3.5.1 requires a reset at once, so that the peers stop.
    /// Without a route, the answer therefore goes to the neighbour that delivered the packet.
    fn send_answer(
        &mut self,
        now: Instant,
        answered: &Packet,
        header: Ipv6Header,
    ) -> Result<(), Refusal> {
        self.counters.originated = self.counters.originated.wrapping_add(1);
        let answer = Packet {
            slot: answered.slot,
            header,
            origin: Origin::Own,
        };
        let sent = match (self.send(now, &answer), answered.origin) {
            (
                Err(Refusal(DropReason::NoRoute, _)),
                Origin::Link {
                    from,
                    broadcast: false,
                },
            ) if P::Memory::HAS_RADIO && is_unicast(from) => {
                self.send_by(now, &answer, NextHop::Link(from))
            }
            (sent, _) => sent,
        };
        sent.map_err(|Refusal(reason, _)| reason.into())
    }

    // Not inlined, so that TCP's calls do not need its stack space.
    #[inline(never)]
    fn deliver_icmp(
        &mut self,
        now: Instant,
        packet: &Packet,
        offset: usize,
    ) -> Result<(), Refusal> {
        let slot = packet.slot;
        let bytes = self.link.lowpan.packet(slot);
        let sender = match packet.origin {
            Origin::Link { from, .. } if P::Memory::HAS_RADIO => Sender {
                link: Some(from),
                crowds: self.link.is_crowded_by(now, from),
                is_proven: P::Memory::ROUTES && self.link.is_proven(from),
            },
            _ => Sender::default(),
        };
        let header = &packet.header;
        match self.net.on_icmp(now, header, offset, bytes, sender)? {
            Consequence::Done => {}
            Consequence::Echo { from } => {
                let identity = &self.net.identity;
                let ip = identity.header(from, packet.header.src, next_header::ICMPV6);
                // RFC 4443 §4.2 requires the data of the request, not its extension headers.
                let end = Ipv6Header::LEN.saturating_add(packet.header.payload_len.into());
                let bytes = self.link.lowpan.packet_mut(slot);
                let message = Ipv6Header::LEN.saturating_add(offset)..end;
                if message.end > bytes.len() || message.is_empty() {
                    return Err(DropReason::Malformed.into());
                }
                move_within(bytes, message, Ipv6Header::LEN);
                self.link.lowpan.resize(slot, end.saturating_sub(offset));
                let bytes = self.link.lowpan.packet_mut(slot);
                let header = icmp::write_echo_reply(bytes, ip).ok_or(DropReason::Malformed)?;
                return self.send_answer(now, packet, header);
            }
            Consequence::EchoReply { ident, seq } => self.echo_reply = Some((ident, seq)),
            Consequence::Trouble(trouble, quoted) => {
                self.transports.on_icmp(now, trouble, quoted);
            }
            Consequence::Context(context) if P::Memory::HAS_RADIO => {
                let (prefix, len) = (context.prefix, context.prefix_len);
                let contexts = self.link.lowpan.contexts_mut();
                contexts.insert(context.cid, prefix, len, context.compress);
            }
            Consequence::Context(_) => {}
        }
        // The link learns of a registration before the answer is queued, because the answer to a
        // sleepy child must wait for a poll.
        while let Some(tenure) = self.net.routing.poll_tenure() {
            self.link.on_tenure(now, tenure);
        }
        self.link.lowpan.release(slot);
        Ok(())
    }

    /// Counts a refused packet, and answers it with an ICMPv6 error or releases its slot.
    pub(super) fn conclude(&mut self, now: Instant, packet: &Packet, result: Result<(), Refusal>) {
        if let Err(Refusal(reason, error)) = result {
            self.counters.drop(reason);
            match error {
                Some(error) if self.answer_with(now, packet, error) => {}
                _ => self.link.lowpan.release(packet.slot),
            }
        }
    }

    /// Sends an ICMPv6 error about a packet, in its slot. Returns `false` if no error may or can be
    /// sent; the caller then still owns the slot.
    pub(super) fn answer_with(&mut self, now: Instant, packet: &Packet, error: IcmpError) -> bool {
        let identity = &self.net.identity;
        let bytes = self.link.lowpan.packet(packet.slot);
        let len = bytes.len();
        let payload = bytes.get(Ipv6Header::LEN..).unwrap_or_default();
        let Some(from) = identity.answers_from(&packet.header) else {
            return false;
        };
        if !icmp::may_answer(&packet.header, payload, error) || !self.net.errors.admit(now) {
            return false;
        }
        let ip = identity.header(from, packet.header.src, next_header::ICMPV6);
        let lowpan = &mut self.link.lowpan;
        lowpan.resize(packet.slot, usize::MAX);
        let buffer = lowpan.packet_mut(packet.slot);
        let Some(header) = icmp::write_error(buffer, len, ip, error) else {
            return false;
        };
        let total = Ipv6Header::LEN.saturating_add(header.payload_len.into());
        lowpan.resize(packet.slot, total);
        let answer = Packet {
            slot: packet.slot,
            header,
            origin: Origin::Own,
        };
        let sent = self.send(now, &answer).is_ok();
        if sent {
            self.counters.icmp_errors_sent = self.counters.icmp_errors_sent.wrapping_add(1);
            self.counters.originated = self.counters.originated.wrapping_add(1);
        }
        sent
    }
}
