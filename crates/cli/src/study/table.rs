//! The rows of a study as text for people.

use std::fmt::Write as _;

use redpoll_experiments::page::number;
use redpoll_experiments::{Figure, Row};

pub fn render(told: &[(&Figure, Vec<Row>)]) -> String {
    let mut text = String::from("spread: least and greatest value of n seeds\n");
    for (figure, rows) in told {
        section(&mut text, figure, rows);
    }
    text.push('\n');
    text
}

fn section(text: &mut String, figure: &Figure, rows: &[Row]) {
    let _ = writeln!(text, "\n{}: {}", figure.name(), figure.title());
    let width = rows.iter().map(|row| row.series.chars().count()).max();
    let width = width.unwrap_or(0).clamp(6, 40);
    let wide_x = rows
        .iter()
        .map(|row| row.x.to_string().chars().count())
        .max();
    let wide_x = wide_x.unwrap_or(0).clamp(4, 24);
    let wide_metric = rows.iter().map(|row| row.metric.chars().count()).max();
    let wide_metric = wide_metric.unwrap_or(0).clamp(6, 44);
    let _ = writeln!(
        text,
        "  {:width$}  {:wide_x$}  {:wide_metric$}  {:>9} {:5}  {:>17}  {:>3} {:>7}  {:16}  {:10}  ok",
        "series", "x", "metric", "measured", "", "spread", "n", "paper", "expected", "kind"
    );
    for row in rows {
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
            "  {:width$}  {:wide_x$}  {:wide_metric$}  {:>9} {:5}  {spread:>17}  {:>3} {:>7}  {:16}  {:10}  {ok}",
            row.series,
            row.x,
            row.metric,
            row.value.map_or("-".to_owned(), number),
            row.unit,
            row.n,
            row.paper.map(number).unwrap_or_default(),
            row.band().map(|band| band.to_string()).unwrap_or_default(),
            row.kind.word(),
        );
    }
}
