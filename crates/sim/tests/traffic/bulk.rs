//! Bulk transfers.

use redpoll_sim::World;

use super::{pair, run};

const SINK: &str = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n";
const BULK: &str = "[apps.bulk]\ntype = \"bulk-sender\"\non = \"node-2\"\nto = \"node-1:7\"\n";

fn delivered(world: &mut World) -> u64 {
    world.report().flows[0].delivered_bytes
}

#[test]
fn a_transfer_with_a_total_delivers_exactly_that() {
    let mut world = World::new(&pair(&format!("{SINK}{BULK}total = \"10 KiB\"")), 1).unwrap();
    run(&mut world, 30);
    assert_eq!(delivered(&mut world), 10_240);
    let [sink, sender] = [0, 1].map(|node| world.node(node).unwrap().tcp_connections().count());
    assert_eq!((sink, sender), (0, 0), "both ends are closed and forgotten");
}

#[test]
fn a_transfer_starts_at_its_configured_time() {
    let mut world = World::new(&pair(&format!("{SINK}{BULK}start = \"5 s\"")), 1).unwrap();
    world.run_until(redpoll_base::Instant::from_millis(4_999));
    assert!(world.report().flows.is_empty());
    run(&mut world, 6);
    assert!(delivered(&mut world) > 2_000);
}

#[test]
fn a_refused_connection_is_tried_again() {
    // The sink opens its port after the sender has been refused twice.
    let sink = format!("{SINK}start = \"5 s\"\n");
    let mut world = World::new(&pair(&format!("{sink}{BULK}retry = \"2 s\"")), 1).unwrap();
    run(&mut world, 5);
    assert_eq!(delivered(&mut world), 0);
    run(&mut world, 8);
    assert!(delivered(&mut world) > 2_000);
}

#[test]
fn a_lost_connection_begins_again_and_the_oracle_stays_content() {
    let faults = "[tcp]\nmax_retries = 2\n[faults.silence]\ntype = \"node-off\"\n\
                  node = \"node-1\"\nfrom = \"5 s\"\nuntil = \"60 s\"\n";
    let mut world = World::new(&pair(&format!("{SINK}{BULK}{faults}")), 1).unwrap();
    run(&mut world, 5);
    let before = delivered(&mut world);
    run(&mut world, 60);
    assert!(delivered(&mut world) - before < 10_000);
    run(&mut world, 140);
    assert!(delivered(&mut world) > 2 * before, "{before}");
}
