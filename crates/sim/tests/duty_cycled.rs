//! Duty-cycled MACs, seen from outside: frames on the air and the times of radios.
//!
//! Where a figure is somebody else's, its source stands beside it.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::report::Report;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::world::World;

/// A frame on the air, without those fields that no test here looks at.
#[derive(Clone, Copy, Debug)]
struct Copy {
    from: usize,
    start_us: u64,
    end_us: u64,
    is_ack: bool,
    is_broadcast: bool,
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
    /// The silences between its copies, in microseconds.
    fn gaps(&self) -> impl Iterator<Item = u64> {
        let pairs = self.copies.windows(2);
        pairs.map(|pair| pair[1].start_us - pair[0].end_us)
    }

    fn span_us(&self) -> u64 {
        self.copies[self.copies.len() - 1].start_us - self.copies[0].start_us
    }
}

/// The trains of one sender.
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

/// A node that sends a frame, without TCP, at moments that have nothing to do with cycles.
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

/// A scenario with its frames.
fn record(name: &str, overrides: &[(&str, &str)], seconds: u64) -> (Report, Vec<Copy>) {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = match name {
        "readings" => Scenario::parse("readings", READINGS, &overrides),
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
/// The only flow of `pair` begins after every run here has ended.
const IDLE: (&str, &str) = ("apps.bulk.start", "1 h");

/// The shares of time in which the two radios of `pair` are on while nobody sends.
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

/// Radio off between 99.2 % and 99.6 % of the time while idle: A. Dunkels, the change that
/// brought ContikiMAC into Contiki (f8c804e28b, 2010-02-18). "Roughly 99 %" off: A. Dunkels,
/// "The ContikiMAC Radio Duty Cycling Protocol", SICS T2011:13, abstract.
#[test]
fn an_idle_node_of_contikimac_is_off_as_long_as_its_authors_say() {
    let (_, on) = idle(&[CONTIKIMAC]);
    assert!((0.004..=0.008).contains(&on), "8 Hz: {on}");
    let (_, fast) = idle(&[CONTIKIMAC, ("mac.check_rate", "16")]);
    assert!((fast / on - 2.0).abs() < 0.02, "16 Hz: {fast}");
}

/// Two assessments a cycle, as CCA_COUNT_MAX of all releases; each takes 192 us until the
/// CC2420's receiver hears, 128 us of assessment, and 53 us until the processor knows.
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

#[test]
fn a_border_router_that_stays_awake_is_always_on() {
    let (border, node) = idle(&[CONTIKIMAC, ("mac.border_awake", "true")]);
    assert_eq!(border, 1.0);
    assert!(node < 0.01, "{node}");
}

/// INTER_PACKET_INTERVAL of 13 (from 2.7 on) and 6 (2.5) ticks of 30.5 us, the assessment
/// behind it of 128 us, and aTurnaroundTime.
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

/// Without phase lock a receiver wakes up anywhere within the repetition: on average after
/// half a cycle, at most after a whole one, which STROBE_TIME exceeds by 2.4 ms.
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

/// With phase lock a frame begins GUARD_TIME, less the assessments before it, ahead of the
/// receiver: of 15.9 ms some 10.7 remain (six assessments of 373 us, each with its pause of
/// 488 us), and the copy that is answered begins at most one copy and one wake-up later.
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

/// A frame that was promised follows at once, and its receiver is awake.
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
    // As many frames as have a datagram behind them go alone in 2.5.
    let old = ("mac.release", "contiki-2.5");
    let (_, frames) = record("pair", &[CONTIKIMAC, CC2420, old], 30);
    let all = trains(&frames, 1);
    let quick = all.windows(2).filter(|pair| {
        let last = pair[0].copies[pair[0].copies.len() - 1];
        pair[0].answered && pair[1].copies[0].start_us < last.end_us + 15_000
    });
    assert_eq!(quick.count(), 0);
}

/// TCP carries every byte over ContikiMAC, over one hop and over three.
#[test]
fn tcp_over_contikimac() {
    for (name, seconds) in [("line-1", 30), ("line-3", 120)] {
        let report = common::run(name, &[CONTIKIMAC, CC2420], 1, seconds);
        let flow = &report.flows[0];
        assert!(flow.delivered_bytes > 20_000, "{name}: {flow:?}");
        for node in &report.nodes {
            assert!(node.radio_duty_cycle < 0.5, "{name}: {node:?}");
            assert!(node.energy.idle_s > 0.5 * report.simulated_s, "{name}");
        }
    }
}
