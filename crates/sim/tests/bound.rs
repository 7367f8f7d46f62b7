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

/// Nanoseconds that a frame of so many bytes takes by itself: loading, mean
/// backoff of 3.5 periods, assessment, turnaround, air, turnaround, link ACK.
fn exchange_ns(bytes: u64, spi_ns_per_byte: u64) -> u64 {
    let csma = 1_120_000 + 128_000 + 192_000;
    let air = (6 + bytes) * 32_000;
    let ack = 192_000 + (6 + 5) * 32_000;
    bytes * spi_ns_per_byte + csma + air + ack
}

/// Goodput in kb/s with one TCP acknowledgement every second segment, no loss
/// and no time lost in any processor.
///
/// In a burst only the first frame of a segment has a backoff.
fn bound_kbps(spi_ns_per_byte: u64, burst: bool) -> f64 {
    let segment: u64 = SEGMENT
        .iter()
        .map(|bytes| exchange_ns(*bytes, spi_ns_per_byte))
        .sum();
    let saved = if burst { 4 * 1_120_000 } else { 0 };
    let segment = segment - saved;
    let pair = 2 * segment + exchange_ns(ACKNOWLEDGEMENT, spi_ns_per_byte);
    (2 * PAYLOAD_BITS) as f64 * 1e6 / pair as f64
}

fn goodput_kbps(model: &str, delay: &str, burst: bool) -> f64 {
    let overrides = [
        ("radio.model".to_owned(), model.to_owned()),
        ("mac.link_retry_delay".to_owned(), delay.to_owned()),
        ("lowpan.fragment_burst".to_owned(), burst.to_string()),
    ];
    let scenario = Scenario::load("line-1", &overrides).unwrap();
    let mut world = World::new(&scenario, 1).unwrap();
    world.run_until(Instant::from_millis(120_000));
    world.report().flows[0].goodput_kbps
}

/// How many frames of each length each node sent.
#[derive(Clone, Default)]
struct Lengths(Rc<RefCell<BTreeMap<(usize, u64), u32>>>);

impl FrameTrace for Lengths {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let key = (frame.from, frame.mpdu.len() as u64 + 2);
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
    let scenario = Scenario::load("line-1", &[]).unwrap();
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
    // acknowledgement: (6 + 46) * 32 µs / 2 + 0.992 ms. Together 31.168 ms.
    let each = |spi_ns| bound_kbps(spi_ns, false);
    assert!((each(0) - 3_696.0 / 31.168).abs() < 1e-9);
    assert!((each(0) - 118.6).abs() < 0.05, "{}", each(0));
    // Loading: (577 + 23) * 7.56 µs more.
    assert!((each(7_560) - 103.5).abs() < 0.05);
    // Four backoffs of 1.12 ms less.
    assert!((bound_kbps(0, true) - 3_696.0 / 26.688).abs() < 1e-9);
    assert!((bound_kbps(7_560, true) - 118.4).abs() < 0.05);
}

/// Within a few percent of the bound without a retry delay, and never over it.
#[test]
fn no_run_beats_the_bound() {
    for (model, spi_ns) in [("ideal", 0), ("cc2420", 7_560), ("at86rf233", 7_560)] {
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
