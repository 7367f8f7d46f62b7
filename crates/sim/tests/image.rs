//! Short image transfers over the air: with each protocol, to awake and sleepy leaves, with faults.

use redpoll_base::Instant;
use redpoll_sim::testing::oracle::ImageFigures;
use redpoll_sim::{Scenario, World};

const PROTOCOLS: [&str; 4] = ["http", "block1", "q-block", "bdx"];

const TEXT: &str = r#"
duration = "120 s"

[topology]
kind = "links"
links = [
    "border <-> router", "router <-> parent", "router <-> other", "parent <-> other",
    "parent <-> leaf", "other <-> leaf",
]

[mac]
link_retry_delay = "10 ms"
max_frame_retries = 30

[poll]
base_interval = "1 s"

[nodes]
border = { role = "border" }
router = { role = "router" }
parent = { role = "router" }
other = { role = "router" }
leaf = { role = "leaf" }

[apps.source]
type = "image-source"
on = "host"
port = 5683
file = "30001 B"

[apps.image]
type = "image-leaf"
on = "leaf"
to = "host:5683"
start = "5 s"
retry = "1 s"
"#;

fn scenario(protocol: &str, changes: &[(&str, &str)]) -> Scenario {
    let protocols = ["source", "image"].map(|app| {
        let key = format!("apps.{app}.protocol");
        (key, protocol.to_owned())
    });
    let changes = changes
        .iter()
        .map(|(key, value)| (key.to_string(), value.to_string()));
    let all: Vec<(String, String)> = protocols.into_iter().chain(changes).collect();
    Scenario::parse("image", TEXT, &all).unwrap()
}

/// Runs a transfer and returns its figures. Fails if wrong bytes were written.
fn fetched(protocol: &str, changes: &[(&str, &str)]) -> ImageFigures {
    let scenario = scenario(protocol, changes);
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::ZERO + scenario.duration);
    let report = world.report();
    assert!(
        report.oracle.ok,
        "{protocol} {changes:?}: {:?}",
        report.oracle
    );
    let image = report.flows.iter().find_map(|flow| flow.image);
    image.unwrap_or_else(|| panic!("{protocol} {changes:?}: no image"))
}

fn whole(protocol: &str, changes: &[(&str, &str)]) -> ImageFigures {
    let image = fetched(protocol, changes);
    assert_eq!(
        image.written_bytes, 30_001,
        "{protocol} {changes:?}: {image:?}"
    );
    assert!(image.took_s.is_some(), "{protocol} {changes:?}: {image:?}");
    image
}

const LOSSY: [(&str, &str); 2] = [
    ("faults.loss.type", "drop-frames"),
    ("faults.loss.share", "10 %"),
];

#[test]
fn every_protocol_brings_the_image() {
    for protocol in PROTOCOLS {
        for sleepy in ["false", "true"] {
            let sleep = [("nodes.leaf.sleepy", sleepy)];
            let image = whole(protocol, &sleep);
            assert_eq!(
                (image.resumed, image.written_again_bytes),
                (0, 0),
                "{protocol}"
            );
            assert!(image.took_s < Some(15.0), "{protocol}, {sleepy}: {image:?}");
            assert!(image.sent_bytes >= 30_001, "{protocol}: {image:?}");
            whole(protocol, &[&sleep[..], &LOSSY].concat());
        }
    }
}

/// Checks that after a restart only the bytes that are not in flash are transferred.
#[test]
fn a_leaf_that_has_been_switched_off_goes_on() {
    let restart = [
        ("faults.event.type", "node-restart"),
        ("faults.event.node", "leaf"),
        ("faults.event.from", "7500 ms"),
        ("faults.event.until", "9 s"),
    ];
    for protocol in PROTOCOLS {
        for sleepy in ["false", "true"] {
            let sleep = [("nodes.leaf.sleepy", sleepy)];
            let image = whole(protocol, &[&sleep[..], &restart].concat());
            assert!(image.resumed >= 1, "{protocol}, {sleepy}: {image:?}");
            // Q-Block writes blocks after a missing block, at most two sets.
            let again = if protocol == "q-block" { 20 * 512 } else { 0 };
            assert!(
                image.written_again_bytes <= again,
                "{protocol}, {sleepy}: {image:?}"
            );
            assert!(
                image.sent_bytes < 2 * 30_001,
                "{protocol}, {sleepy}: {image:?}"
            );
        }
    }
}

#[test]
fn a_lost_parent_and_a_lost_link_end_no_transfer() {
    let off = |node, until| {
        [
            ("faults.event.type", "node-off"),
            ("faults.event.node", node),
            ("faults.event.from", "7500 ms"),
            ("faults.event.until", until),
        ]
    };
    for protocol in PROTOCOLS {
        let sleep = [("nodes.leaf.sleepy", "true")];
        for event in [off("parent", "the end"), off("leaf", "37500 ms")] {
            whole(protocol, &[&sleep[..], &event].concat());
        }
    }
}

#[test]
fn impossible_image_transfers_are_refused() {
    let refusal = |changes: &[(&str, &str)]| {
        let changes = changes
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()));
        let all: Vec<(String, String)> = changes.collect();
        Scenario::parse("image", TEXT, &all)
            .unwrap_err()
            .to_string()
    };
    let page = [
        ("apps.source.protocol", "bdx"),
        ("apps.image.protocol", "bdx"),
        ("apps.image.page", "1024 B"),
    ];
    let error = refusal(&page);
    assert!(
        error
            .ends_with("apps.image.page: got 1024 B; allowed: at most 512 B, the value of `block`"),
        "{error}"
    );
    let node = [
        ("apps.source.on", "border"),
        ("apps.image.to", "border:5684"),
    ];
    let error = refusal(&node);
    let expected = "got port 5684 of border, where no image-source with the same protocol listens";
    assert!(error.contains(expected), "{error}");
    let restart = [
        ("faults.event.type", "node-restart"),
        ("faults.event.node", "router"),
    ];
    let error = refusal(&restart);
    assert!(
        error.ends_with("allowed: node-restart of a leaf, or routing = \"rpl\""),
        "{error}"
    );
}

/// Checks that a leaf does not reconnect if the server resets the connection after the whole image,
/// because the answer to the leaf's FIN was lost.
#[test]
fn an_image_over_http_ends_after_a_reset_of_the_connection() {
    let text = r#"
        duration = "300 s"
        [topology]
        kind = "line"
        nodes = 2
        spacing = "10 m"
        [nodes.node-1]
        role = "border"
        [faults.loss]
        type = "drop-packets"
        share = "50 %"
        [apps.source]
        type = "image-source"
        on = "host"
        port = 80
        protocol = "http"
        file = "3000 B"
        [apps.image]
        type = "image-leaf"
        on = "node-2"
        to = "host:80"
        protocol = "http"
        retry = "1 s"
    "#;
    let scenario = Scenario::parse("lossy", text, &[]).unwrap();
    for seed in 1..=60 {
        let mut world = World::new(&scenario, seed).unwrap();
        world.run_until(Instant::ZERO + scenario.duration);
        assert_eq!(world.stall(), None, "seed {seed}");
        assert!(world.report().oracle.ok, "seed {seed}");
    }
}
