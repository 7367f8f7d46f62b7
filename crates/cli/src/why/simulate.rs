//! Simulates similar traffic: with the cause as captured, and with the remedy.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

use super::Reader;
use super::causes::{Cause, Finding};
use super::flow::Flow;
use super::half::Half;
use crate::dissect::NetworkArgs;

/// Number of hops of the longest built-in line scenario.
const HOPS_MAX: u8 = 4;
const DURATION: &str = "300 s";
/// Ratio of the loss between neighbours in the built-in line scenarios to the loss at the edge of
/// the range. Loss grows with the square of the distance, and neighbours are at 0.8 of the range.
const FELT: f64 = 0.8 * 0.8;

/// Smallest segment of a scenario in bytes; `BUFFER_MIN`: smallest buffer in bytes.
const SEGMENT_MIN: u32 = 16;
const BUFFER_MIN: u32 = 64;
/// Payload of an efficient segment, of five frames, in bytes.
const USUAL_SEGMENT: u32 = 462;

type Setting = (String, String);

#[derive(Clone, Debug)]
pub struct Simulated {
    pub command: String,
    /// Goodput of the application in kb/s.
    pub goodput_kbps: f64,
    /// The connection with the most data in the simulated frames.
    pub flow: Option<Flow>,
}

#[derive(Clone, Debug)]
pub struct Comparison {
    pub captured: Simulated,
    pub remedied: Simulated,
}

/// Simulates a flow with the cause and with its remedy: one bulk transfer over a line with the same
/// number of hops, and the captured segment size, window, losses and retries. Values that the
/// capture does not contain have defaults. The error states why the scenario is refused.
pub fn compare(flow: &Flow, finding: &Finding) -> Result<Comparison, String> {
    let half = match finding.side {
        Some(side) => &flow.halves[side],
        None => flow.main(),
    };
    let traffic = Traffic::of(flow, half);
    let (fault, remedy) = traffic.settings(finding);
    Ok(Comparison {
        captured: traffic.run(&fault)?,
        remedied: traffic.run(&remedy)?,
    })
}

/// Passes the frames of a simulation to the reader of captures.
struct Tap {
    reader: Rc<RefCell<Reader>>,
    frames: u64,
}

impl FrameTrace for Tap {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        self.frames += 1;
        let at_us = frame.start.as_micros();
        let mut reader = self.reader.borrow_mut();
        reader.input(self.frames, at_us, Some(frame.mpdu));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

struct Traffic {
    hops: u8,
    base: Vec<Setting>,
    /// Payload of a segment, in bytes.
    segment: u32,
    attempts: u32,
}

fn set(key: impl Into<String>, value: impl Into<String>) -> Setting {
    (key.into(), value.into())
}

impl Traffic {
    fn of(flow: &Flow, half: &Half) -> Traffic {
        let hops = half.hops().clamp(1, HOPS_MAX);
        let segment = half.longest.clamp(SEGMENT_MIN, 1_220);
        let flight = segment * u32::try_from(half.most).unwrap_or(4).clamp(1, 8);
        let flight = flight.max(BUFFER_MIN);
        let window = half.largest_window.clamp(flight, 65_535);
        let mut base = vec![
            set("tcp.mss", format!("{segment} B")),
            set("tcp.send_buffer", format!("{flight} B")),
            set("tcp.receive_buffer", format!("{window} B")),
        ];
        // A receiver acknowledges each attempt that arrives, even if the sender misses the
        // acknowledgement. Attempts disturbed by other frames do not count: the simulation has such
        // collisions too.
        let tried = flow.attempts.saturating_sub(flow.disturbed).max(1);
        let arrives = (flow.acked as f64 / tried as f64).min(1.0);
        let lost_at_the_edge = ((1.0 - arrives) / FELT).clamp(0.0, 0.95);
        if lost_at_the_edge >= 0.01 {
            let percent = 100.0 * (1.0 - lost_at_the_edge);
            base.push(set("medium.success_ratio_rx", format!("{percent:.0} %")));
        }
        Traffic {
            hops,
            base,
            segment,
            attempts: half.attempts_of_lost.max(1),
        }
    }

    fn settings(&self, finding: &Finding) -> (Vec<Setting>, Vec<Setting>) {
        let (least_us, _) = finding.tally.details_us.unwrap_or_default();
        let far = format!("node-{}", u32::from(self.hops) + 1);
        let retries = set("mac.max_frame_retries", (self.attempts - 1).to_string());
        let single = || {
            vec![
                set(format!("nodes.{far}.transport"), "one-segment"),
                set("rivals.segment_mss", format!("{} B", self.segment)),
            ]
        };
        match finding.cause {
            Cause::PollPerFragment => {
                let sleepy = |burst: &str| {
                    vec![
                        set("nodes.node-1.role", "border"),
                        set(format!("nodes.{far}.role"), "leaf"),
                        set(format!("nodes.{far}.sleepy"), "true"),
                        set("poll.policy", "fixed"),
                        set("poll.base_interval", "100 ms"),
                        set("apps.sink.on", far.clone()),
                        set("apps.bulk.on", "node-1"),
                        set("apps.bulk.to", format!("{far}:5001")),
                        set("indirect.burst", burst),
                    ]
                };
                (sleepy("false"), sleepy("true"))
            }
            Cause::RtoFloor => {
                let floor = (least_us / 1_000).clamp(10, 60_000);
                let slow = vec![
                    retries.clone(),
                    set("tcp.recovery", "duplicates"),
                    set("tcp.min_rto", format!("{floor} ms")),
                ];
                (slow, vec![retries, set("tcp.min_rto", "100 ms")])
            }
            Cause::DelayedAck => {
                let with = |delay_ms: u64| {
                    let mut settings = single();
                    settings.push(set("tcp.delayed_ack", format!("{delay_ms} ms")));
                    settings
                };
                (with((least_us / 1_000).min(500)), with(0))
            }
            Cause::LostFragments => {
                let helped = vec![
                    set("mac.max_frame_retries", "10"),
                    set("mac.link_retry_delay", "40 ms"),
                ];
                (vec![retries], helped)
            }
            Cause::HiddenTerminals => {
                let with = |delay: &str| vec![retries.clone(), set("mac.link_retry_delay", delay)];
                (with("0 ms"), with("40 ms"))
            }
            Cause::WindowOfOne => {
                let segment = self.segment.max(USUAL_SEGMENT);
                let window = 4 * segment;
                let wide = vec![
                    set("tcp.mss", format!("{segment} B")),
                    set("tcp.send_buffer", format!("{window} B")),
                    set("tcp.receive_buffer", format!("{window} B")),
                ];
                (single(), wide)
            }
        }
    }

    fn run(&self, settings: &[Setting]) -> Result<Simulated, String> {
        let name = format!("line-{}", self.hops);
        let mut all = self.base.clone();
        for (key, value) in settings {
            all.retain(|(known, _)| known != key);
            all.push(set(key, value));
        }
        all.push(set("duration", DURATION));
        let mut command = format!("redpoll run {name}");
        for (key, value) in &all {
            let _ = write!(command, " --set {key}='{value}'");
        }
        let scenario = Scenario::load(&name, &all).map_err(|error| error.to_string())?;
        let mut world = World::new(&scenario, scenario.seed).map_err(|error| error.to_string())?;
        let reader = Reader::new(NetworkArgs::default().reading(), 1);
        let reader = Rc::new(RefCell::new(reader));
        world.add_trace(Box::new(Tap {
            reader: Rc::clone(&reader),
            frames: 0,
        }));
        world.run_until(redpoll_base::Instant::ZERO + scenario.duration);
        let report = world.report();
        let flow = report.flows.first().ok_or("the simulation has no flow")?;
        drop(world);
        let seen = Rc::into_inner(reader).map(|reader| reader.into_inner().finish());
        let flows = seen.into_iter().flat_map(|seen| seen.flows);
        Ok(Simulated {
            command,
            goodput_kbps: flow.goodput_kbps,
            flow: flows.max_by_key(|flow| flow.main().bytes),
        })
    }
}
