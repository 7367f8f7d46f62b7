//! The rows of a study as text for people.

use std::fmt::Write as _;

use redpoll_studies::page::number;
use redpoll_studies::{Figure, Row, Study, X};

/// Rows of one series before the rest is only counted.
const ROWS: usize = 12;

/// All figures with their rows, and how many criteria hold.
pub fn render(study: &Study, told: &[(&Figure, Vec<Row>)], seeds: u64) -> String {
    let mut text = format!(
        "{}\n{seeds} seeds a point; spread is from the least to the greatest\n",
        study.citation
    );
    for (figure, rows) in told {
        section(&mut text, figure, rows);
    }
    let judged = || {
        told.iter()
            .flat_map(|(_, rows)| rows)
            .filter(|row| row.ok.is_some())
    };
    let missed: Vec<&Row> = judged().filter(|row| row.ok == Some(false)).collect();
    let count = judged().count();
    let _ = writeln!(text, "\n{} of {count} criteria hold", count - missed.len());
    for row in missed {
        let _ = writeln!(
            text,
            "  not reproduced: {}: {} {} {} is {} {}, {}",
            row.figure,
            row.series,
            row.x,
            row.metric,
            row.value.map_or("missing".to_owned(), number),
            row.unit,
            row.note,
        );
    }
    text
}

fn section(text: &mut String, figure: &Figure, rows: &[Row]) {
    let _ = writeln!(text, "\n{}: {}", figure.name, figure.title);
    let width = rows.iter().map(|row| row.series.chars().count()).max();
    let width = width.unwrap_or(0).clamp(6, 40);
    let wide_x = rows
        .iter()
        .map(|row| row.x.to_string().chars().count())
        .max();
    let wide_x = wide_x.unwrap_or(0).clamp(4, 24);
    let wide_metric = rows.iter().map(|row| row.metric.chars().count()).max();
    let wide_metric = wide_metric.unwrap_or(0).clamp(6, 44);
    let mut shown: Vec<(&str, &str, usize)> = Vec::new();
    let mut left_out = 0;
    let _ = writeln!(
        text,
        "  {:width$}  {:wide_x$}  {:wide_metric$}  {:>9} {:5}  {:>17}  {:>7}  ok",
        "series", "x", "metric", "measured", "", "spread", "paper"
    );
    for row in rows {
        let place = shown
            .iter_mut()
            .find(|it| (it.0, it.1) == (&row.series, row.metric));
        let count = match place {
            Some(place) => {
                place.2 += 1;
                place.2
            }
            None => {
                shown.push((&row.series, row.metric, 1));
                1
            }
        };
        if count > ROWS && row.x != X::None && row.ok.is_none() {
            left_out += 1;
            continue;
        }
        let spread = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
            _ => String::new(),
        };
        let ok = match row.ok {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let _ = writeln!(
            text,
            "  {:width$}  {:wide_x$}  {:wide_metric$}  {:>9} {:5}  {spread:>17}  {:>7}  {ok}",
            row.series,
            row.x,
            row.metric,
            row.value.map_or("-".to_owned(), number),
            row.unit,
            row.paper.map(number).unwrap_or_default(),
        );
    }
    if left_out > 0 {
        let _ = writeln!(text, "  and {left_out} rows more: see --json or --html");
    }
}
