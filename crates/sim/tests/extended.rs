//! Nodes without short addresses: fixed routes or RPL, fragments, and TCP in both directions.

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

fn run(name: &str, set: &[(&str, &str)], seconds: u64) -> World {
    let always = [("mac.addresses", "extended"), ("mac.pan_id", "0xabcd")];
    let set = always.iter().chain(set);
    let set: Vec<_> = set
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &set).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(seconds * 1_000));
    world
}

#[test]
fn tcp_flows_over_given_routes_and_found_ones() {
    let ways: [&[(&str, &str)]; 3] = [
        &[],
        &[("routing", "rpl"), ("rpl.mode", "storing")],
        &[("routing", "rpl"), ("rpl.mode", "non-storing")],
    ];
    for way in ways {
        let down = [
            ("apps.down.type", "bulk-sender"),
            ("apps.down.on", "node-1"),
            ("apps.down.to", "node-4:5003"),
            ("apps.deep.type", "bulk-sink"),
            ("apps.deep.on", "node-4"),
            ("apps.deep.port", "5003"),
        ];
        let set: Vec<_> = way.iter().chain(&down).copied().collect();
        let mut world = run("line-3", &set, 120);
        let report = world.report();
        assert_eq!(report.oracle.violations, [""; 0], "{way:?}");
        assert!(report.flows.len() >= 2);
        for flow in &report.flows {
            assert!(flow.goodput_kbps > 2.0, "{way:?}: {}", flow.goodput_kbps);
        }
        if !way.is_empty() {
            let targets = world.node(0).map(|node| node.rpl_targets(world.now()));
            assert_eq!(targets, Some(3), "{way:?}");
        }
    }
}

#[test]
fn tcp_flows_over_duty_cycles() {
    for access in ["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"] {
        let report = run("duty-cycled", &[("mac.access", access)], 120).report();
        assert_eq!(report.oracle.violations, [""; 0], "{access}");
        let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
        assert!(delivered > 0, "{access}");
    }
}

#[test]
fn settings_that_need_short_addresses_are_refused() {
    for (name, key, value, expected) in [
        (
            "sleepy-3",
            "mac.addresses",
            "extended",
            "is sleepy; allowed: extended without",
        ),
        (
            "line-2",
            "nodes.node-2.kind",
            "module",
            "nodes.node-2.module: is missing",
        ),
        (
            "line-2",
            "nodes.node-2.module",
            "x.so",
            "has no meaning where kind is redpoll",
        ),
    ] {
        let set = [(key.to_owned(), value.to_owned())];
        let error = Scenario::load(name, &set).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let module = [
        ("nodes.node-2.kind", "module"),
        ("nodes.node-2.module", "x.so"),
    ];
    let with = |more: &[(&str, &str)]| {
        let set = module.iter().chain(more);
        let set: Vec<_> = set
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Scenario::load("line-1", &set)
    };
    let error = with(&[]).unwrap_err().to_string();
    assert!(
        error.contains(
            "mac.addresses: got short, but node-2 runs firmware for Cooja, which uses extended \
             addresses"
        ),
        "{error}"
    );
    let error = with(&[("mac.addresses", "extended")])
        .unwrap_err()
        .to_string();
    assert!(error.contains("runs on it"), "{error}");
}

#[test]
fn modules_need_a_loader() {
    let text = "[mac]\naddresses = \"extended\"\n[topology]\nkind = \"line\"\nnodes = 1\n\
         spacing = \"40 m\"\n[nodes.node-1]\nkind = \"module\"\nmodule = \"x.so\"\n";
    let scenario = Scenario::parse("test.toml", text, &[]).unwrap_or_else(|it| panic!("{it}"));
    let error = World::new(&scenario, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "nodes.node-1.module: nodes of the kind module are not in this build; allowed: a \
         program that was built with the feature `modules`"
    );
}
