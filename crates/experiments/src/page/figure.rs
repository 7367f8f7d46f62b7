//! A figure on the page: charts and judged rows. Side experiments, all numbers and the commands of
//! the cases are collapsed.

use std::fmt::Write as _;

use super::bullet::bullet;
use super::chart::chart;
use super::colours::Looks;
use super::html::{escape, number};
use super::{measured, place};
use crate::case::Case;
use crate::figure::{Figure, Origin, X};
use crate::row::Row;

pub fn section(page: &mut String, figure: &Figure, rows: &[Row], looks: &Looks) {
    let _ = write!(
        page,
        "<h3 id=\"{name}\">{name}: {}</h3>\n<p>{}</p>\n",
        escape(figure.title),
        escape(figure.about),
        name = figure.name,
    );
    let (aside, of_paper): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.told.is_aside);
    charts(page, figure, &of_paper, looks);
    let judged: Vec<&Row> = rows.iter().filter(|row| row.ok.is_some()).collect();
    if !judged.is_empty() {
        verdicts(page, &judged);
    }
    let shown: Vec<&Row> = of_paper
        .iter()
        .copied()
        .filter(|row| row.ok.is_none() && row.x == X::None)
        .collect();
    if !shown.is_empty() {
        numbers(page, &shown);
    }
    if !aside.is_empty() {
        page.push_str("<details><summary>side experiments</summary>\n");
        charts(page, figure, &aside, looks);
        let others: Vec<&Row> = aside.into_iter().filter(|row| row.ok.is_none()).collect();
        numbers(page, &others);
        page.push_str("</details>\n");
    }
    let _ = writeln!(
        page,
        "<details><summary>all {} numbers</summary>",
        rows.len()
    );
    numbers(page, &rows.iter().collect::<Vec<_>>());
    page.push_str("</details>\n");
    commands(page, figure, rows);
}

fn charts(page: &mut String, figure: &Figure, rows: &[&Row], looks: &Looks) {
    let is_charted = |row: &&&Row| row.x != X::None && !row.told.is_bar;
    let rows: Vec<&Row> = rows.iter().filter(is_charted).copied().collect();
    let mut metrics: Vec<&str> = Vec::new();
    for row in &rows {
        if !metrics.contains(&row.metric) {
            metrics.push(row.metric);
        }
    }
    if metrics.is_empty() {
        return;
    }
    page.push_str("<div class=\"charts\">\n");
    for metric in metrics {
        let of_metric: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|row| row.metric == metric)
            .collect();
        page.push_str(&chart(figure, &of_metric, looks));
    }
    page.push_str("</div>\n");
}

fn spread(row: &Row) -> String {
    match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => String::new(),
    }
}

fn paper(row: &Row) -> String {
    row.paper.map(number).unwrap_or_default()
}

fn verdicts(page: &mut String, rows: &[&Row]) {
    page.push_str(
        "<div class=\"scroll\" tabindex=\"0\"><table><tr><th><th>judged row<th \
         class=\"n\">measured<th class=\"n\">spread<th class=\"n\">seeds<th \
         class=\"n\">paper<th>expected<th></tr>\n",
    );
    for row in rows {
        let (class, mark) = match row.ok {
            Some(true) => ("yes", "✓"),
            _ => ("no", "✗"),
        };
        let says = row
            .told
            .says
            .as_ref()
            .map(|(says, section)| format!("“{}” ({}); ", escape(says), escape(section)));
        let _ = writeln!(
            page,
            "<tr><td class=\"{class}\">{mark}<td class=\"w\">{}<br><small>{}: {}{}</small>\
             <td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}\
             <td class=\"t\">{}<td class=\"b\">{}</tr>",
            escape(&place(row)),
            row.kind.word(),
            says.unwrap_or_default(),
            escape(&row.told.why),
            escape(&measured(row)),
            spread(row),
            row.n,
            paper(row),
            row.band().map(|band| band.to_string()).unwrap_or_default(),
            bullet(row)
        );
    }
    page.push_str("</table></div>\n");
}

fn numbers(page: &mut String, rows: &[&Row]) {
    page.push_str(
        "<div class=\"scroll\" tabindex=\"0\"><table><tr><th>series<th>position<th>metric<th class=\"n\">measured<th class=\"n\">spread\
         <th class=\"n\">seeds<th class=\"n\">paper<th class=\"n\">case<th>remarks</tr>\n",
    );
    for row in rows {
        let case = row.told.case.map(|case| (case + 1).to_string());
        let violation = row.violation.as_ref().map(|violation| {
            format!(
                "<strong class=\"no\">oracle: {}</strong> ",
                escape(violation)
            )
        });
        let _ = writeln!(
            page,
            "<tr><td class=\"t\">{}<td class=\"t\">{}<td>{}<td class=\"n\">{}<td class=\"n\">{}\
             <td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td><small>{}{}</small></tr>",
            escape(&row.series),
            escape(&row.x.to_string()),
            escape(row.metric),
            escape(&measured(row)),
            spread(row),
            row.n,
            paper(row),
            case.unwrap_or_default(),
            violation.unwrap_or_default(),
            escape(&row.note),
        );
    }
    page.push_str("</table></div>\n");
}

fn commands(page: &mut String, figure: &Figure, rows: &[Row]) {
    let mut cases: Vec<(&Case, Vec<String>)> = Vec::new();
    for (declared, row) in figure.rows.iter().zip(rows) {
        let (Origin::Runs(case, _), Some(index)) = (&declared.origin, row.told.case) else {
            continue;
        };
        if index == cases.len() {
            cases.push((case, Vec::new()));
        }
        if let Some((_, rows)) = cases.get_mut(index) {
            let place = format!("{} {}", row.series, row.x).trim().to_owned();
            if !rows.contains(&place) {
                rows.push(place);
            }
        }
    }
    if cases.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<details><summary>command of each case ({} case{})</summary><p class=\"soft\">A case \
         is a scenario with its settings; the column \"rows\" names the rows that use its runs. \
         The commands use seed 1; for the other seeds use --seed 2 and so on. Values that the \
         report of a run does not contain are computed by the study only.</p><div \
         class=\"scroll\" tabindex=\"0\"><table><tr><th>case<th>rows<th>command</tr>",
        cases.len(),
        if cases.len() == 1 { "" } else { "s" }
    );
    for (index, (case, rows)) in cases.iter().enumerate() {
        let shown = match rows.len() {
            0..=4 => rows.join("; "),
            more => format!("{}; and {} more", rows[..3].join("; "), more - 3),
        };
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{}<td>{}<td><code>{}</code></tr>",
            index + 1,
            escape(&shown),
            escape(&command(case))
        );
    }
    page.push_str("</table></div></details>\n");
}

/// Returns the command that runs a case with seed 1 in the folder of the page.
pub fn command(case: &Case) -> String {
    let mut text = format!("redpoll run scenes/{}.toml --seed 1", case.scene().name);
    for (key, value) in case.changes() {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || "._-:".contains(it);
        let quoted = if value.chars().all(is_plain) {
            format!("{key}={value}")
        } else {
            // No value contains a single quotation mark.
            format!("'{key}={value}'")
        };
        let _ = write!(text, " --set {quoted}");
    }
    text
}
