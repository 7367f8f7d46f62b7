//! Bulk flows that share a mesh, compared with `scripts/validate/shares.py`, a linear program over
//! the sets of links that can be active at the same time; and that program compared with an
//! exhaustive search, and with the frames of a run.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::{Report, Scenario, World};

use crate::is_long;
use crate::script::run;

/// Windows of three full segments.
const WINDOWS: [(&str, &str); 2] = [
    ("tcp.send_buffer", "1461 B"),
    ("tcp.receive_buffer", "1461 B"),
];
/// A radio that loads frames in no time, as the bound assumes.
const IDEAL: (&str, &str) = ("radio.model", "ideal");

fn world(name: &str, set: &[(&str, &str)], seed: u64) -> World {
    let set: Vec<_> = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let scenario = Scenario::load(name, &set).unwrap_or_else(|error| panic!("{error}"));
    World::new(&scenario, seed).unwrap()
}

/// Numbers of frames by sender, receiver and length.
type Counts = BTreeMap<(u64, u64, u64), u32>;

/// Counts of the frames on the air, except link acknowledgments and link retries.
#[derive(Clone, Default)]
struct Lengths {
    counts: Rc<RefCell<Counts>>,
    last: BTreeMap<u64, u8>,
}

impl FrameTrace for Lengths {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        // Frame control, sequence number, PAN, two short addresses.
        let &[_, _, number, _, _, to, 0, from, 0, ..] = frame.mpdu else {
            return Ok(());
        };
        let (to, from) = (u64::from(to), u64::from(from));
        if self.last.insert(from, number) != Some(number) {
            let key = (from, to, frame.mpdu.len() as u64 + 2);
            *self.counts.borrow_mut().entry(key).or_default() += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

/// Checks that the frame lengths in `shares.py` are those on paths of one to four hops.
#[test]
fn the_bound_of_shares_is_about_our_frames() {
    let Some(text) = run("shares.py", &["--frames"]) else {
        return;
    };
    let lines: Vec<Vec<u64>> = text
        .lines()
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    let assumed = |table: usize, first: bool, last: bool| {
        let line = lines[4 * table..][..4]
            .iter()
            .find(|line| line[..2] == [u64::from(first), u64::from(last)])
            .unwrap();
        line[2..].to_vec()
    };
    // Paths to node-1 along the parents.
    for path in [&[2, 1][..], &[8, 2, 1], &[9, 8, 2, 1], &[10, 9, 8, 2, 1]] {
        let sender = format!("node-{}", path[0]);
        let set = [("apps.bulk.on", sender.as_str()), WINDOWS[0], WINDOWS[1]];
        let mut world = world("grid-30", &set, 1);
        let lengths = Lengths::default();
        world.add_trace(Box::new(lengths.clone()));
        world.run_until(Instant::from_millis(60_000));
        let counts = lengths.counts.take();
        let hops = path.len() - 1;
        for (table, way) in [path.to_vec(), path.iter().rev().copied().collect()]
            .iter()
            .enumerate()
        {
            for (at, hop) in way.windows(2).enumerate() {
                let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
                for length in assumed(table, at == 0, at == hops - 1) {
                    *expected.entry(length).or_default() += 1;
                }
                let of_hop = counts
                    .range((hop[0], hop[1], 0)..=(hop[0], hop[1], u64::MAX))
                    .map(|((_, _, length), count)| (*length, *count));
                let common: BTreeMap<_, _> = of_hop.filter(|(_, count)| *count > 50).collect();
                let segments = *common.values().min().unwrap_or(&1);
                let found: BTreeMap<_, _> = common
                    .iter()
                    .map(|(length, count)| (*length, (count + segments / 2) / segments))
                    .collect();
                assert_eq!(found, expected, "{path:?}, hop {hop:?}: {common:?}");
            }
        }
    }
}

#[test]
fn the_bound_of_shares_is_that_of_an_exhaustive_search() {
    let Some(text) = run("shares.py", &["--check"]) else {
        return;
    };
    assert!(text.ends_with("comparisons agree\n"), "{text}");
}

/// Returns the bound of each flow of a finished run in kb/s, with equal shares for all flows.
fn equal_share(report: &Report) -> Option<f64> {
    let name = format!("{}-{}.json", report.scenario, report.flows.len());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, serde_json::to_string(report).unwrap()).unwrap();
    let text = run("shares.py", &[path.to_str().unwrap()])?;
    let line = text.lines().find(|line| line.starts_with("equal exchange"));
    let least = line.and_then(|line| line.split_whitespace().nth(2));
    Some(least.unwrap().parse().unwrap())
}

/// Checks that a lone flow reaches its bound within a few percent over one hop, and never exceeds
/// it. Beyond three hops, the flow collides with itself at nodes whose neighbours do not hear
/// each other.
#[test]
fn no_lone_flow_beats_its_bound() {
    let (seconds, seeds) = if is_long() { (120, 5) } else { (60, 1) };
    for (node, least) in [
        ("node-2", 0.90),
        ("node-3", 0.85),
        ("node-9", 0.80),
        ("node-30", 0.30),
    ] {
        for delay in ["0 ms", "40 ms"] {
            for seed in 1..=seeds {
                let set = [
                    ("apps.bulk.on", node),
                    ("mac.link_retry_delay", delay),
                    WINDOWS[0],
                    WINDOWS[1],
                    IDEAL,
                ];
                let mut world = world("grid-30", &set, seed);
                world.run_until(Instant::from_millis(seconds * 1_000));
                let report = world.report();
                let Some(bound) = equal_share(&report) else {
                    return;
                };
                let share = report.flows[0].goodput_kbps / bound;
                println!("{node}, {delay}, seed {seed}: {share:.3} of {bound:.1} kb/s");
                assert!(share < 1.01, "{node}, {delay}, seed {seed}: {share}");
                assert!(share > least, "{node}, {delay}, seed {seed}: {share}");
            }
        }
    }
}

/// Checks that several flows of `grid-30` together do not exceed their bound. Two senders next to
/// the sink do not hear each other, so they carry about a third of it.
#[test]
fn no_flows_together_beat_their_bound() {
    let mut bounds = BTreeSet::new();
    for senders in ["every other node", "node-2 node-7"] {
        let senders: Vec<_> = match senders {
            "every other node" => vec![("apps.bulk.on", senders)],
            _ => vec![
                ("apps.bulk.on", "node-2"),
                ("apps.other.type", "bulk-sender"),
                ("apps.other.on", "node-7"),
                ("apps.other.to", "node-1:5001"),
            ],
        };
        let mut world = world("grid-30", &senders, 1);
        world.run_until(Instant::from_millis(120_000));
        let report = world.report();
        let Some(bound) = equal_share(&report) else {
            return;
        };
        let together: f64 = report.flows.iter().map(|flow| flow.goodput_kbps).sum();
        let share = together / (bound * report.flows.len() as f64);
        println!(
            "{} flows: {share:.3} of {bound:.3} kb/s each",
            report.flows.len()
        );
        assert!(share < 1.0 && share > 0.3, "{share}");
        bounds.insert((bound * 1e3) as u64);
    }
    // Each of two neighbours of the sink that do not hear each other gets half of the bound of one
    // hop. With 29 flows, the last hop takes half of the time of the mesh around the sink.
    assert_eq!(bounds, BTreeSet::from([2_189, 60_519]));
}
