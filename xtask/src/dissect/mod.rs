//! `dissect-check`: `redpoll dissect` and tshark, two independent programs, must find the same
//! value in each field of the same frames. Every remaining difference is a row of the table in
//! docs/dissect-check.md, with its reason.
//!
//! - [`captures`]: the files that are compared;
//! - [`frames`], [`mac`], [`lowpan`] and [`packets`]: generated frames of all header forms;
//! - [`compare`]: the values that Redpoll and tshark find, and their differences;
//! - [`table`]: the differences that have a reason;
//! - [`page`]: the figures of the document.

mod captures;
mod compare;
mod frames;
mod lowpan;
mod mac;
mod packets;
mod page;
mod rng;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::lanes;
use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};
use captures::{Capture, Run};
use compare::Difference;
use table::Table;

const DOCUMENT: &str = "docs/dissect-check.md";
/// Minimum number of frames of the long form.
const FRAMES_MIN: usize = 50_000;
/// Maximum number of differences shown for each field.
const SHOWN: usize = 3;

/// Amount of data that is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Several thousand frames.
    Short,
    /// 50,000 frames at least.
    Long,
}

impl Extent {
    fn generated(self) -> usize {
        match self {
            Extent::Short => 6_000,
            Extent::Long => 40_000,
        }
    }
}

/// Options of the check.
pub struct Options {
    extent: Extent,
    /// Whether to write the figures into the document.
    writes: bool,
    /// The program that is checked, instead of a build of the workspace.
    program: Option<PathBuf>,
}

impl Options {
    /// Parses the command line after `dissect-check`. An error is the words that are not options.
    pub fn parse(args: &[&str]) -> Result<Options, String> {
        let mut options = Options {
            extent: Extent::Long,
            ..Options::short()
        };
        let mut rest = args;
        loop {
            rest = match rest {
                [] => return Ok(options),
                ["--short", rest @ ..] if !options.writes => {
                    options.extent = Extent::Short;
                    rest
                }
                ["--write", rest @ ..] if options.extent == Extent::Long => {
                    options.writes = true;
                    rest
                }
                ["--program", program, rest @ ..] => {
                    options.program = Some(program.into());
                    rest
                }
                words => return Err(words.join(" ")),
            };
        }
    }

    /// Returns the options of the step of CI.
    pub fn short() -> Options {
        Options {
            extent: Extent::Short,
            writes: false,
            program: None,
        }
    }
}

/// Releases of tshark whose differences need a reason in the table. Other releases decode and print
/// some fields in another way.
const JUDGED_WITH: &str = "4.0.";

/// Runs the check; `Ok(Some(reason))` if it was skipped.
pub fn run(workspace: &Workspace, options: &Options) -> Result<Option<String>, Failure> {
    let extent = options.extent;
    let Ok(version) = workspace::output(Command::new("tshark").arg("--version")) else {
        let reason = "tshark is missing (apt-get install tshark)".to_owned();
        note_skipped(&reason);
        return Ok(Some(reason));
    };
    let program = match &options.program {
        Some(program) => program.clone(),
        None => built(workspace, extent)?,
    };
    let folder = workspace.root.join("target/dissect-check");
    std::fs::create_dir_all(&folder).map_err(|e| unwritable(&folder, &e))?;
    let document = workspace.root.join(DOCUMENT);
    let table = Table::read(&document)?;
    let known = compare::known_fields()?;
    let captures = captures::all(&program, extent)?;
    let tally = examined(&captures, |capture| {
        Tally::of(capture, &program, &folder, &known, &table)
    })?;
    let version = release(&version);
    let ended = tally.ended(&table, extent);
    if let (Err(differences), false) = (&ended, version.starts_with(JUDGED_WITH)) {
        println!("{differences}");
        return Ok(Some(format!(
            "differences from tshark {version} are shown; those from {JUDGED_WITH}x need a reason"
        )));
    }
    ended?;
    if options.writes {
        page::write(&document, &tally, version)?;
    }
    Ok(None)
}

/// Returns the release in tshark's answer to `--version`.
fn release(answer: &str) -> &str {
    let release = answer
        .split_whitespace()
        .map(|word| word.trim_end_matches('.'));
    let release = release.into_iter().find(|word| {
        let is_part = |part: &str| !part.is_empty() && part.parse::<u32>().is_ok();
        word.contains('.') && word.split('.').all(is_part)
    });
    release.unwrap_or("of unknown version")
}

/// Builds the program, and returns its path.
fn built(workspace: &Workspace, extent: Extent) -> Result<PathBuf, Failure> {
    match extent {
        // Uses the build of the tests, because a build of this package alone would select other
        // features of its dependencies and compile all of them again.
        Extent::Short => lanes::build(workspace)?,
        Extent::Long => {
            let mut cargo = workspace.cargo();
            cargo.args(["build", "--quiet", "--package", "redpoll"]);
            workspace::run(&mut cargo)?;
        }
    }
    Ok(workspace.root.join("target/debug/redpoll"))
}

/// Examines the captures, several at a time, and returns the sum in the order of the captures.
fn examined(
    captures: &[Capture],
    examine: impl Fn(&Capture) -> Result<Tally, Failure> + Sync,
) -> Result<Tally, Failure> {
    let left = Mutex::new(captures.iter().enumerate());
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let next = left.lock().ok().and_then(|mut left| left.next());
            let Some((at, capture)) = next else {
                return;
            };
            let tally = examine(capture);
            if let Ok(mut done) = done.lock() {
                done.insert(at, tally);
            }
        }
    };
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(work);
        }
    });
    let mut sum = Tally::default();
    for tally in done.into_inner().unwrap_or_default().into_values() {
        sum.add(tally?);
    }
    Ok(sum)
}

/// Appends a line to the file in which the Makefile collects the skipped steps.
fn note_skipped(reason: &str) {
    use std::io::Write as _;
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return;
    };
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path);
    if let Ok(mut file) = file {
        let _ = writeln!(file, "dissect-check: {reason}");
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

#[derive(Default)]
struct Tally {
    frames: usize,
    /// Generated frames, which are a part of `frames`.
    generated: usize,
    /// The runs of scenarios, and their numbers of frames.
    runs: Vec<(Run, usize)>,
    values: usize,
    justified: usize,
    /// Number of differences that each row of the table in docs/dissect-check.md explains.
    used: BTreeMap<usize, usize>,
    /// Differences that no row in docs/dissect-check.md explains, by field.
    open: BTreeMap<String, (usize, Vec<String>)>,
}

impl Tally {
    /// Makes a capture, and compares the fields that Redpoll and tshark find in it.
    fn of(
        capture: &Capture,
        program: &Path,
        folder: &Path,
        known: &BTreeSet<String>,
        table: &Table,
    ) -> Result<Tally, Failure> {
        let file = capture.write(program, folder)?;
        let found = compare::file(program, &file, known, capture.key())?;
        let mut tally = Tally {
            frames: found.frames,
            values: found.values,
            ..Tally::default()
        };
        match capture {
            Capture::Generated { .. } => tally.generated = found.frames,
            Capture::Run(run) => tally.runs.push((run.clone(), found.frames)),
        }
        for difference in found.differences {
            match table.row_of(&difference) {
                Some(row) => {
                    tally.justified += 1;
                    *tally.used.entry(row).or_default() += 1;
                }
                None => tally.open(&file, &difference),
            }
        }
        Ok(tally)
    }

    fn add(&mut self, other: Tally) {
        self.frames += other.frames;
        self.generated += other.generated;
        self.values += other.values;
        self.justified += other.justified;
        self.runs.extend(other.runs);
        for (row, count) in other.used {
            *self.used.entry(row).or_default() += count;
        }
        for (field, (count, examples)) in other.open {
            let (sum, shown) = self.open.entry(field).or_default();
            *sum += count;
            let room = SHOWN.saturating_sub(shown.len());
            shown.extend(examples.into_iter().take(room));
        }
    }

    fn open(&mut self, file: &Path, difference: &Difference) {
        let (count, shown) = self.open.entry(difference.field.clone()).or_default();
        *count += 1;
        if shown.len() < SHOWN {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let (ours, theirs) = (difference.ours.join("|"), difference.theirs.join("|"));
            shown.push(format!(
                "{name} frame {}: redpoll `{ours}`, tshark `{theirs}`",
                difference.frame
            ));
        }
    }

    fn ended(&self, table: &Table, extent: Extent) -> Outcome {
        println!(
            "dissect-check: {} frames ({} generated, the others from {} runs of scenarios), {} equal values, {} \
             differences that are justified",
            self.frames,
            self.generated,
            self.runs.len(),
            self.values,
            self.justified
        );
        let mut findings = Vec::new();
        for (field, (count, shown)) in &self.open {
            findings.push(format!("{field}: {count} differences, such as"));
            findings.extend(shown.iter().map(|line| format!("  {line}")));
        }
        if extent == Extent::Long {
            if self.frames < FRAMES_MIN {
                findings.push(format!(
                    "only {} frames were compared; required: {FRAMES_MIN}",
                    self.frames
                ));
            }
            let unused = (0..table.len()).filter(|row| !self.used.contains_key(row));
            findings.extend(unused.map(|row| {
                format!(
                    "{DOCUMENT}: no frame needs the row `{}`; remove it",
                    table.name(row)
                )
            }));
        }
        Failure::unless_empty(
            format!(
                "dissect-check: these differences are not in the table of {DOCUMENT}; correct the \
                 decoder, or add a row with a reason:"
            ),
            findings,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_tshark_is_found() {
        let debian_12 = "TShark (Wireshark) 4.0.17 (Git v4.0.17 packaged as 4.0.17-0+deb12u3).";
        assert_eq!(release(debian_12), "4.0.17");
        assert_eq!(release("TShark (Wireshark) 4.4.19."), "4.4.19");
        assert_eq!(release("TShark"), "of unknown version");
    }
}
