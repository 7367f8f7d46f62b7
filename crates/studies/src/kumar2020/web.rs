//! HTTP and CoAP servers on a sleepy leaf: the paper's sections 8.1.1 and 8.1.2.

use super::scenes::{Speaks, paper, web};
use crate::Criterion::{AtLeast, AtMost, Between};
use crate::{Case, Fact, Figure, Point, Run, Table};

const LATENCY: (&str, &str) = ("latency", "ms");
const P95: (&str, &str) = ("latency, 95th percentile", "ms");

/// The median time of a request, ms.
pub fn latency(run: &Run) -> Option<f64> {
    run.flow("get", "/requests/latency_ms/p50")
}

fn p95(run: &Run) -> Option<f64> {
    run.flow("get", "/requests/latency_ms/p95")
}

/// Requests answered, of those answered and failed, in percent.
fn answered(run: &Run) -> Option<f64> {
    let of = |what: &str| run.flow("get", &format!("/requests/{what}"));
    let (answered, failed) = (of("answered")?, of("failed")?);
    Some(100.0 * answered / (answered + failed))
}

/// What is compared.
pub const PROTOCOLS: [(&str, Speaks); 2] = [("HTTP", Speaks::Http), ("CoAP", Speaks::Coap)];

/// How the leaf sleeps.
const ALWAYS_ON: &str = "always on";
const ONE_SECOND: &str = "1 s";
const ADAPTIVE: &str = "1 s, adaptive";

fn sleep(case: Case, how: &str) -> Case {
    let case = case
        .set("poll.base_interval", "1 s")
        .set("duration", "900 s");
    match how {
        ALWAYS_ON => case.set("nodes.leaf-15.sleepy", "false"),
        ONE_SECOND => case.set("poll.policy", "base"),
        _ => case,
    }
}

/// Without `poll.interval`, which `base` has no use for.
fn link(case: Case, how: &str) -> Case {
    let case = paper(case);
    match how {
        ONE_SECOND => Case {
            changes: case
                .changes
                .into_iter()
                .filter(|(key, _)| key != "poll.interval")
                .collect(),
            ..case
        },
        _ => case,
    }
}

/// HTTP with a leaf that sleeps a second, whatever TCP expects.
pub fn not_adaptive() -> Case {
    sleep(link(web(Speaks::Http, 82), ONE_SECOND), ONE_SECOND)
}

/// The same with a leaf that asks every 100 ms while TCP expects something.
pub fn adaptive() -> Case {
    sleep(link(web(Speaks::Http, 82), ADAPTIVE), ADAPTIVE)
}

/// Fig. 7.
pub fn figure_7() -> Figure {
    let mut points = Vec::new();
    for how in [ALWAYS_ON, ONE_SECOND, ADAPTIVE] {
        for (name, speaks) in PROTOCOLS {
            let case = sleep(link(web(speaks, 82), how), how);
            points.push(Point::new((name, how), LATENCY, &case, latency));
            points.push(Point::new((name, how), P95, &case, p95));
            let own = sleep(web(speaks, 82), how);
            let beyond = format!("{name}, beyond");
            points.push(Point::new((beyond, how), LATENCY, &own, latency));
        }
    }
    let of = |how: &'static str| {
        move |table: &Table<'_>| table.ratio("latency", ("HTTP", how), ("CoAP", how))
    };
    let http = |table: &Table<'_>| table.ratio("latency", ("HTTP", ADAPTIVE), ("HTTP", ONE_SECOND));
    Figure {
        name: "7",
        title: "Latency of a request, 82 bytes",
        x_label: "how the server sleeps",
        about: "A client 12 ms behind the border router, a leaf three hops away; medians. The \
                paper: HTTP well below a second always on; with a sleep of 1 s it waits for a \
                whole interval more than CoAP, and polling every 100 ms once a SYN has come \
                makes the gap small.",
        points,
        facts: vec![
            Fact::shape(
                "HTTP always on, ms",
                |table| table.get("HTTP", ALWAYS_ON, "latency"),
                AtMost(1_000.0),
            ),
            Fact::shape("HTTP / CoAP, always on", of(ALWAYS_ON), AtLeast(1.0)),
            Fact::shape("HTTP / CoAP, 1 s", of(ONE_SECOND), AtLeast(1.7)),
            Fact::shape("HTTP / CoAP, 1 s, adaptive", of(ADAPTIVE), AtMost(1.5)),
            Fact::shape("HTTP, adaptive / not", http, AtMost(0.6)).paper(0.5),
            Fact::shape(
                "beyond: HTTP / CoAP, 1 s, adaptive",
                |table| {
                    table.ratio(
                        "latency",
                        ("HTTP, beyond", ADAPTIVE),
                        ("CoAP, beyond", ADAPTIVE),
                    )
                },
                AtMost(1.3),
            )
            .note("what Redpoll promises"),
            Fact::shape(
                "beyond: HTTP, adaptive / not",
                |table| {
                    table.ratio(
                        "latency",
                        ("HTTP, beyond", ADAPTIVE),
                        ("HTTP, beyond", ONE_SECOND),
                    )
                },
                AtMost(0.5),
            )
            .note("what Redpoll promises"),
        ],
    }
}

/// A leaf that asks every 100 ms in any case.
pub fn restless(case: Case) -> Case {
    case.set("poll.base_interval", "100 ms")
        .set("duration", "900 s")
}

const SIZES: [u32; 6] = [82, 512, 1_024, 2_048, 4_096, 8_192];

/// Fig. 8a.
pub fn figure_8a() -> Figure {
    let mut points = Vec::new();
    for bytes in SIZES {
        for (name, speaks) in PROTOCOLS {
            let case = restless(paper(web(speaks, bytes)));
            points.push(Point::new((name, bytes), LATENCY, &case, latency));
            points.push(Point::new(
                (name, bytes),
                ("answered", "%"),
                &case,
                answered,
            ));
            let own = restless(web(speaks, bytes));
            let beyond = format!("{name}, beyond");
            points.push(Point::new((beyond, bytes), LATENCY, &own, latency));
        }
    }
    let slope = |name: &'static str, table: &Table<'_>| {
        let rise = table.get(name, 8_192, "latency")? - table.get(name, 1_024, "latency")?;
        Some(rise / (8_192.0 - 1_024.0))
    };
    Figure {
        name: "8a",
        title: "Latency against the size of the response",
        x_label: "bytes",
        about: "A sleep interval of 100 ms; medians. The paper: HTTP has the larger fixed cost \
                and the smaller slope.",
        points,
        facts: vec![
            Fact::shape(
                "HTTP / CoAP, 82 bytes",
                |table| table.ratio("latency", ("HTTP", 82), ("CoAP", 82)),
                AtLeast(1.0),
            ),
            Fact::shape(
                "slope of HTTP / of CoAP",
                move |table| Some(slope("HTTP", table)? / slope("CoAP", table)?),
                AtMost(0.95),
            ),
        ],
    }
}

/// Fig. 8b.
pub fn figure_8b() -> Figure {
    let rate = |run: &Run| Some(50.0 * 1_024.0 * 8.0 / latency(run)?);
    let mut points = Vec::new();
    for (name, speaks) in PROTOCOLS {
        let long = |case: Case| {
            restless(case)
                .set("apps.get.interval", "120 s")
                .set("duration", "3600 s")
        };
        let case = long(paper(web(speaks, 50 * 1_024)));
        points.push(Point::new(
            ("testbed", name),
            ("goodput", "kb/s"),
            &case,
            rate,
        ));
        let own = long(web(speaks, 50 * 1_024));
        points.push(Point::new(
            ("beyond", name),
            ("goodput", "kb/s"),
            &own,
            rate,
        ));
    }
    let gain = |series: &'static str| {
        move |table: &Table<'_>| table.ratio("goodput", (series, "HTTP"), (series, "CoAP"))
    };
    Figure {
        name: "8b",
        title: "50 KiB from a leaf",
        x_label: "protocol",
        about: "Three hops, a sleep interval of 100 ms, CoAP in blocks of 512 bytes. The paper: \
                TCP is 40 % faster.",
        points,
        facts: vec![
            Fact::shape("TCP / CoAP", gain("testbed"), Between(1.2, 2.0)).paper(1.4),
            Fact::shape("beyond: TCP / CoAP", gain("beyond"), AtLeast(1.4))
                .note("what Redpoll promises"),
        ],
    }
}
