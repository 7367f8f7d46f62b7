//! The page of a result, in one self-contained HTML file.

mod compared;
mod head;
mod sweep;

use std::fmt::Write as _;

use redpoll_experiments::page::{escape, number, opening};
use serde_json::Value;

use crate::folder::Files;
use crate::picture::{Fit, Picture, pictures};
use crate::report::{Problem, Report};

pub use compared::page_of_comparison;
pub use head::{Cause, Connection, Diagnosis};
pub use sweep::page_of_several;

const NODES: usize = 12;

/// Renders the page of the result with these files. `diagnosis` is the verdict about its capture,
/// if there is one, and `version` the program's version.
pub fn page(
    files: &Files,
    diagnosis: Option<&Diagnosis>,
    version: &str,
) -> Result<String, Problem> {
    let path = files.report.as_deref();
    let path = path.ok_or_else(|| {
        let series = files.series.clone().unwrap_or_default();
        let what = "contains only a series, and the page needs a report; allowed: a folder of \
            `redpoll run --result DIR`, or a file of `redpoll run --json FILE`";
        Problem::other(&series, what)
    })?;
    let report = Report::read(path)?;
    let mut page = opening(&format!("{}, seed {}", report.scenario(), report.seed()));
    head::write(&mut page, &report, diagnosis, version);
    flows(&mut page, &report);
    let pictures = pictures(files, &[], Fit::Page)?;
    let (mesh, plots): (Vec<_>, Vec<_>) = pictures.iter().partition(|it| it.name == "topology");
    let (bars, lines): (Vec<_>, Vec<_>) = plots
        .into_iter()
        .partition(|it| ["flows", "duty-cycle", "charge"].contains(&it.name));
    for (title, pictures) in [("Over time", lines), ("Totals", bars)] {
        if pictures.is_empty() {
            continue;
        }
        let _ = writeln!(page, "<h2>{title}</h2>");
        charts(&mut page, pictures);
    }
    if files.series.is_none() {
        page.push_str(
            "<p class=\"soft\">This result has no series: run with --result DIR to get plots over \
             time.</p>\n",
        );
    }
    for picture in mesh {
        let _ = writeln!(
            page,
            "<h2>Positions of the nodes</h2>\n<p>Square: border router; disks: routers; rings: \
             leaves; crosses: interferers. Each arrow points from a node to its parent at the end \
             of the run.</p>\n{}",
            picture.svg
        );
    }
    nodes(&mut page, &report);
    page.push_str("</body></html>\n");
    Ok(page)
}

fn charts<'a>(page: &mut String, pictures: impl IntoIterator<Item = &'a Picture>) {
    page.push_str("<div class=\"charts\">\n");
    for picture in pictures {
        let note = match picture.note.as_str() {
            "" => String::new(),
            note => format!("<br><small>{}</small>", escape(note)),
        };
        let _ = writeln!(page, "<div>{}{note}</div>", picture.svg);
    }
    page.push_str("</div>\n");
}

fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// Writes a table. Each head has a flag that marks a column of numbers.
fn table(page: &mut String, heads: &[(&str, bool)], rows: &[Vec<String>]) {
    page.push_str("<div class=\"scroll\" tabindex=\"0\"><table><tr>");
    for (head, is_number) in heads {
        let class = if *is_number { " class=\"n\"" } else { "" };
        let _ = write!(page, "<th{class}>{}", escape(head));
    }
    page.push_str("</tr>");
    for row in rows {
        page.push_str("\n<tr>");
        for (cell, (_, is_number)) in row.iter().zip(heads) {
            let class = if *is_number { "n" } else { "t" };
            let _ = write!(page, "<td class=\"{class}\">{}", escape(cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</table></div>\n");
}

/// Formats a number of an object, or a dash if it is missing.
fn shown(item: &Value, pointer: &str, scale: f64) -> String {
    let value = item.pointer(pointer).and_then(Value::as_f64);
    value.map_or("–".to_owned(), |value| number(value * scale))
}

fn name(item: &Value, key: &str) -> String {
    item[key].as_str().unwrap_or("–").to_owned()
}

fn flows(page: &mut String, report: &Report) {
    let rows = report.flows().iter().map(|flow| {
        let again = flow["retransmissions"].as_object();
        let again = again.into_iter().flat_map(|causes| causes.values());
        let again: u64 = again.filter_map(Value::as_u64).sum();
        vec![
            name(flow, "name"),
            format!("{} → {}", name(flow, "from"), name(flow, "to")),
            shown(flow, "/delivered_bytes", 1.0),
            shown(flow, "/goodput_kbps", 1.0),
            shown(flow, "/segments_sent", 1.0),
            again.to_string(),
            shown(flow, "/segment_loss", 100.0),
            shown(flow, "/rtt_ms/p50", 1.0),
            shown(flow, "/rtt_ms/p95", 1.0),
        ]
    });
    let heads = [
        ("flow", false),
        ("from → to", false),
        ("delivered (bytes)", true),
        ("goodput (kb/s)", true),
        ("segments sent", true),
        ("segments retransmitted", true),
        ("segments lost (%)", true),
        ("RTT p50 (ms)", true),
        ("RTT p95 (ms)", true),
    ];
    page.push_str("<h2>Flows</h2>\n");
    table(page, &heads, &rows.collect::<Vec<_>>());
}

fn nodes(page: &mut String, report: &Report) {
    let rows = report.nodes().iter().map(|node| {
        let drops = node["drops"].as_object();
        let drops = drops.into_iter().flatten();
        let drops: Vec<String> = drops.map(|(why, count)| format!("{why} {count}")).collect();
        vec![
            name(node, "name"),
            name(node, "role"),
            shown(node, "/hops", 1.0),
            name(node, "parent"),
            shown(node, "/frames_sent", 1.0),
            shown(node, "/frame_retries", 1.0),
            shown(node, "/radio_duty_cycle", 100.0),
            shown(node, "/energy/cpu_duty_cycle", 100.0),
            shown(node, "/energy/charge_mc", 1.0),
            shown(node, "/energy/battery_days", 1.0),
            drops.join(", "),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = [
        ("node", false),
        ("role", false),
        ("hops", true),
        ("parent", false),
        ("frames sent", true),
        ("frame retries", true),
        ("radio on (%)", true),
        ("processor on (%)", true),
        ("charge (mC)", true),
        ("battery (days)", true),
        ("drops by reason", false),
    ];
    page.push_str("<h2>Nodes</h2>\n");
    if rows.len() > NODES {
        let _ = write!(page, "<details><summary>all {} nodes</summary>", rows.len());
    }
    table(page, &heads, &rows);
    if rows.len() > NODES {
        page.push_str("</details>\n");
    }
}
