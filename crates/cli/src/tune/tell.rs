//! The texts of `redpoll tune`.

use std::path::Path;

use redpoll_results::compare::{Difference, Interval};
use redpoll_sweep::tune::{
    Bound, Figure, Found, Goal, Judged, Line, Side, Values, Verdicts, digits,
};

/// Returns the goal with its limits, the passes of the search, and the free keys.
pub fn plan(goal: &Goal) -> String {
    let mut text = wanted(goal);
    let all = goal.space.combinations();
    let pass = goal.space.first_pass(goal.effort.points).len();
    text += &if pass == all {
        format!("first pass: all {all} combinations\n")
    } else {
        format!(
            "first pass: {pass} points of {all} combinations, by Latin hypercube \
            sampling\n"
        )
    };
    let (seeds, rounds) = (goal.effort.seeds, goal.effort.rounds);
    text += &format!(
        "then successive halving with up to {seeds} seeds per point, and {rounds} rounds among \
         the neighbours of the best point\n"
    );
    text += &format!(
        "the result is judged by runs with {} other seeds\n",
        goal.held_out.len()
    );
    for parameter in &goal.space.parameters {
        let values = match &parameter.values {
            Values::List(list) => list.join(", "),
            Values::Range { ends, steps } => format!(
                "{} to {}, {steps} values",
                ends.written(ends.at(0.0)),
                ends.written(ends.at(1.0))
            ),
        };
        text += &format!("  {:<28} {values}\n", parameter.name);
    }
    text
}

fn wanted(goal: &Goal) -> String {
    let best = &goal.aims.best;
    let word = if best.more_is_better() {
        "most"
    } else {
        "least"
    };
    let limits = goal.aims.limits.iter();
    let limits = limits.map(|(figure, limit)| at_limit(figure, *limit));
    format!(
        "{word} {} with {}\n",
        best.name(),
        limits.collect::<Vec<_>>().join(", ")
    )
}

fn at_limit(figure: &Figure, limit: f64) -> String {
    let word = if figure.more_is_better() {
        "at least"
    } else {
        "at most"
    };
    format!("{} {word} {}", figure.name(), figure.shown(limit))
}

pub fn text(
    goal: &Goal,
    found: &Found,
    verdicts: &Verdicts,
    written: Option<(&Path, &Path)>,
) -> String {
    let mut text = wanted(goal);
    text += &format!(
        "chosen from {} points with seeds 1 to {}; the figures below are from {} other seeds ({} \
         to {}): means with 95 % confidence intervals\n\n",
        found.tried,
        goal.effort.seeds,
        goal.held_out.len(),
        goal.held_out.first().unwrap_or(&0),
        goal.held_out.last().unwrap_or(&0),
    );
    text += &table(goal, verdicts);
    text += &lead(goal, verdicts);
    text += &limits(goal, verdicts);
    text += &sensitivity(goal, verdicts);
    text += &match written {
        Some((rust, c)) => format!("\nconstants: {} and {}\n", rust.display(), c.display()),
        None => "\nNo constants were written, because the values found miss a limit.\n".to_owned(),
    };
    text
}

/// Returns the best point, the runner-up and the unchanged scenario in columns.
fn table(goal: &Goal, verdicts: &Verdicts) -> String {
    let mut columns: Vec<(&str, &Judged)> = vec![("values found", &verdicts.best)];
    columns.extend(verdicts.second.iter().map(|it| ("runner-up", it)));
    columns.push(("unchanged scenario", &verdicts.before));
    let mut rows: Vec<Vec<String>> = Vec::new();
    let names = columns.iter().map(|(name, _)| (*name).to_owned());
    rows.push(std::iter::once(String::new()).chain(names).collect());
    for (at, parameter) in goal.space.parameters.iter().enumerate() {
        let values = columns
            .iter()
            .map(|(_, it)| it.values.get(at).cloned().unwrap_or_default());
        rows.push(
            std::iter::once(parameter.name.clone())
                .chain(values)
                .collect(),
        );
    }
    let limits = std::iter::once(None).chain(goal.aims.limits.iter().map(|(_, it)| Some(*it)));
    for (at, (figure, limit)) in goal.aims.figures().zip(limits).enumerate() {
        let name = match limit {
            Some(limit) => at_limit(figure, limit),
            None => figure.name(),
        };
        let cells = columns.iter().map(|(_, it)| cell(figure, &it.lines[at]));
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    aligned(&rows)
}

fn cell(figure: &Figure, line: &Line) -> String {
    let verdict = line.verdict.map(|it| format!(" {}", it.word()));
    let mean = match &line.mean {
        Some(mean) => interval(figure, mean),
        None => "no value".to_owned(),
    };
    let without = match line.without {
        0 => String::new(),
        runs => format!(" ({runs} runs have no value of this figure)"),
    };
    mean + &without + &verdict.unwrap_or_default()
}

fn interval(figure: &Figure, it: &Interval) -> String {
    let (low, high) = (digits(it.low), digits(it.high));
    format!("{} [{low}, {high}]", figure.shown(it.value))
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let wide = |at: usize| {
        rows.iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let wide: Vec<usize> = (0..columns).map(wide).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&wide)
            .map(|(cell, wide)| format!("{cell:<wide$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

fn lead(goal: &Goal, verdicts: &Verdicts) -> String {
    let Some(lead) = &verdicts.lead else {
        return String::new();
    };
    let apart = if lead.difference.excludes(0.0) {
        ""
    } else {
        "; with these seeds the difference is not significant"
    };
    format!(
        "\nCompared with the values found, the runner-up changes {} by {}{apart}.\n",
        goal.aims.best.name(),
        change(lead)
    )
}

/// Formats a ratio with its interval as `+3.1 % [+1.0, +5.2]`; without a ratio, the difference.
fn change(difference: &Difference) -> String {
    match &difference.ratio {
        Some(ratio) => {
            let [value, low, high] =
                [ratio.value, ratio.low, ratio.high].map(|it| 100.0 * (it - 1.0));
            format!("{value:+.1} % [{low:+.1}, {high:+.1}]")
        }
        None => {
            let it = &difference.difference;
            format!("{:+.3} [{:+.3}, {:+.3}]", it.value, it.low, it.high)
        }
    }
}

fn limits(goal: &Goal, verdicts: &Verdicts) -> String {
    let name = |along: usize| goal.space.parameters[along].name.as_str();
    let mut lines = Vec::new();
    for bound in &verdicts.bounds {
        lines.push(match bound {
            Bound::Limit { limits, neighbour } => {
                let it = &verdicts.neighbours[*neighbour];
                format!(
                    "{}: {} = {} would change {} by {}, but would not keep {}",
                    limits.join(" and "),
                    name(it.along),
                    it.value,
                    goal.aims.best.name(),
                    gain(it.differences[0].as_ref()),
                    if limits.len() == 1 {
                        "this limit"
                    } else {
                        "these limits"
                    },
                )
            }
            Bound::End { along, side } => {
                let end = if *side == Side::Below {
                    "first"
                } else {
                    "last"
                };
                format!(
                    "{1}, the {end} value of {0}, is the best of its range; values beyond it may \
                     be better",
                    name(*along),
                    verdicts.best.values[*along]
                )
            }
            Bound::Alike { neighbour } => {
                let it = &verdicts.neighbours[*neighbour];
                format!(
                    "no significant difference: {} = {} changes {} by {}, and the means of its \
                     runs keep all limits",
                    name(it.along),
                    it.value,
                    goal.aims.best.name(),
                    gain(it.differences[0].as_ref()),
                )
            }
        });
    }
    if lines.is_empty() {
        lines.push("nothing: no neighbouring point is better than the values found".to_owned());
    }
    format!("\nlimited by:\n  {}\n", lines.join("\n  "))
}

fn gain(difference: Option<&Difference>) -> String {
    difference.map_or("an unknown amount".to_owned(), change)
}

/// Returns a table with the change of each figure when one key takes a neighbouring value.
fn sensitivity(goal: &Goal, verdicts: &Verdicts) -> String {
    let mut rows = Vec::new();
    let head = goal.aims.figures().map(Figure::name);
    let names = ["key changed by one step".to_owned(), "value".to_owned()];
    rows.push(names.into_iter().chain(head).collect::<Vec<_>>());
    for it in &verdicts.neighbours {
        let cells = it
            .differences
            .iter()
            .zip(&it.judged.lines)
            .map(|(difference, line)| {
                let change = difference.as_ref().map_or("none".to_owned(), change);
                let verdict = line.verdict.map(|it| format!(" {}", it.word()));
                change + &verdict.unwrap_or_default()
            });
        let name = goal.space.parameters[it.along].name.clone();
        rows.push([name, it.value.clone()].into_iter().chain(cells).collect());
    }
    format!("\n{}", aligned(&rows))
}
