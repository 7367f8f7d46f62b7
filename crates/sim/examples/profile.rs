//! Runs a scenario and prints where frames and packets were lost, for work on
//! the simulator itself.

use std::collections::BTreeMap;

use redpoll_base::Instant;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::world::World;

fn main() {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "line-1".into());
    let seconds: u64 = args.next().map_or(60, |s| s.parse().expect("seconds"));
    let overrides: Vec<_> = args
        .filter_map(|arg| arg.split_once('=').map(|(k, v)| (k.into(), v.into())))
        .collect();
    let scenario = match Scenario::load(&name, &overrides) {
        Ok(scenario) => scenario,
        Err(error) => return eprintln!("{error}"),
    };
    let mut world = World::new(&scenario, scenario.seed).expect("a world");
    world.run_until(Instant::from_millis(seconds * 1_000));
    let report = world.report();
    let mut drops: BTreeMap<&str, u64> = BTreeMap::new();
    for node in &report.nodes {
        for (reason, count) in &node.drops {
            *drops.entry(reason).or_default() += count;
        }
    }
    println!("{drops:#?}");
    let mut busiest: Vec<_> = report.nodes.iter().collect();
    busiest.sort_by_key(|node| std::cmp::Reverse(node.frames_sent));
    for node in busiest.iter().take(8) {
        let (name, sent, again) = (&node.name, node.frames_sent, node.frame_retries);
        println!("{name}: {sent} frames, {again} again, {:?}", node.drops);
    }
    let frames: u64 = report.nodes.iter().map(|node| node.frames_sent).sum();
    let sent: u64 = report.flows.iter().map(|flow| flow.segments_sent).sum();
    let bytes: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
    println!("{frames} frames, {sent} segments, {bytes} bytes delivered");
    if report.flows.len() <= 30 {
        println!("{:#?}", report.flows);
    }
    println!(
        "{:.1} s in {:.3} s ({:.0} x), {} events, {:.0} ns an event, oracle {:?}",
        report.simulated_s,
        report.wall_s,
        report.simulated_s / report.wall_s,
        report.events,
        report.wall_s * 1e9 / report.events as f64,
        report.oracle,
    );
}
