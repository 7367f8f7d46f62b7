//! The page of the cost by size: limits, logarithmic plots with slopes, and all rows.

use std::fmt::Write as _;

use redpoll_experiments::page::{Fit, Line, Look, Plot, escape, number, opening, today};
use serde_json::Value;

use super::point::{Load, Routing, Topology};

/// Largest allowed ratio of the greatest to the least cost per event, over all sizes of one kind of mesh.
const RATIO: f64 = 1.5;
/// Largest allowed memory of a node in KiB.
const KIB: f64 = 40.0;
/// Largest allowed set-up time of 10,000 nodes in seconds.
const SETUP_S: f64 = 10.0;
/// Number of nodes for which the set-up time is bounded.
const LARGE: u64 = 10_000;

/// A measured quantity: key of the rows, title, and factor to the unit of the title.
const QUANTITIES: [(&str, &str, f64); 5] = [
    ("ns_per_event", "processor time per event (ns)", 1.0),
    ("events_per_s", "events per second of processor time", 1.0),
    ("bytes_per_node", "memory per node (KiB)", 1.0 / 1_024.0),
    ("setup_s", "processor time to set up the mesh (s)", 1.0),
    (
        "simulated_s_per_s",
        "simulated seconds per second of processor time",
        1.0,
    ),
];

/// Rows of one kind of mesh, by number of nodes.
struct Series<'a> {
    name: String,
    look: Look,
    rows: Vec<&'a Value>,
}

impl Series<'_> {
    /// Returns pairs of the number of nodes and the value of `key`, if this value is positive.
    fn points(&self, key: &str, factor: f64) -> Vec<(f64, f64)> {
        let point = |row: &&Value| {
            let value = factor * row[key].as_f64()?;
            Some((row["built_nodes"].as_f64()?, value)).filter(|_| value > 0.0)
        };
        self.rows.iter().filter_map(point).collect()
    }
}

fn series(rows: &[Value]) -> Vec<Series<'_>> {
    let mut all = Vec::new();
    for (index, topology) in Topology::ALL.iter().enumerate() {
        let mut variant = 0;
        for routing in Routing::ALL {
            for load in Load::ALL {
                let own = rows.iter().filter(|row| {
                    row["topology"] == topology.name()
                        && row["routing"] == routing.name()
                        && row["load"] == load.name()
                });
                all.push(Series {
                    name: format!("{}, {}, {}", topology.name(), routing.name(), load.name()),
                    look: Look::nth(index, variant),
                    rows: own.collect(),
                });
                variant += 1;
            }
        }
    }
    all.retain(|series| !series.rows.is_empty());
    all
}

/// Returns the slope of the least-squares line of the points' logarithms; `None` for a single x.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logs.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|it| it.0), mean(&|it| it.1));
    let variance: f64 = logs.iter().map(|it| (it.0 - x).powi(2)).sum();
    let covariance: f64 = logs.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    (variance > 1e-9).then(|| covariance / variance)
}

/// A limit, and the greatest measured value of the limited quantity.
struct Verdict {
    what: String,
    bound: f64,
    unit: &'static str,
    /// The greatest value with its mesh; `None` if nothing was measured.
    worst: Option<(f64, String)>,
}

impl Verdict {
    fn holds(&self) -> Option<bool> {
        self.worst.as_ref().map(|(value, _)| *value <= self.bound)
    }
}

fn verdicts(rows: &[Value]) -> Vec<Verdict> {
    let all = series(rows);
    let worst =
        |values: &mut dyn Iterator<Item = (f64, String)>| values.max_by(|a, b| a.0.total_cmp(&b.0));
    let ratio = |series: &Series<'_>| {
        let costs = series.points("ns_per_event", 1.0);
        let costs = || costs.iter().map(|point| point.1);
        let (least, most) = (
            costs().fold(f64::INFINITY, f64::min),
            costs().fold(0.0, f64::max),
        );
        (costs().count() > 1).then(|| (most / least, series.name.clone()))
    };
    let mut verdicts = vec![Verdict {
        what: "highest processor time per event divided by the lowest, over all sizes of one kind of mesh"
            .to_owned(),
        bound: RATIO,
        unit: "",
        worst: worst(&mut all.iter().filter_map(ratio)),
    }];
    let mut sizes: Vec<u64> = rows
        .iter()
        .filter_map(|row| row["nodes"].as_u64())
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let named =
        |row: &Value, series: &Series<'_>| format!("{}, {} nodes", series.name, row["built_nodes"]);
    for size in sizes {
        let own = || {
            all.iter().flat_map(|series| {
                let rows = series.rows.iter().filter(|row| row["nodes"] == size);
                rows.map(move |row| (*row, series))
            })
        };
        let memory = |(row, series): (&Value, &Series<'_>)| {
            Some((
                row["bytes_per_node"].as_f64()? / 1_024.0,
                named(row, series),
            ))
        };
        verdicts.push(Verdict {
            what: format!("memory per node in a mesh of {size} nodes"),
            bound: KIB,
            unit: "KiB",
            worst: worst(&mut own().filter_map(memory)),
        });
        if size == LARGE {
            let setup = |(row, series): (&Value, &Series<'_>)| {
                Some((row["setup_s"].as_f64()?, named(row, series)))
            };
            verdicts.push(Verdict {
                what: format!("processor time to set up {size} nodes"),
                bound: SETUP_S,
                unit: "s",
                worst: worst(&mut own().filter_map(setup)),
            });
        }
    }
    verdicts
}

/// Returns the limits with the greatest measured values, as text.
pub fn verdicts_text(rows: &[Value]) -> String {
    let mut text = String::new();
    for verdict in verdicts(rows) {
        let Some((value, mesh)) = &verdict.worst else {
            continue;
        };
        let mark = match verdict.holds() {
            Some(true) => "holds",
            _ => "MISSED",
        };
        let _ = writeln!(
            text,
            "{mark}: {}: at most {} {} required, {} {} measured ({mesh})",
            verdict.what,
            number(verdict.bound),
            verdict.unit,
            number(*value),
            verdict.unit
        );
    }
    // An empty unit leaves two spaces; make them one.
    text.replace("  ", " ")
}

pub fn page(rows: &[Value]) -> String {
    let mut page = opening("Speed and memory of the simulator by mesh size");
    let _ = writeln!(
        page,
        "<p class=\"soft\">Measured by Redpoll {} on {}: {}.</p>\n<h2>Required figures</h2>\n\
         <table><tr><th>figure<th>required<th>greatest measured value<th>mesh</tr>",
        escape(env!("CARGO_PKG_VERSION")),
        today(),
        escape(&machine())
    );
    for verdict in verdicts(rows) {
        let (class, value, mesh) = match (&verdict.worst, verdict.holds()) {
            (Some((value, mesh)), holds) => {
                let class = if holds == Some(true) { "yes" } else { "no" };
                (class, number(*value), mesh.as_str())
            }
            (None, _) => ("soft", "-".to_owned(), "nothing was measured"),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}<td>≤ {} {}<td class=\"{class}\">{value} {}<td>{}</tr>",
            escape(&verdict.what),
            number(verdict.bound),
            verdict.unit,
            verdict.unit,
            escape(mesh)
        );
    }
    page.push_str("</table>\n");
    let all = series(rows);
    for (key, title, factor) in QUANTITIES {
        let lines = all.iter().map(|series| {
            let points = series.points(key, factor).into_iter();
            Line {
                name: series.name.clone(),
                look: series.look,
                points: points.map(|(nodes, value)| (nodes, Some(value))).collect(),
            }
        });
        let plot = Plot {
            title: title.to_owned(),
            x_label: "nodes".to_owned(),
            is_logarithmic: true,
            lines: lines.filter(|line| !line.points.is_empty()).collect(),
        };
        let _ = writeln!(page, "<h2>{}</h2>\n{}", escape(title), plot.svg(Fit::Page));
        page.push_str("<table><tr><th>mesh<th>slope</tr>\n");
        for series in &all {
            let points = series.points(key, factor);
            if let Some(slope) = slope(&points) {
                let _ = writeln!(page, "<tr><td>{}<td>{slope:.2}</tr>", escape(&series.name));
            }
        }
        page.push_str("</table>\n");
    }
    page.push_str(
        "<p>A slope of 0 means that the value does not depend on the number of nodes; a slope of 1 \
         means that the value is proportional to that number.</p>\n<h2>All rows</h2>\n\
         <pre tabindex=\"0\">",
    );
    for row in rows {
        let _ = writeln!(page, "{}", escape(&row.to_string()));
    }
    page.push_str("</pre>\n</body></html>\n");
    page
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split(':').nth(1)).map(str::trim);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or("unknown processor"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(nodes: u64, ns: f64, kib: f64, setup_s: f64) -> Value {
        json!({
            "topology": "grid", "routing": "rpl", "load": "busy", "nodes": nodes,
            "built_nodes": nodes, "finished": true, "ns_per_event": ns,
            "bytes_per_node": kib * 1_024.0, "setup_s": setup_s, "events_per_s": 1e9 / ns,
            "simulated_s_per_s": 3.0,
        })
    }

    #[test]
    fn a_bound_is_missed_by_the_worst_row() {
        let missed = |rows: &[Value]| -> Vec<String> {
            let verdicts = verdicts(rows).into_iter();
            let missed = verdicts.filter(|it| it.holds() == Some(false));
            missed.map(|it| it.what).collect()
        };
        let good = [row(10, 200.0, 30.0, 0.1), row(10_000, 290.0, 39.0, 9.0)];
        assert_eq!(missed(&good), [""; 0]);
        let bad = [row(10, 200.0, 41.0, 20.0), row(10_000, 310.0, 39.0, 11.0)];
        let missed = missed(&bad);
        assert_eq!(missed.len(), 3, "{missed:?}");
        assert!(
            missed[0].starts_with("highest processor time"),
            "{missed:?}"
        );
        assert_eq!(
            missed[1..],
            [
                "memory per node in a mesh of 10 nodes",
                "processor time to set up 10000 nodes"
            ]
        );
        let text = verdicts_text(&bad);
        assert_eq!(text.matches("MISSED").count(), 3, "{text}");
        assert_eq!(text.matches("holds").count(), 1, "{text}");
    }

    #[test]
    fn slopes_are_exponents() {
        let of = |exponent: f64| {
            let points = [10.0, 100.0, 1_000.0].map(|x: f64| (x, 3.0 * x.powf(exponent)));
            slope(&points).unwrap()
        };
        assert!((of(1.0) - 1.0).abs() < 1e-9 && (of(-0.5) + 0.5).abs() < 1e-9);
        assert_eq!(slope(&[(10.0, 1.0)]), None);
    }

    #[test]
    fn the_page_has_plots_and_leaves_unfinished_rows_out_of_them() {
        let mut rows = vec![row(10, 200.0, 30.0, 0.1), row(100, 220.0, 31.0, 0.2)];
        rows.push(json!({
            "topology": "grid", "routing": "rpl", "load": "busy", "nodes": 10_000,
            "finished": false, "limit_s": 1,
        }));
        let page = page(&rows);
        assert_eq!(page.matches("<svg").count(), QUANTITIES.len());
        assert!(page.contains("nothing was measured") && page.contains("&quot;limit_s&quot;:1"));
        assert!(page.contains("<td>grid, rpl, busy<td>0.04</tr>"), "{page}");
    }
}
