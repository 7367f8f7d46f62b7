//! A node that routes by RPL: its messages, and packets on their way through it
//! (RFC 6550 §11.2, RFC 6554 §4.2). `outer.rs` adds RPL's headers to packets,
//! and `edge.rs` removes them.

use redpoll_base::{Addr, Instant};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::{self, nd};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{self, Ipv6Header, addr, next_header};
use redpoll_wire::rpl::{Advance, MESSAGE_TYPE, PacketInformation, advance, hop_by_hop_len};

use super::Node;
use crate::counters::DropReason;
use crate::net::icmp::{IcmpError, Refusal};
use crate::net::routing::rpl::{Dress, Envelope, MESSAGE_MAX, Passage};
use crate::net::routing::{Peer, RplConfig, RplCounters, RplMemory, RplRole};
use crate::packet::{Origin, Packet};
use crate::profile::Profile;

/// What an RPL message begins with: its type, and room for code and checksum.
const HEAD: [u8; 4] = [MESSAGE_TYPE, 0, 0, 0];

/// What a segment has before its own header.
pub(super) enum Extension {
    None,
    /// Packet information.
    Header([u8; PacketInformation::LEN]),
    /// A source route: the segment is made whole first.
    #[cfg(feature = "rpl-root")]
    Long,
}

impl<P: Profile> Node<P> {
    /// From now on this node finds its routes by RPL (RFC 6550). A root's address must
    /// be known before.
    pub fn route_by_rpl(
        &mut self,
        now: Instant,
        role: RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
    ) where
        P::Rules: Default,
    {
        self.route_by_rpl_with(now, P::Rules::default(), role, config, memory);
    }

    /// As [`Node::route_by_rpl`], with other rules than the default ones.
    pub fn route_by_rpl_with(
        &mut self,
        now: Instant,
        rules: P::Rules,
        role: RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
    ) {
        self.net.identity.speaks_rpl = true;
        let identity = self.net.identity;
        let routing = &mut self.net.routing;
        routing.begin_rpl(now, (rules, role, config), memory, &identity);
    }

    /// Global repair (RFC 6550 §3.2.2): the root begins a new version of its DODAG, in which
    /// every node chooses its place anew. `false` if this node is no root, or one that has just
    /// started and listens which version there is. It costs every node DIOs and a DAO, and
    /// ways down until these have come: not something to do every minute.
    #[cfg(feature = "rpl-root")]
    pub fn begin_rpl_version(&mut self, now: Instant) -> bool {
        self.net.routing.begin_version(now)
    }

    /// What its RPL has done so far.
    pub fn rpl_counters(&self) -> RplCounters {
        self.net.routing.rpl_counters()
    }

    /// Its rank ([`INFINITE_RANK`](redpoll_wire::rpl::INFINITE_RANK) without a way to
    /// the root), and the link-layer address of its preferred parent; `None` if it does not
    /// route by RPL.
    pub fn rpl_place(&self) -> Option<(u16, Option<Address>)> {
        self.net.routing.rpl_place()
    }

    /// How many targets it has ways down to.
    pub fn rpl_targets(&self, now: Instant) -> usize {
        self.net.routing.targets(now)
    }

    /// Sends the messages of RPL that are due.
    pub(super) fn send_rpl(&mut self, now: Instant) {
        let lowpan = self.link.lowpan.counters().no_slot;
        let turned_away = lowpan.wrapping_add(self.counters.dropped(DropReason::NoSlot));
        self.net.routing.on_load(now, turned_away);
        #[cfg(feature = "rpl-root")]
        if let Some((to, ident, seq)) = self.net.routing.poll_inquiry() {
            let identity = self.net.identity;
            let header = identity.header(identity.address, to, next_header::ICMPV6);
            let ([a, b], [c, d]) = (ident.to_be_bytes(), seq.to_be_bytes());
            let has_left = self.send_icmp(now, header, &[128, 0, 0, 0, a, b, c, d]);
            self.net.routing.on_inquiry(has_left);
        }
        loop {
            let mut buffer = [0; HEAD.len() + MESSAGE_MAX];
            let mut out = Cursor::new(&mut buffer);
            if out.put(&HEAD).is_err() {
                return;
            }
            let net = &mut self.net;
            let polled = net.routing.poll_rpl(now, &net.identity, &mut out);
            let Some(Envelope { code, dst }) = polled else {
                return;
            };
            let Some(src) = net.identity.source_for(&dst) else {
                return;
            };
            let is_near = dst.is_multicast() || addr::is_link_local(&dst);
            let header = net.identity.header(src, dst, next_header::ICMPV6);
            let header = Ipv6Header {
                hop_limit: if is_near {
                    nd::HOP_LIMIT
                } else {
                    header.hop_limit
                },
                ..header
            };
            let message = out.into_written();
            if let Some(place) = message.get_mut(1) {
                *place = code;
            }
            self.send_icmp(now, header, message);
        }
    }

    /// A packet of somebody else's is passed on: whether it makes progress.
    pub(super) fn check_passage(
        &mut self,
        now: Instant,
        packet: &Packet,
    ) -> Result<Passage, Refusal> {
        let Origin::Link { from, .. } = packet.origin else {
            return Ok(Passage::On);
        };
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        let Some(mut information) = PacketInformation::find(bytes) else {
            return Ok(Passage::On);
        };
        let routing = &mut self.net.routing;
        let passage = routing.on_passing(now, &packet.header.dst, from, &mut information)?;
        information.replace(bytes);
        match passage {
            Passage::On => {}
            Passage::Back => self.link.queue(now, packet.slot, from),
            Passage::Up(parent) => self.link.queue(now, packet.slot, parent),
        }
        Ok(passage)
    }

    /// Whether a packet of this node's has been given back to it (RFC 6550 §11.2.2.3).
    pub(super) fn is_given_back(&self, packet: &Packet) -> bool {
        let information = PacketInformation::find(self.link.lowpan.packet(packet.slot));
        self.net.routing.is_rpl()
            && self.net.identity.is_own(&packet.header.src)
            && information.is_some_and(|information| information.forwarding_error)
    }

    /// RFC 6554 §4.2: a packet whose source route has stops left goes to the next one.
    /// `None` if it has none.
    pub(super) fn follow_route(
        &mut self,
        now: Instant,
        packet: &Packet,
    ) -> Option<Result<(), Refusal>> {
        if !self.net.routing.is_rpl() {
            return None;
        }
        let identity = self.net.identity;
        let bytes = self.link.lowpan.packet_mut(packet.slot);
        let hop_by_hop = hop_by_hop_len(bytes);
        let at = Ipv6Header::LEN.saturating_add(hop_by_hop);
        let kind = match hop_by_hop {
            0 => packet.header.next_header,
            _ => *bytes.get(Ipv6Header::LEN)?,
        };
        if kind != next_header::ROUTING {
            return None;
        }
        let next = match advance(bytes, at, |address| identity.is_own(address)) {
            Advance::Arrived => return None,
            Advance::Onward(next) if identity.forwards => next,
            Advance::Problem(pointer) | Advance::Loop(pointer) => {
                let code = icmpv6::parameter_problem::HEADER_FIELD;
                let pointer = pointer as u16;
                let error = IcmpError::ParameterProblem { code, pointer };
                return Some(Err(Refusal(DropReason::SourceRoute, Some(error))));
            }
            Advance::Onward(_) | Advance::Multicast => {
                return Some(Err(DropReason::SourceRoute.into()));
            }
        };
        if ipv6::decrement_hop_limit(bytes).is_none() {
            let error = IcmpError::HopLimitExceeded;
            return Some(Err(Refusal(DropReason::HopLimit, Some(error))));
        }
        // A strict route: the next stop is a neighbour. Whether it is there, frames to it have
        // told.
        let link = addr::link_address(&next);
        let is_there = !identity.is_own(&next)
            && Peer::of(link).is_some()
            && !self.link.take_silence(now, link)
            && self.admit_neighbour(now, link).is_ok();
        if !is_there {
            let error = IcmpError::SourceRoute;
            return Some(Err(Refusal(DropReason::AddressUnreachable, Some(error))));
        }
        self.counters.forwarded = self.counters.forwarded.wrapping_add(1);
        self.link.queue(now, packet.slot, link);
        Some(Ok(()))
    }

    /// What stands between the IPv6 header and that of a segment to `dst`.
    pub(super) fn segment_extension(&self, now: Instant, dst: &Addr) -> Extension {
        match self.net.routing.dress(now, dst, None) {
            Dress::Nothing => Extension::None,
            #[cfg(feature = "rpl-hosts")]
            Dress::Bare => Extension::None,
            Dress::Information(information) => {
                Extension::Header(information.header(next_header::TCP))
            }
            #[cfg(feature = "rpl-root")]
            Dress::Route(_) => Extension::Long,
        }
    }
}
