//! Event detection with four competing flows (the paper's §8.3).

use super::scenes::{readings, three_frames};
use crate::vocabulary::profiles::tcplp;
use crate::vocabulary::read::{JAIN, fairness};
use redpoll_experiments::{At, Case, Figure, Gap, Metric, Reading, Run, quantile};

/// Offered load of each flow in kb/s, and the interval of its 82-byte readings in ms.
const LOADS: [(f64, u32); 6] = [
    (1.0, 656),
    (2.0, 328),
    (4.0, 164),
    (8.0, 82),
    (12.0, 55),
    (16.0, 41),
];

const MEDIAN: Metric = Metric::new("median goodput", "kb/s");
const LOWER: Metric = Metric::new("lower quartile of the goodput", "kb/s");
const UPPER: Metric = Metric::new("upper quartile of the goodput", "kb/s");

fn case(transport: &'static str, interval_ms: u32) -> Case {
    three_frames(readings(transport, 1))
        .set("apps.readings.interval", format!("{interval_ms} ms"))
        .set("lowpan.red", "true")
        .set("duration", "600 s")
}

/// The paper's random early detection, whose thresholds are unknown.
const PLAIN_RED: &[(&str, &str)] = &[
    ("lowpan.red_fair", "false"),
    ("lowpan.red_pause", "0 ms"),
    ("lowpan.red_weight", "2"),
    ("lowpan.red_min", "1"),
];

/// Returns a quantile of the goodput over all intervals of 40 s but the first of each flow.
fn goodput(run: &Run, q: f64) -> Reading {
    let mut all = Vec::new();
    for flow in run.flows("readings")? {
        let intervals = flow
            .pointer("/readings/goodput_per_40s_kbps")
            .and_then(serde_json::Value::as_array)
            .ok_or_else(|| {
                Gap::Unknown("a flow reports no goodput per interval of 40 s".to_owned())
            })?;
        all.extend(
            intervals
                .iter()
                .skip(1)
                .filter_map(serde_json::Value::as_f64),
        );
    }
    quantile(&all, q)
}

pub fn figure_12() -> Figure {
    let mut figure = Figure::new("12", "Four competing flows")
        .x_label("offered load of each flow in kb/s")
        .about(
            "Leaves 12 to 15 send readings to the server, RED with ECN at the relays, 3-frame \
             segments, 10 minutes; median and quartiles of the flows' goodput in intervals of \
             40 s. In the paper goodput follows the load, then saturates and falls a little while \
             the quartiles widen; TCP, CoAP and CoCoA behave alike.",
        );
    let jain = |run: &Run| fairness(run, "readings");
    let [tcp, coap, cocoa] =
        [("TCP", "tcp"), ("CoAP", "coap"), ("CoCoA", "cocoa")].map(|(name, transport)| {
            let cases =
                || LOADS.map(|(load, ms)| (load, tcplp(case(transport, ms)).with(PLAIN_RED)));
            let lower = figure.line(name, LOWER, cases(), |run| goodput(run, 0.25));
            let upper = figure.line(name, UPPER, cases(), |run| goodput(run, 0.75));
            let jain = figure.line(name, JAIN, cases(), jain);
            let median = figure.line(name, MEDIAN, cases(), |run| goodput(run, 0.5));
            figure.error_bars(&median, [&lower, &upper]);
            (median, [lower, upper], jain)
        });
    let ([tcp, coap, cocoa], [lower, upper], tcp_jain) = ([tcp.0, coap.0, cocoa.0], tcp.1, tcp.2);
    let at_most = LOADS[LOADS.len() - 1];
    let tail_drop = |transport| {
        tcplp(case(transport, at_most.1))
            .with(PLAIN_RED)
            .set("lowpan.red", "false")
    };
    let tail_drop = figure
        .point(
            At::new("TCP, tail drop", at_most.0),
            JAIN,
            &tail_drop("tcp"),
            jain,
        )
        .handle();
    let own = || LOADS.map(|(load, ms)| (load, case("tcp", ms)));
    figure.line("TCP, Redpoll", MEDIAN, own(), |run| goodput(run, 0.5));
    let own_jain = figure.line("TCP, Redpoll", JAIN, own(), jain);

    figure
        .of("TCP, median goodput / offered load, 1 kb/s", tcp.at(1.0))
        .note("only a collapse of the network could make this ratio much less than 1");
    figure
        .verdict(
            "TCP, median goodput / offered load, 16 kb/s",
            [tcp.at(16.0)],
            |[median]| median / 16.0,
        )
        .note("goodput saturates");
    figure
        .verdict_of_all(
            "TCP, median goodput at 16 kb/s / greatest median goodput",
            &tcp.all(),
            |medians| {
                let greatest = medians.iter().copied().fold(0.0, f64::max);
                medians.last().map_or(f64::NAN, |last| last / greatest)
            },
        )
        .judged("falls-little")
        .note("goodput falls only a little");
    figure
        .verdict(
            "TCP, interquartile range of the goodput, ratio 16 kb/s / 2 kb/s",
            [upper.at(16.0), lower.at(16.0), upper.at(2.0), lower.at(2.0)],
            |[upper, lower, upper_2, lower_2]| (upper - lower) / (upper_2 - lower_2),
        )
        .judged("quartiles-widen");
    figure
        .difference(
            "TCP, Jain's index at 16 kb/s, RED minus tail drop",
            tcp_jain.at(16.0),
            tail_drop,
        )
        .judged("red-less-tail-drop");
    figure
        .ratio(
            "median goodput at 16 kb/s, ratio TCP / CoAP",
            tcp.at(16.0),
            coap.at(16.0),
        )
        .judged("tcp-over-coap");
    figure
        .ratio(
            "median goodput at 16 kb/s, ratio CoCoA / CoAP",
            cocoa.at(16.0),
            coap.at(16.0),
        )
        .judged("cocoa-over-coap");
    figure
        .of(
            "Redpoll's node: TCP, Jain's index at 16 kb/s",
            own_jain.at(16.0),
        )
        .judged("redpoll-jain")
        .note(
            "in this row, the relays use `red_fair` and `red_pause` (docs/scenario.md); in the rows \
             with the paper's node, they do not",
        );
    figure
}
