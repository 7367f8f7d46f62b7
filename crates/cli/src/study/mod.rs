//! `redpoll study`: repeats a published study.

mod firmware;
mod progress;
mod summary;
mod table;
mod times;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use redpoll_experiments::page::Page;
use redpoll_experiments::{
    Figure, Job, MeasuredLinks, Outcome, Results, ResultsError, Row, Scene, Study, StudyError,
    conduct, jobs, page, select,
};
use redpoll_linux::signals::Signals;
use redpoll_studies::{FINGERPRINT, find};

use crate::args::StudyArgs;
use crate::failure::{Failure, SIGNALLED, asked_to_end, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::{FAILED, USAGE};

use firmware::Firmware;
use progress::Progress;

pub fn run(args: &StudyArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err((code, message)) => fail(code, message),
    }
}

fn try_run(args: &StudyArgs) -> Result<ExitCode, Failure> {
    let usage = |error: &dyn std::error::Error| (USAGE, error.to_string());
    let Some(name) = &args.study else {
        return tell(&summary::list(None, &[]));
    };
    let study = find(name).map_err(|error| usage(&error))?;
    let mut figures = study.load().map_err(refuse)?;
    if let Some(file) = args.links.clone() {
        let channel = args.channel;
        let over = study.over(&MeasuredLinks { file, channel });
        figures.push(over.map_err(|error| usage(&error))?);
    }
    let figures = select(figures, &args.figures).map_err(|error| usage(&error))?;
    if args.list {
        return tell(&summary::list(Some(study), &figures));
    }
    if let Some(folder) = &args.scenes {
        write_scenes(folder, &page::scenes(&figures))?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = args
        .results
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.sqlite", study.name)));
    Places::default()
        .with("--results", Some(&path))
        .with("--json", args.json.as_deref())
        .check()
        .map_err(|line| (USAGE, line))?;
    let firmware = Firmware::find(study, &figures, args.module.as_deref())?;
    let sources = firmware.as_ref().map_or(FINGERPRINT, Firmware::fingerprint);
    let results = Results::open(&path, sources).map_err(|error| refuse(error.into()))?;
    if let Some(folder) = &args.html {
        fs::create_dir_all(folder)
            .map_err(|error| cannot_write(&folder.display().to_string(), &error))?;
    }

    let mut jobs = jobs(&figures, args.seeds, &results).map_err(refuse)?;
    if let Some(firmware) = &firmware {
        firmware.load_in(&mut jobs);
    }
    let ended = simulate(&jobs, args.jobs, &results, &path)?;
    let mut told: Vec<(&Figure, Vec<Row>)> = Vec::new();
    for figure in &figures {
        let rows = figure.rows(study.name, &results, args.seeds);
        told.push((figure, rows.map_err(refuse)?));
    }
    if let Some(signal) = ended {
        return Ok(ExitCode::from(SIGNALLED.saturating_add(signal)));
    }
    if !args.json.as_deref().is_some_and(is_standard) {
        if args.rows {
            tell(&table::render(&told))?;
        }
        tell(&summary::render(study, &told, args.seeds))?;
        if args.times {
            let times = times::render(&figures, &results, args.seeds).map_err(refuse)?;
            tell(&times)?;
        }
    }
    if let Some(json) = &args.json {
        write_json(json, &told)?;
    }
    if let Some(folder) = &args.html {
        write_page(folder, args.seeds, study, &told)?;
    }
    let violated = told
        .iter()
        .flat_map(|(_, rows)| rows)
        .any(|row| row.violation.is_some());
    Ok(ExitCode::from(if violated { FAILED } else { 0 }))
}

fn tell(text: &str) -> Result<ExitCode, Failure> {
    print(text).map_err(|error| cannot_write("to standard output", &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `jobs`, `at_once` at the same time or one per core, and stores their results in `results`,
/// the file at `path`. Returns the signal that stopped the runs early. Fails if a job cannot run,
/// or if its result cannot be stored.
pub fn simulate(
    jobs: &[Job],
    at_once: Option<u16>,
    results: &Results,
    path: &Path,
) -> Result<Option<u8>, Failure> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = at_once.map_or_else(cores, usize::from);
    // Without file descriptors for signals, Ctrl-C ends the process at once.
    let signals = Signals::watch().ok();
    let mut signal = None;
    let mut progress = Progress::new(jobs);
    let mut done = 0;
    let outcome = conduct(jobs, threads, results, &mut |count, virtual_ms| {
        done = count;
        progress.set(count, virtual_ms);
        signal = signal.or_else(|| signals.as_ref().and_then(asked_to_end));
        signal.is_none()
    });
    progress.finish();
    match outcome.map_err(refuse)? {
        Outcome::Complete => Ok(None),
        Outcome::Failed(line) => Err((FAILED, line)),
        Outcome::Stopped => {
            eprintln!(
                "stopped: {done} of {} runs are done and kept in {}; run the same command again \
                 to continue",
                jobs.len(),
                path.display()
            );
            Ok(signal)
        }
    }
}

/// Returns the exit code of an error: an unusable results file is a wrong argument of the user, and
/// all other errors are failures.
pub fn refuse(error: StudyError) -> Failure {
    let code = match error {
        StudyError::Results(ResultsError::Other { .. }) => FAILED,
        StudyError::Results(_) => USAGE,
        _ => FAILED,
    };
    (code, error.to_string())
}

fn write_page(
    folder: &Path,
    seeds: u64,
    study: &Study,
    told: &[(&Figure, Vec<Row>)],
) -> Result<(), Failure> {
    let page = Page {
        study,
        told,
        seeds,
        version: env!("CARGO_PKG_VERSION"),
        fingerprint: FINGERPRINT,
        date: &page::today(),
    };
    write_scenes(&folder.join("scenes"), &page.scenes())?;
    write(&folder.join("index.html"), &page.render())
}

fn write_scenes(folder: &Path, scenes: &[&Scene]) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| cannot_write(&folder.display().to_string(), &error))?;
    scenes.iter().try_for_each(|scene| {
        let file = folder.join(format!("{}.toml", scene.name));
        write(&file, &scene.text)
    })
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| cannot_write(&file.display().to_string(), &error))
}

fn write_json(path: &Path, told: &[(&Figure, Vec<Row>)]) -> Result<(), Failure> {
    let rows: Vec<&Row> = told.iter().flat_map(|(_, rows)| rows).collect();
    let mut text = serde_json::to_string_pretty(&rows)
        .map_err(|error| (FAILED, format!("cannot serialize the rows: {error}")))?;
    text.push('\n');
    let written = if is_standard(path) {
        print(&text)
    } else {
        fs::write(path, text)
    };
    written.map_err(|error| cannot_write(&path.display().to_string(), &error))
}
