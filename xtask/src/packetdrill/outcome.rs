//! Running the scripts of a suite.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::adapt::{Adapted, adapt};
use super::favours::FAVOURS;
use super::suite::{Skipped, Suite};
use super::tool::{Ended, Tool};
use crate::report::Failure;

pub struct Outcome {
    pub suite: Suite,
    pub name: String,
    pub ended: Result<Ended, Skipped>,
    pub rules: Vec<usize>,
    /// Indices of the relaxed comparisons (favours) with which the script had this outcome.
    pub favours: BTreeSet<usize>,
}

impl Outcome {
    pub fn passed(&self) -> bool {
        self.ended == Ok(Ended::Passed)
    }

    pub fn failed(&self) -> bool {
        matches!(self.ended, Ok(Ended::Failed { .. }))
    }
}

/// Runs the scripts of a suite whose names contain `only`, on all processors.
pub fn run(tool: &Tool, suite: Suite, given: &Path, only: &str) -> Result<Vec<Outcome>, Failure> {
    let scripts = suite.scripts(given)?;
    let names: Vec<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
    let chosen: Vec<&(String, String)> = scripts
        .iter()
        .filter(|(name, _)| name.contains(only))
        .collect();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || -> Result<(), Failure> {
        while let Some((name, text)) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = match suite.skips(name, text, &names) {
                Some(reason) => Outcome {
                    suite,
                    name: name.clone(),
                    ended: Err(reason),
                    rules: Vec::new(),
                    favours: BTreeSet::new(),
                },
                None => one(tool, suite, name, text)?,
            };
            let mut outcomes = outcomes.lock().unwrap_or_else(|e| e.into_inner());
            outcomes.push(outcome);
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            let panicked = |_| Err(Failure::new("packetdrill: a thread panicked"));
            worker.join().unwrap_or_else(panicked)
        })
    })?;
    let mut outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    outcomes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(outcomes)
}

/// Runs a script, with as few relaxed comparisons (favours) as it needs.
fn one(tool: &Tool, suite: Suite, name: &str, text: &str) -> Result<Outcome, Failure> {
    let (mut adapted, rules) = adapt(suite, text);
    let place = format!("{}/{name}", suite.key());
    let run = |adapted: &Adapted| {
        let flags = adapted.flags.join(",");
        tool.run(&place, &adapted.script.text(), &flags)
    };
    let mut ended = run(&adapted)?;
    let mut favours = BTreeSet::new();
    'again: while let Ended::Failed {
        line: Some(line), ..
    } = ended
    {
        for chosen in combinations() {
            let mut relaxed = adapted.clone();
            let mut applies = |&index: &usize| (FAVOURS[index].apply)(&mut relaxed, line);
            if !chosen.iter().all(&mut applies) {
                continue;
            }
            let then = run(&relaxed)?;
            let later = match &then {
                Ended::Passed => true,
                Ended::Failed { line: at, .. } => at.is_some_and(|at| at > line),
            };
            if later {
                (adapted, ended) = (relaxed, then);
                favours.extend(chosen);
                continue 'again;
            }
        }
        break;
    }
    // Repeats the run whose outcome counts, so that its files stay in the folder.
    if !matches!(ended, Ended::Passed) {
        ended = run(&adapted)?;
    }
    Ok(Outcome {
        suite,
        name: name.to_owned(),
        ended: Ok(ended),
        rules,
        favours,
    })
}

/// Returns each relaxed comparison (favour) alone, then each pair of them.
fn combinations() -> Vec<Vec<usize>> {
    let all = 0..FAVOURS.len();
    let mut chosen: Vec<Vec<usize>> = all.clone().map(|index| vec![index]).collect();
    for first in all.clone() {
        chosen.extend(
            all.clone()
                .skip(first + 1)
                .map(|second| vec![first, second]),
        );
    }
    chosen
}
