//! Fragment forwarding (RFC 8930): what it costs and what it saves.

use redpoll_base::Instant;
use redpoll_sim::report::Report;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::world::World;

fn run(scenario: &str, overrides: &[(&str, &str)]) -> Report {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    let scenario = Scenario::load(scenario, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(60_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report
}

const FORWARDING: (&str, &str) = ("lowpan.fragment_forwarding", "true");

/// Four segments are on their way through two relays, and a relay has room for
/// one.
#[test]
fn a_relay_that_forwards_fragments_needs_no_buffers_to_reassemble_in() {
    let one_slot = ("lowpan.slots", "1");
    let reassembling = &run("line-3", &[one_slot]).flows[0];
    assert!(reassembling.segment_loss > 0.1);
    let forwarding = &run("line-3", &[one_slot, FORWARDING]).flows[0];
    assert!(forwarding.segment_loss < 0.01);
    assert!(forwarding.goodput_kbps > 1.2 * reassembling.goodput_kbps);
}

/// Frames are lost, buffers are too few: every drop has a name, and data arrive.
#[test]
fn what_relays_drop_has_a_name() {
    let few = ("lowpan.fragments", "6");
    let lossy = [
        ("faults.air.type", "drop-frames"),
        ("faults.air.share", "20 %"),
    ];
    let report = run("line-4", &[&lossy[..], &[few, FORWARDING]].concat());
    let relays = &report.nodes[1..4];
    let dropped = |reason: &str| {
        relays
            .iter()
            .filter_map(|n| n.drops.get(reason))
            .sum::<u64>()
    };
    assert!(dropped("lowpan.no_fragment_buffer") > 10);
    assert!(dropped("lowpan.orphan") > 10);
    assert!(report.flows[0].goodput_kbps > 5.0);
}

/// As over reassembling relays, also through a border router to a host.
#[test]
fn uploads_to_a_host_come_through() {
    let report = run("office", &[FORWARDING, ("apps.bulk.when", "always")]);
    assert!(
        report
            .flows
            .iter()
            .any(|flow| flow.delivered_bytes > 10_000)
    );
}
