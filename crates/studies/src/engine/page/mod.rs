//! The HTML page of a study: every figure plotted, with the paper's numbers
//! drawn in, and its rows.

mod axis;
mod chart;

use std::fmt::Write as _;

use crate::{Figure, Kind, Row, Study, VERDICT, X};

use chart::chart;

/// A style sheet that needs nothing from elsewhere.
const STYLE: &str = "
body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.6rem 0 .4rem; }
p { max-width: 46rem; } nav a { margin-right: .8em; white-space: nowrap; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
svg { font: 12px system-ui, sans-serif; background: #fff; }
table { border-collapse: collapse; font-size: 13px; margin-top: .6rem; }
th, td { padding: .15rem .7rem .15rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid #e3e6ea; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.yes { color: #116329; } .no { color: #b42318; font-weight: 600; }
th, td:first-child, td:nth-child(2) { white-space: nowrap; }
td:nth-child(3) { min-width: 15rem; }
summary { cursor: pointer; margin-top: .5rem; } small { color: #57606a; }
";

/// The page of `study` with these figures, each with its rows.
pub fn render(study: &Study, figures: &[(&Figure, Vec<Row>)], seeds: u64) -> String {
    let mut page = String::new();
    let title = format!("{}, run again", study.name);
    let judged = || {
        figures
            .iter()
            .flat_map(|(_, rows)| rows)
            .filter(|row| row.kind == Kind::Reproduces)
            .filter_map(|row| row.ok)
    };
    let (all, held) = (judged().count(), judged().filter(|ok| *ok).count());
    let _ = write!(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n\
         <p>{}</p>\n<p>Simulated by Redpoll with {seeds} seeds a point. Lines and dots are means \
         over the seeds, whiskers their least and greatest; diamonds are the paper's numbers. \
         <strong>{held} of {all} reproductions hold.</strong></p>\n<nav>",
        escape(study.citation)
    );
    for (figure, rows) in figures {
        let missed = rows.iter().any(|row| row.ok == Some(false));
        let class = if missed { "no" } else { "yes" };
        let name = figure.name;
        let _ = write!(page, "<a class=\"{class}\" href=\"#{name}\">{name}</a> ");
    }
    page.push_str("</nav>\n");
    for (figure, rows) in figures {
        section(&mut page, figure, rows);
    }
    page.push_str("</body></html>\n");
    page
}

fn section(page: &mut String, figure: &Figure, rows: &[Row]) {
    let _ = write!(
        page,
        "<h2 id=\"{name}\">{name}: {}</h2>\n<p>{}</p>\n<div class=\"charts\">\n",
        escape(figure.title),
        escape(&match figure.is_aside {
            true => format!("Beside the study. {}", figure.about),
            false => figure.about.to_owned(),
        }),
        name = figure.name,
    );
    let mut metrics: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| row.x != X::None) {
        if !metrics.contains(&row.metric) {
            metrics.push(row.metric);
        }
    }
    for metric in metrics {
        let of_metric: Vec<&Row> = rows
            .iter()
            .filter(|row| row.metric == metric && row.x != X::None)
            .collect();
        page.push_str(&chart(figure, &of_metric));
    }
    page.push_str("</div>\n");
    let (judged, others): (Vec<&Row>, Vec<&Row>) = rows
        .iter()
        .partition(|row| row.ok.is_some() || row.x == X::None);
    table(page, &judged);
    if !others.is_empty() {
        let _ = writeln!(
            page,
            "<details><summary>{} more number{}</summary>",
            others.len(),
            if others.len() == 1 { "" } else { "s" }
        );
        table(page, &others);
        page.push_str("</details>\n");
    }
}

fn table(page: &mut String, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    page.push_str(
        "<table><tr><th>series<th>x<th>metric<th>measured<th>least to greatest<th>paper<th>holds<th>criterion, remarks</tr>\n",
    );
    for row in rows {
        let (class, word) = match row.ok {
            Some(true) => ("yes", "yes"),
            Some(false) => ("no", "NO"),
            None => ("", ""),
        };
        let spread = match (row.low, row.high) {
            (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
            _ => String::new(),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}<td>{}<td>{}<td class=\"n\">{} {}<td class=\"n\">{spread}<td class=\"n\">{}\
             <td class=\"{class}\">{word}<td><small>{}</small></tr>",
            escape(&row.series),
            escape(&row.x.to_string()),
            escape(row.metric),
            row.value.map(number).unwrap_or_default(),
            row.unit,
            row.paper.map(number).unwrap_or_default(),
            escape(&row.note),
        );
    }
    page.push_str("</table>\n");
}

/// A number with as many digits as it is worth.
pub fn number(value: f64) -> String {
    let digits = match value.abs() {
        v if v == v.trunc() && v < 1e9 => 0,
        v if v >= 1_000.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// Where a row stands: series, place on the first axis, and what it is.
pub fn place(row: &Row) -> String {
    let parts = [row.series.as_str(), &row.x.to_string(), row.metric].map(str::to_owned);
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|part| !part.is_empty() && part != VERDICT)
        .collect();
    parts.join(", ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
