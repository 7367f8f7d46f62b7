//! What a node does with packets for itself: TCP, UDP and ICMPv6, and the
//! answers, which are written over the packet that they answer.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_lowpan::SlotId;
use redpoll_tcp::{Connection, Endpoint, Header, IcmpKind, IpMeta, Segment, SeqNum};
use redpoll_wire::icmpv6::{Message, parameter_problem, unreachable};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::udp::UdpHeader;

use super::Node;
use super::discovery::{Learned, registration};
use super::ip::{Outcome, Refusal};
use super::link::Origin;
use crate::counters::DropReason;
use crate::extension::{self, Upper};
use crate::icmp::{self, IcmpError};
use crate::tcp::{TcpSockets, Verdict};
use crate::udp::Delivery;

impl<M: Memory + 'static> Node<M> {
    /// Hands the packet in `slot` to the upper layer that it is for.
    pub(super) fn deliver(
        &mut self,
        now: Instant,
        slot: SlotId,
        header: &Ipv6Header,
    ) -> Result<Outcome, Refusal> {
        let packet = self.lowpan.packet(slot);
        let (_, payload) = Ipv6Header::parse(packet).map_err(|_| DropReason::Malformed)?;
        let to_group = header.dst.is_multicast();
        let Upper {
            protocol,
            offset,
            pointer,
        } = extension::walk(header.next_header, payload, to_group)?;
        // RFC 4291 §2.5.2: only a node that is finding its address has none.
        if header.src.is_unspecified() && protocol != next_header::ICMPV6 {
            return Err(DropReason::BadSource.into());
        }
        let upper = payload.get(offset..).unwrap_or_default();
        match protocol {
            next_header::TCP => {
                let meta = IpMeta {
                    src: header.src,
                    dst: header.dst,
                    ecn: header.ecn,
                    hop_limit: header.hop_limit,
                };
                let seg = Segment::parse(&meta, upper).map_err(|_| DropReason::Malformed)?;
                // The order of `own` in `TcpSockets::pull`.
                let local = u8::from(header.dst != self.link_local);
                match self.tcp.input(now, local, &meta, &seg, &mut self.counters) {
                    Verdict::Taken => Ok(Outcome::Done),
                    Verdict::Drop(reason) => Err(reason.into()),
                    Verdict::Reply(reply) => self.write_tcp_reply(slot, header, &reply),
                    Verdict::Reset(reply) => {
                        self.counters.drop(DropReason::NoConnection);
                        self.write_tcp_reply(slot, header, &reply)
                    }
                }
            }
            next_header::UDP => {
                let (udp, data) = UdpHeader::parse(upper).map_err(|_| DropReason::Malformed)?;
                if !udp.verify(&header.src, &header.dst, data) {
                    return Err(DropReason::BadChecksum.into());
                }
                let src = Endpoint {
                    addr: header.src,
                    port: udp.src_port,
                };
                match self.udp.deliver(udp.dst_port, &src, data) {
                    Delivery::Taken => {
                        let taken = &mut self.counters.datagrams;
                        *taken = taken.wrapping_add(1);
                        Ok(Outcome::Done)
                    }
                    Delivery::Full => Err(DropReason::UdpFull.into()),
                    Delivery::NoSocket => {
                        let error = Some(IcmpError::PortUnreachable);
                        Err(Refusal(DropReason::NoUdpSocket, error))
                    }
                }
            }
            next_header::ICMPV6 => self.deliver_icmp(now, slot, header, offset),
            next_header::NONE => Ok(Outcome::Done),
            _ => {
                let code = parameter_problem::NEXT_HEADER;
                let error = Some(IcmpError::ParameterProblem { code, pointer });
                Err(Refusal(DropReason::UnknownProtocol, error))
            }
        }
    }

    /// Writes a TCP reply without payload over the packet that it answers.
    fn write_tcp_reply(
        &mut self,
        slot: SlotId,
        answered: &Ipv6Header,
        reply: &Header,
    ) -> Result<Outcome, Refusal> {
        let bytes = reply.as_bytes();
        let ip = Ipv6Header {
            payload_len: bytes.len() as u16,
            ..self.ip_header(answered.dst, answered.src, next_header::TCP)
        };
        let total = Ipv6Header::LEN.saturating_add(bytes.len());
        self.lowpan.resize(slot, total);
        let packet = self.lowpan.packet_mut(slot);
        let (head, body) = packet
            .split_at_mut_checked(Ipv6Header::LEN)
            .ok_or(DropReason::TooBig)?;
        head.copy_from_slice(&ip.to_bytes());
        let body = body.get_mut(..bytes.len()).ok_or(DropReason::TooBig)?;
        body.copy_from_slice(bytes);
        Ok(Outcome::Reply(total))
    }

    fn deliver_icmp(
        &mut self,
        now: Instant,
        slot: SlotId,
        header: &Ipv6Header,
        offset: usize,
    ) -> Result<Outcome, Refusal> {
        let packet = self.lowpan.packet(slot);
        let message = packet
            .get(Ipv6Header::LEN.saturating_add(offset)..)
            .unwrap_or_default();
        let message = Message::parse(header, message).map_err(|error| match error {
            redpoll_wire::Error::Checksum => DropReason::BadChecksum,
            _ => DropReason::Malformed,
        })?;
        match message {
            Message::EchoRequest { .. } if offset == 0 => {
                if header.src.is_unspecified() {
                    return Err(DropReason::BadSource.into());
                }
                let from = self.answers_from(header).ok_or(DropReason::BadSource)?;
                let len = packet.len();
                let packet = self.lowpan.packet_mut(slot);
                icmp::write_echo_reply(packet, from, self.config.hop_limit)
                    .ok_or(DropReason::Malformed)?;
                Ok(Outcome::Reply(len))
            }
            Message::EchoReply { ident, seq, .. } => {
                self.echo_reply = Some((ident, seq));
                Ok(Outcome::Done)
            }
            Message::DestinationUnreachable { code, quoted } => {
                tell_tcp(&mut self.tcp, now, unreachable_kind(code), quoted);
                Ok(Outcome::Done)
            }
            Message::TimeExceeded { quoted, .. } => {
                tell_tcp(&mut self.tcp, now, IcmpKind::TimeExceeded, quoted);
                Ok(Outcome::Done)
            }
            Message::RouterSolicitation { .. } => {
                self.on_router_solicitation(now, header.src)?;
                Ok(Outcome::Done)
            }
            Message::RouterAdvertisement(message) => {
                let learned = Learned::from_options(&message.options);
                let lifetime = message.router_lifetime_s;
                self.on_router_advertisement(now, header.src, lifetime, &learned)?;
                Ok(Outcome::Done)
            }
            Message::NeighborSolicitation(message) => {
                let link = message.options.source_link_layer();
                let asked = registration(&message.options);
                self.on_neighbor_solicitation(now, header.src, message.target, link, asked)?;
                Ok(Outcome::Done)
            }
            Message::NeighborAdvertisement(message) => {
                let answer = registration(&message.options);
                self.on_neighbor_advertisement(now, message.target, answer)?;
                Ok(Outcome::Done)
            }
            // RFC 8201 §4: below the minimum MTU it must be discarded; and no
            // packet of ours is larger than that.
            Message::PacketTooBig { .. } => Err(DropReason::IcmpIgnored.into()),
            Message::ParameterProblem { quoted, .. } => {
                tell_tcp(&mut self.tcp, now, IcmpKind::ParameterProblem, quoted);
                Ok(Outcome::Done)
            }
            Message::DuplicateAddressRequest(report) => {
                self.on_registration_report(now, header.src, report)?;
                Ok(Outcome::Done)
            }
            Message::DuplicateAddressConfirmation(answer) => {
                self.on_registration_answer(now, answer)?;
                Ok(Outcome::Done)
            }
            // An echo request behind extension headers is not answered in place.
            Message::EchoRequest { .. } | Message::Unknown { .. } => {
                Err(DropReason::IcmpIgnored.into())
            }
        }
    }

    /// Sends an ICMPv6 error about the packet in `slot`, in the same slot.
    /// `false` if no error may or can be sent; the slot is still the caller's.
    pub(super) fn answer_with(&mut self, now: Instant, slot: SlotId, error: IcmpError) -> bool {
        let packet = self.lowpan.packet(slot);
        let len = packet.len();
        let Ok((header, payload)) = Ipv6Header::parse_partial(packet) else {
            return false;
        };
        let Some(from) = self.answers_from(&header) else {
            return false;
        };
        if !icmp::may_answer(&header, payload, error) || !self.errors.admit(now) {
            return false;
        }
        let hop_limit = self.config.hop_limit;
        self.lowpan.resize(slot, usize::MAX);
        let buffer = self.lowpan.packet_mut(slot);
        let Some(total) = icmp::write_error(buffer, len, from, hop_limit, error) else {
            return false;
        };
        self.lowpan.resize(slot, total);
        let sent = self.send_slot(now, slot, Origin::Own).is_ok();
        if sent {
            self.counters.icmp_errors_sent = self.counters.icmp_errors_sent.wrapping_add(1);
            self.counters.originated = self.counters.originated.wrapping_add(1);
        }
        sent
    }

    /// RFC 4443 §2.2: the source of an answer to this packet, the address that
    /// it was sent to if that is the node's own.
    fn answers_from(&self, header: &Ipv6Header) -> Option<Addr> {
        if self.is_own(&header.dst) {
            return Some(header.dst);
        }
        self.source_for(&header.src)
    }
}

/// Tells the connection that an ICMP error quotes about it (RFC 5927 §4:
/// only if the quoted addresses, ports and sequence number are its own).
fn report_to_tcp<M: Memory + 'static>(
    tcp: &mut TcpSockets<M>,
    now: Instant,
    quoted: &[u8],
    report: impl FnOnce(&mut Connection<M::Buffer>, SeqNum),
) {
    let Ok((ip, payload)) = Ipv6Header::parse_partial(quoted) else {
        return;
    };
    let &[s0, s1, d0, d1, q0, q1, q2, q3, ..] = payload else {
        return;
    };
    if ip.next_header != next_header::TCP {
        return;
    }
    let end = |addr: Addr, port| Endpoint {
        addr,
        port: u16::from_be_bytes(port),
    };
    let (local, remote) = (end(ip.src, [s0, s1]), end(ip.dst, [d0, d1]));
    let seq = SeqNum(u32::from_be_bytes([q0, q1, q2, q3]));
    tcp.report(now, &local, &remote, |connection| report(connection, seq));
}

/// What TCP is told of a destination that cannot be reached.
fn unreachable_kind(code: u8) -> IcmpKind {
    match code {
        unreachable::PROHIBITED => IcmpKind::Prohibited,
        unreachable::ADDRESS => IcmpKind::AddressUnreachable,
        unreachable::PORT => IcmpKind::PortUnreachable,
        _ => IcmpKind::NoRoute,
    }
}

/// Tells the connection that the error's quotation is about.
fn tell_tcp<M: Memory + 'static>(
    tcp: &mut TcpSockets<M>,
    now: Instant,
    kind: IcmpKind,
    quoted: &[u8],
) {
    report_to_tcp(tcp, now, quoted, |c, seq| c.on_icmp(now, kind, seq));
}
