//! Duty-cycled MACs, observed by their frames on the air and the times of radios.
//!
//! Each figure of another author has its source.

use crate::common;

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Report, Scenario, World};

/// A frame on the air, without the fields that these tests do not use.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: usize,
    start_us: u64,
    end_us: u64,
    is_ack: bool,
    is_broadcast: bool,
    /// Whether the copy is a later fragment of its datagram (RFC 4944 §5.3).
    is_later_fragment: bool,
    dsn: u8,
}

#[derive(Clone, Default)]
struct Recorder(Rc<RefCell<Vec<Copy>>>);

impl FrameTrace for Recorder {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let kind = frame.mpdu[0] & 7;
        self.0.borrow_mut().push(Copy {
            from: frame.from,
            start_us: frame.start.as_micros(),
            end_us: frame.end.as_micros(),
            is_ack: kind == 2,
            is_broadcast: kind != 2 && frame.mpdu[5..7] == [0xff, 0xff],
            is_later_fragment: frame.mpdu.get(9).is_some_and(|byte| byte & 0xf8 == 0xe0),
            dsn: frame.mpdu[2],
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Copies of one frame in one attempt, and whether the last was acknowledged.
#[derive(Clone, Debug)]
struct Train {
    copies: Vec<Copy>,
    answered: bool,
}

impl Train {
    /// Returns the gaps between the copies, in microseconds.
    fn gaps(&self) -> impl Iterator<Item = u64> {
        let pairs = self.copies.windows(2);
        pairs.map(|pair| pair[1].start_us - pair[0].end_us)
    }

    fn span_us(&self) -> u64 {
        self.copies[self.copies.len() - 1].start_us - self.copies[0].start_us
    }
}

fn trains(frames: &[Copy], from: usize) -> Vec<Train> {
    let mut trains: Vec<Train> = Vec::new();
    for frame in frames {
        match trains.last_mut() {
            Some(train) if frame.is_ack && frame.from != from => {
                let last = train.copies[train.copies.len() - 1];
                train.answered |= last.dsn == frame.dsn && frame.start_us < last.end_us + 900;
            }
            Some(train)
                if frame.from == from
                    && !frame.is_ack
                    && train.copies[0].dsn == frame.dsn
                    && frame.start_us < train.copies[train.copies.len() - 1].end_us + 6_000 =>
            {
                train.copies.push(*frame);
            }
            _ if frame.from == from && !frame.is_ack => trains.push(Train {
                copies: vec![*frame],
                answered: false,
            }),
            _ => {}
        }
    }
    trains
}

/// A node that sends frames without TCP, independently of the cycles.
const READINGS: &str = r#"
duration = "1 h"
[topology]
kind = "line"
nodes = 2
spacing = "10 m"
[nodes.node-1]
role = "border"
[nodes.node-2]
role = "leaf"
[apps.coap]
type = "coap-server"
on = "node-1"
[apps.readings]
type = "sensor"
on = "node-2"
to = "node-1:5683"
transport = "unreliable"
reading = "40 B"
interval = "1037 ms"
"#;

/// A router and three nodes out of range of each other: two receive and one sends.
const STAR: &str = r#"
[topology]
kind = "positions"
[medium]
model = "unit-disk"
transmission_range = "50 m"
interference_range = "50 m"
carrier_sense_range = "50 m"
[nodes]
node-1 = { role = "border", position = ["0 m", "40 m"] }
node-2 = { role = "router", position = ["0 m", "0 m"] }
node-3 = { role = "leaf", position = ["35 m", "-20 m"] }
node-4 = { role = "leaf", position = ["-35 m", "-20 m"] }
[apps]
sink = { type = "bulk-sink", on = ["node-1", "node-3", "node-4"], port = 5001 }
up = { type = "bulk-sender", on = "node-3", to = "node-1:5001" }
right = { type = "bulk-sender", on = "node-1", to = "node-3:5001" }
left = { type = "bulk-sender", on = "node-1", to = "node-4:5001" }
"#;

/// Readings to a host that is connected to the border router.
const HOST: &str = r#"
[topology]
kind = "line"
nodes = 2
spacing = "10 m"
[nodes.node-1]
role = "border"
[nodes.node-2]
role = "leaf"
[apps.stream]
type = "bulk-sink"
on = "host"
port = 5683
[apps.readings]
type = "sensor"
on = "node-2"
to = "host:5683"
transport = "tcp"
reading = "40 B"
interval = "1 s"
"#;

fn record(name: &str, overrides: &[(&str, &str)], seconds: u64) -> (Report, Vec<Copy>) {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = match name {
        "readings" => Scenario::parse("readings", READINGS, &overrides),
        "star" => Scenario::parse("star", STAR, &overrides),
        "host" => Scenario::parse("host", HOST, &overrides),
        _ => Scenario::load(name, &overrides),
    };
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut world = World::new(&scenario, 1).unwrap();
    let recorder = Recorder::default();
    world.add_trace(Box::new(recorder.clone()));
    world.run_until(Instant::from_millis(seconds * 1_000));
    let report = world.report();
    assert_eq!(report.oracle.violations, [""; 0], "{name}");
    let frames = recorder.0.take();
    (report, frames)
}

const CONTIKIMAC: (&str, &str) = ("mac.access", "contikimac");
const CC2420: (&str, &str) = ("radio.model", "cc2420");
/// Delays the only flow of `pair` beyond the end of every run.
const IDLE: (&str, &str) = ("apps.bulk.start", "1 h");

/// Returns the shares of time in which the two radios of `pair` are on without traffic.
fn idle(overrides: &[(&str, &str)]) -> (f64, f64) {
    let overrides = [&[CC2420, IDLE][..], overrides].concat();
    let report = common::run("pair", &overrides, 1, 100);
    let duty = report.nodes[1].duty.expect("a duty-cycled MAC");
    assert_eq!((duty.trains, duty.copies), (0, 0));
    (
        report.nodes[0].radio_duty_cycle,
        report.nodes[1].radio_duty_cycle,
    )
}

/// Checks that the radio is off between 99.2 % and 99.6 % of the time without traffic: A. Dunkels,
/// the change that brought ContikiMAC into Contiki (f8c804e28b, 2010-02-18). "Roughly 99 %" off: A.
/// Dunkels, "The ContikiMAC Radio Duty Cycling Protocol", SICS T2011:13, abstract.
#[test]
fn an_idle_node_of_contikimac_is_off_as_long_as_its_authors_say() {
    let (_, on) = idle(&[CONTIKIMAC]);
    assert!((0.004..=0.008).contains(&on), "8 Hz: {on}");
    let (_, fast) = idle(&[CONTIKIMAC, ("mac.check_rate", "16")]);
    assert!((fast / on - 2.0).abs() < 0.02, "16 Hz: {fast}");
}

/// Checks that an idle node assesses twice per cycle (CCA_COUNT_MAX of all releases). Each
/// assessment takes 192 µs until the CC2420 receives, 128 µs on the channel, and 53 µs until the
/// processor has the result.
#[test]
fn an_idle_node_assesses_the_channel_twice_a_cycle() {
    let report = common::run("pair", &[CONTIKIMAC, CC2420, IDLE], 1, 100);
    let duty = report.nodes[1].duty.expect("a duty-cycled MAC");
    assert!((799..=800).contains(&duty.wake_ups), "{duty:?}");
    assert_eq!(duty.assessments, 2 * duty.wake_ups, "{duty:?}");
    assert_eq!((duty.alarms, duty.collisions), (0, 0));
    let each_s = 373e-6;
    let on = report.nodes[1].radio_duty_cycle;
    assert!((on - each_s * 16.0).abs() < 1e-4, "{on}");
}

/// Returns how long the radio of a node without traffic is on, in seconds, for each wake-up that
/// finds foreign energy: bursts of half a second, half of the time.
fn on_for_foreign_energy(fast_sleep: &str) -> f64 {
    let overrides = [
        CC2420,
        IDLE,
        CONTIKIMAC,
        ("mac.fast_sleep", fast_sleep),
        ("interferers.far.position", "[\"0 m\", \"0 m\"]"),
        ("interferers.far.range", "1 km"),
        ("interferers.far.burst", "500 ms"),
        ("interferers.far.lengths", "constant"),
        ("interferers.far.busy", "50 %"),
    ];
    let seconds = 100;
    let report = common::run("pair", &overrides, 1, seconds);
    let node = &report.nodes[1];
    let duty = node.duty.expect("a duty-cycled MAC");
    let (found, all) = (duty.alarms as f64, duty.wake_ups as f64);
    assert!((0.4..0.6).contains(&(found / all)), "{duty:?}");
    // Two assessments of 373 µs each without energy.
    let silent_s = (all - found) * 2.0 * 373e-6;
    (node.radio_duty_cycle * seconds as f64 - silent_s) / found
}

/// Checks how long foreign energy keeps a node awake (contikimac.c). After the assessment that
/// finds the energy, the node assesses every 20 ticks of 30.5 µs, and the result takes 53 µs. With
/// fast sleep, it sleeps after ten assessments without the beginning of a frame, otherwise after
/// 409 ticks: after the 19th assessment. The last assessment takes 128 µs.
#[test]
fn fast_sleep_halves_the_cost_of_foreign_energy() {
    for (fast_sleep, looks) in [("true", 10.0), ("false", 19.0)] {
        let on = on_for_foreign_energy(fast_sleep);
        let expected = 373e-6 + looks * (610e-6 + 53e-6) + 128e-6;
        assert!((on / expected - 1.0).abs() < 0.02, "{on}, {expected}");
    }
}

#[test]
fn a_border_router_that_stays_awake_is_always_on() {
    let (border, node) = idle(&[CONTIKIMAC, ("mac.border_awake", "true")]);
    assert_eq!(border, 1.0);
    assert!(node < 0.01, "{node}");
}

/// Checks the gap between copies: INTER_PACKET_INTERVAL of 13 (from 2.7 on) or 6 (2.5) ticks of
/// 30.5 µs, the assessment of 128 µs after it, and aTurnaroundTime.
#[test]
fn silence_between_two_copies_is_as_long_as_the_release_has_it() {
    for (release, silence_us) in [
        ("contiki-2.5", 183 + 128 + 192),
        ("contiki-2.7", 397 + 128 + 192),
        ("contiki-3.0", 397 + 128 + 192),
    ] {
        let overrides = [
            CONTIKIMAC,
            CC2420,
            ("mac.release", release),
            ("mac.phase_lock", "false"),
        ];
        let (_, frames) = record("pair", &overrides, 10);
        let trains = trains(&frames, 1);
        let gaps: Vec<u64> = trains.iter().flat_map(Train::gaps).collect();
        assert!(gaps.len() > 300, "{release}: {}", gaps.len());
        assert!(gaps.iter().all(|gap| *gap == silence_us), "{release}");
    }
}

/// Checks that without phase lock a receiver wakes up at any time during the repetition of a frame:
/// on average after half a cycle, at most after a whole one, which STROBE_TIME exceeds by 2.4 ms.
#[test]
fn without_phase_lock_a_frame_is_repeated_for_half_a_cycle() {
    let overrides = [CONTIKIMAC, CC2420, ("mac.phase_lock", "false")];
    let (_, frames) = record("readings", &overrides, 300);
    let answered: Vec<_> = trains(&frames, 1)
        .into_iter()
        .filter(|train| train.answered)
        .collect();
    assert!(answered.len() > 250, "{}", answered.len());
    let spans = answered.iter().map(Train::span_us);
    let mean_ms = spans.clone().sum::<u64>() as f64 / answered.len() as f64 / 1e3;
    assert!((50.0..75.0).contains(&mean_ms), "{mean_ms}");
    assert!(spans.max().unwrap() <= 127_441);
}

/// Checks when a frame begins with phase lock. The sender is ready GUARD_TIME (15.9 ms) before the
/// receiver, and first assesses six times (373 µs and a pause of 488 µs each): 10.7 ms remain. The
/// answered copy begins at most one copy and one wake-up later than the receiver's wake-up.
#[test]
fn with_phase_lock_a_frame_begins_shortly_before_its_receiver_wakes_up() {
    let overrides = [CONTIKIMAC, CC2420, ("mac.strobe_bursts", "false")];
    let (report, frames) = record("pair", &overrides, 60);
    let all = trains(&frames, 1);
    let locked: Vec<_> = all.iter().skip(5).filter(|train| train.answered).collect();
    assert!(locked.len() > 100, "{}", locked.len());
    let mean =
        locked.iter().map(|train| train.copies.len()).sum::<usize>() as f64 / locked.len() as f64;
    // A full frame and its gap take 4.97 ms, one of 100 bytes 4.1 ms.
    assert!((2.0..5.0).contains(&mean), "{mean}");
    let longest = locked.iter().map(|train| train.span_us()).max().unwrap();
    assert!(longest <= 16_663, "{longest}");
    let duty = report.nodes[1].duty.expect("a duty-cycled MAC");
    assert!(duty.locked_trains * 10 > duty.trains * 9, "{duty:?}");
}

/// Checks that an announced frame follows at once, while its receiver is awake.
#[test]
fn frames_of_a_burst_are_sent_once() {
    let (_, frames) = record("pair", &[CONTIKIMAC, CC2420], 30);
    let all = trains(&frames, 1);
    let once = all.iter().filter(|train| train.copies.len() == 1).count();
    assert!(once * 2 > all.len(), "{once} of {}", all.len());
    let followed = all.windows(2).filter(|pair| {
        let last = pair[0].copies[pair[0].copies.len() - 1];
        pair[0].answered && pair[1].copies[0].start_us < last.end_us + 15_000
    });
    assert!(followed.count() * 2 > all.len());
    // In Contiki 2.5, no frame follows at once.
    let old = ("mac.release", "contiki-2.5");
    let (_, frames) = record("pair", &[CONTIKIMAC, CC2420, old], 30);
    let all = trains(&frames, 1);
    let quick = all.windows(2).filter(|pair| {
        let last = pair[0].copies[pair[0].copies.len() - 1];
        pair[0].answered && pair[1].copies[0].start_us < last.end_us + 15_000
    });
    assert_eq!(quick.count(), 0);
}

/// Checks that a sleepy leaf repeats data requests to its duty-cycled parent, and that the parent
/// sends its answers only once, because the leaf listens.
#[test]
fn a_sleepy_leaf_behind_duty_cycled_routers() {
    let (report, frames) = record("sleepy-3", &[CONTIKIMAC, CC2420], 60);
    let leaf = report.nodes.len() - 1;
    assert!(
        report.nodes[leaf].data_requests > 5,
        "{:?}",
        report.nodes[leaf]
    );
    assert!(
        report.flows[0].delivered_bytes > 1_000,
        "{:?}",
        report.flows[0]
    );
    let duty = report.nodes[leaf].duty.expect("a duty-cycled MAC");
    assert_eq!(duty.wake_ups, 0, "it has no cycle");
    let requests = trains(&frames, leaf);
    assert!(requests.iter().any(|train| train.copies.len() > 2));
}

const X_MAC: (&str, &str) = ("mac.access", "x-mac");
const CX_MAC: (&str, &str) = ("mac.access", "cx-mac");
const LPP: (&str, &str) = ("mac.access", "lpp");

/// Checks the share of time in which an idle radio is on. xmac.c: 204 of 4,096 ticks, 5 %. lpp.c:
/// one of sixteen ticks of 7.8 ms; the probe is at its beginning.
#[test]
fn idle_nodes_of_x_mac_and_lpp_are_on_for_their_part_of_each_cycle() {
    let (_, x_mac) = idle(&[X_MAC]);
    assert!((x_mac - 204.0 / 4_096.0).abs() < 0.001, "{x_mac}");
    // cxmac.c: one of sixteen ticks of its clock.
    let (_, cx_mac) = idle(&[CX_MAC]);
    assert!((cx_mac - 1.0 / 16.0).abs() < 0.001, "{cx_mac}");
    let overrides = [LPP, CC2420, IDLE];
    let (report, frames) = record("pair", &overrides, 100);
    let on = report.nodes[1].radio_duty_cycle;
    assert!((on - 1.0 / 16.0).abs() < 0.001, "{on}");
    // The node sends only probes, one in each cycle.
    let probes: Vec<_> = frames.iter().filter(|frame| frame.from == 1).collect();
    assert!((799..=800).contains(&probes.len()), "{}", probes.len());
    assert!(probes.iter().all(|probe| probe.is_broadcast));
}

/// Checks that strobes are sent every 127 ticks (3.9 ms) for at most 4,708 (143.7 ms), and the
/// frame itself once after the first answer (xmac.c).
#[test]
fn x_mac_sends_short_strobes_and_then_the_frame() {
    let overrides = [X_MAC, CC2420, ("mac.phase_lock", "false")];
    let (_, frames) = record("readings", &overrides, 300);
    let own: Vec<_> = frames
        .iter()
        .filter(|frame| frame.from == 1 && !frame.is_ack)
        .collect();
    let len = |frame: &Copy| (frame.end_us - frame.start_us) / 32 - 6;
    // A MAC header of 9 bytes, two bytes of content, and the FCS.
    let is_strobe = |frame: &Copy| len(frame) == 13;
    let strobes: Vec<_> = own.windows(2).filter(|pair| is_strobe(pair[0])).collect();
    let mut answered = 0;
    for pair in &strobes {
        if is_strobe(pair[1]) {
            let apart = pair[1].start_us - pair[0].start_us;
            assert!(apart == 3_876 || apart > 100_000, "{apart}");
        } else {
            answered += 1;
            // The silence consists of the answer, a margin of 1 ms, and loading.
            let silence = pair[1].start_us - pair[0].end_us;
            assert!((1_288..3_000).contains(&silence), "{silence}");
        }
    }
    assert!(answered > 250, "{answered}");
    // A receiver that is on for 6.2 of 125 ms is found after half a cycle on average.
    let mean = strobes.len() as f64 / f64::from(answered);
    assert!((12.0..20.0).contains(&mean), "{mean}");
}

/// Checks that after the first answer of a neighbour, strobes begin 12.5 ms before its wake-up
/// (cxmac.c). The frame after them requests no acknowledgment, so its loss is not noticed.
#[test]
fn cx_mac_learns_wake_ups_and_does_not_notice_lost_frames() {
    let strobes = |access: (&str, &str)| {
        let (report, frames) = record("readings", &[access, CC2420], 300);
        assert!(report.flows[0].delivered_bytes > 1_000);
        let own = frames.iter().filter(|frame| frame.from == 1);
        own.count() as f64 / report.flows[0].delivered_bytes as f64
    };
    assert!(2.0 * strobes(CX_MAC) < strobes(X_MAC));
    let lossy = [
        CC2420,
        ("faults.air.type", "drop-frames"),
        ("faults.air.share", "30 %"),
    ];
    let delivered = |access: (&str, &str)| {
        let (report, _) = record("readings", &[&lossy[..], &[access]].concat(), 300);
        report.flows[0].delivered_bytes as f64
    };
    let (software, hardware) = (delivered(CX_MAC), delivered(X_MAC));
    assert!(software < 0.85 * hardware, "{software}, {hardware}");
}

/// Checks that a node yields to a strobe for another node, if radios report such frames.
#[test]
fn x_mac_yields_to_strobes_for_others() {
    let collisions = |overhears: &str| {
        let overrides = [X_MAC, CC2420, ("mac.overhears", overhears)];
        let (report, _) = record("star", &overrides, 120);
        let all = report.nodes.iter().filter_map(|node| node.duty);
        all.map(|duty| duty.collisions).sum::<u64>()
    };
    let (yields, does_not) = (collisions("true"), collisions("false"));
    assert!(yields > does_not + 20, "{yields}, {does_not}");
}

/// Checks that the frame follows the probe of its receiver, after half a cycle on average (lpp.c).
#[test]
fn lpp_sends_when_its_receiver_has_said_that_it_listens() {
    let (report, frames) = record("readings", &[LPP, CC2420], 300);
    let data = frames
        .windows(2)
        .filter(|pair| pair[1].from == 1 && !pair[1].is_ack && !pair[1].is_broadcast);
    let mut count = 0;
    for pair in data {
        assert!(pair[0].from == 0 && pair[0].is_broadcast, "{pair:?}");
        assert!(pair[1].start_us - pair[0].end_us < 7_800, "{pair:?}");
        count += 1;
    }
    assert!(count > 250, "{count}");
    // 6.9 % without traffic, and half a cycle of waiting every 1,037 ms.
    let on = report.nodes[1].radio_duty_cycle;
    assert!((0.10..0.16).contains(&on), "{on}");
}

/// Checks that every frame has a single copy, without acknowledgments (nullrdc.c), and that a queue
/// sends one frame in each cycle, here of 125 ms (csma.c).
#[test]
fn nullrdc_sends_once_and_one_frame_a_cycle() {
    let overrides = [
        ("mac.access", "nullrdc"),
        CC2420,
        ("mac.coarse_tick", "false"),
    ];
    let (report, frames) = record("pair", &overrides, 30);
    assert!(frames.iter().all(|frame| !frame.is_ack));
    assert_eq!(report.nodes[1].radio_duty_cycle, 1.0);
    let own: Vec<_> = frames.iter().filter(|frame| frame.from == 1).collect();
    let later = own.windows(2).filter(|pair| pair[1].is_later_fragment);
    let apart: Vec<_> = later
        .map(|pair| pair[1].start_us - pair[0].start_us)
        .collect();
    assert!(apart.len() > 100, "{}", apart.len());
    assert!(apart.iter().all(|apart| (125_000..132_000).contains(apart)));
    // With acknowledgments, each frame has an acknowledgment.
    let overrides = [("mac.access", "nullrdc"), CC2420, ("mac.link_acks", "true")];
    let (_, frames) = record("pair", &overrides, 30);
    let acks = frames.iter().filter(|frame| frame.is_ack).count();
    assert!(acks * 2 >= frames.len() - 1, "{acks} of {}", frames.len());
}

#[test]
fn tcp_over_every_method() {
    for access in ["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"] {
        for (name, at_least) in [("line-1", 20_000), ("line-3", 5_000)] {
            let report = common::run(name, &[("mac.access", access), CC2420], 1, 120);
            let delivered = report.flows[0].delivered_bytes;
            assert!(delivered > at_least, "{access}, {name}: {delivered}");
        }
    }
}

/// Checks that csma.c of 2.6 to 3.0 has queues for two neighbours at a time and drops frames for a
/// third. 2.5 has one queue for all.
#[test]
fn frames_for_a_third_neighbour_are_dropped() {
    let run = |release: &str, limit: Option<&str>| {
        let own = ("mac.release", release);
        let limit = limit.map(|limit| ("mac.neighbour_queues", limit));
        let all = [CONTIKIMAC, CC2420, own].into_iter().chain(limit);
        let overrides: Vec<_> = all.collect();
        let (report, _) = record("star", &overrides, 120);
        let delivered: u64 = report.flows.iter().map(|flow| flow.delivered_bytes).sum();
        let drops = report.nodes[1].drops.get("ip.no_packet_slot").copied();
        (drops.unwrap_or(0), delivered)
    };
    let (drops, _) = run("contiki-3.0", None);
    assert!(drops > 5, "{drops}");
    let (drops, delivered) = run("contiki-3.0", Some("0"));
    assert!(drops == 0 && delivered > 10_000, "{drops}, {delivered}");
    let (drops, _) = run("contiki-2.5", None);
    assert_eq!(drops, 0);
}

#[test]
fn a_host_behind_a_duty_cycled_mesh() {
    for access in ["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"] {
        let (report, _) = record("host", &[("mac.access", access), CC2420], 60);
        let delivered = report.flows[0].delivered_bytes;
        assert!(delivered > 1_000, "{access}: {delivered}");
    }
}
