//! Event detection with four competing flows: the paper's section 8.3.

use super::scenes::{paper, readings, three_frames};
use crate::Criterion::{AtLeast, Between};
use crate::run::quantile;
use crate::{Case, Fact, Figure, Point, Run, Table};

/// Offered load of each flow in kb/s, and the interval of its readings of 82
/// bytes in ms.
const LOADS: [(f64, u32); 7] = [
    (1.0, 656),
    (2.0, 328),
    (4.0, 164),
    (6.0, 109),
    (8.0, 82),
    (12.0, 55),
    (16.0, 41),
];

const NAMES: [(&str, &str); 3] = [("TCP", "tcp"), ("CoAP", "coap"), ("CoCoA", "cocoa")];

fn case(transport: &'static str, interval_ms: u32) -> Case {
    three_frames(readings(transport, 1))
        .set("apps.readings.interval", format!("{interval_ms} ms"))
        .set("lowpan.red", "true")
        .set("duration", "1200 s")
}

/// The paper's RED; its thresholds are not known.
const PLAIN_RED: &[(&str, &str)] = &[
    ("lowpan.red_fair", "false"),
    ("lowpan.red_pause", "0 ms"),
    ("lowpan.red_weight", "2"),
    ("lowpan.red_min", "1"),
];

/// A quantile over all flows and intervals of 40 s, the first left out.
fn goodput(run: &Run, q: f64) -> Option<f64> {
    let mut all = Vec::new();
    for flow in run.flows("readings") {
        let intervals = flow.pointer("/readings/goodput_per_40s_kbps")?.as_array()?;
        all.extend(
            intervals
                .iter()
                .skip(1)
                .filter_map(serde_json::Value::as_f64),
        );
    }
    quantile(&all, q)
}

/// Jain's index of the flows' goodput: 1 if all have the same.
fn fairness(run: &Run) -> Option<f64> {
    let flows = run.flows("readings");
    let shares = crate::run::numbers(&flows, "/delivered_bytes");
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| {
        (sum + share, squares + share * share)
    });
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

fn points() -> Vec<Point> {
    let mut points = Vec::new();
    for (load, interval_ms) in LOADS {
        for (name, transport) in NAMES {
            let case = paper(case(transport, interval_ms)).with(PLAIN_RED);
            for (metric, q) in [
                ("median", 0.5),
                ("lower quartile", 0.25),
                ("upper quartile", 0.75),
            ] {
                let read = move |run: &Run| goodput(run, q);
                points.push(Point::new((name, load), (metric, "kb/s"), &case, read));
            }
            points.push(Point::new((name, load), JAIN, &case, fairness));
        }
        let own = case("tcp", interval_ms);
        let at = || ("TCP, beyond", load);
        let median = |run: &Run| goodput(run, 0.5);
        points.push(Point::new(at(), ("median", "kb/s"), &own, median));
        points.push(Point::new(at(), JAIN, &own, fairness));
    }
    points
}

const JAIN: (&str, &str) = ("Jain's index", "");

fn facts() -> Vec<Fact> {
    let full = |name: &'static str| {
        move |table: &Table<'_>| table.ratio("median", (name, 16.0), ("CoAP", 16.0))
    };
    let best = |table: &Table<'_>| {
        let all = LOADS
            .iter()
            .filter_map(|(load, _)| table.get("TCP", *load, "median"));
        all.reduce(f64::max)
    };
    vec![
        Fact::shape(
            "TCP, median / load at 1 kb/s",
            |table| table.get("TCP", 1.0, "median"),
            Between(0.95, 1.05),
        ),
        Fact::shape(
            "TCP, median / load at 16 kb/s",
            |table| Some(table.get("TCP", 16.0, "median")? / 16.0),
            Between(0.0, 0.8),
        )
        .note("it saturates"),
        Fact::shape(
            "TCP, median at 16 kb/s / greatest",
            move |table| Some(table.get("TCP", 16.0, "median")? / best(table)?),
            Between(0.7, 1.0),
        )
        .note("it falls only a little"),
        Fact::shape("TCP / CoAP at 16 kb/s", full("TCP"), Between(0.7, 1.4)),
        Fact::shape("CoCoA / CoAP at 16 kb/s", full("CoCoA"), Between(0.7, 1.4)),
        Fact::shape(
            "beyond: TCP, Jain's index at 16 kb/s",
            |table| table.get("TCP, beyond", 16.0, JAIN.0),
            AtLeast(0.98),
        )
        .note("what Redpoll promises: see red_fair and red_pause in docs/scenario.md"),
    ]
}

/// Fig. 12.
pub fn figure_12() -> Figure {
    Figure {
        name: "12",
        title: "Four competing flows",
        x_label: "offered load of each flow in kb/s",
        about: "Leaves 12 to 15 send readings to the server, RED with ECN at the relays, \
                3-frame segments, 20 minutes; goodput in intervals of 40 s over all flows. The \
                paper: goodput follows the load, then saturates and falls a little while the \
                quartiles widen; TCP, CoAP and CoCoA alike.",
        points: points(),
        facts: facts(),
    }
}
