//! Simulated nodes: `stack::Node` with its memory on the heap, configured by a scenario.

mod helper;
mod routing;
mod security;
mod sockets;

use std::marker::PhantomData;

use redpoll_base::{Addr, Instant, Rng};
use redpoll_lowpan::{
    ForwardingMemory, FragmentBuffer, Incoming, LowpanConfig, LowpanMemory, Outgoing,
    RecoveryConfig, RecoveryMemory, Slot, SwitchedPath, VirtualBuffer,
};
use redpoll_mac::{Access, CsmaCa, Mac, MacConfig, PENDING_MAX, RadioCaps};
use redpoll_replay::{
    CongestionChoice, DutyConfig, OtherTcp, RecoveryChoice, Replay, ReplayConfig, ReplayRules,
    Segments,
};
use redpoll_rivals::Rival;
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{
    Advertised, ConnectionSlot, ListenerSlot, NdConfig, NoStreams, Node, NodeConfig, NodeMemory,
    PartialSlot, Parts, Profile, Route, SleepyConfig, UdpSlot, Via,
};
use redpoll_uart::Begin;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::Contexts;

use crate::kernel::{Secrets, Seed};
use crate::memory::{HeapMemory, HeapTable, buffer};
use crate::rivals::rival;
use crate::scenario::{
    CongestionSpec, NodeSpec, Role, Scenario, TcpParams, TransportSpec, global_address,
};
use crate::topology::{NodeRoutes, Routes};
pub use helper::Helper;
pub(crate) use helper::all_coap_nodes;
pub(crate) use security::{store_counter, take_sealed};
pub use sockets::Sockets;
pub(crate) use sockets::datagram_ports;

/// Types that configure the stack of a simulated node. With a real radio, `A` is [`CsmaCa`].
#[derive(Debug)]
pub struct SimProfile<A = Replay>(PhantomData<A>);

impl<A: Access> Profile for SimProfile<A> {
    type Memory = HeapMemory;
    type Access = A;
    type Algorithms = OtherTcp;
    type Assist = Helper;
    type Streams = SimStreams;
    type Rules = ReplayRules;
    type Handover = Segments;
}

pub type SimNode<A = Replay> = Node<SimProfile<A>>;
/// Transport of a node that runs another implementation instead of Redpoll's TCP.
pub type SimStreams = Rival<HeapMemory>;

const HALF_OPEN: usize = 4;
/// Spare sockets of each kind, in addition to those of the scenario's apps.
const SPARE_SOCKETS: usize = 1;
const UDP_BYTES: usize = 1_024;
/// Buffer of a UDP socket on a node with CoAP, in bytes: two of the longest packets.
const COAP_BYTES: usize = 2 * 1_280;
/// Table entries besides the routes to single nodes: a default route and one to the mesh prefix.
const SPARE_ROUTES: usize = 2;

/// Returns a placeholder without memory, address or routes, to swap with a node in use.
pub(crate) fn nobody() -> SimNode {
    let memory = NodeMemory {
        connections: Default::default(),
        listeners: Default::default(),
        half_open: Default::default(),
        servers: Default::default(),
        udp: Default::default(),
        routes: Default::default(),
        neighbours: Default::default(),
        lowpan: LowpanMemory {
            slots: Default::default(),
            bytes: Default::default(),
        },
    };
    let config =
        NodeConfig::over_ip(Addr::UNSPECIFIED, [0; 16]).with_algorithms(OtherTcp::default());
    let streams = Rival::None(NoStreams);
    let parts = Parts {
        access: Replay::new(ReplayConfig::default()),
        assist: Helper::default(),
        streams,
        handover: Segments::default(),
    };
    Node::with_parts(config, memory, Rng::new(0), parts)
}

pub(crate) struct Built<A: Access = Replay> {
    pub(crate) node: SimNode<A>,
    pub(crate) memory_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    pub(crate) at: Instant,
    /// Frame counter that the node stored before this start.
    pub(crate) counter_stored: u32,
    /// Abilities of the node's radio, if the radio is not simulated.
    pub(crate) caps: Option<RadioCaps>,
}

impl Birth {
    /// First start of a node with a simulated radio, at time zero.
    pub(crate) const FIRST: Birth = Birth {
        at: Instant::ZERO,
        counter_stored: 0,
        caps: None,
    };

    /// Returns a node's random numbers, which differ after each restart. With equal numbers,
    /// neighbours and peers would mistake the node's ports, tags and sequence numbers for those
    /// before the restart.
    fn stream(self, seed: Seed, purpose: &str, index: usize) -> Rng {
        let mut rng = seed.node_stream(purpose, index);
        match self.at {
            Instant::ZERO => rng,
            at => Rng::stream(rng.next_u64(), at.as_micros()),
        }
    }
}

/// Builds node `index` of a scenario for a real radio with the abilities `caps`. It finds its mesh
/// by RPL and has no applications. `counter_stored` is the last stored value of its frame counter.
/// Returns `None` if there is no such node or no border router, or if routes are fixed.
pub fn on_radio(
    scenario: &Scenario,
    index: usize,
    caps: RadioCaps,
    counter_stored: u32,
    secrets: &mut Secrets,
) -> Option<SimNode<CsmaCa>> {
    let root = scenario.border_router()?;
    scenario.nodes.get(index)?;
    scenario.routing.rpl()?;
    let birth = Birth {
        counter_stored,
        caps: Some(caps),
        ..Birth::FIRST
    };
    let ports = datagram_ports(scenario);
    let sockets = Sockets::of(scenario, index, &ports[index]);
    let own = (root, &NodeRoutes::default());
    let begins = (Seed(scenario.seed), birth);
    Some(build_with(scenario, index, own, sockets, begins, secrets, CsmaCa).node)
}

/// Builds node `index` of a scenario, or its host, with room for `sockets`. The host is a node
/// without a radio: all its packets use its link to the border router.
pub(crate) fn build(
    scenario: &Scenario,
    index: usize,
    own: (usize, &NodeRoutes),
    sockets: Sockets,
    begins: (Seed, Birth),
    secrets: &mut Secrets,
) -> Built {
    let access = Replay::new(ReplayConfig {
        tinyos_backoff: scenario.mac.tinyos_backoff,
        retry_pause: scenario.mac.link_retry_pause,
        duty: duty(scenario, index),
    });
    build_with(scenario, index, own, sockets, begins, secrets, access)
}

fn build_with<A: Access>(
    scenario: &Scenario,
    index: usize,
    (root, routes): (usize, &NodeRoutes),
    sockets: Sockets,
    (seed, birth): (Seed, Birth),
    secrets: &mut Secrets,
    access: A,
) -> Built<A> {
    let mut rng = secrets.stream(birth.stream(seed, "node", index));
    let isn_secret = secrets.key(&mut rng);
    let mut config =
        config(scenario, index, (root, routes), &mut rng).with(|it| it.isn_secret = isn_secret);
    if birth.caps.is_none() && scenario.mac.tinyos_backoff {
        config.mac.max_csma_backoffs = u8::MAX;
    }
    if let Some(caps) = birth.caps {
        config.mac.caps = caps;
    }
    let (memory, boxed) = memory(scenario, (index, root), routes, sockets);
    let spec = place(scenario, index);
    let (rival, rivals) = rival(
        &spec.transport,
        scenario,
        (spec.connections.into(), sockets.listeners + SPARE_SOCKETS),
        secrets.stream(birth.stream(seed, "rival", index)),
    );
    let (helper, helpers) = Helper::of(scenario, (seed, birth), index);
    let parts = Parts {
        access,
        assist: helper,
        streams: rival,
        handover: segments(scenario, spec),
    };
    let mut node = SimNode::with_parts(config, memory, rng, parts);
    let fragments = add_fragments(scenario, index, &mut node);
    let rpl = routing::begin(scenario, (index, root), birth.at, seed, &mut node);
    let guarded = security::secure(scenario, index, birth.counter_stored, &mut node);
    let sleeps = |dest: usize, address: &Addr| {
        scenario.nodes.get(dest).is_some_and(|node| {
            node.sleepy && *address == global_address(&scenario.border.prefix, node.short)
        })
    };
    for (route, dest) in routes_of(scenario, index, routes) {
        // Adding a route cannot fail, because the node's table has room for every route of
        // `routes_of`. The host route to a sleepy node lasts only until this node registers its
        // address with its parent.
        let _ = match dest.is_some_and(|dest| sleeps(dest, &route.prefix)) {
            true => node.add_route_until_registered(route.prefix, route.via),
            false => node.add_route(route),
        };
    }
    // Firmware without a duty cycle leaves out the MAC's duty-cycle state, so it is not counted.
    let cycled = match scenario.mac.duty {
        Some(_) => size_of::<Mac<Replay>>() - size_of::<Mac>(),
        None => 0,
    };
    let unused = routing::unused(scenario) + security::unused(scenario);
    Built {
        node,
        memory_bytes: boxed
            + fragments
            + rivals
            + rpl
            + guarded
            + helpers
            + cycled
            + size_of::<Node<HeapMemory>>()
            - unused,
    }
}

/// Returns the configuration with which external node `index` starts, the same as [`build`] uses.
pub(crate) fn begin(
    scenario: &Scenario,
    index: usize,
    routes: &Routes,
    seed: Seed,
    secrets: &mut Secrets,
) -> Begin {
    let own = (routes.root, &routes.nodes[index]);
    let mut rng = secrets.stream(seed.node_stream("node", index));
    let secret = secrets.key(&mut rng);
    let config = config(scenario, index, own, &mut rng);
    let parent = routes.nodes[index].default;
    let parent = parent.and_then(|parent| scenario.nodes.get(parent));
    Begin {
        pan_id: config.mac.pan_id,
        short: config.mac.short,
        extended: config.mac.extended,
        caps: config.mac.caps,
        prefix: scenario.border.prefix,
        parent: parent.map_or(Begin::NO_PARENT, |parent| parent.short),
        secret,
        random: rng.state(),
        first_tag: config.lowpan.first_tag,
    }
}

fn config(
    scenario: &Scenario,
    index: usize,
    (root, routes): (usize, &NodeRoutes),
    rng: &mut Rng,
) -> NodeConfig<OtherTcp> {
    let spec = place(scenario, index);
    let sleepy = &scenario.sleepy;
    let prefix = scenario.border.prefix;
    let sleeps = |parent| {
        SleepyConfig::new(parents(scenario, parent, &routes.parents)).with(|it| {
            it.parent_failures = sleepy.parent_failures;
            it.poll = sleepy.poll;
            it.burst = sleepy.burst;
        })
    };
    let advertises = scenario.nodes.iter().any(|node| node.sleepy) && spec.role != Role::Leaf;
    let config =
        NodeConfig::over_ip(scenario.address(index).unwrap_or_default(), [0; 16]).with(|it| {
            it.mac = mac(scenario, spec);
            it.lowpan = lowpan(scenario, rng.next_u32() as u16);
            it.contexts = Contexts::with_prefix(prefix);
            it.tcp = tcp_config(&scenario.tcp);
            it.hop_limit = routing::hop_limit(scenario);
            it.forwards = spec.role != Role::Leaf;
            it.sleepy = routes.default.filter(|_| spec.sleepy).map(sleeps);
            it.preempts = sleepy.preempt;
            it.nd = NdConfig::default().with(|it| {
                it.advertise = advertises.then_some(Advertised::new(
                    prefix,
                    scenario.address(root).unwrap_or_default(),
                ))
            });
        });
    config.with_algorithms(algorithms(&scenario.tcp, spec))
}

fn mac(scenario: &Scenario, spec: &NodeSpec) -> MacConfig {
    let (mac, sleepy) = (&scenario.mac, &scenario.sleepy);
    MacConfig::default().with(|it| {
        it.pan_id = mac.pan_id;
        // IEEE 802.15.4-2015 §6.4: 0xfffe means that there is no short address.
        it.short = if mac.extended { 0xfffe } else { spec.short };
        it.extended = spec.eui64;
        it.caps = RadioCaps {
            auto_ack: true,
            source_match: true,
            ..RadioCaps::default()
        };
        it.max_frame_retries = mac.max_frame_retries;
        it.min_be = mac.min_be;
        it.max_be = mac.max_be;
        it.max_csma_backoffs = mac.max_csma_backoffs;
        it.ifs = mac.ifs;
        it.promised = mac.promised;
        it.link_retry_delay = mac.link_retry_delay;
        it.deaf_backoff = mac.deaf_backoff;
        it.security_bytes = mac.security_bytes;
        it.indirect_retries = sleepy.retries;
        it.indirect_retry_delay = sleepy.retry_delay;
    })
}

/// Returns the duty cycle of a node with a radio. The scenario may exempt the border router.
fn duty(scenario: &Scenario, index: usize) -> Option<DutyConfig> {
    let has_radio = Some(index) != scenario.host_index();
    let params = scenario.mac.duty.filter(|_| has_radio)?;
    let is_border = place(scenario, index).role == Role::Border;
    Some(DutyConfig {
        stays_awake: is_border && params.border_stays_awake,
        ..params.config
    })
}

fn lowpan(scenario: &Scenario, first_tag: u16) -> LowpanConfig {
    let (lowpan, sleepy) = (&scenario.lowpan, &scenario.sleepy);
    LowpanConfig::default().with(|it| {
        it.indirect_persistence = sleepy.persistence;
        it.indirect_limit = sleepy.limit;
        it.indirect_window = sleepy.poll.window;
        it.indirect_polls = sleepy.polls;
        it.indirect_burst = sleepy.burst;
        it.fragment_pending = lowpan.fragment_pending;
        it.segment_pending = lowpan.segment_pending;
        it.fragment_gap = lowpan.fragment_gap;
        it.pause = lowpan.pause;
        it.red = lowpan.red;
        it.red_seed = first_tag.into();
        it.drop_rest = lowpan.drop_rest;
        it.reassembly_timeout = lowpan.reassembly_timeout;
        it.first_tag = first_tag;
    })
}

fn parents(scenario: &Scenario, parent: usize, others: &[usize]) -> [Option<u16>; 4] {
    let short = |node: usize| scenario.nodes.get(node).map(|node| node.short);
    let mut all = [None; 4];
    let chosen = std::iter::once(parent).chain(others.iter().copied());
    for (place, node) in all.iter_mut().zip(chosen) {
        *place = short(node);
    }
    all
}

/// Returns how a node's transport passes segments to its link. Transports other than Redpoll's TCP
/// queue whole packets, and the link does not report their loss to them.
fn segments(scenario: &Scenario, spec: &NodeSpec) -> Segments {
    let (params, is_other) = (&scenario.tcp, spec.transport != TransportSpec::Redpoll);
    Segments {
        are_queued: is_other || params.queue_window,
        are_unreported: is_other || !params.link_feedback,
    }
}

fn algorithms(params: &TcpParams, spec: &NodeSpec) -> OtherTcp {
    let repair = params.repair;
    OtherTcp {
        congestion: match spec.congestion {
            CongestionSpec::Engine(choice) => choice,
            // Not reached: `World` has replaced the names of controllers.
            CongestionSpec::Given(_) => CongestionChoice::NewReno,
        },
        recovery: RecoveryChoice {
            rack: repair.rack,
            tail_probes: repair.tail_probes,
            prr: repair.prr,
            f_rto: repair.f_rto,
            new_start: repair.new_start,
            rto_margin: params.rto_margin,
        },
    }
}

fn tcp_config(params: &TcpParams) -> redpoll_tcp::Config {
    redpoll_tcp::Config {
        mss: params.announced_mss(),
        nagle: params.nagle,
        timestamps: params.timestamps,
        sack: params.sack,
        ecn: params.ecn,
        delayed_ack: params.delayed_ack,
        ack_every: params.ack_every,
        initial_rto: params.initial_rto,
        min_rto: params.min_rto,
        max_rto: params.max_rto,
        max_retries: params.max_retries,
        syn_retries: params.syn_retries,
        keepalive: params.keepalive.map(|keepalive| redpoll_tcp::Keepalive {
            idle: keepalive.idle,
            interval: keepalive.interval,
            count: keepalive.count,
        }),
        time_wait: params.time_wait,
        ..redpoll_tcp::Config::default()
    }
}

fn sleepers(scenario: &Scenario) -> usize {
    scenario.nodes.iter().filter(|node| node.sleepy).count()
}

/// Allocates the node's tables and buffers, and returns their size in bytes.
fn memory(
    scenario: &Scenario,
    (index, root): (usize, usize),
    routes: &NodeRoutes,
    sockets: Sockets,
) -> (NodeMemory<HeapMemory, OtherTcp>, usize) {
    let tcp = &scenario.tcp;
    let (tx, rx) = (tcp.send_buffer as usize, tcp.receive_buffer as usize);
    let spec = place(scenario, index);
    let connections = match spec.transport {
        TransportSpec::Redpoll => usize::from(spec.connections.saturating_add(spec.forwards)),
        _ => 0,
    };
    let slots = usize::from(scenario.lowpan.slots);
    let slot_bytes = slots * usize::from(scenario.lowpan.slot_bytes);
    let listeners = sockets.listeners + SPARE_SOCKETS;
    let half_open = vec![HalfOpen::default(); if sockets.listeners > 0 { HALF_OPEN } else { 0 }];
    let udp = sockets.udp + sockets.coap + SPARE_SOCKETS;
    let ring = match sockets.coap {
        0 => UDP_BYTES,
        _ => COAP_BYTES,
    };
    let sleepers = sleepers(scenario);
    let hosts = routing::room(scenario, (index, root)).unwrap_or(routes.hosts.len());
    let route_count = hosts + SPARE_ROUTES + sleepers;
    let children = sleepers.min(PENDING_MAX);
    let memory = NodeMemory {
        connections: (0..connections)
            .map(|_| ConnectionSlot::new(buffer(tx), buffer(rx)))
            .collect(),
        listeners: (0..listeners).map(|_| ListenerSlot::default()).collect(),
        half_open: half_open.into(),
        servers: vec![FastOpenServer::default(); tcp.fast_open_servers.into()].into(),
        udp: (0..udp).map(|_| UdpSlot::new(buffer(ring))).collect(),
        routes: HeapTable::growing(route_count),
        neighbours: vec![None; children].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; slots].into(),
            bytes: buffer(slot_bytes),
        },
    };
    let bytes = connections * (tx + rx)
        + bytes_of(&memory.connections)
        + bytes_of(&memory.listeners)
        + bytes_of(&memory.half_open)
        + bytes_of(&memory.servers)
        + udp * ring
        + bytes_of(&memory.udp)
        + table_bytes(scenario, &memory.routes, routing::SHORT_ROUTE_BYTES)
        + bytes_of(&memory.neighbours)
        + bytes_of(&memory.lowpan.slots)
        + slot_bytes;
    (memory, bytes)
}

/// Adds the memory that a node needs to forward fragments individually and to recover them. Returns
/// its bytes. It makes leaves, too, leave room in first fragments and pause between fragments.
fn add_fragments(scenario: &Scenario, index: usize, node: &mut SimNode<impl Access>) -> usize {
    let lowpan = &scenario.lowpan;
    if lowpan.join_fragments {
        node.join_fragments(vec![PartialSlot::EMPTY; 2].into());
    }
    let Some(fragments) = lowpan.forwarded_fragments.map(usize::from) else {
        return 0;
    };
    let forwarding = ForwardingMemory {
        datagrams: vec![VirtualBuffer::EMPTY; fragments.div_ceil(2)].into(),
        fragments: vec![FragmentBuffer::EMPTY; fragments].into(),
    };
    let bytes = bytes_of(&forwarding.datagrams) + bytes_of(&forwarding.fragments);
    node.fragments().forward(forwarding);
    let Some(params) = lowpan.recovery.filter(|_| !place(scenario, index).sleepy) else {
        return bytes;
    };
    let recovery = RecoveryMemory {
        outgoing: vec![Outgoing::EMPTY; usize::from(lowpan.slots)].into(),
        incoming: vec![Incoming::EMPTY; 2 * usize::from(lowpan.slots)].into(),
        paths: vec![SwitchedPath::EMPTY; fragments.div_ceil(2)].into(),
    };
    let more = bytes_of(&recovery.outgoing) + bytes_of(&recovery.incoming);
    let more = more + bytes_of(&recovery.paths);
    let config = RecoveryConfig::default().with(|it| {
        it.window = params.window;
        it.arq_timeout = params.arq_timeout;
        it.arq_timeout_min = params.arq_timeout_min;
        it.arq_timeout_max = params.arq_timeout.times(4);
        it.fragment_retries = params.fragment_retries;
        it.datagram_retries = params.datagram_retries;
    });
    node.fragments().recover(config, recovery);
    bytes + more
}

/// Returns the bytes of a table in firmware for the scenario's kind of addresses; `short` is the
/// size of an entry with short addresses only.
fn table_bytes<T>(scenario: &Scenario, table: &HeapTable<T>, short: usize) -> usize {
    let entry = match scenario.mac.extended {
        true => size_of::<T>(),
        false => short,
    };
    table.limit() * entry
}

fn bytes_of<T>(table: &impl AsRef<[T]>) -> usize {
    size_of_val(table.as_ref())
}

fn place(scenario: &Scenario, index: usize) -> &NodeSpec {
    scenario
        .place(index)
        .expect("the index is that of a node or of the host")
}

fn routes_of(
    scenario: &Scenario,
    index: usize,
    routes: &NodeRoutes,
) -> Vec<(Route, Option<usize>)> {
    let prefix = scenario.border.prefix;
    let neighbour = |node| {
        let link = scenario.link_address(node);
        Via::Neighbour(link.unwrap_or(Address::Absent))
    };
    let finds = scenario.finds_routes(index);
    let hosts = routes.hosts.iter().filter(|_| !finds);
    let mut list: Vec<(Route, Option<usize>)> = hosts
        .map(|host| {
            let route = Route {
                prefix: scenario.address(host.dest).unwrap_or_default(),
                len: 128,
                via: neighbour(host.next_hop),
            };
            (route, Some(host.dest))
        })
        .collect();
    let default = |via| {
        let route = Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via,
        };
        (route, None)
    };
    if Some(index) == scenario.host_index() {
        list.push(default(Via::Host));
    } else if scenario.nodes[index].role == Role::Border {
        // A packet to an address without a node must not return to the host by the default route.
        // RPL ensures this itself; without RPL, an unreachable route does.
        if !finds {
            let unreachable = Route {
                prefix,
                len: 64,
                via: Via::Unreachable,
            };
            list.push((unreachable, None));
        }
        list.push(default(Via::Host));
    } else if let Some(next_hop) = routes.default.filter(|_| !finds) {
        list.push(default(neighbour(next_hop)));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_node_draws_other_numbers() {
        let first = |ms| {
            let at = Instant::from_millis(ms);
            let birth = Birth { at, ..Birth::FIRST };
            birth.stream(Seed(1), "node", 3).next_u64()
        };
        assert_eq!(first(0), Seed(1).node_stream("node", 3).next_u64());
        assert_eq!(first(92_000), first(92_000));
        assert_ne!(first(0), first(92_000));
        assert_ne!(first(93_000), first(92_000));
    }
}
