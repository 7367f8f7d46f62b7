//! Clocks with drift, measured in the world's time.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

const TOPOLOGY: &str = "duration = \"1000 s\"\n[topology]\nkind = \"line\"\nnodes = 2\n\
                        spacing = \"40 m\"\n[nodes.node-1]\nrole = \"border\"\n";

fn world(text: &str, overrides: &[(&str, &str)]) -> World {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    let scenario = Scenario::parse("clocks", &format!("{TOPOLOGY}{text}"), &overrides).unwrap();
    World::new(&scenario, 1).unwrap()
}

/// Checks that a clock with the largest drift, ±0.1 %, causes ten readings more or fewer than the
/// 10,000 of an exact clock, and ten data requests more or fewer.
#[test]
fn timers_and_polls_go_by_the_nodes_own_clock() {
    let text = "[nodes.node-2]\nrole = \"leaf\"\nsleepy = true\n[poll]\npolicy = \"base\"\n\
                base_interval = \"100 ms\"\n[apps.readings]\ntype = \"sensor\"\non = \"node-1\"\n\
                to = \"node-2:7\"\ntransport = \"udp\"\ninterval = \"100 ms\"\n";
    let counts = |drift: &str, node: &str| {
        let key = format!("nodes.{node}.drift_ppm");
        let mut world = world(text, &[(&key, drift)]);
        world.run_until(Instant::from_millis(1_000_000));
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        (report.flows[0].segments_sent, report.nodes[1].data_requests)
    };
    let (readings, requests) = counts("0", "node-1");
    assert!((9_999..=10_000).contains(&readings), "{readings}");
    let (fast, slow) = (counts("1000", "node-1").0, counts("-1000", "node-1").0);
    assert!((9..=11).contains(&(fast - readings)), "{fast} {readings}");
    assert!((9..=11).contains(&(readings - slow)), "{slow} {readings}");
    let (fast, slow) = (counts("1000", "node-2").1, counts("-1000", "node-2").1);
    let difference = fast as f64 - slow as f64;
    let expected = requests as f64 * 0.002;
    assert!(
        (difference - expected).abs() < expected * 0.5,
        "{fast} {requests} {slow}"
    );
}

/// TCP timestamps of a sender, with the world's time of their transmission.
#[derive(Clone, Default)]
struct Timestamps(Rc<RefCell<Vec<(Instant, u32)>>>);

impl FrameTrace for Timestamps {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        // The search includes the two NOPs before the option (RFC 7323 appendix A) and its length.
        let option = frame
            .mpdu
            .windows(8)
            .find(|bytes| bytes[..4] == [1, 1, 8, 10]);
        if let Some([_, _, _, _, value @ ..]) = option
            && frame.from == 1
        {
            let value = u32::from_be_bytes([value[0], value[1], value[2], value[3]]);
            self.0.borrow_mut().push((frame.start, value));
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Checks that timestamps count milliseconds: in 900 s, a clock fast by 0.1 % counts 900,900.
#[test]
fn tcp_timestamps_go_by_the_nodes_own_clock() {
    let text = "[apps.sink]\ntype = \"bulk-sink\"\non = \"node-1\"\nport = 5001\n\
                [apps.readings]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:5001\"\n\
                transport = \"tcp\"\ninterval = \"1 s\"\n";
    for (drift, share) in [("1000", 1.001), ("0", 1.0), ("-1000", 0.999)] {
        let mut world = world(text, &[("nodes.node-2.drift_ppm", drift)]);
        let seen = Timestamps::default();
        world.add_trace(Box::new(seen.clone()));
        world.run_until(Instant::from_millis(901_000));
        let seen = seen.0.borrow();
        let (first, last) = (seen[0], seen[seen.len() - 1]);
        let ticks = f64::from(last.1.wrapping_sub(first.1));
        let ms = last.0.since(first.0).as_micros() as f64 / 1_000.0;
        assert!(ms > 890_000.0, "{ms}");
        // A frame leaves within 60 ms after its segment was created.
        assert!(
            (ticks - ms * share).abs() < 60.0,
            "{drift}: {ticks} in {ms} ms"
        );
    }
}

/// Checks that measurements use the world's time: the clock of a client does not change the latency
/// of a request over one hop.
#[test]
fn measurements_use_the_time_of_the_world() {
    let text = "[apps.server]\ntype = \"coap-server\"\non = \"node-1\"\nfile = \"64 B\"\n\
                [apps.client]\ntype = \"coap-client\"\non = \"node-2\"\nto = \"node-1:5683\"\n\
                interval = \"1 s\"\n";
    let median = |drift: &str| {
        let mut world = world(text, &[("clock.drift_ppm", drift)]);
        world.run_until(Instant::from_millis(200_000));
        let report = world.report();
        assert!(report.oracle.ok, "{:?}", report.oracle.violations);
        let requests = report.flows[0].requests.as_ref().unwrap();
        assert!(requests.answered >= 199, "{requests:?}");
        requests.latency_ms.p50.unwrap()
    };
    let (with, without) = (median("1000"), median("0"));
    assert!((with - without).abs() < 2.0, "{with} {without}");
}

#[test]
fn the_same_seed_has_the_same_clocks_and_no_drift_changes_nothing() {
    let text = "[apps.readings]\ntype = \"sensor\"\non = \"node-2\"\nto = \"node-1:7\"\n";
    let digest = |overrides: &[(&str, &str)]| {
        let mut world = world(text, overrides);
        world.run_until(Instant::from_millis(100_000));
        world.digest()
    };
    let drifting = [("clock.drift_ppm", "20")];
    assert_eq!(digest(&drifting), digest(&drifting));
    assert_ne!(digest(&drifting), digest(&[]));
    assert_eq!(digest(&[("clock.drift_ppm", "0")]), digest(&[]));
}
