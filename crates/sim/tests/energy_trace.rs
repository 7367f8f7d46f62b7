//! Charge of radios, calculated independently from the frames on the air, the times of the standard
//! and the chip's currents, and compared with the simulator's figures.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::testing::energy::Figures;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

/// Currents of the AT86RF233 in mA, from the data sheet, as in `docs/model/energy.md`.
const IDLE_MA: f64 = 0.3;
const LISTEN_MA: f64 = 11.8;
const TRANSMIT_MA: f64 = 13.8;
/// Time from sleep to work, and time of a byte over the bus, in microseconds.
const WAKE_UP: f64 = 416.0;
const SPI_BYTE: f64 = 7.14;
/// Times of IEEE 802.15.4-2015 at 2.4 GHz, in microseconds.
const CCA: u64 = 128;
const TURNAROUND: u64 = 192;
const ACK: u64 = 352;
const ACK_WAIT: u64 = 864;

#[derive(Clone, Debug)]
struct Frame {
    from: usize,
    /// Receiver; `None` for an acknowledgment.
    to: Option<usize>,
    start: u64,
    end: u64,
    /// Length including the FCS.
    bytes: usize,
    pending: bool,
    is_request: bool,
    acked_by: Option<Box<Frame>>,
}

#[derive(Clone, Default)]
struct Recorder(Rc<RefCell<Vec<Frame>>>);

impl FrameTrace for Recorder {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let mpdu = frame.mpdu;
        let is_ack = mpdu[0] & 7 == 2;
        self.0.borrow_mut().push(Frame {
            from: frame.from,
            // Short addresses count from 1, in the order of the nodes.
            to: (!is_ack).then(|| usize::from(mpdu[5]) - 1),
            start: frame.start.as_micros(),
            end: frame.end.as_micros(),
            bytes: mpdu.len() + 2,
            pending: mpdu[0] & 0x10 != 0,
            is_request: mpdu[0] & 7 == 3,
            acked_by: None,
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

fn record(name: &str, overrides: &[(&str, &str)], seconds: u64) -> (Vec<Frame>, Vec<Figures>) {
    let overrides: Vec<_> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &overrides).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let recorder = Recorder::default();
    world.add_trace(Box::new(recorder.clone()));
    world.run_until(Instant::from_millis(seconds * 1_000));
    let figures = world
        .report()
        .nodes
        .iter()
        .map(|node| node.energy)
        .collect();
    let all = recorder.0.take();
    let mut frames: Vec<Frame> = Vec::new();
    for frame in all {
        if frame.to.is_none() {
            let acked = frames
                .iter_mut()
                .rev()
                .find(|sent| sent.to == Some(frame.from) && sent.end + TURNAROUND == frame.start);
            acked.unwrap().acked_by = Some(Box::new(frame.clone()));
        }
        frames.push(frame);
    }
    (frames, figures)
}

/// Returns the charge in mC of a current in mA over a time in µs.
fn charge(ma: f64, us: f64) -> f64 {
    ma * us / 1e6
}

/// Checks radios that do not sleep: they transmit or listen.
#[test]
fn radios_that_are_always_on() {
    let seconds = 20;
    for name in ["line-1", "line-3", "office"] {
        let (frames, figures) = record(name, &[], seconds);
        let until = seconds * 1_000_000;
        for (node, figures) in figures.iter().enumerate() {
            let sent = frames.iter().filter(|frame| frame.from == node);
            let us: u64 = sent.map(|frame| frame.end.min(until) - frame.start).sum();
            let on_air = us as f64;
            let all = charge(TRANSMIT_MA, on_air) + charge(LISTEN_MA, until as f64 - on_air);
            let found = figures.radio_charge_mc;
            assert!(
                (found / all - 1.0).abs() < 1e-9,
                "{name}, {node}: {found}, {all}"
            );
        }
        assert!(frames.len() > 500, "{name}: {}", frames.len());
    }
}

/// Returns the charge of the leaf's radio if every backoff is 0.
///
/// The radio wakes up, loads the frame, assesses the channel, turns around, transmits, and waits
/// for the acknowledgment. After a data request with a pending answer, it listens until a frame
/// announces no further one, and acknowledges each.
fn leaf_mc(frames: &[Frame], leaf: usize, window: u64) -> f64 {
    let mut sum = 0.0;
    let mut awake_until = 0;
    let mut listens_from = None;
    for frame in frames {
        if frame.from == leaf && frame.to.is_some() {
            let load = frame.bytes as f64 * SPI_BYTE;
            let begun = frame.start - CCA - TURNAROUND;
            // A longer gap between two works means that the radio slept.
            let slept = begun as f64 - load > awake_until as f64 + WAKE_UP;
            let idle = if slept {
                WAKE_UP + load
            } else {
                (begun - awake_until) as f64
            };
            let waits = match &frame.acked_by {
                Some(_) => TURNAROUND + ACK,
                None => ACK_WAIT,
            };
            sum += charge(IDLE_MA, idle);
            sum += charge(LISTEN_MA, (CCA + TURNAROUND + waits) as f64);
            sum += charge(TRANSMIT_MA, (frame.end - frame.start) as f64);
            awake_until = frame.end + waits;
            let promised = frame.acked_by.as_ref().is_some_and(|ack| ack.pending);
            if frame.is_request && promised {
                listens_from = Some(awake_until);
            }
        }
        if frame.to == Some(leaf) && frame.acked_by.is_some() {
            let from = listens_from
                .take()
                .expect("the radio sleeps unless a frame was announced");
            assert!(frame.start - from <= window, "{frame:?}");
            sum += charge(LISTEN_MA, (frame.end - from + TURNAROUND) as f64);
            sum += charge(TRANSMIT_MA, ACK as f64);
            awake_until = frame.end + TURNAROUND + ACK;
            if frame.pending {
                listens_from = Some(awake_until);
            }
        }
    }
    sum
}

#[test]
fn a_radio_that_sleeps() {
    let overrides = [
        ("radio.model", "at86rf233"),
        ("mac.min_be", "0"),
        ("mac.max_be", "0"),
        ("nodes.node-2.sleepy", "true"),
        ("apps.bulk.type", "sensor"),
        ("apps.bulk.reading", "200 B"),
        ("apps.bulk.transport", "tcp"),
        ("poll.window", "100 ms"),
    ];
    let (frames, figures) = record("pair", &overrides, 300);
    let found = figures[1].radio_charge_mc;
    let by_trace = leaf_mc(&frames, 1, 100_000);
    println!("by the trace {by_trace:.2} mC, in the report {found:.2} mC");
    assert!(frames.iter().filter(|frame| frame.from == 1).count() > 1_000);
    assert!(
        (found / by_trace - 1.0).abs() < 0.002,
        "{found} mC, by the trace {by_trace}"
    );
}
