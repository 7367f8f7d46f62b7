//! Meshes with RPL (RFC 6550), from their formation to TCP in both directions.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};
use redpoll_wire::ieee802154::Address;

fn load(name: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<_> = [("routing", "rpl")]
        .iter()
        .chain(set)
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Scenario::load(name, &set).unwrap_or_else(|error| panic!("{error}"))
}

fn run(name: &str, set: &[(&str, &str)], seed: u64, seconds: u64) -> (World, Report) {
    let mut world = World::new(&load(name, set), seed).unwrap();
    world.run_until(Instant::from_millis(seconds * 1_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0], "{name}, seed {seed}");
    // Redpoll's nodes accept what Redpoll's nodes send.
    for node in &report.nodes {
        let malformed = node.drops.get("ip.ip_malformed");
        assert_eq!(malformed, None, "{name}, seed {seed}, {}", node.name);
    }
    (world, report)
}

/// Returns the indices of nodes without a parent, except the root.
fn lost(world: &World, root: usize) -> Vec<usize> {
    let count = world.scenario().nodes.len();
    let parent = |index| world.node(index).and_then(|node| node.rpl_place()?.1);
    let all = (0..count).filter(|index| *index != root);
    all.filter(|index| parent(*index).is_none()).collect()
}

/// Checks that a mesh under load keeps its routes: 300 nodes each send a reading every 5 s from a
/// cold start. Collisions then make good links look bad. If nodes changed parents for this reason,
/// the DAOs of their sub-DODAGs would cause more collisions. Single seeds differ by up to 4 points,
/// so the test adds the packets of several seeds.
#[test]
fn a_mesh_under_load_keeps_its_routes() {
    for (mode, seeds) in [("storing", 1..=2), ("non-storing", 1..=3)] {
        let (mut made, mut delivered) = (0, 0);
        for seed in seeds {
            let set = [
                ("topology.columns", "20"),
                ("topology.rows", "15"),
                ("apps.readings.interval", "5 s"),
                ("rpl.mode", mode),
            ];
            let (_, report) = run("grid-1000", &set, seed, 300);
            for it in report.flows.iter().filter_map(|it| it.readings.as_ref()) {
                made += it.made;
                delivered += it.delivered;
            }
            let all = || report.nodes.iter().filter_map(|it| it.rpl.as_ref());
            let changes: u32 = all().map(|it| it.parent_changes).sum();
            let daos: u32 = all().map(|it| it.sent.dao).sum();
            assert!(changes <= 3 * 300, "{changes} parent changes");
            assert!(daos <= 20 * 300, "{daos} DAOs");
            let targets = report.nodes[0].rpl.as_ref().map(|it| it.targets);
            assert!(targets >= Some(290), "{targets:?}");
        }
        assert!(delivered * 100 >= made * 95, "{delivered} of {made}");
    }
}

/// Checks that the DAOs of a large mesh in non-storing mode leave room for readings: 1,000 nodes at
/// up to 21 hops each send one every 60 s from a cold start, and after 240 s the root knows 99 % of
/// the nodes.
#[test]
fn a_large_mesh_forms_in_non_storing_mode_beside_readings() {
    let set = [
        ("apps.readings.interval", "60 s"),
        ("rpl.mode", "non-storing"),
    ];
    let (_, report) = run("grid-1000", &set, 1, 240);
    let (mut made, mut delivered) = (0, 0);
    for it in report.flows.iter().filter_map(|it| it.readings.as_ref()) {
        made += it.made;
        delivered += it.delivered;
    }
    assert!(delivered * 100 >= made * 98, "{delivered} of {made}");
    let targets = report.nodes[0].rpl.as_ref().map(|it| it.targets);
    assert!(targets >= Some(990), "{targets:?}");
}

/// Checks that routers renew the routes of several targets in one DAO: at rest, 300 nodes at up to
/// 13 hops from the root send at most 16 DAOs per node and hour, and the root knows all of them.
#[test]
fn an_idle_mesh_renews_several_routes_in_one_dao() {
    let set = [
        ("topology.columns", "20"),
        ("topology.rows", "15"),
        ("apps.readings.interval", "3000 s"),
    ];
    let mut world = World::new(&load("grid-1000", &set), 1).unwrap();
    let mut daos_until = |hours: u64| {
        world.run_until(Instant::from_millis(hours * 3_600_000));
        let report = world.report();
        let targets = report.nodes[0].rpl.as_ref().map(|it| it.targets);
        assert_eq!(targets, Some(299), "after {hours} h");
        let all = report.nodes.iter().filter_map(|it| it.rpl.as_ref());
        all.map(|it| it.sent.dao).sum::<u32>()
    };
    let daos = daos_until(1).abs_diff(daos_until(2));
    assert!(daos <= 16 * 300, "{daos} DAOs in the second hour");
}

/// Checks that all nodes join, the root has routes to all, and TCP works from and to a leaf.
#[test]
fn a_mesh_forms_and_tcp_flows_both_ways() {
    for mode in ["storing", "non-storing"] {
        let set = [
            ("rpl.mode", mode),
            ("apps.down.type", "bulk-sender"),
            ("apps.down.on", "node-1"),
            ("apps.down.to", "leaf-14:5002"),
            ("apps.deep.type", "bulk-sink"),
            ("apps.deep.on", "leaf-14"),
            ("apps.deep.port", "5002"),
        ];
        let (world, report) = run("office", &set, 1, 120);
        assert_eq!(lost(&world, 0), [0; 0], "{mode}");
        let targets = world.node(0).map(|node| node.rpl_targets(world.now()));
        assert_eq!(targets, Some(14), "{mode}");
        for (index, node) in report.nodes.iter().enumerate() {
            let rpl = node.rpl.as_ref().expect("routed by RPL");
            assert_eq!(
                (rpl.hops == Some(0), rpl.parent.is_none()),
                (index == 0, index == 0)
            );
            // Found paths are not shorter than the shortest.
            assert!(
                rpl.hops >= node.hops && rpl.hops < Some(15),
                "{mode}: {rpl:?}"
            );
            assert!(rpl.sent.dio > 0 && rpl.received.dio > 0 || node.name.starts_with("leaf"));
            assert_eq!(rpl.sent.dao > 0, index != 0, "{mode}: {rpl:?}");
        }
        let root = report.nodes[0].rpl.as_ref().unwrap();
        assert!(root.received.dao >= 14 || mode == "storing", "{root:?}");
        assert_eq!((root.targets, root.sent.dao_ack > 0), (14, true));
        for flow in ["bulk", "down"] {
            let found = report.flows.iter().find(|it| it.name == flow).unwrap();
            assert!(
                found.goodput_kbps > 2.0,
                "{mode}: {flow} {}",
                found.goodput_kbps
            );
        }
    }
}

/// Checks that lost packets do not end a flow. Without a retry delay, collisions of hidden terminals
/// use up all attempts of some frames, and in non-storing mode the router of such a frame reports
/// an error to the root.
#[test]
fn a_flow_goes_on_beside_hidden_terminals() {
    for seed in 1..=4 {
        let delivered = |mode| {
            let set = [("rpl.mode", mode), ("mac.link_retry_delay", "0 ms")];
            let (_, report) = run("line-3", &set, seed, 300);
            report.flows[0].delivered_bytes
        };
        let (storing, non_storing) = (delivered("storing"), delivered("non-storing"));
        assert!(
            non_storing * 10 >= storing * 9,
            "seed {seed}: {non_storing} B, {storing} B in storing mode"
        );
    }
}

/// Checks that the report names the parents of nodes without short addresses as well, and that no
/// target is advertised more often than its lifetime requires.
#[test]
fn acknowledged_daos_are_rare_and_parents_are_named() {
    for mode in ["storing", "non-storing"] {
        for addresses in ["short", "extended"] {
            let set = [
                ("rpl.mode", mode),
                ("mac.addresses", addresses),
                ("apps.bulk.when", "never"),
            ];
            let (_, report) = run("line-4", &set, 1, 3_600);
            for (index, node) in report.nodes.iter().enumerate() {
                let rpl = node.rpl.as_ref().unwrap();
                assert_eq!(rpl.hops, Some(index), "{mode}, {addresses}: {rpl:?}");
                assert_eq!(rpl.parent.is_some(), index > 0);
                // The lifetime is 30 min: each target is advertised again after 7.5 to 22.5 min.
                let told = 1 + rpl.targets as u32;
                let most = if index == 0 { 0 } else { 8 * told };
                assert!(rpl.sent.dao <= most, "{mode}, {addresses}: {rpl:?}");
                assert!(index == 0 || rpl.sent.dao >= 3, "{rpl:?}");
            }
        }
    }
}

/// Checks global repair (RFC 6550 §3.2.2): a border router that starts a new version every minute
/// costs DIOs and DAOs, but no node loses its place or its connection.
#[test]
fn a_mesh_forms_again_in_each_version() {
    for mode in ["storing", "non-storing"] {
        let set = [("rpl.mode", mode), ("rpl.version_interval", "60 s")];
        let (world, report) = run("office", &set, 1, 310);
        let versions = |index| world.node(index).map(|node| node.rpl_counters().versions);
        // A new version in each of the first five minutes.
        assert_eq!(versions(0), Some(5), "{mode}");
        for index in 1..15 {
            // A node that missed a version joins the next one.
            let joined = versions(index);
            assert!(
                joined >= Some(3) && joined <= Some(5),
                "{mode}, {index}: {joined:?}"
            );
        }
        assert_eq!(lost(&world, 0), [0; 0], "{mode}");
        let flow = report.flows.iter().find(|it| it.name == "bulk").unwrap();
        assert!(flow.goodput_kbps > 2.0, "{mode}: {}", flow.goodput_kbps);
        let failed = world.oracle().connections_lost().map(|(_, lost)| lost);
        assert_eq!(failed.sum::<u64>(), 0, "{mode}");
    }
}

/// Checks RPL over a duty-cycled MAC, where each broadcast occupies the radio for a whole cycle:
/// the mesh forms, the root knows all nodes, and data arrives, with radios that are mostly off.
#[test]
fn a_mesh_forms_over_contikimac() {
    for mode in ["storing", "non-storing"] {
        let set = [
            ("rpl.mode", mode),
            ("mac.access", "contikimac"),
            ("radio.model", "cc2420"),
            ("apps.bulk.start", "120 s"),
        ];
        let mut world = World::new(&load("line-3", &set), 1).unwrap();
        world.run_until(Instant::from_millis(120_000));
        assert_eq!(lost(&world, 0), [0; 0], "{mode}");
        let targets = world.node(0).map(|node| node.rpl_targets(world.now()));
        assert_eq!(targets, Some(3), "{mode}");
        let on: Vec<f64> = world
            .report()
            .nodes
            .iter()
            .map(|it| it.radio_duty_cycle)
            .collect();
        assert!(
            on.iter().all(|on| (0.004..0.1).contains(on)),
            "{mode}: {on:?}"
        );
        world.run_until(Instant::from_millis(300_000));
        let report = world.report();
        assert_eq!(report.oracle.violations, [""; 0], "{mode}");
        let delivered = report.flows[0].delivered_bytes;
        assert!(delivered > 5_000, "{mode}: {delivered}");
        assert_eq!(lost(&world, 0), [0; 0], "{mode}");
    }
}

/// 30 nodes in a grid, with the border router in a corner. Every router has a connection to the
/// host, which carries a reading every five seconds.
const THIRTY: &[(&str, &str)] = &[
    ("medium.transmission_range", "60 m"),
    ("medium.interference_range", "60 m"),
    ("medium.carrier_sense_range", "60 m"),
    ("nodes.node-1.role", "border"),
    ("apps.bulk.when", "never"),
    ("apps.bulk.on", "node-3"),
    ("apps.bulk.to", "node-2:5001"),
    ("apps.sink.on", "node-2"),
    ("apps.server.type", "bulk-sink"),
    ("apps.server.on", "host"),
    ("apps.server.port", "9000"),
    ("apps.reading.type", "sensor"),
    ("apps.reading.transport", "tcp"),
    ("apps.reading.on", "every router"),
    ("apps.reading.to", "host:9000"),
    ("apps.reading.reading", "40 B"),
    ("apps.reading.interval", "5 s"),
    ("apps.reading.start", "60 s"),
    // The queue holds all readings of an outage.
    ("apps.reading.queue", "1000"),
];

/// Time of the fault, in seconds.
const FAULT_S: u64 = 180;

/// State of the network after a fault.
struct Healing {
    /// Longest time without an arrival of each flow, in seconds, and its sender.
    gaps: Vec<(u64, String)>,
    /// Time after the fault, in seconds, when the root had routes to all nodes again.
    reachable_s: Option<u64>,
    /// Longest time, in seconds, in which the root lacked a route to some node.
    unreachable_s: u64,
    /// Largest distance of a node from the root, in hops.
    hops: usize,
    failed: u64,
}

/// Runs a mesh of thirty nodes with `fault`, and samples it every second.
fn heal(mode: &str, seed: u64, fault: &[(&str, &str)], dead: Option<usize>) -> Healing {
    let set: Vec<_> = [("rpl.mode", mode)]
        .iter()
        .chain(THIRTY)
        .chain(fault)
        .copied()
        .collect();
    let mut world = World::new(&load("grid-30", &set), seed).unwrap();
    world.run_until(Instant::from_millis(FAULT_S * 1_000));
    let survivors = 29 - usize::from(dead.is_some());
    let delivered = |world: &mut World| -> Vec<(String, u64)> {
        let flows = world.report().flows;
        let tcp = flows.into_iter().filter(|flow| flow.to == "host");
        tcp.map(|flow| (flow.from, flow.delivered_bytes)).collect()
    };
    let mut last = delivered(&mut world);
    let mut since = vec![0; last.len()];
    let mut longest = vec![0; last.len()];
    let mut reachable_s = None;
    let (mut known_at, mut unreachable_s, mut hops) = (0, 0, 0);
    for second in 1..=240 {
        world.run_until(Instant::from_millis((FAULT_S + second) * 1_000));
        let now = delivered(&mut world);
        for (flow, (new, old)) in now.iter().zip(&last).enumerate() {
            if new.1 > old.1 {
                since[flow] = second;
            }
            longest[flow] = longest[flow].max(second - since[flow]);
        }
        let known = world
            .node(0)
            .map_or(0, |node| node.rpl_targets(world.now()));
        // A root that is off keeps its routes, but is unreachable.
        let is_reachable = known >= survivors && second > 3;
        if is_reachable {
            reachable_s = reachable_s.or(Some(second));
            known_at = second;
        }
        unreachable_s = unreachable_s.max(second - known_at);
        let nodes = world.report().nodes.into_iter();
        let places = nodes.filter_map(|node| node.rpl?.hops);
        hops = hops.max(places.max().unwrap_or(0));
        last = now;
    }
    let report = world.report();
    let violations = report.oracle.violations;
    assert_eq!(violations.first(), None, "seed {seed}");
    let dead = dead.map(|index| world.scenario().nodes[index].name.clone());
    let gaps = last.into_iter().zip(longest);
    let gaps = gaps.filter(|((from, _), _)| Some(from) != dead.as_ref());
    let lost = world.oracle().connections_lost();
    let lost = lost.filter(|(from, _)| Some(*from) != dead.as_deref());
    let failed = lost.map(|(_, lost)| lost).sum();
    Healing {
        gaps: gaps.map(|((from, _), gap)| (gap, from)).collect(),
        reachable_s,
        unreachable_s,
        hops,
        failed,
    }
}

/// Returns the longest time in seconds for which a node may be unreachable after a restart of the
/// border router, by the parameters of Trickle and DAOs. The border router is off, and then listens
/// for two of Trickle's shortest intervals. The new version takes one interval for each hop, and
/// after a lost DIO also the next interval, which is twice as long. DAOs wait for DelayDAO and up
/// to half as much more at each hop. A lost DAO is repeated up to its limit, each time after a
/// timeout of up to 1.5 times its mean.
fn longest_unreachable_s(world: &Scenario, off_s: f64, hops: usize) -> f64 {
    let rpl = world.routing.rpl().expect("routed by RPL");
    let config = redpoll_stack::RplConfig::new(0);
    let shortest_s = f64::from(1_u32 << rpl.configuration.interval_min) / 1e3;
    let s = |time: redpoll_base::Duration| time.as_micros() as f64 / 1e6;
    let hop_s = shortest_s * 3.0 + s(rpl.dao_delay) * 1.5;
    let repeated = (1_u32 << config.dao_retries) - 1;
    let repeated_s = s(config.dao_timeout) * 1.5 * f64::from(repeated);
    off_s + 2.0 * shortest_s + hops as f64 * hop_s + repeated_s
}

/// Returns the router that forwards for the most nodes at the time of the fault.
fn busiest_router(mode: &str, seed: u64) -> usize {
    let set: Vec<_> = [("rpl.mode", mode)].iter().chain(THIRTY).copied().collect();
    let mut world = World::new(&load("grid-30", &set), seed).unwrap();
    world.run_until(Instant::from_millis(FAULT_S * 1_000));
    let scenario = world.scenario();
    let short = |index: &usize| Address::Short(scenario.nodes[*index].short);
    let index_of = |link| (0..30).find(|index| short(index) == link);
    let above = |index: usize| index_of(world.node(index)?.rpl_place()?.1?);
    let mut behind = [0; 30];
    for node in 1..30 {
        let mut at = node;
        for _ in 0..30 {
            at = match above(at) {
                Some(next) => next,
                None => break,
            };
            behind[at] += 1;
        }
    }
    (1..30).max_by_key(|index| behind[*index]).unwrap()
}

/// Returns the healing tests' seeds: two, or the number in `REDPOLL_SEEDS` (20 in `make heal`).
fn seeds() -> std::ops::RangeInclusive<u64> {
    let asked = std::env::var("REDPOLL_SEEDS").ok();
    1..=asked.and_then(|seeds| seeds.parse().ok()).unwrap_or(2)
}

/// Switches off the router that forwards for the most nodes. Checks that in 95 % of the seeds,
/// every other node's connection carries data again within 60 s, and that no connection fails.
#[test]
fn a_mesh_heals_when_its_busiest_router_dies() {
    for mode in ["storing", "non-storing"] {
        let (mut late, mut failed) = (Vec::new(), 0);
        for seed in seeds() {
            let router = busiest_router(mode, seed);
            let name = format!("node-{}", router + 1);
            let fault = [
                ("faults.dies.type", "node-off"),
                ("faults.dies.node", name.as_str()),
                ("faults.dies.from", "180 s"),
            ];
            let healing = heal(mode, seed, &fault, Some(router));
            let longest = healing.gaps.iter().max().unwrap();
            println!(
                "{mode}, seed {seed}: {name} dies; longest silence {} s ({}), {} failed",
                longest.0, longest.1, healing.failed
            );
            if longest.0 > 60 {
                late.push(seed);
            }
            failed += healing.failed;
        }
        let count = seeds().count();
        println!(
            "{mode}: {} of {count} seeds within 60 s",
            count - late.len()
        );
        assert_eq!(failed, 0, "{mode}");
        assert!(late.len() * 20 <= count, "{mode}: late at seeds {late:?}");
    }
}

/// Checks that after a restart of the border router without state, all nodes are reachable within
/// 120 s, and none is unreachable for longer than Trickle's parameters allow.
#[test]
fn a_border_router_that_restarts_is_found_again() {
    for mode in ["storing", "non-storing"] {
        let (mut late, mut failed) = (Vec::new(), 0);
        for seed in seeds() {
            let fault = [
                ("faults.restarts.type", "node-restart"),
                ("faults.restarts.node", "node-1"),
                ("faults.restarts.from", "180 s"),
                ("faults.restarts.until", "183 s"),
            ];
            let healing = heal(mode, seed, &fault, None);
            let longest = healing.gaps.iter().max().unwrap();
            println!(
                "{mode}, seed {seed}: all reachable after {:?} s, longest silence {} s ({}), {} failed",
                healing.reachable_s, longest.0, longest.1, healing.failed
            );
            let scenario = load("grid-30", &[("rpl.mode", mode)]);
            let most = longest_unreachable_s(&scenario, 3.0, healing.hops);
            println!(
                "    unreachable for {} s of {most:.0} that {} hops allow",
                healing.unreachable_s, healing.hops
            );
            let is_reachable = healing.reachable_s.is_some_and(|s| (4..=120).contains(&s));
            if !is_reachable || healing.unreachable_s as f64 > most {
                late.push(seed);
            }
            failed += healing.failed;
        }
        let count = seeds().count();
        println!(
            "{mode}: {} of {count} seeds within both bounds",
            count - late.len()
        );
        assert_eq!(failed, 0, "{mode}");
        assert_eq!(late, [0; 0], "{mode}: late at these seeds");
    }
}

/// Checks that a sleepy leaf registers with a router, which advertises it (RFC 9010). TCP flows in
/// both directions between the leaf and a host beyond the border router, and again after the leaf
/// has changed its parent because the router died.
#[test]
fn a_sleepy_leaf_is_found_under_routers_of_rpl() {
    for mode in ["storing", "non-storing"] {
        for tunnels in ["true", "false"] {
            let set = [("rpl.mode", mode), ("rpl.tunnels", tunnels)];
            let mut world = World::new(&load("sleepy-rpl", &set), 1).unwrap();
            let mut delivered = Vec::new();
            for second in [100, 200, 300] {
                world.run_until(Instant::from_millis(second * 1_000));
                let flows = world.report().flows;
                delivered.push([0, 1].map(|flow| flows[flow].delivered_bytes));
            }
            let report = world.report();
            let what = format!("{mode}, tunnels {tunnels}: {delivered:?}");
            assert_eq!(report.oracle.violations, [""; 0], "{what}");
            let lost = world.oracle().connections_lost().map(|(_, lost)| lost);
            assert_eq!(lost.sum::<u64>(), 0, "{what}");
            // Most of the due bytes of each flow have arrived.
            for (flow, least) in [("readings", 60 * 82), ("commands", 10 * 40)] {
                let at = report.flows.iter().position(|it| it.name == flow).unwrap();
                for part in delivered.windows(2) {
                    assert!(part[1][at] >= part[0][at] + least, "{flow}, {what}");
                }
                assert!(delivered[0][at] >= least, "{flow}, {what}");
            }
            let leaf = report.nodes.iter().find(|it| it.name == "leaf").unwrap();
            assert!(
                leaf.rpl.is_none() && leaf.radio_duty_cycle < 0.2,
                "{leaf:?}"
            );
            assert_eq!(leaf.parent_changes, 1, "{what}");
            // The root's targets are the routers and the leaf.
            let targets = world.node(0).map(|node| node.rpl_targets(world.now()));
            assert!(targets >= Some(3), "{targets:?}, {what}");
        }
    }
}

/// Checks that after a restart of the border router without state, the leaf's router advertises the
/// leaf again without a message from the leaf, and nothing is lost.
#[test]
fn a_sleepy_leaf_is_found_again_when_the_border_router_restarts() {
    for mode in ["storing", "non-storing"] {
        let set = [
            ("rpl.mode", mode),
            ("faults.dies.type", "node-restart"),
            ("faults.dies.node", "root"),
            ("faults.dies.until", "123 s"),
        ];
        let (world, report) = run("sleepy-rpl", &set, 1, 300);
        let lost = world.oracle().connections_lost().map(|(_, lost)| lost);
        assert_eq!(lost.sum::<u64>(), 0, "{mode}");
        for (flow, least) in [("readings", 265 * 82), ("commands", 52 * 40)] {
            let found = report.flows.iter().find(|it| it.name == flow).unwrap();
            assert!(found.delivered_bytes >= least, "{mode}: {found:?}");
        }
        let leaf = report.nodes.iter().find(|it| it.name == "leaf").unwrap();
        assert_eq!(leaf.parent_changes, 0, "{mode}");
    }
}
