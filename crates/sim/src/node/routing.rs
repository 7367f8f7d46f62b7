//! RPL on simulated nodes.

use redpoll_base::Instant;
use redpoll_replay::ReplayRules;
use redpoll_stack::{RouteSlot, RplConfig, RplMemory, RplNeighbour, RplRole, RplRoot};

use redpoll_mac::Access;

use super::SimNode;
use super::tables::table_bytes;
use crate::kernel::Seed;
use crate::scenario::{Role, Scenario};

/// Bytes of a route in a node that has short addresses only, and is built without the feature
/// `rpl-eui64`. A test of `redpoll-stack` measures them.
pub(super) const SHORT_ROUTE_BYTES: usize = 28;
/// Bytes of a candidate neighbour in a node that has short addresses only, and is built without the
/// feature `rpl-eui64`.
const SHORT_NEIGHBOUR_BYTES: usize = 14;
// The simulator is built with `rpl-eui64`, which makes each entry 4 or 6 bytes larger.
const _: () = assert!(size_of::<Option<RouteSlot>>() == SHORT_ROUTE_BYTES + 4);
const _: () = assert!(size_of::<Option<RplNeighbour>>() == SHORT_NEIGHBOUR_BYTES + 6);

/// Bytes of RPL's state with heap memory and all features, minus the state of registrations, which
/// a node without RPL has instead. A test of `redpoll-stack` measures the difference.
const RPL_STATE_BYTES: usize = 984;

const TARGETS_MAX: usize = 1_000;

/// Returns the maximum number of targets of node `index` in a DODAG with this root; `None` with
/// fixed routes.
pub(super) fn room(scenario: &Scenario, (index, root): (usize, usize)) -> Option<usize> {
    let params = scenario.routing.rpl()?;
    let node = scenario.nodes.get(index)?;
    let all = scenario.nodes.len();
    let stores = params.mode == redpoll_stack::wire::rpl::mode::STORING;
    Some(match params.routes {
        _ if index == root => all,
        _ if !stores || node.role == Role::Leaf => 0,
        Some(routes) => routes.into(),
        None => all.min(TARGETS_MAX),
    })
}

/// Returns the initial hop limit, which RFC 8200 leaves to the sender. It is greater with RPL,
/// whose paths can be longer than the paths of least cost.
pub(super) fn hop_limit(scenario: &Scenario) -> u8 {
    match scenario.routing.rpl() {
        Some(_) => 255,
        None => 64,
    }
}

/// Starts RPL on node `index`, if it uses RPL. Returns the bytes of its neighbour table.
pub(super) fn begin(
    scenario: &Scenario,
    (index, root): (usize, usize),
    now: Instant,
    seed: Seed,
    node: &mut SimNode<impl Access>,
) -> usize {
    let Some(params) = scenario.routing.rpl() else {
        return 0;
    };
    // A sleepy node does not run RPL: it registers with a router (RFC 9010).
    let Some(spec) = scenario.nodes.get(index).filter(|node| !node.sleepy) else {
        return 0;
    };
    let role = match spec.role {
        _ if index == root => {
            let prefix = scenario.border.prefix;
            let mut root = RplRoot::new(prefix, params.mode, params.configuration);
            root.version_interval = params.version_interval;
            RplRole::Root(root)
        }
        Role::Leaf => RplRole::Leaf,
        Role::Border | Role::Router => RplRole::Router,
    };
    // A restarted node draws new numbers.
    let mut rng = seed.node_stream("rpl", index);
    let seed = rng.next_u64() ^ now.as_micros();
    let config = RplConfig::new(seed).with(|it| {
        it.dao_delay = params.dao_delay;
        it.dao_ack = params.dao_ack;
        it.dis_interval = params.dis_interval;
        it.probe_interval = params.probe_interval;
        it.tunnels = params.tunnels;
        it.load_aware = params.load_aware;
        it.dao_targets = params.dao_targets;
        it.dtsn_each_dio = params.dtsn_each_dio;
    });
    let memory = RplMemory {
        neighbours: vec![None; params.neighbours.into()].into(),
    };
    let bytes = table_bytes(scenario, &memory.neighbours, SHORT_NEIGHBOUR_BYTES);
    let rules = ReplayRules {
        counts_hops: params.counts_hops,
        initial_etx: params.initial_etx,
        switch_threshold: params.switch_threshold,
        dao_interval: params.dao_interval,
        sends_plain_rank: params.plain_sender_rank,
    };
    node.route_by_rpl_with(now, rules, role, config, memory);
    bytes
}

/// Returns how many bytes of a node's memory are unused because it does not route by RPL: RPL's
/// state and two counters.
pub(super) fn unused(scenario: &Scenario) -> usize {
    match scenario.routing.rpl() {
        Some(_) => 0,
        None => RPL_STATE_BYTES + size_of::<[u32; 2]>(),
    }
}
