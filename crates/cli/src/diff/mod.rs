//! `redpoll diff`: the first frame in which two runs differ.

mod cause;
mod source;
mod tell;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_sim::Scenario;
use serde_json::json;

use crate::args::{Prefix, key_and_value};
use crate::dissect::Reading;
use crate::dissect::capture::Record;
use crate::failure::cannot_write;
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::progress::Progress;
use crate::{FAILED, USAGE};

use source::Source;
use tell::Finding;

/// Number of frames after the first difference that are searched for a moved frame.
const AHEAD: usize = 2_000;

/// Find the first frame in which two runs differ.
///
/// Compares two captures, or folders of `redpoll run --result DIR`; or runs a scenario with this
/// program and with another version of it: redpoll diff --program OLD line-3 --seed 7
///
/// Prints the number of common frames, the first different frame with its layers decoded, the
/// fields that differ, and whether the frame comes earlier or later in the other run. For
/// folders, and with --program if both programs have `run --record`, also prints the first difference before that frame:
/// the outcome of another frame, a window or a timer of TCP, a queue, or a parent.
///
/// Exit code: 0 when all frames are the same, 1 when they differ, 2 when a capture, a program or
/// a scenario cannot be used.
#[derive(Debug, ClapArgs)]
pub struct DiffArgs {
    /// The first capture or result; with --program, the scenario
    #[arg(value_name = "A")]
    pub a: String,

    /// The second capture or result
    #[arg(
        value_name = "B",
        required_unless_present = "program",
        conflicts_with = "program"
    )]
    pub b: Option<PathBuf>,

    /// Run the scenario with PROGRAM (A) and with this program (B)
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<PathBuf>,

    /// With --program: seed of both runs
    #[arg(long, value_name = "N", requires = "program")]
    pub seed: Option<u64>,

    /// With --program: virtual time to simulate, such as "60 s"
    #[arg(long, value_name = "T", requires = "program")]
    pub duration: Option<String>,

    /// With --program: override a key of the scenario in both runs. May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "program",
          value_parser = key_and_value)]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub mesh: Prefix,

    /// Write the comparison as one JSON object to this file; - is standard output, in place of
    /// the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

pub fn run(args: &DiffArgs) -> ExitCode {
    match try_run(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        // Exit code 2, as for `diff` and `cmp`, so that 1 always means a difference.
        Err(line) => fail(USAGE, line),
    }
}

fn try_run(args: &DiffArgs) -> Result<bool, String> {
    let mut places = Places::default().with("--json", args.json.as_deref());
    let given = [
        Some(Path::new(&args.a)),
        args.b.as_deref(),
        args.program.as_deref(),
    ];
    for path in given.into_iter().flatten() {
        places = places.reads(path);
    }
    places.check()?;
    let progress = progress(args);
    let (mut a, mut b) = source::both(args, &progress)?;
    let found = first(&mut a, &mut b, |us| {
        if args.program.is_some() {
            progress.set(us / 1_000_000);
        }
    });
    progress.finish();
    let found = found?;
    let reading = Reading::of(args.mesh.prefix);
    let finding = found.map(|found| {
        let mut times = found.rest.iter().filter_map(|rest| rest.front()?.at_us);
        let first_us = times.next().map(|one| times.fold(one, u64::min));
        let cause = first_us.and_then(|us| cause::before(args, us));
        Finding::of(&found, &reading, cause)
    });
    let same = a.frames().min(b.frames());
    let text = match &finding {
        Some(finding) => finding.text(),
        None => format!("all {same} frames are the same\n"),
    };
    let standard = |error| cannot_write("to standard output", &error).1;
    if let Some(path) = &args.json {
        let json = match &finding {
            Some(finding) => finding.json(),
            None => json!({ "same": true, "frames": same }),
        };
        let json = format!("{json:#}\n");
        if is_standard(path) {
            print(&json).map_err(standard)?;
            return Ok(finding.is_none());
        }
        let name = path.display().to_string();
        std::fs::write(path, json).map_err(|error| cannot_write(&name, &error).1)?;
    }
    print(&text).map_err(standard)?;
    Ok(finding.is_none())
}

/// Returns a progress bar in bytes of the captures, or in seconds that the programs simulate.
fn progress(args: &DiffArgs) -> Progress {
    if args.program.is_none() {
        return Progress::of_bytes();
    }
    let mut overrides = args.set.clone();
    overrides.extend(args.duration.clone().map(|it| ("duration".to_owned(), it)));
    // If the scenario is invalid, the programs that run it report the error.
    match Scenario::load(&args.a, &overrides) {
        Ok(scenario) => Progress::of_simulated(scenario.duration.as_millis() / 1_000),
        Err(_) => Progress::hidden(),
    }
}

pub(super) struct Found {
    pub same: u64,
    pub common: Option<Record>,
    /// The next frames of each run, at most [`AHEAD`] of each.
    pub rest: [VecDeque<Record>; 2],
}

/// Frames between two updates of a progress bar.
const TOLD: u64 = 500;

fn first(a: &mut Source, b: &mut Source, at: impl Fn(u64)) -> Result<Option<Found>, String> {
    let mut common: Option<Record> = None;
    let mut same = 0;
    loop {
        if same % TOLD == 0 {
            at(common.as_ref().and_then(|it| it.at_us).unwrap_or(0));
        }
        let (one, other) = (a.next()?, b.next()?);
        match (one, other) {
            (None, None) => return Ok(None),
            (Some(one), Some(other)) if is_same(&one, &other) => {
                common = Some(one);
                same += 1;
            }
            (one, other) => {
                let rest = [a.ahead(one)?, b.ahead(other)?];
                return Ok(Some(Found { same, common, rest }));
            }
        }
    }
}

fn is_same(a: &Record, b: &Record) -> bool {
    a.at_us == b.at_us && mpdu(a) == mpdu(b)
}

/// Returns the frame without its check sequence; no bytes if the record contains no frame.
fn mpdu(record: &Record) -> &[u8] {
    record.frame().map(|frame| frame.mpdu).unwrap_or_default()
}
