//! The cache of segments (Hurni et al. 2012) in routers of a mesh.

use crate::common;

use common::run;
use redpoll_base::{Instant, Rng};
use redpoll_sim::testing::report::CacheFigures;
use redpoll_sim::{Report, Scenario, World};

const ON: (&str, &str) = ("cache.on", "every node");

fn caches(report: &Report) -> impl Iterator<Item = &CacheFigures> {
    report.nodes.iter().filter_map(|node| node.cache.as_ref())
}

/// Returns overrides for a link without retries, on which uIP waits for seconds after a loss.
fn lossy<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let chain = [
        ("mac.access", "nullrdc"),
        ("tcp.transport", "uip-2.5"),
        ("faults.air.type", "lose-frames"),
        ("faults.air.share", "3 %"),
    ];
    [&chain[..], more].concat()
}

#[test]
fn a_cache_raises_the_goodput_of_uip() {
    let without = run("line-4", &lossy(&[]), 1, 120);
    assert_eq!(caches(&without).count(), 0);
    let with = run("line-4", &lossy(&[ON]), 1, 120);
    let (one, other) = (&with.flows[0], &without.flows[0]);
    assert!(
        one.delivered_bytes > 3 * other.delivered_bytes / 2,
        "{} of {}",
        one.delivered_bytes,
        other.delivered_bytes
    );
    let repeated: u64 = caches(&with).map(|cache| cache.repeated).sum();
    let dropped: u64 = caches(&with).map(|cache| cache.dropped).sum();
    assert!(repeated > 50 && dropped > 5, "{repeated}, {dropped}");
    // The nodes at the ends do not forward.
    let ends = [&with.nodes[0], &with.nodes[4]].map(|node| node.cache.unwrap().cached);
    assert_eq!(ends, [0, 0]);
    // The caches hear packets because radios also report frames for other nodes.
    assert!(with.nodes[0].cache.unwrap().heard > 100);
}

#[test]
fn overheard_traffic_decides_the_time_of_a_retransmission() {
    let early = |report: &Report| -> u64 { caches(report).map(|it| it.repeated_early).sum() };
    let plain = run("line-4", &lossy(&[ON]), 1, 60);
    let listening = run(
        "line-4",
        &lossy(&[ON, ("cache.by_activity", "true")]),
        1,
        60,
    );
    assert_eq!(early(&plain), 0);
    assert!(early(&listening) > 20, "{}", early(&listening));
}

/// Checks that uIP's routers drop packets that they already forwarded, even copies from a cache.
#[test]
fn uip_routers_drop_packets_that_they_have_forwarded() {
    let kept = |more: &[(&str, &str)]| {
        let report = run("line-4", &lossy(more), 1, 60);
        let flow = &report.flows[0];
        assert!(flow.delivered_bytes > 1_000, "{}", flow.delivered_bytes);
        caches(&report).map(|it| it.dropped).sum::<u64>()
    };
    let known = ("rivals.uip_forwarding", "true");
    assert!(kept(&[ON, known]) < kept(&[ON]));
}

/// Returns a network with random links, MAC, transport, losses, duplicates and cache parameters.
fn random_network(rng: &mut Rng) -> String {
    let pick = |rng: &mut Rng, of: &[&'static str]| of[rng.below(of.len() as u32) as usize];
    let nodes = 3 + rng.below(4);
    let links: Vec<String> = (1..nodes)
        .map(|node| {
            let percent = 80 + rng.below(21);
            format!("\"node-{node} <-> node-{}, {percent} %\"", node + 1)
        })
        .collect();
    let access = pick(
        rng,
        &["csma", "csma", "nullrdc", "contikimac", "x-mac", "lpp"],
    );
    let transport = pick(
        rng,
        &["redpoll", "redpoll", "uip-2.5", "linux", "one-segment"],
    );
    let (forwards, recovers) = match rng.below(3) {
        _ if access != "csma" => (false, false),
        0 => (true, false),
        1 => (true, true),
        _ => (false, false),
    };
    let mut text = format!(
        "duration = \"60 s\"\n[topology]\nkind = \"links\"\nlinks = [{}]\n\
         [mac]\naccess = \"{access}\"\n\
         [tcp]\ntransport = \"{transport}\"\nmss = \"{} frames\"\n\
         timestamps = {}\nfast_open = {}\nsend_buffer = \"2400 B\"\nreceive_buffer = \"2400 B\"\n\
         [lowpan]\nslots = {}\nred = {}\nfragment_forwarding = {forwards}\n\
         fragment_recovery = {recovers}\n\
         [rivals]\nuip_forwarding = {}\nsegment_mss = \"200 B\"\nlinux_buffer = \"2400 B\"\n\
         [cache]\non = \"every node\"\nrules = \"{}\"\nby_activity = {}\n\
         regenerate = {}\nsegments = {}\nflows = {}\npackets = {}\ninitial_rtt = \"{} ms\"\ntimeout_factor = {}\n\
         [faults.loss]\ntype = \"lose-frames\"\nshare = \"{} %\"\n\
         [faults.twice]\ntype = \"duplicate-frames\"\nshare = \"{} %\"\n",
        links.join(", "),
        1 + rng.below(5),
        rng.below(2) == 0,
        rng.below(2) == 0,
        2 + rng.below(8),
        rng.below(2) == 0,
        rng.below(2) == 0,
        pick(rng, &["cctrl", "dtc", "tss"]),
        rng.below(2) == 0,
        rng.below(4) > 0,
        1 + rng.below(4),
        1 + rng.below(4),
        1 + rng.below(8),
        50 + rng.below(3_000),
        1 + rng.below(4),
        rng.below(12),
        rng.below(12),
    );
    for node in 1..=nodes {
        text += &format!("[nodes.node-{node}]\nrole = \"router\"\n");
    }
    text += "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 5001\n";
    let last = format!("node-{nodes}");
    let apps = [
        ("one", &*last, 0),
        ("two", &*last, 0),
        ("three", "node-2", 0),
        // At 8 s the node has a cookie, if it requests cookies.
        ("four", &*last, 8),
        ("five", "node-2", 12),
    ];
    for (name, from, start) in apps {
        let total = if start > 0 || rng.below(2) == 0 {
            "total = \"3000 B\"\n"
        } else {
            ""
        };
        text += &format!(
            "[apps.{name}]\ntype = \"bulk-sender\"\non = \"{from}\"\nto = \"node-1:5001\"\nstart = \"{start} s\"\n{total}"
        );
    }
    text
}

/// Checks that streams arrive completely and in order, and that only received data is acknowledged.
/// The oracle observes both ends of every connection.
#[test]
fn random_networks_have_no_violations() {
    let mut rng = Rng::new(13);
    let (mut delivered, mut repeated, mut dropped) = (0, 0, 0);
    let mut opened_fast = 0;
    let (mut reached, mut waited, mut duplicates, mut again) = (0, 0, 0, 0);
    for round in 0..170 {
        let text = random_network(&mut rng);
        let scenario = Scenario::parse("random", &text, &[]);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut world = World::new(&scenario, round).unwrap();
        world.run_until(Instant::from_millis(60_000));
        let sink = world.node(0).expect("the simulation has node 0");
        opened_fast += sink.counters().fast_opens;
        let report = world.report();
        assert_eq!(report.oracle.violations, [""; 0], "round {round}\n{text}");
        delivered += report
            .flows
            .iter()
            .map(|it| it.delivered_bytes)
            .sum::<u64>();
        repeated += caches(&report).map(|cache| cache.repeated).sum::<u64>();
        dropped += caches(&report).map(|cache| cache.dropped).sum::<u64>();
        reached += caches(&report).map(|cache| cache.reached).sum::<u64>();
        waited += caches(&report).map(|cache| cache.waited).sum::<u64>();
        duplicates += caches(&report).map(|cache| cache.duplicates).sum::<u64>();
        again += caches(&report).map(|cache| cache.again).sum::<u64>();
    }
    assert!(delivered > 500_000, "{delivered}");
    assert!(repeated > 500 && dropped > 100, "{repeated}, {dropped}");
    assert!(opened_fast > 10, "{opened_fast} began with data");
    assert!(
        reached > 500 && waited > 100 && duplicates > 50 && again > 50,
        "{reached}, {waited}, {duplicates}, {again}"
    );
}
