//! Cost and benefit of fragment forwarding (RFC 8930) and recovery (RFC 8931).

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

fn run(scenario: &str, overrides: &[(&str, &str)]) -> Report {
    run_seed(scenario, overrides, 1)
}

fn run_seed(scenario: &str, overrides: &[(&str, &str)], seed: u64) -> Report {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let overrides: Vec<_> = overrides.iter().map(own).collect();
    let scenario = Scenario::load(scenario, &overrides).unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, seed).unwrap();
    world.run_until(Instant::from_millis(60_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    report
}

const FORWARDING: (&str, &str) = ("lowpan.fragment_forwarding", "true");
const RECOVERY: (&str, &str) = ("lowpan.fragment_recovery", "true");

/// Checks that two relays with room for one segment each carry four segments in transit.
#[test]
fn a_relay_that_forwards_fragments_needs_no_buffers_to_reassemble_in() {
    let one_slot = ("lowpan.slots", "1");
    let (mut reassembled, mut forwarded) = (0.0, 0.0);
    for seed in 1..=3 {
        let reassembling = &run_seed("line-3", &[one_slot], seed).flows[0];
        assert!(reassembling.segment_loss > 0.1, "seed {seed}");
        let forwarding = &run_seed("line-3", &[one_slot, FORWARDING], seed).flows[0];
        assert!(forwarding.segment_loss < 0.01, "seed {seed}");
        reassembled += reassembling.goodput_kbps;
        forwarded += forwarding.goodput_kbps;
    }
    assert!(
        forwarded > 1.05 * reassembled,
        "{forwarded} of {reassembled}"
    );
}

/// Checks lost frames and scarce buffers: every drop has a reason, and data arrives.
#[test]
fn drops_of_relays_have_named_reasons() {
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

/// Checks the retransmitted fragments and the round-trip times in the report (RFC 8931 §7.2).
#[test]
fn the_report_counts_recovered_fragments() {
    let loss = [
        ("faults.air.type", "lose-frames"),
        ("faults.air.share", "5 %"),
    ];
    let of = |report: &Report, node: usize| report.nodes[node].recovery.unwrap();
    let clean = run("line-3", &[RECOVERY]);
    let lossy = run("line-3", &[&loss[..], &[RECOVERY]].concat());
    let (sender, unhurt) = (of(&lossy, 3), of(&clean, 3));
    assert!(sender.datagrams > 100 && sender.timeouts > 20, "{sender:?}");
    assert!(
        sender.repeated > 10 * unhurt.repeated,
        "{sender:?} {unhurt:?}"
    );
    // A round trip has three hops of five frames and three hops of an acknowledgment.
    let (mean, longest) = (unhurt.round_trip_ms, unhurt.longest_round_trip_ms);
    assert!((30.0..1_000.0).contains(&mean.unwrap()), "{unhurt:?}");
    assert!(longest >= mean, "{unhurt:?}");
    let relay = of(&clean, 1);
    assert!(
        relay.acknowledgments > 100 && relay.round_trip_ms.is_none(),
        "{relay:?}"
    );
    assert!(
        run("line-3", &[])
            .nodes
            .iter()
            .all(|n| n.recovery.is_none())
    );
}

/// Checks that recovery helps if frames are lost without link retries, and costs goodput otherwise.
#[test]
fn recovery_pays_where_the_link_fails_and_costs_where_it_does_not() {
    let loss = |share| {
        [
            ("faults.air.type", "lose-frames"),
            ("faults.air.share", share),
            ("tcp.delayed_ack", "100 ms"),
        ]
    };
    for line in ["line-1", "line-3"] {
        let lossy = loss("5 %");
        let goodput = |more: &[(&str, &str)]| run(line, more).flows[0].goodput_kbps;
        let plain = goodput(&lossy);
        let forwarded = goodput(&[&lossy[..], &[FORWARDING]].concat());
        let recovered = run(line, &[&lossy[..], &[RECOVERY]].concat());
        let flow = &recovered.flows[0];
        assert!(flow.goodput_kbps > 1.1 * plain.max(forwarded), "{line}");
        assert!(flow.segment_loss < 0.05, "{line}: {}", flow.segment_loss);

        let (plain, recovered) = (goodput(&[]), goodput(&[RECOVERY]));
        let costs = recovered / plain;
        assert!((0.80..0.98).contains(&costs), "{line}: {costs}");
    }
}

/// Checks that uploads to a host behind the border router arrive with forwarded fragments.
#[test]
fn uploads_to_a_host_arrive_with_forwarded_fragments() {
    for how in [FORWARDING, RECOVERY] {
        let report = run("office", &[how, ("apps.bulk.when", "always")]);
        let arrives = |bytes: u64| bytes > 10_000;
        assert!(
            report
                .flows
                .iter()
                .any(|flow| arrives(flow.delivered_bytes))
        );
    }
}

/// Checks that sleepy leaves do not take part: their parents reassemble their datagrams.
#[test]
fn sleepy_leaves_are_served_as_before() {
    let plain = run("sleepy-3", &[]);
    let report = run("sleepy-3", &[RECOVERY]);
    let bytes = |report: &Report| report.flows[0].delivered_bytes;
    assert!(2 * bytes(&report) > bytes(&plain) && bytes(&plain) > 1_000);
}
