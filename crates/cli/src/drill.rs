//! `redpoll drill`: runs each attack next to an honest flow, and prints a row for each attack.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_base::Duration;
use redpoll_sim::drill::{ATTACKS, Outcome, Plan, Row};

use crate::output::bar;
use crate::{FAILED, USAGE, output};

/// Attack small simulated meshes, and print how much goodput an honest flow keeps.
///
/// Each row is one attacker with a limited packet rate and the node it attacks. `alone` and
/// `attacked` are the goodput of one honest TCP flow without and with the attack, and `keeps` is
/// their ratio. In addition, an honest client opens a new connection every five seconds. `new` is
/// the share of these connections that are served, divided by the same share without the attack.
/// `floor` is the share of air time that the attacker's own frames leave free. `rest` is the time
/// from the end of the honest flow until all tables of all nodes are as in a run without the
/// attack. All times are virtual.
///
/// A row fails if a table of a node stays different from its state in a run without the attack, or
/// if the oracle finds a violation. A row also fails if `keeps` or `new` is below 80 % and the row
/// states no reason.
///
/// Exit code: 0 when no row fails; 1 when a row fails, or a file could not be written; 2 when an
/// option cannot be used.
#[derive(Debug, ClapArgs)]
pub struct DrillArgs {
    /// Run only this attack, such as syn-flood. May be repeated
    #[arg(long = "attack", value_name = "NAME", value_parser = names())]
    pub attacks: Vec<String>,

    /// List the attacks with their rates and descriptions, without running them
    #[arg(long)]
    pub list: bool,

    /// Number of runs of each row; their seeds count from 1
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub seeds: u64,

    /// Duration of each attack, in simulated seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120,
          value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub seconds: u64,

    /// Write the rows to this file as one array of JSON objects; - is standard output, in place
    /// of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn names() -> Vec<&'static str> {
    ATTACKS.iter().map(|attack| attack.name).collect()
}

pub fn run(args: &DrillArgs) -> ExitCode {
    if args.list {
        return match output::print(&list()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => output::fail(FAILED, format!("cannot write the list: {error}")),
        };
    }
    let plan = Plan {
        only: args.attacks.clone(),
        seeds: args.seeds,
        duration: Duration::from_secs(args.seconds),
        ..Plan::default()
    };
    let template = "{wide_bar} {pos}/{len}  {msg}  {eta} left";
    let bar = bar(Some(0), template, 10);
    let rows = plan.run(|count, attack, target| {
        bar.set_length(count as u64);
        bar.set_message(format!("{attack} on {target}"));
        bar.inc(1);
    });
    bar.finish_and_clear();
    if rows.is_empty() {
        return output::fail(
            USAGE,
            "--attack: no attack has this name; `redpoll drill --list` lists the names",
        );
    }
    let bad = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::Lost | Outcome::LeftBehind))
        .count();
    if let Err(message) = show(args, &plan, &rows) {
        return output::fail(FAILED, message);
    }
    match bad {
        0 => ExitCode::SUCCESS,
        bad => output::fail(FAILED, format!("{bad} of {} rows fail", rows.len())),
    }
}

fn list() -> String {
    ATTACKS.iter().fold(String::new(), |mut text, attack| {
        let _ = writeln!(
            text,
            "{:<22} {:>3}/s  {}",
            attack.name, attack.per_s, attack.what
        );
        text
    })
}

fn show(args: &DrillArgs, plan: &Plan, rows: &[Row]) -> Result<(), String> {
    let json = || {
        serde_json::to_string_pretty(rows)
            .map(|text| text + "\n")
            .map_err(|error| format!("cannot serialize the rows: {error}"))
    };
    let text = match &args.json {
        Some(path) if output::is_standard(path) => json()?,
        Some(path) => {
            std::fs::write(path, json()?)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            table(plan, rows)
        }
        None => table(plan, rows),
    };
    output::print(&text).map_err(|error| format!("cannot write the result: {error}"))
}

fn table(plan: &Plan, rows: &[Row]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:<22} {:<11} {:>5} {:>6} {:>8} {:>6} {:>6} {:>6} {:>6} {:>5} {:>6}",
        "attack",
        "target",
        "rate",
        "alone",
        "attacked",
        "keeps",
        "worst",
        "new",
        "floor",
        "x",
        "rest"
    );
    for row in rows {
        let answered = row.answered.map_or("-".to_owned(), |x| format!("{x:.1}"));
        let rest = row.rest_s.map_or("never".to_owned(), |s| format!("{s} s"));
        let _ = writeln!(
            text,
            "{:<22} {:<11} {:>3}/s {:>6.1} {:>8.1} {:>4.0} % {:>4.0} % {:>4.0} % {:>4.0} % {:>5} {:>6}{}",
            row.attack,
            row.target,
            row.per_s,
            row.alone_kbps,
            row.beside_kbps,
            row.share * 100.0,
            row.worst * 100.0,
            row.new_share * 100.0,
            row.floor * 100.0,
            answered,
            rest,
            match row.outcome {
                Outcome::Kept => "",
                Outcome::Explained =>
                    "  less goodput or fewer new connections than required, because:",
                Outcome::Lost => "  FAILS: less goodput or fewer new connections than required",
                Outcome::LeftBehind =>
                    "  FAILS: the nodes' tables stay different from those of a run without the attack, or \
                     the oracle found a violation",
            }
        );
        if let Some(reason) = row.reason {
            let _ = writeln!(text, "    {reason}");
        }
        for left in &row.left {
            let _ = writeln!(text, "    difference: {left}");
        }
    }
    let kept = rows.iter().filter(|row| row.outcome == Outcome::Kept);
    let explained = rows.iter().filter(|row| row.outcome == Outcome::Explained);
    let _ = writeln!(
        text,
        "\nIn {} of {} rows, keeps and new are at least {:.0} %; in {} rows keeps or new is less, \
         for the reason below the row. Each row has {} seeds, each with an attack of {} \
         s.\nrate: packets of the attacker per second; alone, attacked: goodput of the flow in \
         kb/s without and with the attack, means of the seeds;\nkeeps: attacked divided by \
         alone; worst: the least of the seeds' ratios;\nnew: share of new connections that are \
         served during the attack, divided by the share without the attack; floor: share of air \
         time that the attacker's own frames leave free;\nx: bytes that came back from the mesh \
         for each byte that the attacker sent into the mesh; rest: time from the end of the flow \
         until all tables are as in a run without the attack.",
        kept.count(),
        rows.len(),
        plan.keeps * 100.0,
        explained.count(),
        plan.seeds,
        plan.duration.as_millis() / 1_000,
    );
    text
}
