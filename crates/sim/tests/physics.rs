//! Frames on the air, tested against the rules of the standard from recorded frames alone, without
//! knowledge of the simulator's internal decisions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

/// Times of IEEE 802.15.4-2015 at 2.4 GHz, in microseconds.
const OCTET: u64 = 32;
const UNIT_BACKOFF: u64 = 320;
const CCA: u64 = 128;
const TURNAROUND: u64 = 192;
const ACK_WAIT: u64 = 864;
const SIFS: u64 = 192;
const LIFS: u64 = 640;
/// Octets of the longest frame followed by a SIFS: preamble, start of frame, length and MPDU.
const SIFS_OCTETS: u64 = 6 + 18;

/// Override: frames announce no following frame, so no receiver waits for one.
const NO_PROMISES: (&str, &str) = ("lowpan.frame_pending", "false");

/// Returns the microseconds to move a frame, with the interrupt, the state and the registers.
fn loading(octets: u64, spi_ns: u64) -> u64 {
    match spi_ns {
        0 => 0,
        ns => 10 + (octets * ns + 500) / 1_000,
    }
}

#[derive(Clone, Debug)]
struct Frame {
    from: usize,
    /// Receiver; `None` for a link acknowledgment.
    to: Option<usize>,
    dsn: u8,
    start: u64,
    end: u64,
    octets: u64,
    acked_by: Option<usize>,
}

impl Frame {
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
}

#[derive(Clone, Default)]
struct Recorder(Rc<RefCell<Vec<Frame>>>);

impl FrameTrace for Recorder {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let is_ack = frame.mpdu[0] & 7 == 2;
        self.0.borrow_mut().push(Frame {
            from: frame.from,
            // Short addresses count from 1, in the order of the nodes.
            to: (!is_ack).then(|| usize::from(frame.mpdu[5]) - 1),
            dsn: frame.mpdu[2],
            start: frame.start.as_micros(),
            end: frame.end.as_micros(),
            octets: frame.mpdu.len() as u64 + 2 + 6,
            acked_by: None,
        });
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Returns the frames of a run of `line-N`, each with its acknowledgment. Checks that an
/// acknowledgment comes from the addressee, a turnaround after the frame.
fn record(scenario: &str, radio: &str, how: &[(&str, &str)], seconds: u64) -> Vec<Frame> {
    let overrides = [("radio.model", radio)];
    let overrides = overrides.iter().chain(how);
    let overrides: Vec<_> = overrides
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(scenario, &overrides).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let recorder = Recorder::default();
    world.add_trace(Box::new(recorder.clone()));
    world.run_until(Instant::from_millis(seconds * 1_000));
    let mut frames = recorder.0.take();
    let mut ended = BTreeMap::new();
    for index in 0..frames.len() {
        let frame = frames[index].clone();
        assert_eq!(frame.end - frame.start, frame.octets * OCTET);
        match frame.to {
            Some(to) => {
                ended.insert((frame.end, to, frame.dsn), index);
            }
            None => {
                let key = (frame.start - TURNAROUND, frame.from, frame.dsn);
                let acked: usize = ended[&key];
                assert_eq!(frames[acked].acked_by.replace(index), None);
            }
        }
    }
    // Leave out the last frames, because the run may end before their acknowledgments.
    let last = frames.last().map_or(0, |frame| frame.end);
    frames.retain(|frame| frame.end + 1_000 < last || frame.to.is_none());
    frames
}

/// Returns whether two nodes of a line are neighbours. Only neighbours receive each other's frames.
fn is_heard(from: usize, at: usize) -> bool {
    from.abs_diff(at) == 1
}

fn around(frames: &[Frame], start: u64, end: u64) -> impl Iterator<Item = &Frame> {
    let longest = 133 * OCTET;
    let first = frames.partition_point(|frame| frame.start + longest <= start);
    frames[first..]
        .iter()
        .take_while(move |frame| frame.start < end)
        .filter(move |frame| frame.overlaps(start, end))
}

/// Checks that a frame is acknowledged if and only if it was not disturbed at its addressee: by
/// another neighbour, or by the addressee's own transmission or turnaround. A chip with a send
/// procedure is also deaf while it waits for an acknowledgment, and has no buffer for a frame that
/// arrives while another is read.
///
/// Returns the number of collisions.
fn check_collisions(frames: &[Frame], sends_by_procedure: bool) -> usize {
    let mut collisions = 0;
    let last = frames.last().map_or(0, |frame| frame.end);
    for frame in frames {
        let Some(to) = frame.to else { continue };
        // Skip the last 10 ms, because a colliding frame may not have ended in the run.
        if frame.end + 10_000 > last {
            continue;
        }
        let is_same = |other: &Frame| other.from == frame.from && other.start == frame.start;
        let others = || {
            around(
                frames,
                frame.start.saturating_sub(2 * ACK_WAIT),
                frame.end + TURNAROUND,
            )
        };
        let collides = others().any(|other| {
            !is_same(other) && is_heard(other.from, to) && other.overlaps(frame.start, frame.end)
        });
        let is_deaf = others().filter(|other| other.from == to).any(|other| {
            let waits = sends_by_procedure && other.to.is_some() && other.acked_by.is_none();
            let from = other.start.saturating_sub(TURNAROUND);
            let until = other.end + if waits { ACK_WAIT } else { 0 };
            from <= frame.start && frame.start < until
        });
        // A chip with one buffer has no room until the previous frame is read.
        let is_overrun = sends_by_procedure
            && others()
                .filter(|other| other.to == Some(to) && other.acked_by.is_some())
                .any(|other| {
                    let read = loading(other.octets, 7_140);
                    other.end <= frame.start && frame.start < other.end + read
                });
        let is_spoilt = collides || is_deaf || is_overrun;
        assert_eq!(frame.acked_by.is_none(), is_spoilt, "{frame:?}");
        collisions += usize::from(collides);
    }
    collisions
}

fn check_assessments(frames: &[Frame]) {
    for frame in frames.iter().filter(|frame| frame.to.is_some()) {
        let assessed = frame.start.saturating_sub(TURNAROUND + CCA);
        let mut busy = around(frames, assessed, assessed + CCA)
            .filter(|other| is_heard(other.from, frame.from) || other.from == frame.from);
        assert!(busy.next().is_none(), "{frame:?}");
    }
}

/// Checks that a node's frame begins after the interframe space that follows its previous frame,
/// counted from the acknowledgment. No interframe space precedes acknowledgments.
fn check_spaces(frames: &[Frame]) {
    let mut last: BTreeMap<usize, &Frame> = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame.to.is_some()) {
        let Some(before) = last.insert(frame.from, frame) else {
            continue;
        };
        // Without an acknowledgment, the wait for the acknowledgment was longer than the space.
        let end = before
            .acked_by
            .map_or(before.end + ACK_WAIT, |ack| frames[ack].end);
        let space = match before.octets <= SIFS_OCTETS {
            true => SIFS,
            false => LIFS,
        };
        let is_kept = before.acked_by.is_none() || frame.start >= end + space;
        assert!(is_kept, "{before:?}, {frame:?}");
    }
}

/// Returns how often each number of backoff periods passed between an acknowledgment and the next
/// frame of the same node, if no other frame was between them. `spi_ns` is the time to load a byte.
fn backoffs(frames: &[Frame], spi_ns: u64) -> Vec<u32> {
    let mut seen = vec![0; 8];
    for pair in frames.windows(2) {
        let [ack, next] = pair else { continue };
        let Some(sender) = frames
            .iter()
            .rev()
            .skip_while(|frame| frame.end > ack.start)
            .find(|frame| frame.to == Some(ack.from))
            .filter(|_| ack.to.is_none())
        else {
            continue;
        };
        if next.from != sender.from || next.dsn != sender.dsn.wrapping_add(1) {
            continue;
        }
        let load = loading(next.octets, spi_ns);
        let waited = next.start - ack.end - load - CCA - TURNAROUND;
        assert_eq!(waited % UNIT_BACKOFF, 0, "{next:?}");
        seen[(waited / UNIT_BACKOFF) as usize] += 1;
    }
    seen
}

#[test]
fn the_air_of_every_line_keeps_the_rules() {
    let bursts = [("lowpan.fragment_burst", "true")];
    for radio in ["at86rf233", "cc2420", "ideal"] {
        for (hops, how) in (1..=4).flat_map(|hops| [(hops, &[][..]), (hops, &bursts[..])]) {
            let frames = record(&format!("line-{hops}"), radio, how, 30);
            assert!(frames.len() > 3_000, "{radio}, {hops} hops");
            check_assessments(&frames);
            check_spaces(&frames);
            let collisions = check_collisions(&frames, radio == "at86rf233");
            assert_eq!(collisions > 40, hops > 1, "{radio}, {hops}: {collisions}");
        }
    }
}

/// Checks that with the ideal radio and without a backoff, only the interframe space keeps frames
/// apart: without this space, a frame begins less than the standard's LIFS after the previous one.
#[test]
fn without_a_space_frames_follow_too_closely() {
    let frames = |ifs| record("line-1", "ideal", &[("mac.ifs", ifs)], 30);
    let too_close = |frames: &[Frame]| {
        let mut last: BTreeMap<usize, u64> = BTreeMap::new();
        let mut count = 0;
        for frame in frames.iter().filter(|frame| frame.to.is_some()) {
            let ack = frame.acked_by.map(|ack| frames[ack].end);
            let before = last.insert(frame.from, ack.unwrap_or(frame.end + ACK_WAIT));
            count += u32::from(before.is_some_and(|end| frame.start < end + LIFS));
        }
        count
    };
    for kept in ["minimum", "sequential"] {
        assert_eq!(too_close(&frames(kept)), 0, "{kept}");
    }
    assert!(too_close(&frames("off")) > 100);
}

/// Checks that 0 to 7 periods occur equally often outside of bursts. Long backoffs are observed
/// less often than drawn, because the receiver's own frame may come first.
#[test]
fn backoffs_are_uniform() {
    for (radio, spi_ns) in [("at86rf233", 7_140), ("ideal", 0)] {
        let how = [NO_PROMISES, ("mac.ifs", "off")];
        let frames = record("line-1", radio, &how, 30);
        let seen = backoffs(&frames, spi_ns);
        let all: u32 = seen.iter().sum();
        assert!(all > 3_000, "{radio}: {seen:?}");
        for count in &seen {
            let share = f64::from(*count) / f64::from(all);
            assert!((0.105..0.145).contains(&share), "{radio}: {seen:?}");
        }
    }
}

/// Checks that no backoff of zero is seen after a frame: the interframe space of 640 µs is longer
/// than assessment and turnaround by one backoff period, so zero becomes one period.
#[test]
fn the_space_lengthens_a_backoff_of_none() {
    let seen = backoffs(&record("line-1", "ideal", &[NO_PROMISES], 30), 0);
    let all: u32 = seen.iter().sum();
    assert_eq!(seen[0], 0);
    let share = f64::from(seen[1]) / f64::from(all);
    assert!((0.22..0.28).contains(&share), "{seen:?}");
}

struct Wait {
    us: u64,
    /// Time until the sender first received another frame during the wait.
    heard: Option<u64>,
}

/// Returns the waits before retransmissions, less their fixed parts: the wait for the
/// acknowledgment, one clear channel assessment and the turnaround.
fn waits(frames: &[Frame]) -> Vec<Wait> {
    let mut last: BTreeMap<usize, &Frame> = BTreeMap::new();
    let mut waits = Vec::new();
    for frame in frames.iter().filter(|frame| frame.to.is_some()) {
        let before = last.insert(frame.from, frame);
        if let Some(before) = before
            && before.dsn == frame.dsn
            && before.acked_by.is_none()
        {
            let zero = before.end + ACK_WAIT;
            let others = around(frames, zero, frame.start);
            let heard = others.filter(|other| is_heard(other.from, frame.from));
            waits.push(Wait {
                us: frame.start - zero - CCA - TURNAROUND,
                heard: heard.map(|other| other.start.saturating_sub(zero)).min(),
            });
        }
    }
    waits
}

/// Returns the share of waits, in percent, that would end before `limit` without other frames: the
/// estimate of Kaplan and Meier. A wait with another frame is known only to last at least until
/// that frame.
fn undisturbed_before(waits: &[Wait], limit: u64) -> f64 {
    let ends = |wait: &Wait| match wait.heard {
        Some(heard) if heard < wait.us => (heard, false),
        _ => (wait.us, true),
    };
    let mut ends: Vec<_> = waits.iter().map(ends).collect();
    ends.sort_unstable();
    let mut goes_on = 1.0;
    for (index, (end, is_sent)) in ends.iter().enumerate() {
        if *is_sent && *end < limit {
            goes_on *= 1.0 - 1.0 / (ends.len() - index) as f64;
        }
    }
    100.0 * (1.0 - goes_on)
}

/// Checks that an unacknowledged frame is retransmitted after the wait for the acknowledgment, a
/// delay from 0 to 40 ms, and CSMA.
///
/// Before 10 ms the share should be (10 − 1.12) / 40 = 22 %, as the first backoff takes 1.12 ms on
/// average. The observed share is 16 %, because four of five senders receive another frame during
/// the wait, which delays them. [`undisturbed_before`] corrects for these.
#[test]
fn retries_wait_for_a_uniform_delay() {
    let how = [
        NO_PROMISES,
        ("tcp.mss", "462 B"),
        ("tcp.send_buffer", "1848 B"),
        ("tcp.receive_buffer", "1848 B"),
    ];
    let waits = waits(&record("line-2", "at86rf233", &how, 300));
    let mean = waits.iter().map(|wait| wait.us).sum::<u64>() / waits.len() as u64;
    // The mean wait is the delay of 20 ms, the first backoff, and some busy channels.
    assert!((20_500..25_000).contains(&mean), "{mean}");
    for limit in [5_000, 10_000, 20_000, 30_000] {
        let expected = 100.0 * (limit as f64 - 1_120.0) / 40_000.0;
        let found = undisturbed_before(&waits, limit);
        let n = waits.len();
        assert!((found - expected).abs() < 2.5, "{limit} us: {found} of {n}");
    }
    let heard = waits.iter().filter(|wait| wait.heard.is_some()).count() * 100;
    assert!((60..90).contains(&(heard / waits.len())));
}
