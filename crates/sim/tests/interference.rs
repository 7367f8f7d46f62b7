//! Effects of interferers on assessments and receptions, compared with calculations.

use redpoll_base::Instant;
use redpoll_sim::{Report, Scenario, World};

/// Two nodes 10 m apart with a link in both directions. The second one sends a single-frame reading
/// every 250 ms. Backoffs last up to 82 ms, so assessments are independent.
const PAIR: &str = r#"
duration = "1 h"

[topology]
kind = "positions"

[medium]
model = "unit-disk"

[radio]
model = "ideal"

[mac]
min_be = 8
max_be = 8
max_csma_backoffs = 20
max_frame_retries = 0

[nodes]
node-1 = { role = "border", position = ["0 m", "0 m"] }
node-2 = { role = "leaf", position = ["10 m", "0 m"] }

[apps.sink]
type = "sensor"
on = "node-2"
to = "node-1:5683"
interval = "250 ms"
reading = "40 B"

[interferers.wifi]
position = ["POSITION m", "0 m"]
range = "25 m"
burst = "1 ms"
"#;

fn run(text: &str, overrides: &[(&str, &str)], seed: u64, seconds: u64) -> (World, Report) {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::parse("interference.toml", text, &overrides)
        .unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, seed).unwrap();
    world.run_until(Instant::from_millis(seconds * 1_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0], "seed {seed}");
    (world, report)
}

/// Returns `PAIR` with the interferer 20 m from node-`node` and 30 m from the other node.
fn near(node: usize) -> String {
    PAIR.replace("POSITION", ["30", "-20"][2 - node])
}

#[test]
fn an_assessment_finds_bursts_as_often_as_they_are_there() {
    for busy in [0.1_f64, 0.3, 0.6] {
        let share = format!("{} %", 100.0 * busy);
        let set = [("interferers.wifi.busy", share.as_str())];
        let (world, report) = run(&near(2), &set, 1, 3_600);
        let mac = world.node(1).unwrap().mac().counters();
        let assessments = mac.channel_busy + mac.frames_sent;
        let measured = f64::from(mac.channel_busy) / f64::from(assessments);
        // An assessment fails if a burst is in progress or begins within 128 µs. The mean of the
        // gaps is `gap_us`.
        let gap_us = 1_000.0 * (1.0 - busy) / busy;
        let expected = 1.0 - (1.0 - busy) * (-128.0_f64 / gap_us).exp();
        assert!(assessments > 10_000, "{assessments}");
        assert!(
            (measured / expected - 1.0).abs() < 0.05,
            "{busy}: {measured}, {expected}"
        );
        let wifi = &report.interferers[0];
        assert_eq!(wifi.nodes, 1);
        assert!((wifi.on_air_s / 3_600.0 - busy).abs() < 0.01, "{wifi:?}");
        let mean_ms = 1e3 * wifi.on_air_s / wifi.bursts as f64;
        assert!((mean_ms - 1.0).abs() < 0.02, "{wifi:?}");
    }
}

#[test]
fn a_frame_survives_if_no_burst_meets_it() {
    for busy in [0.1_f64, 0.3] {
        let share = format!("{} %", 100.0 * busy);
        let set = [("interferers.wifi.busy", share.as_str())];
        let (world, report) = run(&near(1), &set, 1, 3_600);
        let mac = world.node(1).unwrap().mac().counters();
        assert_eq!(mac.channel_busy, 0, "the sender does not hear it");
        let lost = report.nodes[0].drops["radio.interference"];
        let measured = lost as f64 / f64::from(mac.frames_sent);
        // 40 bytes, UDP, IPv6 and MAC headers; all frames have the same length.
        let (_, quiet) = run(&near(1), &[("interferers.wifi.busy", "0 %")], 1, 60);
        assert!(!quiet.nodes[0].drops.contains_key("radio.interference"));
        let air_us = 1e6 * quiet.nodes[0].energy.receive_s / quiet.nodes[1].frames_sent as f64;
        let gap_us = 1_000.0 * (1.0 - busy) / busy;
        let expected = 1.0 - (1.0 - busy) * (-air_us / gap_us).exp();
        assert!((1_500.0..4_256.0).contains(&air_us), "{air_us}");
        assert!(
            (measured / expected - 1.0).abs() < 0.05,
            "{busy}: {measured}, {expected}"
        );
    }
}

/// Checks that in the SINR medium a strong interferer destroys receptions that a weak one does not.
#[test]
fn in_the_sinr_medium_power_decides() {
    let text = near(1)
        .replace("unit-disk", "sinr")
        .replace("range = \"25 m\"\n", "");
    let lost = |power: &str| {
        let (_, report) = run(&text, &[("interferers.wifi.power", power)], 1, 600);
        let drops = &report.nodes[0].drops;
        drops.get("radio.interference").copied().unwrap_or_default()
    };
    let (strong, weak) = (lost("20 dBm"), lost("-30 dBm"));
    assert!(strong > 1_000 && weak == 0, "{strong}, {weak}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_traffic_does_not_change_bursts() {
    let set = [("interferers.wifi.session", "5 s")];
    let all = |seed, set: &[(&str, &str)]| {
        let (world, report) = run(&near(2), set, seed, 300);
        (world.digest(), report.interferers)
    };
    assert_eq!(all(1, &set), all(1, &set));
    assert_ne!(all(1, &set).1, all(2, &set).1);
    let more = [set[0], ("apps.sink.interval", "97 ms")];
    let (one, other) = (all(1, &set), all(1, &more));
    assert_eq!(one.1, other.1);
    assert_ne!(one.0, other.0);
}

/// Checks that a share of the readings is lost by day, and none by night.
#[test]
fn interference_follows_the_time_of_day() {
    let set = [
        ("interferers.wifi.from", "9 h"),
        ("interferers.wifi.until", "18 h"),
        ("interferers.wifi.burst", "10 ms"),
        ("apps.sink.interval", "10 s"),
    ];
    let (mut world, report) = run(&near(1), &set, 1, 9 * 3_600);
    assert!(!report.nodes[0].drops.contains_key("radio.interference"));
    world.run_until(Instant::from_millis(18 * 3_600_000));
    let evening = world.report();
    let lost = evening.nodes[0].drops["radio.interference"];
    // About 30 % of 3,240 readings meet a burst.
    assert!((970..1_400).contains(&lost), "{lost}");
    world.run_until(Instant::from_millis(33 * 3_600_000));
    assert_eq!(world.report().interferers, evening.interferers);
}
