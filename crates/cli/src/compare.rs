//! `redpoll compare`: differences of two results that exceed the variation of the seeds.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args as ClapArgs;
use redpoll_results::compare::{Comparison, Interval, Line, Side, compare, load};
use redpoll_results::page::page_of_comparison;
use serde_json::{Value, json};

use crate::USAGE;
use crate::failure::{Failure, cannot_write};
use crate::output::{fail, is_standard, print};
use crate::places::Places;
use crate::plot::refuse;
use crate::progress::Progress;

/// Compare the means of two results over their seeds, with 95 % confidence intervals.
///
/// A result is a folder of `redpoll run --result DIR`, a folder that contains several of them
/// (one per seed), a JSON file of --json, or the file of a sweep or a study. For two sweeps the
/// common points are compared. If two sweeps vary the same keys under different settings, points
/// with the same values of those keys are compared.
///
/// The intervals of B - A and of B / A are bootstrap intervals, widened for few seeds. A star
/// marks an interval that excludes "no difference". By chance, one in twenty figures without a
/// difference gets a star.
///
/// Exit code: 0 whatever the difference is, 1 when a file cannot be read or written, 2 when a
/// file is not a result or the two have nothing in common.
#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    /// The first result
    #[arg(value_name = "A")]
    pub a: PathBuf,

    /// The second result
    #[arg(value_name = "B")]
    pub b: PathBuf,

    /// Write a page to this file, with the values of all seeds as dots next to each figure. The
    /// page is one HTML file without external resources; - is standard output, in place of the
    /// table
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write the comparison as one JSON object to this file; - is standard output, in place of
    /// the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

pub fn run(args: &CompareArgs) -> ExitCode {
    match try_run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => fail(code, line),
    }
}

fn try_run(args: &CompareArgs) -> Result<(), Failure> {
    Places::default()
        .with("--json", args.json.as_deref())
        .with("--html", args.html.as_deref())
        .reads(&args.a)
        .reads(&args.b)
        .check()
        .map_err(|line| (USAGE, line))?;
    let progress = Progress::of_steps(0, "");
    let stepped = |what: &'static str| {
        let progress = progress.clone();
        move |done: usize, of: usize| progress.step(done as u64, of as u64, what)
    };
    let read = |path: &PathBuf| {
        let side = load(path, &stepped("runs read"));
        side.inspect_err(|_| progress.finish()).map_err(refuse)
    };
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let (both, alone) = compare(&a, &b, &stepped("compared"));
    progress.finish();
    if both.is_empty() {
        let (a, b) = (args.a.display(), args.b.display());
        return Err((USAGE, format!("{a} and {b} have no scenario in common")));
    }
    let standard = |error| cannot_write("to standard output", &error);
    if let Some(path) = &args.json {
        let both: Vec<Value> = both.iter().map(of_comparison).collect();
        let text = format!(
            "{:#}\n",
            json!({ "comparisons": both, "only_a": alone[0], "only_b": alone[1] })
        );
        if is_standard(path) {
            return print(&text).map_err(standard);
        }
        let name = path.display().to_string();
        std::fs::write(path, text).map_err(|error| cannot_write(&name, &error))?;
    }
    if let Some(path) = &args.html {
        let names = [&args.a, &args.b].map(|path| path.display().to_string());
        let page = page_of_comparison(&both, (&names[0], &names[1]), env!("CARGO_PKG_VERSION"));
        if is_standard(path) {
            return print(&page).map_err(standard);
        }
        let name = path.display().to_string();
        std::fs::write(path, page).map_err(|error| cannot_write(&name, &error))?;
    }
    let mut text = warning(&a, &b);
    for comparison in &both {
        text += &table(comparison);
    }
    for (side, names) in ["A", "B"].into_iter().zip(&alone) {
        if !names.is_empty() {
            text += &format!("{} more scenarios are only in {side}\n", names.len());
        }
    }
    print(&text).map_err(standard)
}

/// Returns a line with a warning if the two sides ran different scenarios, and otherwise an empty
/// text.
fn warning(a: &Side, b: &Side) -> String {
    let ([(a, _)], [(b, _)]) = (a.cases.as_slice(), b.cases.as_slice()) else {
        return String::new();
    };
    // The changed settings follow the scenario's name.
    let [a, b] = [a, b].map(|case| case.split(' ').next().unwrap_or(case));
    if a == b {
        return String::new();
    }
    format!("warning: different scenarios, A is {a} and B is {b}\n")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1_000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    let text = if value.abs() < 1e12 {
        format!("{value:.digits$}")
    } else {
        format!("{value:.3e}")
    };
    // Remove the sign of a negative zero.
    match text.strip_prefix('-') {
        Some(rest) if !rest.contains(|digit: char| matches!(digit, '1'..='9')) => rest.to_owned(),
        _ => text,
    }
}

fn shown(interval: &Interval) -> String {
    let [value, low, high] = [interval.value, interval.low, interval.high].map(short);
    format!("{value} [{low}, {high}]")
}

/// Returns the number of seeds and their list, which ends after eight seeds.
fn named(seeds: &[u64]) -> String {
    const NAMED: usize = 8;
    let first: Vec<String> = seeds.iter().take(NAMED).map(u64::to_string).collect();
    let more = if seeds.len() > NAMED { ", …" } else { "" };
    let word = if seeds.len() == 1 { "seed" } else { "seeds" };
    format!("{} {word} ({}{more})", seeds.len(), first.join(", "))
}

fn table(comparison: &Comparison) -> String {
    let [a, b] = comparison.seeds.each_ref().map(Vec::len);
    let [of_a, of_b] = comparison.seeds.each_ref().map(|it| named(it));
    let mut text = format!("{}: A has {of_a}, B has {of_b}\n", comparison.case);
    text += &format!(
        "  {:<36} {:>10} {:>10}  {:<28}  B / A, 95 % interval\n",
        "mean of", "A", "B", "B - A, 95 % interval"
    );
    for line in &comparison.lines {
        let (difference, ratio, star) = match &line.difference {
            Some(found) => (
                shown(&found.difference),
                found.ratio.as_ref().map_or("-".to_owned(), shown),
                if found.difference.excludes(0.0) {
                    "*"
                } else {
                    " "
                },
            ),
            None => ("-".to_owned(), "-".to_owned(), " "),
        };
        let Line { what, a, b, .. } = line;
        let row = format!(
            "{star} {what:<36} {:>10} {:>10}  {difference:<28}  {ratio}",
            short(mean(a)),
            short(mean(b))
        );
        text += row.trim_end();
        text.push('\n');
    }
    let differ = comparison.lines.iter().filter(|line| {
        let found = line.difference.as_ref();
        found.is_some_and(|found| found.difference.excludes(0.0))
    });
    text += &match a.min(b) {
        0 | 1 => "confidence intervals need at least two seeds in A and in B: run A with --seed 1 \
                  --result A/1 and with --seed 2 --result A/2, and B likewise into B/1 and B/2; \
                  then compare the folders A and B\n"
            .to_owned(),
        _ => format!(
            "{} of {} figures differ significantly (*: the interval of B - A excludes 0)\n",
            differ.count(),
            comparison.lines.len()
        ),
    };
    text
}

fn of_comparison(comparison: &Comparison) -> Value {
    let interval = |it: &Interval| json!({ "value": it.value, "low": it.low, "high": it.high });
    let lines = comparison.lines.iter().map(|line| {
        let found = line.difference.as_ref();
        json!({
            "what": line.what,
            "a": line.a,
            "b": line.b,
            "difference": found.map(|it| interval(&it.difference)),
            "ratio": found.and_then(|it| it.ratio.as_ref()).map(interval),
            "differs": found.map(|it| it.difference.excludes(0.0)),
        })
    });
    json!({
        "case": comparison.case,
        "seeds_a": comparison.seeds[0],
        "seeds_b": comparison.seeds[1],
        "lines": lines.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_names_the_seeds_and_warns_of_two_scenarios() {
        assert_eq!(named(&[7]), "1 seed (7)");
        assert_eq!(named(&[1, 2]), "2 seeds (1, 2)");
        let many: Vec<u64> = (1..=9).collect();
        assert_eq!(named(&many), "9 seeds (1, 2, 3, 4, 5, 6, 7, 8, …)");
        let side = |cases: &[&str]| Side {
            cases: cases
                .iter()
                .map(|case| ((*case).to_owned(), Vec::new()))
                .collect(),
        };
        let line_2 = side(&["line-2 duration=1 s"]);
        assert_eq!(
            warning(&line_2, &side(&["pair"])),
            "warning: different scenarios, A is line-2 and B is pair\n"
        );
        assert_eq!(warning(&line_2, &side(&["line-2 duration=2 s"])), "");
        // A side with several cases gets no warning, because only cases that both sides have are
        // compared.
        assert_eq!(warning(&line_2, &side(&["line-2", "pair"])), "");
    }
}
