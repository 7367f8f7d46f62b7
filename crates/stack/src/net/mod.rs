//! The second of a node's three parts: the IPv6 layer. It decides which packets are for the
//! node and where the others go, and processes the control messages.
//!
//! - `routing/`: the next hop;
//! - `nd/`: neighbour discovery;
//! - `control.rs`: ICMPv6 messages for the node; `icmp.rs`: errors and echo;
//! - `extension.rs`: extension headers; `joiner.rs`: reassembly; `plan.rs`: changes of headers;
//! - [`assist`](crate::assist): assistants, which read forwarded packets.
//!
//! The IPv6 layer sends nothing itself: the node polls messages of neighbour discovery and routing,
//! and functions return decisions about packets.

mod control;
pub(crate) mod extension;
pub(crate) mod icmp;
pub(crate) mod identity;
pub(crate) mod joiner;
pub(crate) mod nd;
pub(crate) mod outgoing;
pub(crate) mod plan;
pub(crate) mod routing;

use redpoll_base::{Addr, Instant, Memory, Wake, earliest, event};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header, addr, next_header};

use crate::assist::{Assist, Disposition, Passing};
use crate::counters::{DropReason, NodeCounters};
use crate::packet::{NextHop, Origin, Packet, PacketView, is_unicast};
use crate::profile::Profile;
use crate::transports::{Reach, Side};
pub(crate) use control::{Consequence, Sender};
use icmp::{ErrorLimiter, IcmpError, Refusal};
use identity::{Identity, is_loopback};
use nd::{Discovery, Elapsed};
use outgoing::{Outbox, Outgoing};
use plan::{Decapsulation, Plan};
use routing::{HAS_PROTOCOL, Quality, Routing};

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(crate) struct Net<P: Profile> {
    pub(crate) identity: Identity,
    pub(crate) routing: Routing<P>,
    pub(crate) nd: Discovery,
    /// Messages of neighbour discovery and routing that are due.
    pub(crate) outbox: Outbox,
    pub(crate) errors: ErrorLimiter,
    /// The limit on the rate of TCP resets. RFC 9293 §3.10.7.1 has no such limit, but in a radio
    /// network an answer to each stray segment is costly.
    pub(crate) resets: ErrorLimiter,
    pub(crate) assist: P::Assist,
    /// The reassembly of IPv6 fragments; `None`: the node does not know fragment headers.
    pub(crate) joiner: Option<joiner::Joiner<P::Memory>>,
}

impl<P: Profile> Net<P> {
    /// Checks the addresses of a packet from outside (RFC 4291 §2.5).
    pub(crate) fn admit(&self, packet: &Packet) -> Result<(), DropReason> {
        let (src, dst) = (&packet.header.src, &packet.header.dst);
        // RFC 4291 §2.7: a group is never a source. A packet from an address of this node has a
        // forged source, or has returned in a loop.
        if src.is_multicast() || is_loopback(src) || self.identity.is_own(src) {
            return Err(DropReason::BadSource);
        }
        // RFC 4291 §2.5.2, §2.5.3: neither address is a destination on a link.
        if dst.is_unspecified() || is_loopback(dst) {
            return Err(DropReason::BadDestination);
        }
        match packet.origin {
            // RFC 1122 §3.3.6: a unicast packet that arrived in a broadcast frame is dropped.
            Origin::Link {
                broadcast: true, ..
            } if !dst.is_multicast() => Err(DropReason::LinkBroadcast),
            // RFC 4291 §2.5.6, §2.7: link-local and multicast packets stay on their link. An answer
            // to such a packet from the host side would leave on the radio, which is another link.
            Origin::Host
                if dst.is_multicast() || addr::is_link_local(src) || addr::is_link_local(dst) =>
            {
                Err(DropReason::Scope)
            }
            _ => Ok(()),
        }
    }

    /// Checks the addresses of a packet from outside to a group. A packet of this node to a group
    /// beyond the link may return from a neighbour; the assistant recognises such a packet.
    pub(crate) fn admit_to_group(&self, packet: &Packet) -> Result<(), DropReason> {
        let Ipv6Header { src, dst, .. } = &packet.header;
        if addr::is_link_scoped_multicast(dst) {
            return self.admit(packet);
        }
        if src.is_multicast() || src.is_unspecified() || is_loopback(src) {
            return Err(DropReason::BadSource);
        }
        match packet.origin {
            Origin::Host if self.identity.is_own(src) => Err(DropReason::BadSource),
            Origin::Host if addr::is_link_local(src) => Err(DropReason::Scope),
            _ => Ok(()),
        }
    }

    /// Checks a packet that arrived from the link or from the host: its addresses, and the rules of
    /// the routing protocol.
    pub(crate) fn screen(&self, packet: &Packet, view: &PacketView<'_>) -> Result<(), DropReason> {
        self.routing.admit(&self.identity, view, self.admit(packet))
    }

    pub(crate) fn is_mine(&self, dst: &Addr) -> bool {
        self.routing.is_group(dst)
            || self.identity.is_mine(dst)
            || P::Memory::ROUTES && self.identity.is_subnet_anycast(dst)
    }

    /// Finds the upper layer of a packet for this node, or the packet inside it, or the next stop
    /// of its source route.
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
        // RFC 4291 §2.5.2: only duplicate address detection has an unspecified source.
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

    /// Returns the change of headers of a packet that leaves for `next_hop`. `packet` is empty for
    /// a segment that the transport makes later.
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

    /// Checks whether a packet for another node may be forwarded (RFC 4291 §2.5.6).
    pub(crate) fn may_forward(&self, header: &Ipv6Header) -> Result<(), Refusal> {
        // Multicast packets stay on their link: only an assistant distributes packets to groups of
        // a larger scope ([`Assist::GROUPS`]).
        if header.dst.is_multicast() || !self.identity.forwards {
            return Err(DropReason::NoRoute.into());
        }
        // RFC 4291 §2.5.2: packets with an unspecified source are never forwarded.
        if header.src.is_unspecified() {
            return Err(DropReason::BadSource.into());
        }
        if addr::is_link_local(&header.dst) {
            return Err(DropReason::Scope.into());
        }
        // RFC 4443 §3.1, code 2: beyond scope of source address.
        if addr::is_link_local(&header.src) {
            return Err(Refusal(DropReason::Scope, Some(IcmpError::BEYOND_SCOPE)));
        }
        Ok(())
    }

    pub(crate) fn on_forward(
        &mut self,
        now: Instant,
        header: &Ipv6Header,
        bytes: &mut [u8],
    ) -> Disposition {
        self.assist.on_forward(now, &mut Passing { header, bytes })
    }

    /// Returns the next hop of a packet, which is never its previous hop.
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

    /// Returns the next hop of a packet from the neighbour `from`, if its fragments may be
    /// forwarded as they arrive (RFC 8930 §5: the first fragment decides). A packet that would be
    /// refused is reassembled, so that its sender may get an error.
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

    /// Returns the next hop of segments to `dst` if they leave on `side`.
    pub(crate) fn reach(&self, now: Instant, side: Side, dst: &Addr) -> Reach<Address> {
        match (self.routing.next_hop(now, dst), side) {
            (None, _) => Reach::Nowhere,
            (Some(NextHop::Link(link)), Side::Link) => Reach::Here(link),
            (Some(NextHop::Host), Side::Host) => Reach::Here(Address::Absent),
            _ => Reach::Elsewhere,
        }
    }

    /// Processes the result of a frame to a neighbour. Returns the new parent, if it has changed.
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

    /// Runs the timers that are due. Returns the new parent, if the parent has changed.
    pub(crate) fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut NodeCounters,
    ) -> Option<Address> {
        if HAS_PROTOCOL && self.routing.poll_at().is_some_and(|wake| wake.at <= now) {
            self.routing.on_timeout(now, &self.identity);
        }
        if !P::Memory::HAS_RADIO || self.nd.poll_at().is_none_or(|wake| wake.at > now) {
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
        event!(Info, "new parent: {parent:?}");
        self.nd.solicitor.begin_registration(parent, now);
    }

    pub(crate) fn poll_message(&mut self) -> Option<Outgoing> {
        self.outbox.pop()
    }

    /// Writes the next message of a routing protocol to `out`, with a checksum of zero. Returns
    /// its IPv6 header.
    pub(crate) fn poll_signal(&mut self, now: Instant, out: &mut Cursor<'_>) -> Option<Ipv6Header> {
        self.routing.poll_message(now, &self.identity, out)
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        let discovery = match P::Memory::HAS_RADIO {
            true => self.nd.poll_at(),
            false => None,
        };
        let wake = earliest(discovery, self.assist.poll_at());
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

/// Checks a packet inside another one before decapsulation (RFC 2473 §3.3).
fn check_inner(inner: &[u8]) -> Result<(), DropReason> {
    let (header, payload) = Ipv6Header::parse(inner).map_err(|_| DropReason::Malformed)?;
    // A third level of encapsulation is refused, which bounds the recursion.
    let nested = ipv6::skip_extension_headers(header.next_header, payload);
    match nested.is_ok_and(|(protocol, _)| protocol == next_header::IPV6) {
        true => Err(DropReason::UnknownProtocol),
        false => Ok(()),
    }
}
