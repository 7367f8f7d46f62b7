//! `redpoll chaos`: random scenarios with random faults, and the failures that they find.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use clap::Args as ClapArgs;
use redpoll_chaos::{Campaign, Finding, Plan, campaign, generate};
use redpoll_linux::signals::Signals;
use serde::Serialize;

use crate::failure::{Failure, SIGNALLED, asked_to_end, cannot_write};
use crate::output::{bar, fail, is_standard, print};
use crate::{FAILED, USAGE};

/// Maximum number of runs to shrink the first failing scenario of each kind of failure.
const SHRINK_RUNS: usize = 300;
/// Number of seeds without --seeds and --minutes.
const SEEDS: u64 = 100;

/// Run random scenarios with random faults, and report what they break.
///
/// A seed determines the mesh, its options, its apps and its faults. While faults occur, no byte of
/// a stream may be wrong, lost, doubled or reordered unless the connection reports an error. After
/// the last fault every stream must progress or fail. After the apps have ended, every pool of
/// every node must become empty. No run may panic, or need too many events for a simulated second.
///
/// Each failure is printed with its seed, its cause, and the command that repeats it. The scenario
/// of the first failure of each kind is shrunk: parts are removed while the same kind of failure
/// remains.
///
/// Exit code: 0 when no failure was found; 1 when one was found, or a file could not be written; 2
/// when an option cannot be used; 130 after Ctrl-C without a failure.
#[derive(Debug, ClapArgs)]
pub struct ChaosArgs {
    /// Number of seeds; 100 without --minutes, otherwise without limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,

    /// End after this real time, in minutes
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub minutes: Option<u64>,

    /// First seed
    #[arg(long, value_name = "SEED", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub from: u64,

    /// Number of runs at the same time; by default one per core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub jobs: Option<u16>,

    /// Folder for the scenarios that fail
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub out: PathBuf,

    /// Write the result to this file as a JSON object; - is standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Print the scenario of this seed without running it
    #[arg(long, value_name = "SEED")]
    pub show: Option<u64>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    runs: u64,
    events: u64,
    wall_s: f64,
    stopped: bool,
    findings: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    finding: &'a Finding,
    /// File of the scenario; `None` if no scenario could be drawn from the seed.
    file: Option<String>,
    replay: String,
}

pub fn run(args: &ChaosArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err((code, message)) => fail(code, message),
    }
}

fn try_run(args: &ChaosArgs) -> Result<ExitCode, Failure> {
    if let Some(seed) = args.show {
        let text = generate(seed).map_err(|error| (FAILED, error.to_string()))?;
        print(&text).map_err(|error| cannot_write("to standard output", &error))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.out.is_dir() {
        let name = args.out.display();
        return Err((
            USAGE,
            format!("--out {name}: is not a folder; allowed: an existing folder"),
        ));
    }
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan {
        first_seed: args.from,
        seeds: args.seeds.or(args.minutes.is_none().then_some(SEEDS)),
        threads: args.jobs.map_or_else(cores, usize::from),
        shrink_runs: SHRINK_RUNS,
    };
    let started = WallInstant::now();
    let (campaign, signal) = conduct(args, &plan, started);
    let shown = keep(args, &campaign)?;
    show(args, &campaign, shown, started.elapsed())?;
    Ok(match (campaign.findings.is_empty(), signal) {
        (false, _) => ExitCode::from(FAILED),
        (true, Some(signal)) => ExitCode::from(SIGNALLED.saturating_add(signal)),
        (true, None) => ExitCode::SUCCESS,
    })
}

/// Runs the plan until its end, the time limit, or a signal, whose number is also returned.
fn conduct(args: &ChaosArgs, plan: &Plan, started: WallInstant) -> (Campaign, Option<u8>) {
    // Without file descriptors for signals, Ctrl-C ends the process at once.
    let signals = Signals::watch().ok();
    let template = match plan.seeds {
        Some(_) => "{wide_bar} {pos}/{len} runs  {msg}  {eta} left",
        None => "{spinner} {pos} runs  {msg}  {elapsed}",
    };
    let bar = bar(plan.seeds, template, 5);
    let longest = args.minutes.map(|it| WallDuration::from_secs(60 * it));
    let mut signal = None;
    let campaign = campaign(plan, &mut |progress| {
        bar.set_position(progress.done);
        bar.set_message(format!("{} failures", progress.findings));
        signal = signal.or_else(|| signals.as_ref().and_then(asked_to_end));
        signal.is_none() && longest.is_none_or(|longest| started.elapsed() < longest)
    });
    bar.finish_and_clear();
    (campaign, signal)
}

/// Writes the scenario of each failure to its file. A seed whose scenario could not be drawn has no
/// file.
fn keep<'a>(args: &ChaosArgs, campaign: &'a Campaign) -> Result<Vec<Shown<'a>>, Failure> {
    let program = program();
    let kept = campaign.findings.iter().map(|finding| {
        let seed = finding.seed;
        if finding.text.is_empty() {
            return Ok(Shown {
                finding,
                file: None,
                replay: format!("{program} chaos --from {seed} --seeds 1"),
            });
        }
        let file = args.out.join(format!("chaos-{seed}.toml"));
        let text = head(finding) + &finding.text;
        std::fs::write(&file, text)
            .map_err(|error| cannot_write(&file.display().to_string(), &error))?;
        Ok(Shown {
            finding,
            replay: format!("{program} run {} --seed {seed}", quoted(&file)),
            file: Some(file.display().to_string()),
        })
    });
    kept.collect()
}

/// Returns the path or name with which this program was called, quoted for a shell. Other builds
/// may lack the overflow checks, so a failure must be repeated with this one.
fn program() -> String {
    let word = std::env::args_os().next();
    word.map_or_else(|| "redpoll".to_owned(), |word| quoted(Path::new(&word)))
}

fn head(finding: &Finding) -> String {
    format!(
        "# Found by redpoll chaos, seed {}:\n# {}\n\n",
        finding.seed,
        finding.failure.line.replace('\n', " ")
    )
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |it: char| it.is_alphanumeric() || "/._-".contains(it);
    if text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn show(
    args: &ChaosArgs,
    campaign: &Campaign,
    shown: Vec<Shown<'_>>,
    took: WallDuration,
) -> Result<(), Failure> {
    let text = text(campaign, &shown, took);
    let Some(path) = &args.json else {
        return print(&text).map_err(|error| cannot_write("to standard output", &error));
    };
    let result = Outcome {
        runs: campaign.runs,
        events: campaign.events,
        wall_s: took.as_secs_f64(),
        stopped: campaign.is_stopped,
        findings: shown,
    };
    let mut json = serde_json::to_string_pretty(&result)
        .map_err(|error| (FAILED, format!("cannot serialize the result: {error}")))?;
    json.push('\n');
    if is_standard(path) {
        return print(&json).map_err(|error| cannot_write("to standard output", &error));
    }
    std::fs::write(path, json)
        .map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    print(&text).map_err(|error| cannot_write("to standard output", &error))
}

fn text(campaign: &Campaign, shown: &[Shown<'_>], took: WallDuration) -> String {
    let mut lines = Vec::new();
    for shown in shown {
        lines.push(format!(
            "seed {}: {}",
            shown.finding.seed, shown.finding.failure.line
        ));
        lines.push(format!("    {}", shown.replay));
    }
    let mut kinds: Vec<_> = shown.iter().map(|it| &it.finding.failure.kind).collect();
    kinds.sort();
    kinds.dedup();
    let checks = if cfg!(debug_assertions) {
        "on"
    } else {
        "off (`make chaos` builds the program with overflow checks)"
    };
    let ended = if campaign.is_stopped {
        ", ended early"
    } else {
        ""
    };
    lines.push(format!(
        "{} runs in {:.0} s{ended}: {} failures of {} kinds; {} events; overflow checks {checks}",
        campaign.runs,
        took.as_secs_f64(),
        shown.len(),
        kinds.len(),
        campaign.events,
    ));
    lines.join("\n") + "\n"
}
