//! ICMPv6 messages for the node, and their consequences.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_tcp::PATH_MTU;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{ContextInformation, DuplicateAddress, NeighborSolicitation};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

use super::Net;
use super::nd::{Learned, Question, Standing};
use super::routing::{Control, EchoId, RouterError, Signal, default_route};
use crate::counters::DropReason;
use crate::packet::{LINK_MTU, is_unicast};
use crate::profile::Profile;
use crate::transports::Trouble;

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sender {
    /// The neighbour that sent the message; `None` for the host side.
    pub(crate) link: Option<Address>,
    /// Whether the sender sleeps and this router has no room for another sleeping neighbour.
    pub(crate) crowds: bool,
    pub(crate) is_proven: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Consequence<'p> {
    /// The message is processed. The outbox may contain the answer.
    Done,
    Echo {
        from: Addr,
    },
    EchoReply {
        ident: u16,
        seq: u16,
    },
    /// An error about a packet of the node, with the beginning of the packet.
    Trouble(Trouble, &'p [u8]),
    Context(ContextInformation),
}

impl<P: Profile> Net<P> {
    /// Processes an ICMPv6 message for the node, `offset` bytes behind the fixed header.
    // Out of line, so that its temporaries leave the stack before the answer is sent.
    #[inline(never)]
    pub(crate) fn on_icmp<'p>(
        &mut self,
        now: Instant,
        header: &Ipv6Header,
        offset: usize,
        packet: &'p [u8],
        sender: Sender,
    ) -> Result<Consequence<'p>, DropReason> {
        let message = packet.get(Ipv6Header::LEN.saturating_add(offset)..);
        let message = parsed::<P::Memory>(header, message.unwrap_or_default())?;
        let identity = self.identity;
        let src = header.src;
        match message {
            Message::EchoRequest { .. } => return self.on_echo_request(header),
            Message::EchoReply { ident, seq, .. } => {
                return Ok(self.on_echo_reply(now, &src, EchoId { ident, seq }));
            }
            Message::DestinationUnreachable { code, quoted } => {
                if P::Memory::HAS_RADIO && sender.link.is_some() {
                    self.on_router_error(now, src, code, quoted);
                }
                return Ok(Consequence::Trouble(Trouble::unreachable(code), quoted));
            }
            Message::TimeExceeded { quoted, .. } => {
                return Ok(Consequence::Trouble(Trouble::TimeExceeded, quoted));
            }
            Message::ParameterProblem { quoted, .. } => {
                return Ok(Consequence::Trouble(Trouble::ParameterProblem, quoted));
            }
            Message::RouterSolicitation { .. } if P::Memory::HAS_RADIO => {
                let advertised = self.routing.advertised();
                let outbox = &mut self.outbox;
                self.nd
                    .on_router_solicitation(&identity, src, advertised, outbox)?;
            }
            Message::RouterAdvertisement(message) if P::Memory::HAS_RADIO => {
                let learned = Learned::from_options(&message.options);
                let lifetime_s = message.router_lifetime_s;
                return self.on_router_advertisement(now, src, lifetime_s, &learned);
            }
            Message::NeighborSolicitation(message) if P::Memory::HAS_RADIO => {
                self.on_neighbor_solicitation(now, header, &message, sender)?;
            }
            Message::NeighborAdvertisement(message) if P::Memory::HAS_RADIO => {
                let answer = message.options.address_registration();
                self.nd
                    .on_neighbor_advertisement(now, &identity, src, answer)?;
            }
            Message::DuplicateAddressRequest(report) if P::Memory::HAS_RADIO => {
                self.on_report(now, src, report, sender)?;
            }
            Message::DuplicateAddressConfirmation(answer) if P::Memory::HAS_RADIO => {
                self.on_control(now, Control::Answer { src, answer })?;
            }
            Message::Unknown {
                message_type,
                code,
                body,
            } if P::Memory::HAS_RADIO => {
                let signal = Signal {
                    message_type,
                    code,
                    body,
                    src,
                    dst: header.dst,
                    from: sender.link,
                };
                self.routing.on_signal(now, &mut self.identity, &signal)?;
            }
            Message::PacketTooBig { mtu, quoted } if PATH_MTU && mtu >= LINK_MTU as u32 => {
                let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
                return Ok(Consequence::Trouble(Trouble::PacketTooBig { mtu }, quoted));
            }
            // RFC 8201 §4: a node discards a report of less than the minimum MTU. Without path MTU
            // discovery, no packet of this node is larger than the minimum, so the node ignores
            // every Packet Too Big message. A node without a radio also ignores neighbour discovery
            // and unknown messages.
            _ => return Err(DropReason::IcmpIgnored),
        }
        Ok(Consequence::Done)
    }

    /// Passes an error of a router to routing, which may remove a route.
    fn on_router_error(&mut self, now: Instant, from: Addr, code: u8, packet: &[u8]) {
        let identity = self.identity;
        let error = RouterError { from, code, packet };
        self.routing.on_error(now, &identity, error);
    }

    /// Returns the answer to an echo request, with its source address.
    fn on_echo_request<'p>(&self, header: &Ipv6Header) -> Result<Consequence<'p>, DropReason> {
        let from = self.identity.answers_from(header);
        let from = from.filter(|_| !header.src.is_unspecified());
        let from = from.ok_or(DropReason::BadSource)?;
        Ok(Consequence::Echo { from })
    }

    fn on_echo_reply<'p>(&mut self, now: Instant, src: &Addr, echo: EchoId) -> Consequence<'p> {
        if self.routing.on_echo_reply(now, src, echo) {
            return Consequence::Done;
        }
        let EchoId { ident, seq } = echo;
        Consequence::EchoReply { ident, seq }
    }

    fn on_report(
        &mut self,
        now: Instant,
        src: Addr,
        report: DuplicateAddress,
        sender: Sender,
    ) -> Result<(), DropReason> {
        let is_proven = sender.is_proven;
        let control = Control::Report {
            src,
            report,
            is_proven,
        };
        self.on_control(now, control)
    }

    /// Takes prefix, context and default route from a router (RFC 6775 §5.4).
    fn on_router_advertisement<'p>(
        &mut self,
        now: Instant,
        src: Addr,
        lifetime_s: u16,
        learned: &Learned,
    ) -> Result<Consequence<'p>, DropReason> {
        let router = match self.nd.on_router_advertisement(now, src, lifetime_s)? {
            Standing::Gone(router) => {
                self.routing.remove(&default_route(router));
                return Ok(Consequence::Done);
            }
            Standing::Serves(router) => router,
        };
        if let Some(prefix) = learned.prefix
            && self.identity.address.is_unspecified()
            && let Some(iid) = addr::iid_of(self.identity.link)
        {
            self.identity.address = addr::from_prefix_and_iid(&prefix, iid);
        }
        let added = self.routing.add(default_route(router));
        added.map_err(|_| DropReason::NoRoute)?;
        Ok(learned
            .context
            .map_or(Consequence::Done, Consequence::Context))
    }

    /// Registers an address (RFC 6775 §6.5, RFC 8505 §5.5), or answers a question about an
    /// address of this node (RFC 4861 §7.2.3).
    fn on_neighbor_solicitation(
        &mut self,
        now: Instant,
        header: &Ipv6Header,
        message: &NeighborSolicitation<'_>,
        sender: Sender,
    ) -> Result<(), DropReason> {
        let (src, target) = (header.src, message.target);
        let link = message.options.source_link_layer();
        let link = link.filter(|link| is_unicast(*link));
        let registration = message.options.address_registration();
        // RFC 4861 §7.1.1: duplicate address detection goes to the solicited-node group and
        // names no link-layer address.
        if src.is_unspecified() && (header.dst != addr::solicited_node(&target) || link.is_some()) {
            return Err(DropReason::BadSource);
        }
        let is_router = self.routing.advertised().is_some();
        if let (Some(asked), Some(link), true) = (registration, link, is_router) {
            // The registering node is the neighbour that has sent the frame.
            if sender.link != Some(link) {
                return Err(DropReason::BadSource);
            }
            // RFC 8505 §5.5: the registered address is the target. Hosts that know RFC 6775
            // only, which have no TID, register their source; the target is this router's address.
            let address = match asked.tid {
                Some(_) => target,
                None if self.identity.is_own(&target) => src,
                None => return Err(DropReason::IcmpIgnored),
            };
            let control = Control::Registration {
                crowded: sender.crowds,
                address,
                link,
                target,
                asked,
            };
            return self.on_control(now, control);
        }
        if !self.identity.is_own(&target) {
            return Err(DropReason::IcmpIgnored);
        }
        let question = Question {
            src,
            target,
            link,
            registers: registration.is_some(),
        };
        let outbox = &mut self.outbox;
        self.nd
            .on_question(&self.identity, &question, is_router, outbox);
        Ok(())
    }

    fn on_control(&mut self, now: Instant, control: Control) -> Result<(), DropReason> {
        let (identity, outbox) = (&self.identity, &mut self.outbox);
        self.routing.on_control(now, identity, outbox, control)
    }
}

/// Parses the ICMPv6 message behind `header`, and checks its checksum.
fn parsed<'p, M: Memory>(header: &Ipv6Header, bytes: &'p [u8]) -> Result<Message<'p>, DropReason> {
    let message = match (M::HAS_RADIO, M::ROUTES) {
        (true, true) => Message::parse(header, bytes),
        // A leaf does not process messages for routers, because no host registers with it.
        (true, false) => Message::parse_for_host(header, bytes),
        (false, _) => Message::parse_without_discovery(header, bytes),
    };
    message.map_err(|error| match error {
        redpoll_wire::Error::Checksum => DropReason::BadChecksum,
        _ => DropReason::Malformed,
    })
}
