//! Examines many seeds on several threads.
//!
//! A thread that hangs within a run cannot be ended. It is reported with its seed, and abandoned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use serde::Serialize;

use crate::examine::{Failure, Limits, Verdict, examine, guarded};
use crate::generate::{Invalid, generate};
use crate::kind::Kind;
use crate::shrink::shrink;

/// Interval at which the caller decides whether to continue.
const TICK: WallDuration = WallDuration::from_millis(100);
/// Real time that a simulated second may take before the run counts as hanging. The slowest run
/// needs 10 ms for a simulated second.
const HANG: WallDuration = WallDuration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Plan {
    pub first_seed: u64,
    /// Number of seeds; `None` for no limit except the caller's stop.
    pub seeds: Option<u64>,
    pub threads: usize,
    /// Maximum number of runs to shrink a scenario; 0 leaves it as it is.
    pub shrink_runs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub done: u64,
    pub findings: usize,
}

/// A seed that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    pub seed: u64,
    #[serde(flatten)]
    pub failure: Failure,
    /// The scenario. For the first seed of each kind of failure, the shrunk scenario.
    #[serde(skip)]
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Runs that ended.
    pub runs: u64,
    pub events: u64,
    /// Findings in the order of their seeds.
    pub findings: Vec<Finding>,
    pub is_stopped: bool,
}

enum Message {
    Passed { events: u64 },
    Found { finding: Finding, is_last: bool },
}

/// Progress of a thread's current run, which [`Watch`] reads.
#[derive(Default)]
struct Pulse {
    seed: AtomicU64,
    /// Simulated seconds so far.
    beats: AtomicU64,
    is_idle: AtomicBool,
}

struct Shared {
    next: AtomicU64,
    end: u64,
    stop: AtomicBool,
    shrink_runs: usize,
    kinds: std::sync::Mutex<Vec<Kind>>,
}

/// Runs the plan. Passes the progress to `tick` at least every 100 ms, until it returns false.
pub fn campaign(plan: &Plan, tick: &mut dyn FnMut(Progress) -> bool) -> Campaign {
    let end = plan
        .seeds
        .map_or(u64::MAX, |seeds| plan.first_seed.saturating_add(seeds));
    let shared = Arc::new(Shared {
        next: AtomicU64::new(plan.first_seed),
        end,
        stop: AtomicBool::new(false),
        shrink_runs: plan.shrink_runs,
        kinds: std::sync::Mutex::default(),
    });
    let (sender, receiver) = mpsc::channel();
    let pulses: Vec<Arc<Pulse>> = (0..plan.threads.max(1)).map(|_| Arc::default()).collect();
    for pulse in &pulses {
        let (shared, pulse, sender) = (Arc::clone(&shared), Arc::clone(pulse), sender.clone());
        thread::spawn(move || {
            work(&shared, &pulse, &sender);
            pulse.is_idle.store(true, Ordering::Relaxed);
        });
    }
    drop(sender);
    let mut campaign = Campaign::default();
    let mut watch = Watch::new(&pulses);
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(Message::Passed { events }) => {
                campaign.runs += 1;
                campaign.events += events;
            }
            Ok(Message::Found { finding, is_last }) => {
                campaign.runs += u64::from(!is_last);
                campaign.findings.retain(|old| old.seed != finding.seed);
                campaign.findings.push(finding);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        campaign.findings.extend(watch.hanging());
        if watch.all_are_done() {
            break;
        }
        let progress = Progress {
            done: campaign.runs,
            findings: campaign.findings.len(),
        };
        if !shared.stop.load(Ordering::Relaxed) && !tick(progress) {
            shared.stop.store(true, Ordering::Relaxed);
            campaign.is_stopped = true;
        }
    }
    campaign.findings.sort_by_key(|finding| finding.seed);
    campaign
}

fn work(shared: &Shared, pulse: &Pulse, sender: &mpsc::Sender<Message>) {
    while !shared.stop.load(Ordering::Relaxed) {
        let seed = shared.next.fetch_add(1, Ordering::Relaxed);
        if seed >= shared.end {
            return;
        }
        pulse.seed.store(seed, Ordering::Relaxed);
        let go_on = || {
            pulse.beats.fetch_add(1, Ordering::Relaxed);
            !shared.stop.load(Ordering::Relaxed)
        };
        let limits = Limits { go_on: &go_on };
        let text = match scenario(&generate, seed) {
            Ok(text) => text,
            Err(failure) => {
                let finding = Finding {
                    seed,
                    failure,
                    text: String::new(),
                };
                let is_last = false;
                let _ = sender.send(Message::Found { finding, is_last });
                continue;
            }
        };
        match examine(&text, &limits) {
            Verdict::Stopped => return,
            Verdict::Passed { events } => {
                let _ = sender.send(Message::Passed { events });
            }
            Verdict::Failed(failure) => found(shared, &limits, sender, seed, text, failure),
        }
    }
}

/// Draws the scenario of `seed`. Returns a failure if no draw is valid or the drawing panics.
fn scenario(draw: &dyn Fn(u64) -> Result<String, Invalid>, seed: u64) -> Result<String, Failure> {
    match guarded(|| draw(seed)) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(error)) => Err(Failure {
            kind: Kind::of("no valid scenario", &[]),
            line: error.to_string(),
        }),
        Err(panic) => Err(Failure::new(panic, &[])),
    }
}

/// Reports a failure. For the first failure of a kind, reports the shrunk scenario afterwards.
fn found(
    shared: &Shared,
    limits: &Limits<'_>,
    sender: &mpsc::Sender<Message>,
    seed: u64,
    text: String,
    failure: Failure,
) {
    let is_new = shared.kinds.lock().is_ok_and(|mut kinds| {
        let is_new = !kinds.contains(&failure.kind);
        kinds.push(failure.kind.clone());
        is_new
    });
    let mut finding = Finding {
        seed,
        failure,
        text,
    };
    let first = finding.clone();
    let is_last = false;
    let _ = sender.send(Message::Found {
        finding: first,
        is_last,
    });
    if is_new && shared.shrink_runs > 0 {
        let small = shrink(
            &finding.text,
            &finding.failure,
            shared.shrink_runs,
            &|text| examine(text, limits),
        );
        finding.failure = small.failure;
        finding.text = small.text;
        let is_last = true;
        let _ = sender.send(Message::Found { finding, is_last });
    }
}

/// Finds threads whose simulated time does not advance.
struct Watch<'a> {
    pulses: &'a [Arc<Pulse>],
    /// Beat count of each thread and the real time of its last change; `None` once abandoned.
    seen: Vec<Option<(u64, WallInstant)>>,
}

impl<'a> Watch<'a> {
    fn new(pulses: &'a [Arc<Pulse>]) -> Watch<'a> {
        let now = WallInstant::now();
        let seen = pulses.iter().map(|_| Some((0, now))).collect();
        Watch { pulses, seen }
    }

    fn hanging(&mut self) -> Vec<Finding> {
        let now = WallInstant::now();
        let mut findings = Vec::new();
        for (pulse, seen) in self.pulses.iter().zip(&mut self.seen) {
            let beats = pulse.beats.load(Ordering::Relaxed);
            let Some((before, since)) = seen else {
                continue;
            };
            if *before != beats || pulse.is_idle.load(Ordering::Relaxed) {
                *seen = Some((beats, now));
            } else if now.duration_since(*since) > HANG {
                *seen = None;
                let line = format!(
                    "a simulated second takes more than {} s of real time: probably an endless \
                     loop",
                    HANG.as_secs()
                );
                let seed = pulse.seed.load(Ordering::Relaxed);
                findings.push(Finding {
                    seed,
                    failure: Failure::new(line, &[]),
                    text: scenario(&generate, seed).unwrap_or_default(),
                });
            }
        }
        findings
    }

    /// Returns whether a thread was abandoned and every other thread has ended or was abandoned.
    fn all_are_done(&self) -> bool {
        let mut threads = self.pulses.iter().zip(&self.seen);
        self.seen.contains(&None)
            && threads.all(|(pulse, seen)| seen.is_none() || pulse.is_idle.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_while_a_scenario_is_drawn_is_a_failure_with_its_place() {
        let failure = scenario(&|seed| panic!("seed {seed} is planted"), 7).unwrap_err();
        let line = &failure.line;
        assert!(line.contains("campaign.rs line"), "{line}");
        assert!(line.ends_with("seed 7 is planted"), "{line}");
        assert!(scenario(&generate, 7).is_ok(), "the thread goes on");
    }
}
