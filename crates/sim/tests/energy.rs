//! Energy of nodes, compared with manual calculations.

use redpoll_sim::testing::energy::Figures;
use redpoll_sim::{NodeFigures, Report};

use crate::common;

use common::run;

const TABLE: &str = include_str!("../src/energy/instructions.txt");

/// Returns the instructions of a step that do not depend on bytes.
fn cost(step: &str) -> f64 {
    let mut lines = TABLE.lines().map(str::split_whitespace);
    lines
        .find_map(|mut words| (words.next() == Some(step)).then(|| words.next()?.parse().ok())?)
        .unwrap_or_else(|| panic!("no {step}"))
}

fn node<'r>(report: &'r Report, name: &str) -> &'r NodeFigures {
    let found = report.nodes.iter().find(|node| node.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// Runs a leaf without traffic, which polls its parent every ten seconds.
fn silent(more: &[(&str, &str)], seconds: u64) -> Report {
    let mut overrides = vec![
        ("nodes.node-2.sleepy", "true"),
        ("apps.bulk.when", "never"),
        ("poll.base_interval", "10 s"),
    ];
    overrides.extend(more);
    run("pair", &overrides, 1, seconds)
}

/// Returns the increase of one figure of the node `name` in the second half of 1,200 s. `of`
/// selects the figure.
fn half(name: &str, more: &[(&str, &str)], of: impl Fn(&Figures) -> f64) -> f64 {
    let [first, whole] = [600, 1_200].map(|seconds| of(&node(&silent(more, seconds), name).energy));
    whole - first
}

/// Returns the instructions of a leaf for a data request without a backoff. It builds the request
/// after the timer, starts the transmission after the load, and handles the result, each before a
/// rest. The radio sleeps between its operations.
fn request() -> f64 {
    cost("timer")
        + cost("request_out")
        + cost("loaded")
        + cost("sent")
        + cost("order")
        + 3.0 * cost("rest")
}

#[test]
fn the_instructions_of_data_requests_are_those_of_their_steps() {
    let requests = 60.0;
    // The parent accepts a request, then rests.
    let parent = half("node-1", &[], |e| e.instructions);
    assert_eq!(parent, requests * (cost("request_in") + cost("rest")));

    let no_backoff = [("mac.min_be", "0"), ("mac.max_be", "0")];
    let leaf = half("node-2", &no_backoff, |e| e.instructions);
    let each = leaf / requests;
    assert!((each - request()).abs() < 1e-6, "{each}, {}", request());
    assert_eq!(half("node-2", &no_backoff, |e| e.wake_ups as f64), 180.0);
}

#[test]
fn the_cpu_duty_cycle_is_instructions_and_moves_of_frames_over_time() {
    let report = silent(&[], 600);
    for name in ["node-1", "node-2"] {
        let energy = &node(&report, name).energy;
        // 1.5 cycles per instruction, with a clock of 48 MHz.
        let cpu_s = energy.instructions * 1.5 / 48e6 + energy.spi_s;
        assert!((energy.cpu_s - cpu_s).abs() < 1e-9, "{energy:?}");
        assert!((energy.cpu_duty_cycle - cpu_s / 600.0).abs() < 1e-12);
        let charge = 3.4 * cpu_s + 0.004 * (600.0 - cpu_s);
        assert!((energy.cpu_charge_mc - charge).abs() < 1e-6, "{energy:?}");
        let sum = energy.radio_charge_mc + energy.cpu_charge_mc;
        assert!((energy.charge_mc - sum).abs() < 1e-9);
        let days = 2_400.0 * 3_600.0 / energy.charge_mc * 600.0 / 86_400.0;
        assert!((energy.battery_days / days - 1.0).abs() < 1e-9);
    }
}

/// Compares the instructions of 100 readings of 50 bytes in datagrams and in CoAP messages.
#[test]
fn a_message_of_coap_costs_more_than_its_datagram() {
    let sender = |transport, sink, when| {
        let overrides = [
            ("apps.sink.type", sink),
            ("apps.sink.when", when),
            ("apps.bulk.type", "sensor"),
            ("apps.bulk.reading", "50 B"),
            ("apps.bulk.transport", transport),
        ];
        let report = run("pair", &overrides, 1, 100);
        let nodes = ["node-1", "node-2"];
        nodes.map(|name| node(&report, name).energy.instructions / 100.0)
    };
    let [_, plain] = sender("udp", "bulk-sink", "never");
    let [server, message] = sender("unreliable", "coap-server", "always");
    // Besides a wake-up, a message of CoAP costs the work for its 120 bytes with all headers.
    let bytes = message - plain - cost("message_out") - cost("rest");
    assert!((1_000.0..2_000.0).contains(&bytes), "{plain} {message}");
    assert!(
        server > cost("message_in") + cost("datagram_in"),
        "{server}"
    );
}

#[test]
fn an_operating_system_costs_so_much_each_time() {
    let with = [("energy.wake_up_instructions", "1000")];
    let plain = silent(&[], 600);
    let burdened = silent(&with, 600);
    for name in ["node-1", "node-2"] {
        let (plain, burdened) = (&node(&plain, name).energy, &node(&burdened, name).energy);
        assert_eq!(plain.wake_ups, burdened.wake_ups);
        let more = burdened.instructions - plain.instructions;
        assert!((more - 1_000.0 * plain.wake_ups as f64).abs() < 1e-3);
    }
}

/// Checks that a slow processor sends less, and a fast one as much as without processing time.
#[test]
fn a_slow_processor_slows_transfers_down() {
    let goodput = |more: &[(&str, &str)]| run("line-1", more, 1, 60).flows[0].goodput_kbps;
    let none = goodput(&[]);
    let slow = goodput(&[("energy.takes_time", "true")]);
    let slower = goodput(&[("energy.takes_time", "true"), ("energy.clock", "8 MHz")]);
    let fast = goodput(&[("energy.takes_time", "true"), ("energy.clock", "10000 MHz")]);
    // The relative phase of two nodes' assessments changes the result by a few percent.
    assert!(slow < 1.03 * none && slow > 0.9 * none, "{slow}, {none}");
    assert!(slower < 0.9 * slow, "{slower}, {slow}");
    assert!((fast / none - 1.0).abs() < 0.02, "{fast}, {none}");
}

#[test]
fn sleep_never_costs_as_much_as_listening() {
    for model in ["at86rf233", "cc2420", "ideal"] {
        for traffic in ["never", "always"] {
            let more = [("radio.model", model), ("apps.bulk.when", traffic)];
            let asleep = silent(&more, 60);
            let awake = silent(&[more[0], more[1], ("nodes.node-2.sleepy", "false")], 60);
            let charge = |report: &Report| node(report, "node-2").energy.charge_mc;
            assert!(
                charge(&asleep) < charge(&awake),
                "{model}, {traffic}: {} and {}",
                charge(&asleep),
                charge(&awake)
            );
        }
    }
}

/// Checks that a radio sleeps until its processor has a frame to send, so a slow processor causes
/// no idle time of the radio. With a frame in its buffer, the radio is idle.
#[test]
fn a_sleeping_radio_does_not_wait_for_its_processor() {
    let requests = 60.0;
    let idle_s = |clock| {
        let how = [("energy.takes_time", "true"), ("energy.clock", clock)];
        half("node-2", &how, |energy| energy.idle_s)
    };
    let us_per_instruction = 1.5;
    let waited = 1e6 * (idle_s("1 MHz") - idle_s("10000 MHz")) / requests;
    let making = us_per_instruction * (cost("timer") + cost("request_out"));
    let all = us_per_instruction * request();
    assert!(
        waited < all - 0.9 * making,
        "{waited} of {all} us, {making} of them asleep"
    );
}

/// Checks that a leaf does not listen while its processor builds the next packet from a received
/// packet, or passes a received packet from layer to layer.
#[test]
fn a_leaf_does_not_listen_while_its_processor_computes() {
    let listens_s = |packet_instructions| {
        let how = [
            ("duration", "20 min"),
            ("apps.readings.transport", "coap"),
            ("energy.takes_time", "true"),
            ("energy.packet_instructions", packet_instructions),
        ];
        let report = run("readings", &how, 1, 1_200);
        let leaves = report.nodes.iter().filter(|it| it.name.starts_with("leaf"));
        let (sum, count) = leaves.fold((0.0, 0), |(sum, count), leaf| {
            (sum + leaf.energy.listen_s, count + 1)
        });
        sum / f64::from(count)
    };
    // 7.8 ms for each of about four hundred packets are 3 s. The parent takes as long to forward
    // each of two hundred answers, for which the leaf listens: 1.5 s.
    let (fast, slow) = (listens_s("0"), listens_s("250000"));
    assert!(
        slow < fast + 2.5,
        "{slow} s, {fast} s with a fast processor"
    );
}
