//! `redpoll tune`: values of a scenario's keys that are best within limits.

mod tell;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_experiments::{FINGERPRINT, Job, Results, StudyError};
use redpoll_sweep::tune::{Found, Goal, Runs, Tuned, Verdict, Verdicts, constants, json};

use crate::failure::{Failure, SIGNALLED, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::study::{refuse, simulate};
use crate::{FAILED, USAGE};

/// Find the best values of a scenario's keys within limits.
///
/// A goal is a TOML file: a scenario, its free keys, the figure to minimize or maximize, and
/// limits of other figures. For example:
///
/// scenario = "sleepy-web"
///
/// minimize = "current"
///
/// limits."latency.p95 of get" = "3 s"
///
/// free."poll.base_interval" = { from = "0.25 s", to = "60 s", scale = "log" }
///
/// The search runs many points with few seeds, then the better half of them with twice as many
/// seeds, and so on; then neighbours of the best point. Other seeds than those of the search are
/// used to judge the result. The result of each run is kept in a file, so the same command
/// resumes a stopped search.
///
/// Exit code: 0 when values were found that keep the limits, in the mean of the judging runs; 1
/// when there are none (the nearest values are printed, and no constants are written), or a run
/// or a file failed or the oracle found a violation; 2 when the goal or the results file cannot be
/// used; 130 after Ctrl-C (finished runs are kept).
#[derive(Debug, ClapArgs)]
pub struct TuneArgs {
    /// The goal's TOML file
    #[arg(value_name = "GOAL.toml")]
    pub file: PathBuf,

    /// Print the free keys with their values, and the steps of the search, without running it
    #[arg(long)]
    pub list: bool,

    /// Number of runs at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub jobs: Option<u16>,

    /// File for the results of the runs; by default GOAL.sqlite in the current folder
    #[arg(long, value_name = "FILE")]
    pub results: Option<PathBuf>,

    /// File for the best values as constants of Rust; by default GOAL.rs in the current folder
    #[arg(long, value_name = "FILE")]
    pub rust: Option<PathBuf>,

    /// File for the best values as constants of C; by default GOAL.h in the current folder
    #[arg(long, value_name = "FILE")]
    pub c: Option<PathBuf>,

    /// Write the outcome as one JSON object to this file; - is standard output, in place of the
    /// text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

pub fn run(args: &TuneArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err(Halt::Failed((code, message))) => fail(code, message),
        Err(Halt::Signal(signal)) => ExitCode::from(SIGNALLED.saturating_add(signal)),
    }
}

/// Why a search ended early.
enum Halt {
    Failed(Failure),
    /// The user pressed Ctrl-C.
    Signal(u8),
}

impl From<Failure> for Halt {
    fn from(failure: Failure) -> Halt {
        Halt::Failed(failure)
    }
}

impl From<StudyError> for Halt {
    fn from(error: StudyError) -> Halt {
        let is_scenario = matches!(error, StudyError::Scenario(_));
        if is_scenario {
            Halt::Failed((USAGE, error.to_string()))
        } else {
            Halt::Failed(refuse(error))
        }
    }
}

fn try_run(args: &TuneArgs) -> Result<ExitCode, Halt> {
    let goal = Goal::load(&args.file).map_err(|error| (USAGE, error.to_string()))?;
    let place = |given: &Option<PathBuf>, ending: &str| {
        let name = args.file.with_extension(ending);
        let name = PathBuf::from(name.file_name().unwrap_or_default());
        given.clone().unwrap_or(name)
    };
    let (rust, c) = (place(&args.rust, "rs"), place(&args.c, "h"));
    let results = place(&args.results, "sqlite");
    Places::default()
        .with("--results", Some(&results))
        .with("--rust", Some(&rust))
        .with("--c", Some(&c))
        .with("--json", args.json.as_deref())
        .reads(&args.file)
        .check()
        .map_err(|line| (USAGE, line))?;
    if args.list {
        tell(&tell::plan(&goal))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (option, path) in [("--rust", &rust), ("--c", &c)] {
        may_write(option, path)?;
    }
    let kept = Results::open(&results, FINGERPRINT).map_err(|error| refuse(error.into()))?;
    let tuned = Runs::new(&goal, &kept).tune(&mut |line: &str, jobs: &[Job]| {
        eprintln!("{line}");
        match simulate(jobs, args.jobs, &kept, &results)? {
            None => Ok(()),
            Some(signal) => Err(Halt::Signal(signal)),
        }
    })?;
    let Some(tuned) = tuned else {
        return Err((FAILED, "no point was run, so there is no result".to_owned()).into());
    };
    let Tuned {
        found, verdicts, ..
    } = &tuned;
    let is_met = verdicts.best.verdict() != Verdict::Missed;
    if is_met {
        write_constants(&goal, found, verdicts, &rust, &c)?;
    }
    let written = is_met.then_some((rust.as_path(), c.as_path()));
    if let Some(path) = &args.json {
        let mut object = json(&goal, &tuned);
        let shown = |path: &Path| path.display().to_string();
        object["rust"] = written.map(|(rust, _)| shown(rust)).into();
        object["c"] = written.map(|(_, c)| shown(c)).into();
        let text = format!("{object:#}\n");
        let name = path.display().to_string();
        if is_standard(path) {
            tell(&text)?
        } else {
            std::fs::write(path, text).map_err(|error| cannot_write(&name, &error))?
        }
    }
    if !args.json.as_deref().is_some_and(is_standard) {
        tell(&tell::text(&goal, found, verdicts, written))?;
    }
    if tuned.objections > 0 {
        let line = format!(
            "the oracle reports violations in {} of the runs",
            tuned.objections
        );
        return Err((FAILED, line).into());
    }
    if is_met {
        Ok(ExitCode::SUCCESS)
    } else {
        Err((
            FAILED,
            "no values keep the limits, so no constants were written; relax a limit, or add keys \
             to `free` in the goal"
                .into(),
        )
            .into())
    }
}

fn tell(text: &str) -> Result<(), Halt> {
    print(text).map_err(|error| cannot_write("to standard output", &error).into())
}

/// Refuses an output file that exists already, unless `redpoll tune` has written it.
fn may_write(option: &str, path: &Path) -> Result<(), Failure> {
    // Do not read a device or a pipe, because the read may never end.
    if !path.is_file() {
        return Ok(());
    }
    match std::fs::read_to_string(path) {
        Ok(text) if !text.contains(constants::MARK) => {
            let line = "exists, and was not written by `redpoll tune`; allowed: another name";
            Err((USAGE, format!("{option} {}: {line}", path.display())))
        }
        _ => Ok(()),
    }
}

fn write_constants(
    goal: &Goal,
    found: &Found,
    verdicts: &Verdicts,
    rust: &Path,
    c: &Path,
) -> Result<(), Failure> {
    let Some(point) = found.best() else {
        return Ok(());
    };
    let scenario = goal.case(point).scenario();
    let scenario = scenario.map_err(|error| (USAGE, error.to_string()))?;
    let texts = [
        (rust, constants::rust(goal, &verdicts.best, &scenario)),
        (c, constants::c(goal, &verdicts.best, &scenario)),
    ];
    for (path, text) in texts {
        let name = path.display().to_string();
        std::fs::write(path, text).map_err(|error| cannot_write(&name, &error))?;
    }
    Ok(())
}
