//! Runs with many faults: no panic, no wrong data, and normal operation afterwards.

use redpoll_base::{Duration, Ecn, Instant, Rng};
use redpoll_sim::testing::fault::{FaultSpec, FrameKind};
use redpoll_sim::{FaultRule, Scenario, World};
use redpoll_wire::Cursor;
use redpoll_wire::ipv6::Ipv6Header;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Returns the delivered bytes at each time in `times_ms`. Fails if the oracle found a violation.
fn delivered(scenario: &Scenario, times_ms: &[u64]) -> Vec<u64> {
    let mut world = World::new(scenario, 1).unwrap();
    let delivered = times_ms.iter().map(|at| {
        world.run_until(ms(*at));
        let report = world.report();
        assert_eq!(report.oracle.violations, [""; 0]);
        report.flows.iter().map(|flow| flow.delivered_bytes).sum()
    });
    delivered.collect()
}

/// Checks that the stream continues after sender, relay or receiver was off for ten seconds.
#[test]
fn a_stream_survives_any_node_being_off() {
    for node in 0..3 {
        let mut scenario = Scenario::load("line-2", &[]).unwrap();
        scenario.faults.push(FaultSpec {
            from: ms(5_000),
            until: ms(15_000),
            rule: FaultRule::NodeOff { node },
        });
        let at = delivered(&scenario, &[5_000, 6_000, 15_000, 60_000]);
        assert!(at[0] > 15_000, "node {node}: {at:?}");
        assert!(at[2] - at[1] <= 4_096, "node {node}: {at:?}");
        assert!(at[3] - at[2] > 100_000, "node {node}: {at:?}");
    }
}

/// Checks that data flow again after nodes were switched off and on every few milliseconds, during
/// frames, loads, assessments and acknowledgments.
#[test]
fn nodes_that_flicker_do_no_harm() {
    for model in ["at86rf233", "cc2420", "ideal"] {
        let overrides = [("radio.model".to_owned(), model.to_owned())];
        let mut scenario = Scenario::load("line-3", &overrides).unwrap();
        let mut rng = Rng::new(7);
        for i in 0..1_000 {
            let from = ms(2_000) + Duration::from_micros(i * 10_000 + rng.below_u64(9_000));
            scenario.faults.push(FaultSpec {
                from,
                until: from + Duration::from_micros(1 + rng.below_u64(6_000)),
                rule: FaultRule::NodeOff {
                    node: rng.below(4) as usize,
                },
            });
        }
        let at = delivered(&scenario, &[2_000, 12_500, 60_000]);
        assert!(at[2] - at[1] > 50_000, "{model}: {at:?}");
    }
}

/// Checks losses of a third of all frames and acknowledgments, and duplicates of a tenth.
#[test]
fn lost_and_doubled_frames_cost_time_only() {
    let mut scenario = Scenario::load("line-2", &[]).unwrap();
    let always = |rule| FaultSpec {
        from: Instant::ZERO,
        until: Instant::FAR_FUTURE,
        rule,
    };
    let (from, to) = (None, None);
    scenario.faults.push(always(FaultRule::DropFrames {
        from,
        to,
        kind: FrameKind::Any,
        probability: 0.33,
    }));
    scenario.faults.push(always(FaultRule::DuplicateFrames {
        from,
        to,
        probability: 0.1,
    }));
    let at = delivered(&scenario, &[60_000]);
    assert!(at[0] > 20_000, "{at:?}");
}

/// Checks packets with a valid IPv6 header and garbage after it, for existing and other nodes.
#[test]
fn garbage_behind_good_headers_goes_into_the_mesh_and_no_further() {
    let scenario = Scenario::load("office", &[]).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let mut rng = Rng::new(3);
    for i in 0..600 {
        let len = rng.below(400) as usize;
        let to = rng.below(scenario.nodes.len() as u32) as usize;
        let header = Ipv6Header {
            dscp: rng.below(64) as u8,
            ecn: Ecn::NotEct,
            flow_label: rng.below(1 << 20),
            payload_len: len as u16,
            // Most of these headers are of kinds that a node processes.
            next_header: [6, 17, 58, 0, 43, 44, 60, rng.below(256) as u8][i % 8],
            hop_limit: rng.below(256) as u8,
            src: scenario.border.host,
            dst: scenario.address(to).unwrap(),
        };
        let mut packet = vec![0; 40 + len];
        let mut out = Cursor::new(&mut packet);
        header.emit(&mut out).unwrap();
        for _ in 0..len {
            out.put_u8(rng.next_u32() as u8).unwrap();
        }
        world.host_input(&packet);
        world.run_until(ms(i as u64 * 50));
        while world.host_output().is_some() {}
    }
    // Packets that wait at the gate also enter the mesh.
    world.run_until(ms(60_000));
    assert!(world.gate().counters().to_mesh > 300);
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0]);
    assert!(
        report.flows[0].delivered_bytes > 30_000,
        "{:?}",
        report.flows
    );
}
