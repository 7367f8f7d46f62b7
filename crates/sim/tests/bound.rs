//! Upper bound of the goodput over one hop, calculated from the standard's times. Checks that no
//! run exceeds it. `docs/model/throughput.md` describes the calculation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

/// A full segment in its frames.
#[derive(Debug)]
struct Segment {
    /// Bytes of each frame with all headers, 12 bytes of timestamps and the frame check sequence.
    /// One byte of the first frame marks the segment as ECN-capable.
    frames: [u64; 5],
    payload_bits: u64,
    /// Overrides of the scenario for this segment.
    settings: &'static [(&'static str, &'static str)],
}

/// Segments and windows of Kumar et al. 2020.
const PAPER: Segment = Segment {
    frames: [123, 120, 120, 120, 94],
    payload_bits: 462 * 8,
    settings: &[
        ("tcp.mss", "462 B"),
        ("tcp.send_buffer", "1848 B"),
        ("tcp.receive_buffer", "1848 B"),
    ],
};

/// Segments and windows of the built-in lines.
const SHIPPED: Segment = Segment {
    frames: [123, 120, 120, 120, 119],
    payload_bits: 487 * 8,
    settings: &[],
};

const ACKNOWLEDGEMENT: u64 = 46;
/// Nanoseconds from the command to send to the first bit: assessment and turnaround.
const ASSESSMENT: u64 = 128_000 + 192_000;
/// Interframe space after a long frame, in nanoseconds.
const LIFS: u64 = 640_000;

/// Nanoseconds of an octet at 250 kb/s.
const OCTET: u64 = 32_000;

#[derive(Clone, Copy, Debug)]
struct Way {
    segment: &'static Segment,
    octet_ns: u64,
    /// Nanoseconds of a byte between processor and radio.
    spi_ns: u64,
    /// Whether only the first frame of a segment has a backoff.
    burst: bool,
    ifs: Ifs,
}

/// Interframe spacing: `mac.ifs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ifs {
    Minimum,
    Sequential,
    Off,
}

impl Ifs {
    fn name(self) -> &'static str {
        match self {
            Ifs::Minimum => "minimum",
            Ifs::Sequential => "sequential",
            Ifs::Off => "off",
        }
    }
}

/// Returns the nanoseconds to load a frame of `bytes` bytes: 10 µs for interrupt and state, six
/// bytes of registers, and the frame.
fn loading_ns(bytes: u64, spi_ns_per_byte: u64) -> u64 {
    match spi_ns_per_byte {
        0 => 0,
        ns => 10_000 + (bytes + 6) * ns,
    }
}

/// Returns the nanoseconds of a frame of `bytes` bytes: loading, backoff of 0 to `most` periods,
/// assessment, turnaround, air, turnaround and link ACK. The interframe space after the previous
/// frame runs in parallel or comes first.
fn exchange_ns(bytes: u64, way: Way, most: u64) -> u64 {
    let before = |periods: u64| {
        let gap = loading_ns(bytes, way.spi_ns) + periods * 320_000 + ASSESSMENT;
        match way.ifs {
            Ifs::Minimum => gap.max(LIFS),
            Ifs::Sequential => gap + LIFS,
            Ifs::Off => gap,
        }
    };
    let gap = (0..=most).map(before).sum::<u64>() / (most + 1);
    let air = (6 + bytes) * way.octet_ns;
    let ack = 192_000 + (6 + 5) * way.octet_ns;
    gap + air + ack
}

/// Returns the duration of two segments: ten frames.
fn segments_ns(way: Way) -> u64 {
    let later = if way.burst { 0 } else { 7 };
    let most = [7, later, later, later, later];
    let frames = way.segment.frames.iter().zip(most);
    2 * frames
        .map(|(bytes, most)| exchange_ns(*bytes, way, most))
        .sum::<u64>()
}

fn kbps(way: Way, pair_ns: u64) -> f64 {
    (2 * way.segment.payload_bits) as f64 * 1e6 / pair_ns as f64
}

/// Returns the goodput in kb/s with one TCP acknowledgment for two segments, no loss and no
/// processing time, if all steps are sequential.
fn bound_kbps(way: Way) -> f64 {
    let acknowledgement = exchange_ns(ACKNOWLEDGEMENT, way, 7);
    kbps(way, segments_ns(way) + acknowledgement)
}

/// Returns an upper bound of the goodput. The acknowledging node loads its frame while the other
/// node prepares the next one, and has no interframe space left. The other node's space passes
/// during the acknowledgment.
fn upper_kbps(way: Way) -> f64 {
    let alone = Way {
        spi_ns: 0,
        ifs: Ifs::Off,
        ..way
    };
    let after = Way {
        ifs: Ifs::Off,
        ..way
    };
    let [first, ..] = way.segment.frames;
    let beside = exchange_ns(first, way, 7) - exchange_ns(first, after, 7);
    let acknowledgement = exchange_ns(ACKNOWLEDGEMENT, alone, 7);
    kbps(way, segments_ns(way) - beside + acknowledgement)
}

fn goodput_kbps(hops: usize, model: &str, delay: &str, way: Way, run: (u64, u64)) -> f64 {
    let how = [
        ("radio.model", model),
        ("mac.link_retry_delay", delay),
        ("mac.ifs", way.ifs.name()),
        (
            "lowpan.fragment_burst",
            if way.burst { "true" } else { "false" },
        ),
    ];
    let scenario = Scenario::load(&format!("line-{hops}"), &overrides(way.segment, &how)).unwrap();
    let (seconds, seed) = run;
    let mut world = World::new(&scenario, seed).unwrap();
    world.run_until(Instant::from_millis(seconds * 1_000));
    world.report().flows[0].goodput_kbps
}

fn overrides(segment: &Segment, more: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = segment.settings.iter().chain(more);
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

/// Number of frames of each length that each node sent, without retransmissions.
#[derive(Clone, Default)]
struct Lengths(
    Rc<RefCell<BTreeMap<(usize, u64), u32>>>,
    BTreeMap<usize, u8>,
);

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

#[test]
fn the_bound_is_about_our_frames() {
    for segment in [&PAPER, &SHIPPED] {
        let scenario = Scenario::load("line-1", &overrides(segment, &[])).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        let lengths = Lengths::default();
        world.add_trace(Box::new(lengths.clone()));
        world.run_until(Instant::from_millis(20_000));
        let counts = lengths.0.take();
        let common = counts.iter().filter(|(_, count)| **count > 100);
        let common: Vec<_> = common.map(|(key, _)| *key).collect();
        let [first, middle, _, _, last] = segment.frames;
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
}

#[test]
fn the_bound_by_hand() {
    let way = |spi_ns, burst, ifs| Way {
        segment: &PAPER,
        octet_ns: OCTET,
        spi_ns,
        burst,
        ifs,
    };
    let each = |spi_ns, burst, ifs| bound_kbps(way(spi_ns, burst, ifs));
    // Air: (6 * 5 + 577) * 32 µs = 19.424 ms; other steps of five frames: 5 * 1.984 ms; half an
    // acknowledgment: (6 + 46) * 32 µs / 2 + 0.992 ms. The sum is 31.168 ms. One backoff in eight
    // is zero; the frame then waits 320 µs for the interframe space: 5.5 frames * 320 µs / 8.
    let ideal = each(0, false, Ifs::Minimum);
    assert!((ideal - 3_696.0 / 31.388).abs() < 1e-9);
    assert!((ideal - 117.8).abs() < 0.05, "{ideal}");
    // The first bound has a whole interframe space before each frame, the second one has none.
    let sequential = each(0, false, Ifs::Sequential);
    assert!((sequential - 3_696.0 / 34.688).abs() < 1e-9);
    assert!((sequential - 106.5).abs() < 0.1, "{sequential}");
    assert!((each(0, false, Ifs::Off) - 3_696.0 / 31.168).abs() < 1e-9);
    // Loading takes longer than this wait: 5.5 * 10 µs and (577 + 23 + 33) * 7.14 µs, in addition
    // to 31.168 ms. Loading the acknowledgment takes 381 µs.
    let loading = each(7_140, false, Ifs::Minimum);
    assert!((loading - 3_696.0 / 35.743).abs() < 0.05, "{loading}");
    let sequential = each(7_140, false, Ifs::Sequential);
    assert!((sequential - 94.1).abs() < 0.1, "{sequential}");
    // A burst omits four backoffs of 1.12 ms, but the space delays those frames by 280 µs.
    assert!((each(0, true, Ifs::Minimum) - 3_696.0 / 28.028).abs() < 1e-9);
    let burst = each(7_140, true, Ifs::Minimum);
    assert!((burst - 118.2).abs() < 0.1, "{burst}");
    // 25 more bytes take 800 µs more on the air.
    let shipped = bound_kbps(Way {
        segment: &SHIPPED,
        ..way(0, false, Ifs::Minimum)
    });
    assert!((shipped - 3_896.0 / 32.188).abs() < 1e-9);
    assert!((shipped - 121.0).abs() < 0.05, "{shipped}");
}

fn ways() -> impl Iterator<Item = (&'static str, Way)> {
    let radios = [("ideal", 0), ("cc2420", 7_140), ("at86rf233", 7_140)];
    let kinds = [
        (&SHIPPED, false, Ifs::Minimum),
        (&SHIPPED, false, Ifs::Sequential),
        (&PAPER, false, Ifs::Minimum),
        (&PAPER, true, Ifs::Minimum),
        (&PAPER, false, Ifs::Sequential),
        (&PAPER, false, Ifs::Off),
    ];
    radios.into_iter().flat_map(move |(model, spi_ns)| {
        kinds.map(|(segment, burst, ifs)| {
            let way = Way {
                segment,
                octet_ns: OCTET,
                spi_ns,
                burst,
                ifs,
            };
            (model, way)
        })
    })
}

#[test]
fn no_run_beats_the_bound() {
    for (model, way) in ways() {
        for delay in ["0 ms", "40 ms"] {
            let bound = bound_kbps(way);
            let goodput = goodput_kbps(1, model, delay, way, (120, 1));
            let what = format!("{model}, {delay}, {way:?}: {goodput} of {bound}");
            assert!(goodput < upper_kbps(way), "{what}");
            assert!(goodput > 0.85 * bound, "{what}");
        }
    }
}

/// Checks that goodput stays below the bound over several hops. Over two hops only one of two
/// frames can be on the air, over three and more only one of three: B, B/2, B/3, B/3 (Kumar et al.
/// 2020 §7.2). The bound holds for the mean, because backoffs of two relays can overlap.
///
/// A relay loads frames while others transmit, so loading does not count beyond one hop.
#[test]
fn no_run_beats_its_share_of_the_bound() {
    let long = std::env::var_os("REDPOLL_VALIDATE").is_some_and(|how| how == "long");
    let (seconds, seeds) = if long { (120, 5) } else { (30, 1) };
    let mut over = Vec::new();
    for (model, way) in ways() {
        for (hops, share) in [(1, 1.0), (2, 2.0), (3, 3.0), (4, 3.0)] {
            let way_of_air = Way { spi_ns: 0, ..way };
            let bound = upper_kbps(if hops == 1 { way } else { way_of_air }) / share;
            for (delay, seed) in ["0 ms", "40 ms"]
                .into_iter()
                .flat_map(|delay| (1..=seeds).map(move |seed| (delay, seed)))
            {
                let goodput = goodput_kbps(hops, model, delay, way, (seconds, seed));
                let line = format!(
                    "{hops} hops, {model:<9} {} bits, {delay:>5}, burst {:<5} ifs {:<10} seed {seed}: {goodput:6.1} of {bound:6.1} kb/s, {:.3}",
                    way.segment.payload_bits,
                    way.burst,
                    way.ifs.name(),
                    goodput / bound,
                );
                println!("{line}");
                if goodput >= bound {
                    over.push(line);
                }
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}

/// Checks that the bounds are tight: a radio exceeds the bounds of a radio that is half as fast,
/// over one to three hops. Over four hops, hidden terminals take more than half of the goodput.
#[test]
fn a_radio_twice_as_fast_is_over_the_bound() {
    for (hops, share) in [(1, 1.0), (2, 2.0), (3, 3.0)] {
        let way = Way {
            segment: &SHIPPED,
            octet_ns: OCTET,
            spi_ns: 0,
            burst: false,
            ifs: Ifs::Minimum,
        };
        let slow = Way {
            octet_ns: 2 * OCTET,
            ..way
        };
        let goodput = goodput_kbps(hops, "ideal", "40 ms", way, (60, 1));
        let bound = upper_kbps(slow) / share;
        assert!(goodput > bound, "{hops} hops: {goodput} of {bound}");
    }
}
