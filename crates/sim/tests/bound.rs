//! What one hop could carry at best, worked out by hand from the standard's
//! times, and that no run carries more. `docs/model.md` tells the same in
//! words.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::scenario::Scenario;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::world::World;

/// Bytes of the frames of one full segment, frame check sequence included:
/// 462 bytes of payload and 12 of timestamps, in five frames; the first says
/// in one byte that the segment is capable of ECN.
const SEGMENT: [u64; 5] = [123, 120, 120, 120, 94];
/// Bytes of the frame of a TCP acknowledgement.
const ACKNOWLEDGEMENT: u64 = 46;
/// Payload of a segment in bits.
const PAYLOAD_BITS: u64 = 462 * 8;

/// The segments and windows of Kumar et al. 2020.
const SEGMENTS: [(&str, &str); 3] = [
    ("tcp.mss", "462 B"),
    ("tcp.send_buffer", "1848 B"),
    ("tcp.receive_buffer", "1848 B"),
];
/// Nanoseconds from the order to send to the first bit: assessment, turnaround.
const ASSESSMENT: u64 = 128_000 + 192_000;
/// The interframe space behind a long frame.
const LIFS: u64 = 640_000;

/// Nanoseconds that loading a frame of so many bytes takes: 10 µs for interrupt
/// and state, six bytes of registers, the frame.
fn loading_ns(bytes: u64, spi_ns_per_byte: u64) -> u64 {
    match spi_ns_per_byte {
        0 => 0,
        ns => 10_000 + (bytes + 6) * ns,
    }
}

/// Nanoseconds that a frame of so many bytes takes by itself: loading, backoff
/// of 0 to `most` periods, assessment, turnaround, air, turnaround, link ACK;
/// and no less than the interframe space from the frame before.
fn exchange_ns(bytes: u64, spi_ns_per_byte: u64, most: u64) -> u64 {
    let before = |periods: u64| {
        let gap = loading_ns(bytes, spi_ns_per_byte) + periods * 320_000 + ASSESSMENT;
        gap.max(LIFS)
    };
    let gap = (0..=most).map(before).sum::<u64>() / (most + 1);
    let air = (6 + bytes) * 32_000;
    let ack = 192_000 + (6 + 5) * 32_000;
    gap + air + ack
}

/// Goodput in kb/s with one TCP acknowledgement every second segment, no loss
/// and no time lost in any processor.
///
/// In a burst only the first frame of a segment has a backoff.
fn bound_kbps(spi_ns_per_byte: u64, burst: bool) -> f64 {
    let first = SEGMENT.iter().take(1).map(|bytes| (bytes, 7));
    let later = SEGMENT.iter().skip(1);
    let later = later.map(|bytes| (bytes, if burst { 0 } else { 7 }));
    let segment: u64 = first
        .chain(later)
        .map(|(bytes, most)| exchange_ns(*bytes, spi_ns_per_byte, most))
        .sum();
    let pair = 2 * segment + exchange_ns(ACKNOWLEDGEMENT, spi_ns_per_byte, 7);
    (2 * PAYLOAD_BITS) as f64 * 1e6 / pair as f64
}

fn goodput_kbps(model: &str, delay: &str, burst: bool) -> f64 {
    let how = [
        ("radio.model", model),
        ("mac.link_retry_delay", delay),
        (
            "lowpan.fragment_burst",
            if burst { "true" } else { "false" },
        ),
    ];
    let scenario = Scenario::load("line-1", &overrides(&how)).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(120_000));
    world.report().flows[0].goodput_kbps
}

fn overrides(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = SEGMENTS.iter().chain(more);
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// How many frames of each length each node sent, repetitions aside.
#[derive(Clone, Default)]
struct Lengths(
    Rc<RefCell<BTreeMap<(usize, u64), u32>>>,
    BTreeMap<usize, u8>,
);

/// Where the sequence number of a frame stands.
const DSN: usize = 2;

impl FrameTrace for Lengths {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let key = (frame.from, frame.mpdu.len() as u64 + 2);
        let is_ack = frame.mpdu.len() == 3;
        if !is_ack && self.1.insert(frame.from, frame.mpdu[DSN]) == Some(frame.mpdu[DSN]) {
            return Ok(());
        }
        *self.0.borrow_mut().entry(key).or_default() += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// The frames are as long as the bound takes them to be.
#[test]
fn the_bound_is_about_our_frames() {
    let scenario = Scenario::load("line-1", &overrides(&[])).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    let lengths = Lengths::default();
    world.add_trace(Box::new(lengths.clone()));
    world.run_until(Instant::from_millis(20_000));
    let counts = lengths.0.take();
    let common = counts.iter().filter(|(_, count)| **count > 100);
    let common: Vec<_> = common.map(|(key, _)| *key).collect();
    let [first, middle, _, _, last] = SEGMENT;
    let sent = [
        (0, 5),
        (0, ACKNOWLEDGEMENT),
        (1, 5),
        (1, last),
        (1, middle),
        (1, first),
    ];
    assert_eq!(common, sent);
    let per_segment = f64::from(counts[&(1, middle)]) / f64::from(counts[&(1, first)]);
    assert!((per_segment - 3.0).abs() < 0.2, "{per_segment}");
}

#[test]
fn the_bound_by_hand() {
    // Air: (6 * 5 + 577) * 32 µs = 19.424 ms; around it 5 * 1.984 ms; half an
    // acknowledgement: (6 + 46) * 32 µs / 2 + 0.992 ms. Together 31.168 ms. One
    // backoff in eight is none, and the space then 320 µs longer: 5.5 * 40 µs.
    let each = |spi_ns| bound_kbps(spi_ns, false);
    assert!((each(0) - 3_696.0 / 31.388).abs() < 1e-9);
    assert!((each(0) - 117.8).abs() < 0.05, "{}", each(0));
    // Loading takes longer than what is missing of the space: 5.5 * 10 µs and
    // (577 + 23 + 33) * 7.14 µs beside 31.168 ms; of the acknowledgement it
    // takes 381 µs.
    assert!(
        (each(7_140) - 3_696.0 / 35.743).abs() < 0.05,
        "{}",
        each(7_140)
    );
    // Bursts: four backoffs of 1.12 ms less, and four spaces 280 µs longer.
    assert!((bound_kbps(0, true) - 3_696.0 / 28.028).abs() < 1e-9);
    assert!(
        (bound_kbps(7_140, true) - 118.2).abs() < 0.1,
        "{}",
        bound_kbps(7_140, true)
    );
}

/// Within a few percent of the bound without a retry delay, and never over it.
#[test]
fn no_run_beats_the_bound() {
    for (model, spi_ns) in [("ideal", 0), ("cc2420", 7_140), ("at86rf233", 7_140)] {
        for (delay, burst) in [
            ("0 ms", false),
            ("40 ms", false),
            ("0 ms", true),
            ("40 ms", true),
        ] {
            let bound = bound_kbps(spi_ns, burst);
            let goodput = goodput_kbps(model, delay, burst);
            let what = format!("{model}, {delay}, burst {burst}: {goodput} of {bound}");
            assert!(goodput < bound, "{what}");
            assert!(goodput > 0.85 * bound, "{what}");
        }
    }
}
