//! Sensors over UDP and TCP.

use redpoll_sim::world::World;

use super::{pair, run};

fn sensor(transport: &str, more: &str) -> String {
    format!(
        "[apps.s]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:7\"\nreading = \"50 B\"\n\
         transport = \"{transport}\"\ninterval = \"2 s\"\n{more}"
    )
}

#[test]
fn every_reading_arrives_over_udp() {
    let mut world = World::new(&pair(&sensor("udp", "")), 1).unwrap();
    run(&mut world, 40);
    let flow = &world.report().flows[0];
    assert_eq!((flow.segments_sent, flow.segment_loss), (20, 0.0));
    assert_eq!(flow.delivered_bytes, 20 * 50);
}

#[test]
fn every_reading_arrives_over_tcp() {
    let sink = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 7\n";
    let mut world = World::new(&pair(&sensor("tcp", sink)), 1).unwrap();
    run(&mut world, 40);
    // The last reading may be on its way.
    let delivered = world.report().flows[0].delivered_bytes;
    assert!((19 * 50..=20 * 50).contains(&delivered), "{delivered}");
}

#[test]
fn readings_that_a_fault_swallows_are_counted_as_lost() {
    let fault = "[faults.f]\ntype = \"node-off\"\nnode = \"node-1\"\nfrom = \"20 s\"\n";
    let mut world = World::new(&pair(&sensor("udp", fault)), 1).unwrap();
    run(&mut world, 60);
    let flow = &world.report().flows[0];
    assert_eq!(flow.segments_sent, 30);
    assert!((flow.segment_loss - 2.0 / 3.0).abs() < 0.05, "{flow:?}");
}
