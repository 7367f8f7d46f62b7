//! The result of a study as text: how many rows hold, and the cause of each row that does not.

use std::fmt::Write as _;

use redpoll_experiments::page::{measured, number, place};
use redpoll_experiments::{Figure, Purpose, Row, Study};
use redpoll_studies::STUDIES;

pub fn render(study: &Study, told: &[(&Figure, Vec<Row>)], seeds: u64) -> String {
    let mut text = format!("{}\n{seeds} seeds per point\n", study.citation);
    let all: Vec<&Row> = told.iter().flat_map(|(_, rows)| rows).collect();
    for kind in Purpose::ALL {
        let of_kind: Vec<&&Row> = judged(&all, kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let held = of_kind.iter().filter(|row| row.ok == Some(true)).count();
        let _ = writeln!(
            text,
            "\n{}: {held} of {} rows hold",
            kind.word(),
            of_kind.len()
        );
        for row in of_kind.iter().filter(|row| row.ok == Some(false)) {
            let rows = told.iter().find(|(figure, _)| figure.name() == row.figure);
            miss(&mut text, row, rows.map_or(&[], |(_, rows)| rows));
        }
    }
    violations(&mut text, &all);
    text.push('\n');
    for (figure, rows) in told {
        let rows: Vec<&Row> = rows.iter().collect();
        let kinds = Purpose::ALL.into_iter().filter_map(|kind| {
            let of_kind: Vec<&&Row> = judged(&rows, kind).collect();
            let held = of_kind.iter().filter(|row| row.ok == Some(true)).count();
            let count = of_kind.len();
            (count > 0).then(|| format!("{} {held} of {count}", kind.word()))
        });
        let kinds: Vec<String> = kinds.collect();
        let (name, title) = (figure.name(), figure.title());
        let _ = writeln!(text, "{name:>11}  {title:.56}  {}", kinds.join(", "));
    }
    text.push_str("\nto see every number: --rows, --json FILE or --html DIR\n");
    text
}

fn judged<'a>(rows: &'a [&'a Row], kind: Purpose) -> impl Iterator<Item = &'a &'a Row> {
    let is_judged = move |row: &&&Row| row.kind == kind && row.ok.is_some();
    rows.iter().filter(is_judged)
}

fn miss(text: &mut String, row: &Row, of_figure: &[Row]) {
    let band = row.band().map(|band| band.to_string()).unwrap_or_default();
    let paper = row
        .paper
        .map(|paper| format!(", the paper has {}", number(paper)));
    let _ = writeln!(
        text,
        "  {}: {}; must be {band}{}",
        row.id.as_deref().unwrap_or_default(),
        measured(row),
        paper.unwrap_or_default()
    );
    let Some((cause, shown_by)) = &row.told.cause else {
        return;
    };
    let _ = writeln!(text, "      {cause}");
    for shown in shown_by.iter().filter_map(|index| of_figure.get(*index)) {
        let _ = writeln!(text, "      {}: {}", place(shown), measured(shown));
    }
}

fn violations(text: &mut String, rows: &[&Row]) {
    let mut all: Vec<String> = Vec::new();
    for row in rows {
        if let Some(violation) = &row.violation {
            let line = format!("  {}: {violation}", row.figure);
            if !all.contains(&line) {
                all.push(line);
            }
        }
    }
    if !all.is_empty() {
        let _ = writeln!(text, "\nthe oracle reports:\n{}", all.join("\n"));
    }
}

pub fn list(study: Option<&Study>, figures: &[Figure]) -> String {
    let mut text = String::new();
    match study {
        Some(_) => {
            for figure in figures {
                let _ = writeln!(text, "{:>11}  {}", figure.name(), figure.title());
            }
        }
        None => {
            for study in STUDIES {
                let _ = writeln!(text, "{:>11}  {}", study.name, study.citation);
            }
        }
    }
    text
}
