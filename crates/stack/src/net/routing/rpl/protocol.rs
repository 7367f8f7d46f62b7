//! RPL as a [`Protocol`] for the rest of the node, and the functions with which a program starts
//! and controls RPL.

use redpoll_base::{Addr, Instant, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::nd;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::rpl::{ALL_NODES, MESSAGE_TYPE, PacketInformation, has_source_route};

use super::config::count;
use super::downward;
use super::upward::HAS_ROOT;
use super::{
    Context, Envelope, Passage, Peer, RplConfig, RplCounters, RplMemory, RplParts, RplRole, Shared,
};
use crate::counters::DropReason;
use crate::net::icmp::Refusal;
use crate::net::identity::Identity;
use crate::net::outgoing::Outbox;
use crate::net::plan::{Onward, Plan};
use crate::net::routing::protocol::{EchoId, Protocol, RouterError, Signal};
use crate::net::routing::registered::Registered;
use crate::net::routing::{Control, Quality, Routing, Table, Way, resolve};
use crate::packet::{NextHop, Origin, PacketView};
use crate::profile::Profile;

/// The beginning of an RPL message: its type, and room for code and checksum.
const HEAD: [u8; 4] = [MESSAGE_TYPE, 0, 0, 0];
/// Length of the longest message in bytes, with its type, code and checksum.
pub(in crate::net::routing) const MESSAGE_MAX: usize = HEAD.len() + downward::MESSAGE_MAX;

/// A node's part in RPL: the three parts, and their shared state.
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(in crate::net::routing) struct Rpl<P: Profile> {
    parts: RplParts<P>,
    shared: Shared<P>,
}

impl<P: Profile> Routing<P> {
    /// Starts RPL, which fills the table of routes from now on.
    pub(crate) fn begin_rpl(
        &mut self,
        now: Instant,
        rules: P::Rules,
        role: &RplRole,
        config: RplConfig,
        memory: RplMemory<P::Memory>,
        identity: &Identity,
    ) {
        let mut shared = Shared::new(rules, config);
        let mut parts = RplParts::new(now, role, memory, identity, &mut shared);
        if let Way::Registered(hosts) = core::mem::replace(&mut self.way, Way::Fixed) {
            parts.downward.take_hosts(&parts.upward, hosts);
        }
        self.way = Way::Rpl(Rpl { parts, shared });
    }

    fn rpl(&self) -> Option<&Rpl<P>> {
        match &self.way {
            Way::Rpl(rpl) => Some(rpl),
            _ => None,
        }
    }

    pub(crate) fn rpl_counters(&self) -> RplCounters {
        self.rpl()
            .map(|rpl| rpl.shared.counters)
            .unwrap_or_default()
    }

    /// Returns the rank, and the preferred parent.
    pub(crate) fn rpl_place(&self) -> Option<(u16, Option<Address>)> {
        let parts = &self.rpl()?.parts;
        Some((parts.upward.rank(), parts.parent()))
    }

    pub(crate) fn targets(&self, now: Instant) -> usize {
        let targets = self.table.downwards();
        targets
            .filter(|(_, it)| !it.is_gone() && it.is_good(now))
            .count()
    }

    /// Begins the next version of a root's DODAG. Returns whether it did.
    pub(crate) fn begin_version(&mut self, now: Instant) -> bool {
        match &mut self.way {
            Way::Rpl(rpl) => {
                let (parts, mut cx) = rpl.event(now, &mut self.table);
                parts.upward.begin_version(&mut cx)
            }
            _ => false,
        }
    }
}

impl<P: Profile> Rpl<P> {
    /// Returns the parts of RPL, and the circumstances of an event for them.
    fn event<'e>(
        &'e mut self,
        now: Instant,
        table: &'e mut Table<P::Memory>,
    ) -> (&'e mut RplParts<P>, Context<'e, P>) {
        let shared = &mut self.shared;
        (&mut self.parts, Context { now, table, shared })
    }

    /// Returns the hosts that register with this router, if it takes registrations.
    pub(in crate::net::routing) const fn registered(&self) -> Option<&Registered<P::Memory>> {
        self.parts.downward.registered()
    }

    pub(in crate::net::routing) const fn registered_mut(
        &mut self,
    ) -> Option<&mut Registered<P::Memory>> {
        self.parts.downward.registered_mut()
    }
}

impl<P: Profile> Protocol<P::Memory> for Rpl<P> {
    fn next_hop(&self, now: Instant, table: &Table<P::Memory>, dst: &Addr) -> Option<NextHop> {
        resolve(dst, || self.parts.lookup(now, table, dst))
    }

    fn names(&self, _now: Instant, link: Address) -> bool {
        Peer::of(link).is_some_and(|peer| self.parts.upward.knows(peer))
    }

    fn on_unreachable(&mut self, now: Instant, table: &mut Table<P::Memory>, dst: &Addr) {
        let (parts, mut cx) = self.event(now, table);
        parts.on_unreachable(&mut cx, dst);
    }

    fn on_control(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        outbox: &mut Outbox,
        control: Control,
    ) -> Result<(), DropReason> {
        let (parts, mut cx) = self.event(now, table);
        let upward = &parts.upward;
        parts
            .downward
            .on_registration(&mut cx, upward, identity, outbox, control)
    }

    fn on_link(&mut self, now: Instant, table: &mut Table<P::Memory>, quality: Quality) {
        let (parts, mut cx) = self.event(now, table);
        parts.on_link(&mut cx, quality);
    }

    fn on_signal(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        table: &mut Table<P::Memory>,
        signal: &Signal<'_>,
    ) -> Result<(), DropReason> {
        if signal.message_type != MESSAGE_TYPE {
            return Err(DropReason::IcmpIgnored);
        }
        let (parts, mut cx) = self.event(now, table);
        parts
            .on_message(&mut cx, identity, signal)
            .inspect_err(|_| count(&mut cx.shared.counters.implausible))
    }

    fn on_error(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        error: RouterError<'_>,
    ) {
        let (parts, mut cx) = self.event(now, table);
        let (upward, loops) = (&parts.upward, &mut parts.loops);
        parts
            .downward
            .on_lost_stop(&mut cx, upward, loops, identity, error);
    }

    fn on_echo_reply(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        src: &Addr,
        echo: EchoId,
    ) -> bool {
        let (parts, mut cx) = self.event(now, table);
        parts.downward.on_answer(&mut cx, &parts.upward, src, echo)
    }

    fn on_load(&mut self, now: Instant, turned_away: u32) {
        self.parts.upward.on_load(now, turned_away);
    }

    fn poll_at(&self) -> Option<Wake> {
        self.parts.poll_at(&self.shared)
    }

    fn on_timeout(&mut self, now: Instant, identity: &Identity, table: &mut Table<P::Memory>) {
        let (parts, mut cx) = self.event(now, table);
        parts.on_timeout(&mut cx, identity);
    }

    fn poll_message(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        out: &mut Cursor<'_>,
    ) -> Option<Ipv6Header> {
        let (parts, mut cx) = self.event(now, table);
        if let Some((to, EchoId { ident, seq })) = parts.downward.poll_inquiry() {
            let ([a, b], [c, d]) = (ident.to_be_bytes(), seq.to_be_bytes());
            out.put(&[128, 0, 0, 0, a, b, c, d]).ok()?;
            return Some(identity.header(identity.address, to, next_header::ICMPV6));
        }
        out.put(&HEAD).ok()?;
        let Envelope { code, dst } = parts.poll_message(&mut cx, identity, out)?;
        if let Some(place) = out.written_mut().get_mut(1) {
            *place = code;
        }
        header(identity, dst)
    }

    fn on_message_sent(&mut self, has_left: bool) {
        let dao_ack = self.shared.config.dao_ack;
        self.parts.downward.on_message_sent(has_left, dao_ack);
    }

    fn is_group(&self, dst: &Addr) -> bool {
        *dst == ALL_NODES
    }

    fn admit(
        &self,
        identity: &Identity,
        packet: &PacketView<'_>,
        admitted: Result<(), DropReason>,
    ) -> Result<(), DropReason> {
        // RFC 6550 §11.2.2.3: the next hop may return a packet that this node created.
        let is_given_back = || {
            let information = PacketInformation::find(packet.bytes);
            identity.is_own(&packet.header.src)
                && information.is_some_and(|information| information.forwarding_error)
        };
        match admitted {
            Err(DropReason::BadSource) if is_given_back() => {}
            admitted => admitted?,
        }
        // RFC 6554 §5: a border router drops packets with a source route that enter the DODAG.
        // A root is the only border of a DODAG.
        let enters = HAS_ROOT && packet.origin == Origin::Host;
        match enters && has_source_route(packet.bytes) {
            true => Err(DropReason::SourceRoute),
            false => Ok(()),
        }
    }

    /// Returns true, because routers change RPL's headers in the packets that they forward.
    fn needs_whole(&self) -> bool {
        true
    }

    fn pass(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Address>, Refusal> {
        let Origin::Link { from, .. } = packet.origin else {
            return Ok(None);
        };
        let (Some(mut information), Some(peer)) =
            (PacketInformation::find(packet.bytes), Peer::of(from))
        else {
            return Ok(None);
        };
        let (parts, mut cx) = self.event(now, table);
        let dst = &packet.header.dst;
        let passage = parts.on_passing(&mut cx, dst, peer, &mut information)?;
        information.replace(packet.bytes);
        Ok(match passage {
            Passage::On => None,
            Passage::Back => Some(from),
            Passage::Up(parent) => Some(parent),
        })
    }

    fn onward(
        &mut self,
        _now: Instant,
        identity: &Identity,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Onward>, Refusal> {
        super::headers::follow_route(&self.parts.upward, identity, packet)
    }

    /// Only nodes of the DODAG encapsulate (RFC 9008 §4.1): a tunnel from outside would let any
    /// host send packets in the name of the node that decapsulates them.
    fn opens(&self, src: &Addr) -> Result<bool, DropReason> {
        match self.parts.upward.holds(src) {
            true => Ok(true),
            false => Err(DropReason::UnknownProtocol),
        }
    }

    fn headroom(&self) -> usize {
        PacketInformation::LEN
    }

    fn encapsulate(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &Table<P::Memory>,
        packet: &mut PacketView<'_>,
        next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        let shared = &self.shared;
        self.parts
            .encapsulate(now, identity, table, shared, packet, next_hop)
    }
}

fn header(identity: &Identity, dst: Addr) -> Option<Ipv6Header> {
    let src = identity.source_for(&dst)?;
    let is_near = dst.is_multicast() || addr::is_link_local(&dst);
    let header = identity.header(src, dst, next_header::ICMPV6);
    Some(Ipv6Header {
        hop_limit: if is_near {
            nd::HOP_LIMIT
        } else {
            header.hop_limit
        },
        ..header
    })
}

#[cfg(all(
    test,
    target_pointer_width = "64",
    feature = "rpl-root",
    feature = "rpl-storing",
    feature = "rpl-hosts",
    feature = "rpl-eui64"
))]
mod tests {
    use std::boxed::Box;

    use redpoll_base::{Addr, Memory, Rng};

    use super::*;
    use crate::{Node, NodeConfig, NodeMemory};

    enum Heap {}

    impl Memory for Heap {
        type Buffer = Box<[u8]>;
        type Table<T: 'static> = Box<[T]>;
        type Forwards = bool;
    }

    enum LeafHeap {}

    impl Memory for LeafHeap {
        type Buffer = Box<[u8]>;
        type Table<T: 'static> = Box<[T]>;
        type Forwards = redpoll_base::NeverForwards;
    }

    /// Starts a node as an RPL router, and returns whether it is a leaf.
    macro_rules! is_leaf {
        ($memory:ty) => {{
            let memory = NodeMemory::<$memory> {
                connections: Box::new([]),
                listeners: Box::new([]),
                half_open: Box::new([]),
                servers: Box::new([]),
                udp: Box::new([]),
                routes: Box::new([]),
                neighbours: Box::new([]),
                lowpan: redpoll_lowpan::LowpanMemory {
                    slots: Box::new([]),
                    bytes: Box::new([]),
                },
            };
            let config = NodeConfig::over_ip(Addr([7; 16]), [7; 16]);
            let mut node = Node::new(config, memory, Rng::new(1));
            let neighbours = Box::new([None]);
            let (role, config) = (RplRole::Router, RplConfig::new(1));
            node.route_by_rpl(Instant::ZERO, role, config, RplMemory { neighbours });
            node.net
                .routing
                .rpl()
                .is_some_and(|rpl| rpl.parts.upward.is_leaf())
        }};
    }

    #[test]
    fn a_node_with_leaf_memory_joins_as_a_leaf() {
        assert!(is_leaf!(LeafHeap));
        assert!(!is_leaf!(Heap));
    }

    /// `RPL_STATE_BYTES` in `crates/sim/src/node/routing.rs` must be the size in this test: the
    /// simulator subtracts it from the memory of a node without RPL.
    #[test]
    fn the_simulator_knows_the_bytes_of_the_state() {
        let other = size_of::<Registered<Heap>>();
        assert_eq!(size_of::<Rpl<Heap>>() - other, 984);
    }
}
