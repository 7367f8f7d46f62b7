//! Simulated nodes: `stack::Node` with its memory on the heap, configured by a scenario.
//!
//! - `settings`: the configuration of the node's layers;
//! - `tables`: its memory, and the bytes that this memory takes in firmware;
//! - `sockets`: the numbers of sockets for the scenario's apps;
//! - `routes`: the routes with which it starts; `routing`: RPL;
//! - `security`: link-layer security;
//! - `helper`: the assistants, for forwarded packets and for multicast.

mod helper;
mod routes;
mod routing;
mod security;
mod settings;
mod sockets;
mod tables;

use std::marker::PhantomData;

use redpoll_base::{Addr, Instant, Rng};
use redpoll_lowpan::LowpanMemory;
use redpoll_mac::{Access, CsmaCa, Mac, RadioCaps};
use redpoll_replay::{OtherTcp, Replay, ReplayConfig, ReplayRules, Segments};
use redpoll_rivals::Rival;
use redpoll_stack::{NoStreams, Node, NodeConfig, NodeMemory, Parts, Profile};
use redpoll_uart::Begin;

use crate::kernel::{Secrets, Seed};
use crate::memory::HeapMemory;
use crate::rivals::rival;
use crate::scenario::{NodeSpec, Scenario};
use crate::topology::{NodeRoutes, Routes};
pub use helper::Helper;
pub(crate) use helper::all_coap_nodes;
pub(crate) use security::{store_counter, take_sealed};
use settings::{config, duty, segments};
pub use sockets::Sockets;
pub(crate) use sockets::datagram_ports;
use tables::{SPARE_SOCKETS, add_fragments, memory};

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
    routes::add(scenario, index, routes, &mut node);
    // Firmware without a duty cycle leaves out the MAC's duty-cycle state, so the bytes of this
    // state are not counted.
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

fn place(scenario: &Scenario, index: usize) -> &NodeSpec {
    scenario
        .place(index)
        .expect("the index is that of a node or of the host")
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
