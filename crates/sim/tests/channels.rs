//! Channels that differ by direction and by node, and that fade, in whole worlds.

use std::collections::BTreeSet;

use redpoll_base::Instant;
use redpoll_sim::{Scenario, World};

fn scenario(name: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    Scenario::load(name, &overrides).unwrap()
}

/// Checks that a node has a path if and only if links lead to it and back over routers.
#[test]
fn every_node_with_links_both_ways_has_a_path() {
    let asymmetric = [
        ("medium.shadowing_sigma", "4 dB"),
        ("medium.asymmetry_sigma", "4 dB"),
        ("medium.noise_sigma", "2 dB"),
    ];
    let scenario = scenario("testbed-3", &asymmetric);
    let border = scenario.border_router().unwrap();
    for seed in 1..=30 {
        let mut world = World::new(&scenario, seed).unwrap();
        let neighbours = |node: usize| world.air().neighbours(node);
        let mut reached = BTreeSet::from([border]);
        let mut fresh = vec![border];
        while let Some(node) = fresh.pop() {
            for other in neighbours(node) {
                let forwards = !scenario.nodes[other.node].name.starts_with("leaf");
                if reached.insert(other.node) && forwards {
                    fresh.push(other.node);
                }
            }
        }
        let hops: Vec<_> = world.report().nodes.iter().map(|node| node.hops).collect();
        for (node, hops) in hops.iter().enumerate() {
            assert_eq!(
                hops.is_some(),
                reached.contains(&node),
                "seed {seed}, {node}"
            );
            assert_eq!(*hops == Some(0), node == border, "seed {seed}, {node}");
        }
    }
}

/// Checks that deep fades cost retries and goodput, because link retries cannot repair the longer
/// ones. All received data is correct.
#[test]
fn fading_costs_retries() {
    let run = |overrides: &[(&str, &str)]| {
        let scenario = scenario("testbed-3", overrides);
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(30_000));
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        let sent: u64 = report.nodes.iter().map(|node| node.frames_sent).sum();
        let again: u64 = report.nodes.iter().map(|node| node.frame_retries).sum();
        (report.flows[0].goodput_kbps, again as f64 / sent as f64)
    };
    let (goodput, retries) = run(&[]);
    let (faded, faded_retries) = run(&[("medium.fading", "rayleigh")]);
    assert!(faded > 5.0 && faded < 0.85 * goodput, "{faded} {goodput}");
    assert!(faded_retries > retries + 0.08, "{faded_retries} {retries}");
    let (rician, _) = run(&[("medium.fading", "rician"), ("medium.rice_factor", "20 dB")]);
    assert!(rician > 0.9 * goodput, "{rician} {goodput}");
}

#[test]
fn parameters_of_disabled_models_have_no_effect() {
    let digest = |overrides: &[(&str, &str)]| {
        let mut world = World::new(&scenario("testbed-3", overrides), 1).unwrap();
        world.run_until(Instant::from_millis(5_000));
        world.digest()
    };
    let unused = [
        ("medium.coherence_time", "1 s"),
        ("medium.power_noise_correlation", "0.5"),
    ];
    assert_eq!(digest(&unused), digest(&[]));
    assert_ne!(digest(&[("medium.fading", "lognormal")]), digest(&[]));
}
