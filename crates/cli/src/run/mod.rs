//! `redpoll run`: a scenario in virtual time, and its result.

pub(crate) mod outputs;
mod progress;
mod shown;
pub(crate) mod table;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use redpoll_base::{Duration, Instant};
use redpoll_linux::signals::Signals;
use redpoll_sim::trace::TraceError;
use redpoll_sim::{Report, Scenario, When, World, WorldOptions};

use crate::args::RunArgs;
use crate::failure::{Failure, SIGNALLED, asked_to_end, cannot_write, fail_all};
use crate::lines::{self, Sockets};
use crate::output::{fail, is_closed_pipe, is_standard, print};
use crate::places::Places;
use crate::{FAILED, USAGE, web};

use outputs::{Asked, Outputs};
use progress::Progress;
use shown::Show;

/// Real time for which the simulation runs between two checks of signals and the progress bar.
const SLICE: WallDuration = WallDuration::from_millis(50);

pub fn run(args: &RunArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err((code, message)) => fail(code, message),
    }
}

/// Returns a line with the time that the construction of the world took, if it was more than a
/// second: the links and routes of many nodes take long.
fn told_set_up(took: WallDuration) -> String {
    if took > WallDuration::from_secs(1) {
        format!(
            "set-up: computing links and routes took {:.1} s, in addition to the time of the simulation\n",
            took.as_secs_f64()
        )
    } else {
        String::new()
    }
}

/// Returns the command that shows a capture with the addresses of its mesh.
pub(crate) fn how_to_look_at(capture: &Path, scenario: &Scenario) -> String {
    let option = crate::output::wireshark_option(scenario);
    format!(
        "to show the capture: wireshark {option} {}\n",
        capture.display()
    )
}

fn try_run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let mut overrides = args.scenario.overrides();
    if let Some(duration) = &args.duration {
        overrides.push(("duration".to_owned(), duration.clone()));
    }
    let mut scenario = Scenario::load(&args.scenario.file, &overrides)
        .map_err(|error| (USAGE, error.to_string()))?;
    Places::default()
        .with("--pcap", args.pcap.as_deref())
        .with("--json", args.json.as_deref())
        .with("--series", args.series.as_deref())
        .with("--module-log", args.module_log.as_deref())
        .with("--record", args.record.as_deref())
        .check_beside(&scenario)
        .map_err(|line| (USAGE, line))?;
    crate::need::check(&scenario)?;
    let left_out = scenario.retain_apps_of(When::Run);
    let mut outputs = Outputs::plan(&asked(args))?;
    let server = web::listen(&args.web)?;
    let started = WallInstant::now();
    let loader = crate::modules::loader(&args.scenario.file);
    let lines = Sockets::beside(&scenario).map_err(|error| (FAILED, error.to_string()))?;
    let options = WorldOptions {
        loader: Some(&loader),
        guests: Some(&crate::modules::guest),
        lines: Some(&|_, line| lines.open(line)),
        ..WorldOptions::default()
    };
    let scenario = Arc::new(scenario);
    let mut world = World::with(Arc::clone(&scenario), options)
        .map_err(|error| (USAGE, format!("{}: {error}", args.scenario.file)))?;
    let set_up = started.elapsed();
    // Files are created before the run, so that a missing folder is reported at once.
    match outputs.begin(&mut world, WallDuration::ZERO) {
        Ok(true) => {}
        Ok(false) => return Ok(ExitCode::SUCCESS),
        Err(failures) => return Ok(fail_all(&failures).unwrap_or(ExitCode::SUCCESS)),
    }
    warn_of_flows_without_path(&world);
    let mut show = match server {
        Some(server) => Some(Show::begin(server, &world, args)?),
        None => None,
    };
    let (signal, capture_failed) = match &mut show {
        Some(show) => show.simulate(&mut world, scenario.duration, outputs.log())?,
        None => simulate(&mut world, scenario.duration, &mut outputs)?,
    };
    let report = world.report();
    let is_taken = outputs.takes_standard();
    // If one output fails, the others are still written.
    let mut failures = Vec::new();
    if !is_taken {
        let mut text = table::render(&report, &scenario, &left_out, signal.is_some());
        text += &told_set_up(set_up);
        if let Some(file) = &args.pcap {
            text += &how_to_look_at(file, &scenario);
        }
        if let Some(folder) = &args.result {
            text += &format!(
                "to show the result: redpoll report {0}, or redpoll view {0}\n",
                folder.display()
            );
        }
        let told = print(&text).map_err(|error| cannot_write("to standard output", &error));
        failures.extend(told.err());
    }
    failures.extend(outputs.end(&world, &report));
    failures.extend(crate::modules::failures(&args.scenario.file, &world));
    failures.extend(capture_failed.map(|error| (FAILED, error.to_string())));
    if let Some(code) = fail_all(&failures) {
        return Ok(code);
    }
    if let Some(show) = show.as_mut().filter(|_| signal.is_none()) {
        show.stay(&mut world, scenario.duration)?;
    }
    Ok(match signal {
        Some(signal) => ExitCode::from(SIGNALLED.saturating_add(signal)),
        None if !report.oracle.ok => ExitCode::from(FAILED),
        None => ExitCode::SUCCESS,
    })
}

fn asked(args: &RunArgs) -> Asked<'_> {
    Asked {
        folder: args.result.as_deref(),
        json: args.json.as_deref(),
        pcap: args.pcap.as_deref(),
        record: args.record.as_deref(),
        series: args.series.as_deref(),
        interval: args.series_interval,
        log: args.module_log.as_deref(),
        in_place: false,
    }
}

fn warn_of_flows_without_path(world: &World) {
    const SHOWN: usize = 5;
    let name = |index: usize| world.scenario().nodes[index].name.as_str();
    let pairs = world.unconnected();
    for &(from, to) in pairs.iter().take(SHOWN) {
        let (from, to) = (name(from), name(to));
        eprintln!("warning: there is no path from {from} to {to}");
    }
    if pairs.len() > SHOWN {
        eprintln!(
            "warning: {} more flows have no path either",
            pairs.len() - SHOWN
        );
    }
}

/// Runs the world to its end, or to the signal whose number is returned. If a capture cannot be
/// written, for example on a full disk, the capture ends early. Its error is returned, and the
/// result remains valid.
fn simulate(
    world: &mut World,
    duration: Duration,
    outputs: &mut Outputs,
) -> Result<(Option<u8>, Option<TraceError>), Failure> {
    // Without file descriptors for signals, Ctrl-C ends the process at once.
    let signals = Signals::watch().ok();
    let end = Instant::ZERO + duration;
    let mut progress = Progress::new(duration);
    let mut step = Duration::from_millis(100);
    let mut signal = None;
    let mut capture_failed = None;
    while world.now() < end && signal.is_none() && world.stall().is_none() {
        let until = end.min(world.now() + step).min(outputs.next());
        let started = WallInstant::now();
        world.run_until(until);
        step = next_step(step, started.elapsed());
        for line in lines::notices(world) {
            progress.around(|| eprintln!("{line}"));
        }
        progress.set(world.now());
        step = step.min(outputs.look(world)?);
        match world.flush_traces() {
            Err(error) if is_closed_pipe(&error.source) => break,
            Err(error) => capture_failed = Some(error),
            Ok(()) => {}
        }
        signal = signals.as_ref().and_then(asked_to_end);
    }
    progress.finish();
    Ok((signal, capture_failed))
}

/// Halves a step that took longer than `SLICE`; doubles one that took less than a quarter of it.
fn next_step(step: Duration, took: WallDuration) -> Duration {
    if took > SLICE {
        step.divided_by(2).max(Duration::from_millis(1))
    } else if took < SLICE / 4 {
        step.times(2)
    } else {
        step
    }
}

pub(crate) enum JsonFile {
    Standard,
    File(File, PathBuf),
}

impl JsonFile {
    pub(crate) fn create(path: &Path) -> Result<JsonFile, Failure> {
        if is_standard(path) {
            return Ok(JsonFile::Standard);
        }
        match File::create(path) {
            Ok(file) => Ok(JsonFile::File(file, path.to_owned())),
            Err(error) => Err(cannot_write(&path.display().to_string(), &error)),
        }
    }

    pub(crate) fn is_standard(&self) -> bool {
        matches!(self, JsonFile::Standard)
    }

    pub(crate) fn write(self, report: &Report) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(report)
            .map_err(|error| (FAILED, format!("cannot serialize the result: {error}")))?;
        text.push('\n');
        match self {
            JsonFile::Standard => {
                print(&text).map_err(|error| cannot_write("to standard output", &error))
            }
            JsonFile::File(mut file, path) => file
                .write_all(text.as_bytes())
                .map_err(|error| cannot_write(&path.display().to_string(), &error)),
        }
    }
}
