//! `redpoll sweep`: a scenario run for many values of its keys.

use std::path::PathBuf;
use std::process::ExitCode;

use redpoll_experiments::{FINGERPRINT, Results};
use redpoll_results::table::{Cell, Format};
use redpoll_sweep::{Plan, Table};

use crate::args::SweepArgs;
use crate::failure::{Failure, SIGNALLED, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::study::{refuse, simulate};
use crate::{FAILED, USAGE};

pub fn run(args: &SweepArgs) -> ExitCode {
    match try_run(args) {
        Ok(code) => code,
        Err((code, message)) => fail(code, message),
    }
}

fn try_run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let tables = [("--flows", &args.flows), ("--nodes", &args.nodes)];
    for (option, path) in &tables {
        if let Some(path) = path
            && !is_standard(path)
            && Format::of(path).is_none()
        {
            let name = path.display();
            let allowed = "allowed: a name that ends in .csv or .parquet, or - for CSV";
            return Err((USAGE, format!("{option} {name}: {allowed}")));
        }
    }
    let plan = Plan::load(&args.file).map_err(|error| (USAGE, error.to_string()))?;
    let results = args.results.clone().unwrap_or_else(|| {
        PathBuf::from(
            args.file
                .with_extension("sqlite")
                .file_name()
                .unwrap_or_default(),
        )
    });
    Places::default()
        .with("--results", Some(&results))
        .with("--flows", args.flows.as_deref())
        .with("--nodes", args.nodes.as_deref())
        .reads(&args.file)
        .check()
        .map_err(|line| (USAGE, line))?;
    if args.list {
        print(&list(&plan)).map_err(|error| cannot_write("to standard output", &error))?;
        return Ok(ExitCode::SUCCESS);
    }
    let kept = Results::open(&results, FINGERPRINT).map_err(|error| refuse(error.into()))?;
    let jobs = plan.jobs(&kept).map_err(refuse)?;
    let ended = simulate(&jobs, args.jobs, &kept, &results)?;
    let flows = Table::flows(&plan, &kept).map_err(refuse)?;
    if let Some(path) = &args.flows {
        write(&flows, path)?;
    }
    if let Some(path) = &args.nodes {
        let nodes = Table::nodes(&plan, &kept).map_err(refuse)?;
        write(&nodes, path)?;
    }
    let is_taken = tables
        .iter()
        .any(|(_, path)| path.as_deref().is_some_and(is_standard));
    if !is_taken {
        print(&summary(&plan, &flows))
            .map_err(|error| cannot_write("to standard output", &error))?;
    }
    if let Some(signal) = ended {
        return Ok(ExitCode::from(SIGNALLED.saturating_add(signal)));
    }
    match flows.objections {
        0 => Ok(ExitCode::SUCCESS),
        count => Err((
            FAILED,
            format!("the oracle reports violations in {count} of the runs"),
        )),
    }
}

fn write(table: &Table, path: &std::path::Path) -> Result<(), Failure> {
    let wrong = |error: &dyn std::error::Error| {
        (FAILED, format!("cannot write {}: {error}", path.display()))
    };
    if is_standard(path) {
        let mut bytes = Vec::new();
        table
            .write_to(&mut bytes, Format::Csv)
            .map_err(|error| wrong(&error))?;
        let text = String::from_utf8_lossy(&bytes);
        return print(&text).map_err(|error| wrong(&error));
    }
    let format = Format::of(path).unwrap_or(Format::Csv);
    table.write(path, format).map_err(|error| wrong(&error))
}

fn list(plan: &Plan) -> String {
    let mut lines = vec![format!(
        "{} points, {} seeds each: {} runs",
        plan.points.len(),
        plan.seeds.len(),
        plan.runs()
    )];
    for (at, point) in plan.points.iter().enumerate() {
        lines.push(format!("{:>6}  {}", at + 1, values(&point.values)));
    }
    lines.join("\n") + "\n"
}

fn values(values: &[(String, String)]) -> String {
    let texts = values.iter().map(|(key, value)| format!("{key}={value}"));
    texts.collect::<Vec<_>>().join("  ")
}

/// Returns a line for each point: the mean of its flows' figures, and the variation between seeds.
fn summary(plan: &Plan, flows: &Table) -> String {
    let mut lines = vec![format!(
        "{:>6} {:>5} {:>12} {:>20} {:>8} {:>10}  values",
        "point", "runs", "mean goodput", "range of goodput", "loss", "RTT p50"
    )];
    for (at, point) in plan.points.iter().enumerate() {
        let number = Cell::Whole(at as i64 + 1);
        let of = |column: &str| flows.numbers(column, |row| row[0].as_ref() == Some(&number));
        let mut seeds: Vec<u64> = of("seed").into_iter().map(|seed| seed as u64).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let goodput = of("goodput_kbps");
        let least = goodput.iter().copied().fold(f64::INFINITY, f64::min);
        let most = goodput.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if goodput.is_empty() {
            "-".to_owned()
        } else {
            format!("{least:.1} to {most:.1} kb/s")
        };
        let mean = |values: Vec<f64>, digits: usize, unit: &str, scale: f64| match values.len() {
            0 => "-".to_owned(),
            count => {
                let mean = scale * values.iter().sum::<f64>() / count as f64;
                format!("{mean:.digits$} {unit}")
            }
        };
        lines.push(format!(
            "{:>6} {:>5} {:>12} {range:>20} {:>8} {:>10}  {}",
            at + 1,
            seeds.len(),
            mean(goodput, 1, "kb/s", 1.0),
            mean(of("segment_loss"), 1, "%", 100.0),
            mean(of("rtt_ms.p50"), 0, "ms", 1.0),
            values(&point.values)
        ));
    }
    lines.join("\n") + "\n"
}
