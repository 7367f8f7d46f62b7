//! Runs the commands for the documents' numbers, each command once, on all cores.
//!
//! Results of runs are kept as long as the program that wrote them does not change by a byte. If
//! `cargo xtask docs` is stopped and started again, it therefore makes only the missing runs. A
//! changed formula of a table needs no new run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::report::Failure;
use crate::workspace::{self, Workspace};

const PROGRESS: Duration = Duration::from_secs(10);

/// A command that writes one JSON object to its standard output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The words as a person types them, `redpoll` first.
    words: Vec<String>,
    /// Whether the command simulates a scenario, and writes JSON only with an option.
    simulates: bool,
}

impl Run {
    /// Returns `redpoll run SCENARIO` with overrides `KEY=VALUE`: the last one of each key.
    pub fn scenario(
        scenario: &str,
        set: &[String],
        duration: Option<&str>,
        seed: u64,
    ) -> Result<Run, String> {
        let mut words: Vec<String> = ["redpoll", "run", scenario].map(String::from).to_vec();
        let mut last: Vec<(&str, &str)> = Vec::new();
        for text in set {
            let (key, value) = text
                .split_once('=')
                .ok_or(format!("`{text}` is not of the form KEY=VALUE"))?;
            last.retain(|(other, _)| *other != key);
            last.push((key, value));
        }
        for (key, value) in last {
            words.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        let duration = duration.map(|duration| ["--duration".to_owned(), duration.to_owned()]);
        words.extend(duration.into_iter().flatten());
        words.extend(["--seed".to_owned(), seed.to_string()]);
        let simulates = true;
        Ok(Run { words, simulates })
    }

    /// Returns another command of the program; the first word is `redpoll`.
    pub fn command(words: Vec<String>) -> Run {
        let simulates = false;
        Run { words, simulates }
    }

    fn carry_out(&self, program: &Path, root: &Path) -> Result<Value, Failure> {
        let mut command = Command::new(program);
        command
            .current_dir(root)
            .args(self.words.get(1..).unwrap_or_default());
        if self.simulates {
            command.args(["--json", "-"]);
        }
        let text = workspace::output(&mut command)?;
        serde_json::from_str(&text).map_err(|e| Failure::new(format!("`{self}`: {e}")))
    }
}

/// Formats the command as it is typed into a shell.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=.,:/%".contains(letter);
        for (i, word) in self.words.iter().enumerate() {
            let blank = if i > 0 { " " } else { "" };
            if word.chars().all(plain) {
                write!(f, "{blank}{word}")?;
            } else {
                write!(f, "{blank}\"{word}\"")?;
            }
        }
        Ok(())
    }
}

/// Stored results of the runs of one program, in a folder.
struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// Opens the results of `program`. Only `make clean` deletes results of other programs.
    fn of(workspace: &Workspace, program: &Path) -> Result<Kept, Failure> {
        let failed = |path: &Path, e| Failure::new(format!("docs: {}: {e}", path.display()));
        let bytes = std::fs::read(workspace.root.join(program)).map_err(|e| failed(program, e))?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let all = workspace.root.join("target/docs");
        let folder = all.join(format!("{:016x}", hasher.finish()));
        std::fs::create_dir_all(&folder).map_err(|e| failed(&folder, e))?;
        Ok(Kept { folder })
    }

    fn path(&self, run: &Run) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        run.words.hash(&mut hasher);
        self.folder.join(format!("{:016x}.json", hasher.finish()))
    }

    fn get(&self, run: &Run) -> Option<Value> {
        let text = std::fs::read_to_string(self.path(run)).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn put(&self, run: &Run, value: &Value) -> Result<(), Failure> {
        let path = self.path(run);
        let fresh = path.with_extension("fresh");
        std::fs::write(&fresh, value.to_string())
            .and_then(|()| std::fs::rename(&fresh, &path))
            .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))
    }
}

pub type Results = BTreeMap<Run, Value>;

/// Builds the program, fully optimised or in the profile of its tests.
pub fn build(workspace: &Workspace, release: bool) -> Result<PathBuf, Failure> {
    let mut cargo = workspace.cargo();
    if release {
        cargo.args(["build", "--release", "--package", "redpoll"]);
    } else {
        cargo.args(["test", "--workspace", "--no-run"]);
    }
    cargo.args(["--quiet", "--message-format", "json-render-diagnostics"]);
    let messages = workspace::output(&mut cargo)?;
    workspace::executable(&messages, "redpoll")
        .ok_or_else(|| Failure::new("docs: cargo built no program `redpoll`"))
}

/// Runs all commands, with progress on standard error. Returns the outputs and the failures.
pub fn carry_out(
    workspace: &Workspace,
    program: &Path,
    runs: BTreeSet<Run>,
) -> Result<(Results, Vec<String>), Failure> {
    let kept = Kept::of(workspace, program)?;
    let runs: Vec<Run> = runs.into_iter().collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Results::new(), Vec::new(), Instant::now()));
    let start = Instant::now();
    let work = || {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = match kept.get(run) {
                Some(value) => Ok(value),
                None => run
                    .carry_out(program, &workspace.root)
                    .and_then(|value| kept.put(run, &value).map(|()| value)),
            };
            // No code panics while it holds the lock.
            let Ok(mut done) = done.lock() else { return };
            let (results, failures, said) = &mut *done;
            match result {
                Ok(value) => {
                    results.insert(run.clone(), value);
                }
                Err(failure) => failures.push(failure.to_string()),
            }
            if said.elapsed() > PROGRESS {
                *said = Instant::now();
                let seconds = start.elapsed().as_secs();
                eprintln!(
                    "docs: {} of {} runs are done after {seconds} s",
                    results.len(),
                    runs.len()
                );
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..cores).for_each(|_| {
            scope.spawn(work);
        });
    });
    let (results, failures, _) = done.into_inner().unwrap_or_else(|e| e.into_inner());
    Ok((results, failures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_shown_as_its_command_line() {
        let set = ["a.b=1", "c=0 ms", "a.b=2"].map(String::from);
        let run = Run::scenario("line-3", &set, Some("60 s"), 4).unwrap();
        assert_eq!(
            run.to_string(),
            "redpoll run line-3 --set \"c=0 ms\" --set a.b=2 --duration \"60 s\" --seed 4"
        );
        let study = ["redpoll", "study", "x", "--json", "-"].map(String::from);
        assert_eq!(
            Run::command(study.to_vec()).to_string(),
            "redpoll study x --json -"
        );
    }

    #[test]
    fn a_failed_run_is_reported_and_ends_the_check() {
        let workspace = Workspace::here();
        let run = Run::scenario("none", &[], None, 1).unwrap();
        let failure = carry_out(&workspace, Path::new("/nowhere"), [run.clone()].into());
        assert!(failure.is_err());
        let failure = run
            .carry_out(Path::new("/nowhere"), &workspace.root)
            .unwrap_err();
        assert!(
            failure.to_string().contains("/nowhere run none"),
            "{failure}"
        );
    }
}
