//! TAiM, FQ-CoDel and TAiM's successor at the border router.

use super::probes::{Progress, Steps};
use super::read::{
    DURATION, MAX_MIN, TOGETHER, duration, fair_from, jain, jain_of_line, line_rates, max_min,
    together, wait,
};
use super::scenes::{AtBorder, FLOWS, Testbed, line, line_of_one_segment};
use crate::vocabulary::read::JAIN;
use redpoll_experiments::{At, Case, Figure, Handle, Metric, Reading, Run, X};

const SLOWEST: Metric = Metric::new("throughput of the slowest flow", "B/s");
const WAIT: Metric = Metric::new(
    "mean time for which packets wait at the border router",
    "ms",
);
const TO_95: Metric = Metric::new("time until Jain's index stays at 0.95 or above", "s");
const TO_99: Metric = Metric::new("time until Jain's index stays at 0.99 or above", "s");
/// Times at which the figure shows Jain's index, in seconds.
const SECONDS: [u32; 8] = [5, 10, 20, 30, 60, 90, 120, 180];

type Read = fn(&Run) -> Reading;

/// Shows the line of four hops and testbed-1 with each rule at the border router.
pub fn border() -> Figure {
    let mut figure = Figure::new("border", "TAiM, FQ-CoDel, and TAiM with the policy `lead`")
        .x_label("seconds since the flows started")
        .about(
            "The border router forwards each packet immediately (`without`), or when one of five \
             mechanisms permits it. These are TAiM, TAiM with `taim.policy = \"lead\"`, deficit \
             round robin (DRR) behind a shaper, FQ-CoDel behind the same shaper, and FQ-CoDel \
             alone. The shaper releases one packet every D_init (the initial value of TAiM's delay between \
             two packets). The scenes are a line of four hops and testbed-1. On the line, the nodes run \
             Redpoll's TCP, or a TCP with one segment of 38 bytes in flight. There, Jain's index is \
             computed from the bytes that each node has delivered since the start. On testbed-1, \
             the nodes run Redpoll's TCP or BLIP's.",
        )
        .aside();
    of_line(&mut figure, "Redpoll's TCP", line(), "redpoll");
    of_line(&mut figure, "one segment", line_of_one_segment(), "segment");
    of_testbed(&mut figure, "BLIP", Testbed::One.tcp(), "blip");
    of_testbed(
        &mut figure,
        "Redpoll's TCP",
        super::redpoll::ours(),
        "redpoll",
    );
    figure
}

struct OnLine {
    jain: Handle,
    to_95: Handle,
    together: Handle,
    slowest: Handle,
}

fn of_line(figure: &mut Figure, who: &str, case: Case, word: &str) {
    let rules = AtBorder::ALL.map(|rule| {
        let series = format!("{}, {who}", rule.name());
        let case = rule.of(case.clone()).probe(Steps { flows: FLOWS });
        let at_second = |_: &Run, found: &Progress, seconds| jain_of_line(found, seconds);
        figure.seen_line(&series, JAIN, &case, SECONDS, at_second);
        let mut seen = |metric, read: fn(&Run, &Progress) -> Reading| {
            let at = At::new(series.as_str(), X::None);
            figure.seen(at, metric, &case, read).handle()
        };
        let end = Metric::new("Jain's index at the end", "");
        let line = OnLine {
            jain: seen(end, |_, found| jain_of_line(found, 180)),
            to_95: seen(TO_95, |_, found| fair_from(found, 0.95)),
            together: seen(TOGETHER, |run, _| Ok(line_rates(run)?.0)),
            slowest: seen(SLOWEST, |run, _| Ok(line_rates(run)?.1)),
        };
        seen(TO_99, |_, found| fair_from(found, 0.99));
        seen(WAIT, |run, _| wait(run));
        line
    });
    let [without, _, _, fq_codel, _, lead] = &rules;
    let mut judge = |what: &'static str, of: &[Handle], make: Make, id: &str| {
        let place = At::new(format!("{who}, line"), "verdict");
        let entry = figure.made_of_all(place, Metric::new(what, ""), of, make);
        entry.judged(format!("line-{word}-{id}"));
    };
    judge(
        "Jain's index at the end, policy `lead`",
        &[lead.jain],
        only,
        "fair",
    );
    judge(
        "seconds until Jain's index stays at 0.95 or above, policy `lead`",
        &[lead.to_95],
        only,
        "soon",
    );
    let both = [lead.jain, fq_codel.jain];
    judge(
        "Jain's index, policy `lead` minus FQ-CoDel",
        &both,
        less,
        "over-fq-codel",
    );
    let both = [lead.slowest, without.slowest];
    judge(
        "throughput of the slowest flow, ratio policy `lead` / no policy",
        &both,
        over,
        "slowest",
    );
    let both = [lead.together, without.together];
    judge(
        "throughput of all flows, ratio policy `lead` / no policy",
        &both,
        over,
        "together",
    );
}

/// Computes a verdict from one number or from two numbers.
type Make = fn(&[f64]) -> f64;

fn only(all: &[f64]) -> f64 {
    all[0]
}

fn less(both: &[f64]) -> f64 {
    both[0] - both[1]
}

fn over(both: &[f64]) -> f64 {
    both[0] / both[1]
}

fn of_testbed(figure: &mut Figure, who: &str, case: Case, word: &str) {
    let metrics: [(Metric, Read); 5] = [
        (JAIN, jain),
        (TOGETHER, together),
        (MAX_MIN, max_min),
        (DURATION, duration),
        (WAIT, wait),
    ];
    let rules = AtBorder::ALL.map(|rule| {
        let series = format!("{}, {who}, testbed-1", rule.name());
        let case = rule.of(case.clone());
        metrics.map(|(metric, read)| {
            let at = At::new(series.as_str(), X::None);
            figure.point(at, metric, &case, read).handle()
        })
    });
    let [without, taim, _, fq_codel, _, lead] = &rules;
    let mut judge = |what: &'static str, of: &[Handle], make: Make, id: &str| {
        let place = At::new(format!("{who}, testbed-1"), "verdict");
        let entry = figure.made_of_all(place, Metric::new(what, ""), of, make);
        entry.judged(format!("testbed-{word}-{id}"));
    };
    judge("Jain's index, policy `lead`", &[lead[0]], only, "fair");
    let beside = [lead[0], fq_codel[0]];
    judge(
        "Jain's index, policy `lead` minus FQ-CoDel",
        &beside,
        less,
        "over-fq-codel",
    );
    judge(
        "Jain's index, policy `lead` minus TAiM",
        &[lead[0], taim[0]],
        less,
        "over-taim",
    );
    judge(
        "throughput of all nodes, ratio policy `lead` / no policy",
        &[lead[1], without[1]],
        over,
        "together",
    );
}
