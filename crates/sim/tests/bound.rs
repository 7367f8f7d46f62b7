//! What one hop could carry at best, worked out by hand from the standard's
//! times, and that no run carries more. `docs/model/throughput.md` tells the same in
//! words.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Scenario, World};

/// A full segment in its frames.
#[derive(Debug)]
struct Segment {
    /// Bytes of each frame, frame check sequence included: payload and 12 bytes of
    /// timestamps; the first says in one byte that the segment is capable of ECN.
    frames: [u64; 5],
    payload_bits: u64,
    /// What a scenario needs for it.
    settings: &'static [(&'static str, &'static str)],
}

/// The segments and windows of Kumar et al. 2020.
const PAPER: Segment = Segment {
    frames: [123, 120, 120, 120, 94],
    payload_bits: 462 * 8,
    settings: &[
        ("tcp.mss", "462 B"),
        ("tcp.send_buffer", "1848 B"),
        ("tcp.receive_buffer", "1848 B"),
    ],
};

/// Those of the lines as they are shipped.
const SHIPPED: Segment = Segment {
    frames: [123, 120, 120, 120, 119],
    payload_bits: 487 * 8,
    settings: &[],
};

/// Bytes of the frame of a TCP acknowledgement.
const ACKNOWLEDGEMENT: u64 = 46;
/// Nanoseconds from the order to send to the first bit: assessment, turnaround.
const ASSESSMENT: u64 = 128_000 + 192_000;
/// The interframe space behind a long frame.
const LIFS: u64 = 640_000;

/// Nanoseconds of an octet at 250 kb/s.
const OCTET: u64 = 32_000;

/// What decides how long a frame takes.
#[derive(Clone, Copy, Debug)]
struct Way {
    segment: &'static Segment,
    /// Of an octet on the air, in nanoseconds.
    octet_ns: u64,
    /// Of a byte between processor and radio, in nanoseconds.
    spi_ns: u64,
    /// Only the first frame of a segment has a backoff.
    burst: bool,
    ifs: Ifs,
}

/// How the interframe space is kept: `mac.ifs`.
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
/// and the interframe space from the frame before, beside that or before it.
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

/// What two segments take: ten frames.
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

/// Goodput in kb/s with one TCP acknowledgement every second segment, no loss
/// and no time lost in any processor, if one thing is done after another.
///
/// In a burst only the first frame of a segment has a backoff.
fn bound_kbps(way: Way) -> f64 {
    let acknowledgement = exchange_ns(ACKNOWLEDGEMENT, way, 7);
    kbps(way, segments_ns(way) + acknowledgement)
}

/// Goodput that nothing exceeds. Two nodes do some things at one time: the one that
/// acknowledges loads its frame while the other gets its own ready, and has kept the
/// space behind its own frame long ago; the space of the other one passes beside the
/// acknowledgement.
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

/// Over so many hops, with a radio of this kind.
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
    // Air: (6 * 5 + 577) * 32 µs = 19.424 ms; around it 5 * 1.984 ms; half an
    // acknowledgement: (6 + 46) * 32 µs / 2 + 0.992 ms. Together 31.168 ms. One
    // backoff in eight is none, and the space then 320 µs longer: 5.5 * 40 µs.
    let ideal = each(0, false, Ifs::Minimum);
    assert!((ideal - 3_696.0 / 31.388).abs() < 1e-9);
    assert!((ideal - 117.8).abs() < 0.05, "{ideal}");
    // The whole space before each frame, and none.
    let sequential = each(0, false, Ifs::Sequential);
    assert!((sequential - 3_696.0 / 34.688).abs() < 1e-9);
    assert!((sequential - 106.5).abs() < 0.1, "{sequential}");
    assert!((each(0, false, Ifs::Off) - 3_696.0 / 31.168).abs() < 1e-9);
    // Loading takes longer than what is missing of the space: 5.5 * 10 µs and
    // (577 + 23 + 33) * 7.14 µs beside 31.168 ms; of the acknowledgement it
    // takes 381 µs.
    let loading = each(7_140, false, Ifs::Minimum);
    assert!((loading - 3_696.0 / 35.743).abs() < 0.05, "{loading}");
    let sequential = each(7_140, false, Ifs::Sequential);
    assert!((sequential - 94.1).abs() < 0.1, "{sequential}");
    // Bursts: four backoffs of 1.12 ms less, and four spaces 280 µs longer.
    assert!((each(0, true, Ifs::Minimum) - 3_696.0 / 28.028).abs() < 1e-9);
    let burst = each(7_140, true, Ifs::Minimum);
    assert!((burst - 118.2).abs() < 0.1, "{burst}");
    // 25 bytes more are 800 µs more on the air.
    let shipped = bound_kbps(Way {
        segment: &SHIPPED,
        ..way(0, false, Ifs::Minimum)
    });
    assert!((shipped - 3_896.0 / 32.188).abs() < 1e-9);
    assert!((shipped - 121.0).abs() < 0.05, "{shipped}");
}

/// All ways to send of which a bound is known.
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

/// Within a few percent of the bound over one hop without a retry delay, and never
/// over it.
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

/// Over two hops only one of two frames can be on the air, over three and more only
/// one of three: B, B/2, B/3, B/3 (Kumar et al. 2020 §7.2). It is a bound in the
/// mean: in theory backoffs of two relays can pass at one time.
///
/// What is loaded meanwhile costs a relay nothing, so beyond one hop loading does not
/// count.
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

/// The bounds are near enough to fail if the radio were too quick: that of a radio half
/// as fast is exceeded over each number of hops but the last, where hidden terminals take
/// more than half.
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
