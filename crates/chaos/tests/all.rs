//! Runs fixed seeds, which must pass, and seeds with planted defects, which must fail.

use redpoll_base::Instant;
use redpoll_chaos::{Failure, Limits, Plan, Verdict, campaign, examine_with, generate};
use redpoll_sim::{App, Context, World};
use redpoll_stack::{ConnId, NodeEvent, Streams};

const SEEDS: u64 = 40;

#[test]
fn fixed_seeds_find_nothing() {
    let seeds = std::env::var("REDPOLL_CHAOS_SEEDS");
    let seeds = seeds.ok().and_then(|it| it.parse().ok()).unwrap_or(SEEDS);
    let plan = Plan {
        first_seed: 1,
        seeds: Some(seeds),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        shrink_runs: 0,
    };
    let found = campaign(&plan, &mut |_| true);
    assert_eq!(found.findings, []);
    assert_eq!(found.runs, seeds);
}

/// A defect of an app that runs on each node in addition to the drawn apps.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Defect {
    /// A byte that no app sent is in the stream.
    Added,
    Panic,
    Overflow,
    /// The app repeatedly asks for a timer at the current instant.
    Stall,
    /// The app asks for a timer every microsecond.
    Busy,
}

struct Saboteur {
    defect: Defect,
    at: Instant,
    conns: Vec<ConnId>,
}

impl Saboteur {
    fn new(defect: Defect) -> Saboteur {
        Saboteur {
            defect,
            at: Instant::from_millis(25_000),
            conns: Vec::new(),
        }
    }
}

impl App for Saboteur {
    fn start(&mut self, _: &mut Context<'_>) {}

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        let NodeEvent::Tcp(conn, redpoll_tcp::Event::Connected) = event else {
            return;
        };
        if self.defect == Defect::Added && !self.conns.contains(conn) {
            self.conns.push(*conn);
            let _ = cx.node.send(cx.now, *conn, b"!");
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        match self.defect {
            Defect::Added => self.at = Instant::FAR_FUTURE,
            Defect::Panic => panic!("planted"),
            Defect::Overflow => {
                let elapsed = cx.now.as_micros() as u8;
                let sum: u8 = [elapsed | 0x80, 0x80].iter().sum();
                self.at = Instant::from_micros(cx.now.as_micros() + u64::from(sum));
            }
            Defect::Stall => {}
            Defect::Busy => self.at = Instant::from_micros(cx.now.as_micros() + 1),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        Some(self.at)
    }
}

/// Returns the first of `seeds` seeds whose run finds `defect` on the nodes, and its failure.
fn first_failure(defect: Defect, seeds: u64) -> Option<(u64, Failure)> {
    let go_on = || true;
    let limits = Limits { go_on: &go_on };
    (1..=seeds).find_map(|seed| {
        let text = generate(seed).unwrap();
        let plant = |world: &mut World| {
            for index in 0..world.scenario().nodes.len() {
                world.add_app(index, Box::new(Saboteur::new(defect)));
            }
        };
        match examine_with(&text, &limits, plant) {
            Verdict::Failed(failure) => Some((seed, failure)),
            _ => None,
        }
    })
}

#[test]
fn planted_defects_are_found() {
    for (defect, expected, seeds) in [
        (Defect::Added, "byte", 5),
        (Defect::Panic, "planted", 1),
        (Defect::Overflow, "overflow", 1),
        (Defect::Stall, "times at this instant", 1),
        (Defect::Busy, "events in a simulated second", 1),
    ] {
        let found = first_failure(defect, seeds);
        let (_, failure) = found.unwrap_or_else(|| panic!("{defect:?} is not found"));
        assert!(failure.line.contains(expected), "{defect:?}: {failure:?}");
    }
}

/// A second run of the same text fails with the same message at the same time.
#[test]
fn a_failure_is_repeatable() {
    let once = first_failure(Defect::Added, 5);
    assert!(once.is_some());
    assert_eq!(once, first_failure(Defect::Added, 5));
}
