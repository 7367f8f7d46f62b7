//! Runs a scenario and returns its first failure.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use redpoll_base::{Duration, Instant};
use redpoll_sim::{Scenario, World};
use serde::Serialize;

use crate::kind::Kind;

/// Simulated time between two calls of the caller's check.
const STEP: Duration = Duration::from_secs(1);

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Passed {
        events: u64,
    },
    Failed(Failure),
    /// The caller ended the run.
    Stopped,
}

/// The first violation of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failure {
    pub kind: Kind,
    /// The violation, as a one-line message.
    pub line: String,
}

impl Failure {
    pub(crate) fn new(line: String, names: &[String]) -> Failure {
        let kind = Kind::of(&line, names);
        Failure { kind, line }
    }
}

/// The conditions that end a run early.
pub struct Limits<'a> {
    /// Called after each simulated second; returns whether to continue.
    pub go_on: &'a dyn Fn() -> bool,
}

/// Runs the scenario `text` with the seed of its file.
pub fn examine(text: &str, limits: &Limits<'_>) -> Verdict {
    examine_with(text, limits, |_| {})
}

/// Runs the scenario like [`examine`]; `prepare` may change the world before the run.
pub fn examine_with(text: &str, limits: &Limits<'_>, prepare: impl FnOnce(&mut World)) -> Verdict {
    let scenario = match guarded(|| Scenario::parse("chaos", text, &[])) {
        Ok(Ok(scenario)) => scenario,
        Ok(Err(error)) => return failed(error.to_string(), &[]),
        Err(panic) => return failed(panic, &[]),
    };
    let names = names(&scenario);
    match guarded(|| run(&scenario, limits, prepare)) {
        Ok(Ok(Some(line))) | Err(line) => failed(line, &names),
        Ok(Ok(None)) => Verdict::Stopped,
        Ok(Err(events)) => Verdict::Passed { events },
    }
}

fn failed(line: String, names: &[String]) -> Verdict {
    Verdict::Failed(Failure::new(line, names))
}

/// Calls `act`. If it panics, returns the place and the message of the panic as an error.
pub(crate) fn guarded<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    note_panics();
    PANIC.take();
    CATCHES.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(act));
    CATCHES.set(false);
    result.map_err(|_| {
        let line = PANIC.take();
        line.unwrap_or_else(|| "a panic without a message".to_owned())
    })
}

/// Runs the scenario. Returns the first violation, or `None` if the caller ended the run. After a
/// complete run without violations, returns the number of events in `Err`.
fn run(
    scenario: &Scenario,
    limits: &Limits<'_>,
    prepare: impl FnOnce(&mut World),
) -> Result<Option<String>, u64> {
    let mut world = match World::new(scenario, scenario.seed) {
        Ok(world) => world,
        Err(error) => return Ok(Some(error.to_string())),
    };
    prepare(&mut world);
    let end = Instant::ZERO + scenario.duration;
    let is_over = |world: &World| {
        world.now() >= end || world.stall().is_some() || world.oracle().is_at_rest()
    };
    while !is_over(&world) && world.oracle().is_satisfied() {
        if !(limits.go_on)() {
            return Ok(None);
        }
        world.run_until(end.min(world.now() + STEP));
    }
    let report = world.report();
    match report.oracle.violations.into_iter().next() {
        Some(line) => Ok(Some(line)),
        None => Err(report.events),
    }
}

fn names(scenario: &Scenario) -> Vec<String> {
    let nodes = scenario.places().map(|place| place.name.clone());
    let apps = scenario.places().flat_map(|place| place.apps.iter());
    nodes.chain(apps.map(|app| app.name.clone())).collect()
}

thread_local! {
    static CATCHES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook that stores panics within [`guarded`] instead of printing them.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CATCHES.get() {
                return usual(info);
            }
            let text = info.payload().downcast_ref::<&str>().copied();
            let owned = info.payload().downcast_ref::<String>().map(String::as_str);
            let message = text.or(owned).unwrap_or("without a message");
            let place = info.location().map_or_else(String::new, |it| {
                format!(" at {} line {}", it.file(), it.line())
            });
            PANIC.set(Some(format!("panic{place}: {message}")));
        }));
    });
}
