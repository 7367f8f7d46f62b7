//! The second of a node's three conductors: the IPv6 layer. It knows which packets
//! are for the node, where the others go, and what the control messages say.
//!
//! - `routing/`: the next hop;
//! - `nd/`: neighbour discovery;
//! - `icmp.rs`: errors and echo; `extension.rs`: the way to the upper layer;
//!   `joiner.rs`: packets that were cut; `plan.rs`: changes of headers;
//! - [`assist`](crate::assist): who looks at what is passed on.
//!
//! Nothing here sends: neighbour discovery and routing have messages to be polled,
//! and what is decided about a packet is returned.

pub(crate) mod extension;
pub(crate) mod icmp;
pub(crate) mod identity;
pub(crate) mod joiner;
pub(crate) mod nd;
pub(crate) mod outgoing;
pub(crate) mod plan;
pub(crate) mod routing;

use redpoll_base::{Addr, Instant, Memory, Wake, earliest};
use redpoll_tcp::PATH_MTU;
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{ContextInformation, DuplicateAddress, NeighborSolicitation};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header, addr, next_header};

use crate::assist::{Assist, Passing, Verdict};
use crate::counters::{DropReason, NodeCounters};
use crate::packet::{LINK_MTU, NextHop, Origin, Packet, PacketView, is_unicast};
use crate::profile::Profile;
use crate::transports::{Reach, Side, Trouble};
use icmp::{ErrorLimiter, IcmpError, Refusal};
use identity::{Identity, is_loopback};
use nd::{Discovery, Elapsed, Learned, Question, Standing};
use outgoing::{Outbox, Outgoing};
use plan::{Decapsulation, Plan};
use routing::{
    Control, EchoId, HAS_PROTOCOL, Quality, RouterError, Routing, Signal, default_route,
};

/// The IPv6 layer of a node.
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(crate) struct Net<P: Profile> {
    pub(crate) identity: Identity,
    pub(crate) routing: Routing<P>,
    pub(crate) nd: Discovery,
    /// What neighbour discovery and routing have to say.
    pub(crate) outbox: Outbox,
    pub(crate) errors: ErrorLimiter,
    /// RFC 9293 §3.10.7.1 sets resets no limit; without one each stray segment is
    /// worth an answer, which costs a network of radios more than it tells.
    pub(crate) resets: ErrorLimiter,
    pub(crate) assist: P::Assist,
    /// Without it a fragment header is one that the node does not have.
    pub(crate) joiner: Option<joiner::Joiner<P::Memory>>,
}

/// The neighbour from which a message has come.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sender {
    /// `None` for the host side.
    pub(crate) link: Option<Address>,
    /// It sleeps, and there is no room for what would wait for it.
    pub(crate) crowds: bool,
    /// It has acknowledged a frame lately.
    pub(crate) is_proven: bool,
}

/// What an ICMPv6 message for the node leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Consequence<'p> {
    /// It has done its work; messages may wait to be polled.
    Done,
    /// An echo request, to be answered from this address.
    Echo { from: Addr },
    /// An answer to an echo request of the node's.
    EchoReply { ident: u16, seq: u16 },
    /// An error about a packet of the node's, of which it quotes the beginning.
    Trouble(Trouble, &'p [u8]),
    /// A context for header compression.
    Context(ContextInformation),
}

impl<P: Profile> Net<P> {
    /// Checks the addresses of a packet from outside (RFC 4291 §2.5).
    pub(crate) fn admit(&self, packet: &Packet) -> Result<(), DropReason> {
        let (src, dst) = (&packet.header.src, &packet.header.dst);
        // §2.7: a group is never a source. What we have sent comes back in a
        // loop only, or from somebody who pretends to be us.
        if src.is_multicast() || is_loopback(src) || self.identity.is_own(src) {
            return Err(DropReason::BadSource);
        }
        // §2.5.2, §2.5.3.
        if dst.is_unspecified() || is_loopback(dst) {
            return Err(DropReason::BadDestination);
        }
        match packet.origin {
            // Like a host that is given somebody else's frame (RFC 1122
            // §3.3.6): all the neighbours have it as well.
            Origin::Link {
                broadcast: true, ..
            } if !dst.is_multicast() => Err(DropReason::LinkBroadcast),
            // §2.5.6: the host side is another link, and ours is the radio's:
            // an answer would go to the wrong one.
            Origin::Host
                if dst.is_multicast() || addr::is_link_local(src) || addr::is_link_local(dst) =>
            {
                Err(DropReason::Scope)
            }
            _ => Ok(()),
        }
    }

    /// Judges a packet from outside: its addresses, and what routing says of it.
    pub(crate) fn screen(&self, packet: &Packet, view: &PacketView<'_>) -> Result<(), DropReason> {
        self.routing.admit(&self.identity, view, self.admit(packet))
    }

    /// Whether packets to this address are for the node.
    pub(crate) fn is_mine(&self, dst: &Addr) -> bool {
        self.routing.is_group(dst)
            || self.identity.is_mine(dst)
            || P::Memory::ROUTES && self.identity.is_subnet_anycast(dst)
    }

    /// Finds the upper layer of a packet for this node, or the packet inside it, or the stop that
    /// it goes on to.
    pub(crate) fn decapsulate<'p>(
        &mut self,
        now: Instant,
        mut packet: PacketView<'p>,
    ) -> Result<Decapsulation<'p>, Refusal> {
        if HAS_PROTOCOL
            && let Some(onward) = self.routing.onward(now, &self.identity, &mut packet)?
        {
            return Ok(Decapsulation::Onward(onward));
        }
        let header = packet.header;
        let end = Ipv6Header::LEN.saturating_add(header.payload_len.into());
        let bytes: &[u8] = packet.bytes;
        let payload = bytes.get(Ipv6Header::LEN..end);
        let payload = payload.ok_or(DropReason::Malformed)?;
        let to_group = header.dst.is_multicast();
        let upper = extension::walk(header.next_header, payload, to_group)?;
        // RFC 4291 §2.5.2: only a node that is finding its address has none.
        if header.src.is_unspecified() && upper.protocol != next_header::ICMPV6 {
            return Err(DropReason::BadSource.into());
        }
        if HAS_PROTOCOL && upper.protocol == next_header::IPV6 && self.routing.opens(&header.src)? {
            let start = Ipv6Header::LEN.saturating_add(upper.offset);
            check_inner(bytes.get(start..).unwrap_or_default())?;
            return Ok(Decapsulation::Inner(start));
        }
        Ok(Decapsulation::Upper(upper, payload))
    }

    /// Returns the change of headers of a packet that leaves for `next_hop`. `packet` has no bytes
    /// if it is a segment that is yet to be made.
    pub(crate) fn encapsulate(
        &mut self,
        now: Instant,
        mut packet: PacketView<'_>,
        next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        if !HAS_PROTOCOL {
            return Ok(Plan::Keep);
        }
        let routing = &mut self.routing;
        routing.encapsulate(now, &self.identity, &mut packet, next_hop)
    }

    /// Whether a packet for another node may be passed on (RFC 4291 §2.5.6).
    pub(crate) fn may_forward(&self, header: &Ipv6Header) -> Result<(), Refusal> {
        // Multicast stays on its link: nobody here has groups beyond it.
        if header.dst.is_multicast() || !self.identity.forwards {
            return Err(DropReason::NoRoute.into());
        }
        // RFC 4291 §2.5.2.
        if header.src.is_unspecified() {
            return Err(DropReason::BadSource.into());
        }
        if addr::is_link_local(&header.dst) {
            return Err(DropReason::Scope.into());
        }
        // RFC 4443 §3.1, code 2.
        if addr::is_link_local(&header.src) {
            return Err(Refusal(DropReason::Scope, Some(IcmpError::BEYOND_SCOPE)));
        }
        Ok(())
    }

    /// Shows the assistant a packet that is about to be passed on.
    pub(crate) fn on_forward(
        &mut self,
        now: Instant,
        header: &Ipv6Header,
        bytes: &mut [u8],
    ) -> Verdict {
        self.assist.on_forward(now, &mut Passing { header, bytes })
    }

    /// Where a packet goes next; not back to where it came from.
    pub(crate) fn next_hop(&mut self, now: Instant, packet: &Packet) -> Result<NextHop, Refusal> {
        let dst = &packet.header.dst;
        let next_hop = self.routing.next_hop(now, dst);
        let next_hop = next_hop.filter(|next_hop| !packet.origin.is_behind(*next_hop));
        next_hop.ok_or_else(|| {
            self.routing.on_unreachable(now, dst);
            match self.routing.is_unreachable(now, dst) {
                true => Refusal(
                    DropReason::AddressUnreachable,
                    Some(IcmpError::ADDRESS_UNREACHABLE),
                ),
                false => Refusal(DropReason::NoRoute, Some(IcmpError::NO_ROUTE)),
            }
        })
    }

    /// Where a packet from the neighbour `from` goes next, if its fragments may be
    /// passed on as they come (RFC 8930 §5: the decision is made on the first). What
    /// would have to be refused is put together, so that its sender may be told.
    pub(crate) fn passes_through(
        &self,
        now: Instant,
        header: &Ipv6Header,
        from: Address,
    ) -> Option<Address> {
        let identity = &self.identity;
        let passes = |end: &Addr| {
            !(end.is_multicast()
                || end.is_unspecified()
                || is_loopback(end)
                || addr::is_link_local(end)
                || identity.own().contains(end))
        };
        if !identity.forwards
            || header.hop_limit <= 1
            || ![header.src, header.dst].iter().all(passes)
        {
            return None;
        }
        if HAS_PROTOCOL && self.routing.needs_whole() {
            return None;
        }
        match self.routing.next_hop(now, &header.dst)? {
            NextHop::Link(link) if is_unicast(link) && link != from => Some(link),
            NextHop::Link(_) | NextHop::Host => None,
        }
    }

    /// Where the segments of a connection go, for the side that asks for some.
    pub(crate) fn reach(&self, now: Instant, side: Side, dst: &Addr) -> Reach<Address> {
        match (self.routing.next_hop(now, dst), side) {
            (None, _) => Reach::Nowhere,
            (Some(NextHop::Link(link)), Side::Link) => Reach::Here(link),
            (Some(NextHop::Host), Side::Host) => Reach::Here(Address::Absent),
            _ => Reach::Elsewhere,
        }
    }

    /// An ICMPv6 message for the node, `offset` bytes behind the fixed header.
    // Its temporaries are gone when the answer is sent.
    #[inline(never)]
    pub(crate) fn on_icmp<'p>(
        &mut self,
        now: Instant,
        (header, offset): (&Ipv6Header, usize),
        packet: &'p [u8],
        sender: Sender,
    ) -> Result<Consequence<'p>, DropReason> {
        let message = packet.get(Ipv6Header::LEN.saturating_add(offset)..);
        let message = parsed::<P::Memory>(header, message.unwrap_or_default())?;
        let identity = self.identity;
        let src = header.src;
        match message {
            Message::EchoRequest { .. } => {
                let from = identity.answers_from(header);
                let from = from.filter(|_| !src.is_unspecified());
                let from = from.ok_or(DropReason::BadSource)?;
                return Ok(Consequence::Echo { from });
            }
            Message::EchoReply { ident, seq, .. } => {
                return Ok(self.on_echo_reply(now, &src, EchoId { ident, seq }));
            }
            Message::DestinationUnreachable { code, quoted } => {
                if sender.link.is_some() {
                    let error = RouterError {
                        from: src,
                        code,
                        packet: quoted,
                    };
                    self.routing.on_error(now, &identity, error);
                }
                return Ok(Consequence::Trouble(Trouble::unreachable(code), quoted));
            }
            Message::TimeExceeded { quoted, .. } => {
                return Ok(Consequence::Trouble(Trouble::TimeExceeded, quoted));
            }
            Message::ParameterProblem { quoted, .. } => {
                return Ok(Consequence::Trouble(Trouble::ParameterProblem, quoted));
            }
            Message::RouterSolicitation { .. } => {
                let advertised = self.routing.advertised();
                let outbox = &mut self.outbox;
                self.nd
                    .on_router_solicitation(&identity, src, advertised, outbox)?;
            }
            Message::RouterAdvertisement(message) => {
                let learned = Learned::from_options(&message.options);
                let lifetime_s = message.router_lifetime_s;
                return self.on_router_advertisement(now, src, lifetime_s, &learned);
            }
            Message::NeighborSolicitation(message) => {
                self.on_neighbor_solicitation(now, header, &message, sender)?;
            }
            Message::NeighborAdvertisement(message) => {
                let answer = message.options.address_registration();
                self.nd
                    .on_neighbor_advertisement(now, &identity, src, answer)?;
            }
            Message::DuplicateAddressRequest(report) => {
                self.on_report(now, src, report, sender)?;
            }
            Message::DuplicateAddressConfirmation(answer) => {
                self.on_control(now, Control::Answer { src, answer })?;
            }
            Message::Unknown {
                message_type,
                code,
                body,
            } => {
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
            // RFC 8201 §4: below the minimum MTU it must be discarded; and where
            // there is no path MTU discovery, no packet of ours is larger than that.
            Message::PacketTooBig { .. } => {
                return Err(DropReason::IcmpIgnored);
            }
        }
        Ok(Consequence::Done)
    }

    /// An echo reply answers the application, or routing.
    fn on_echo_reply<'p>(&mut self, now: Instant, src: &Addr, echo: EchoId) -> Consequence<'p> {
        if self.routing.on_echo_reply(now, src, echo) {
            return Consequence::Done;
        }
        let EchoId { ident, seq } = echo;
        Consequence::EchoReply { ident, seq }
    }

    /// A router reports a registration.
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

    /// RFC 6775 §5.4: takes prefix, context and default route from a router.
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
            // only, which have no TID, register their source and ask an address of this router.
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

    /// A message that changes routes.
    fn on_control(&mut self, now: Instant, control: Control) -> Result<(), DropReason> {
        let (identity, outbox) = (&self.identity, &mut self.outbox);
        self.routing.on_control(now, identity, outbox, control)
    }

    /// A frame to a neighbour has ended. The neighbour that is the node's parent
    /// from now on, if another was until now.
    pub(crate) fn on_link(
        &mut self,
        now: Instant,
        quality: Quality,
        counters: &mut NodeCounters,
    ) -> Option<Address> {
        let parent = self.routing.on_link(now, quality)?;
        self.begin_with(now, parent, counters);
        Some(parent)
    }

    /// Runs the timers that are due, with the same answer.
    pub(crate) fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut NodeCounters,
    ) -> Option<Address> {
        if HAS_PROTOCOL && self.routing.poll_at().is_some_and(|wake| wake.at <= now) {
            self.routing.on_timeout(now, &self.identity);
        }
        if self.nd.poll_at().is_none_or(|wake| wake.at > now) {
            return None;
        }
        let knows_routers = self.routing.knows_routers();
        let (identity, outbox) = (&self.identity, &mut self.outbox);
        match self.nd.on_timeout(now, identity, knows_routers, outbox) {
            Elapsed::Quiet => None,
            Elapsed::RouterSilent => {
                let parent = self.routing.next_parent()?;
                self.begin_with(now, parent, counters);
                Some(parent)
            }
        }
    }

    fn begin_with(&mut self, now: Instant, parent: Address, counters: &mut NodeCounters) {
        counters.parent_changes = counters.parent_changes.wrapping_add(1);
        self.nd.solicitor.begin_registration(parent, now);
    }

    /// The next control message to be sent.
    pub(crate) fn poll_message(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    /// Writes the next message of a routing protocol to `out`, with a checksum of zero. Returns
    /// its IPv6 header.
    pub(crate) fn poll_signal(&mut self, now: Instant, out: &mut Cursor<'_>) -> Option<Ipv6Header> {
        self.routing.poll_message(now, &self.identity, out)
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let wake = earliest(self.nd.poll_at(), self.assist.poll_at());
        let wake = match HAS_PROTOCOL {
            true => earliest(wake, self.routing.poll_at()),
            false => wake,
        };
        match &self.joiner {
            Some(joiner) if P::Memory::JOINS_FRAGMENTS => earliest(wake, joiner.poll_at()),
            _ => wake,
        }
    }
}

/// Checks a packet that is about to be taken out of the one around it (RFC 2473 §3.3).
fn check_inner(inner: &[u8]) -> Result<(), DropReason> {
    let (header, payload) = Ipv6Header::parse(inner).map_err(|_| DropReason::Malformed)?;
    // A third level of encapsulation is refused, which bounds the recursion.
    let nested = ipv6::skip_extension_headers(header.next_header, payload);
    match nested.is_ok_and(|(protocol, _)| protocol == next_header::IPV6) {
        true => Err(DropReason::UnknownProtocol),
        false => Ok(()),
    }
}

/// The ICMPv6 message behind `header`, if its checksum is right.
fn parsed<'p, M: Memory>(header: &Ipv6Header, bytes: &'p [u8]) -> Result<Message<'p>, DropReason> {
    let message = match M::ROUTES {
        true => Message::parse(header, bytes),
        // A leaf has nobody behind it.
        false => Message::parse_for_host(header, bytes),
    };
    message.map_err(|error| match error {
        redpoll_wire::Error::Checksum => DropReason::BadChecksum,
        _ => DropReason::Malformed,
    })
}
