//! TAiM beside FQ-CoDel and its successor, at the same place.

use super::probes::{Progress, Steps};
use super::read::{
    DURATION, MAX_MIN, TOGETHER, duration, fair_from, jain, jain_of_line, line_rates, max_min,
    together, wait,
};
use super::scenes::{AtBorder, FLOWS, Testbed, line, line_of_blip};
use crate::engine::case::Case;
use crate::engine::figure::{Figure, Handle, Metric, X};
use crate::engine::run::{Reading, Run};
use crate::vocabulary::read::JAIN;

const SLOWEST: Metric = Metric::new("slowest flow", "B/s");
const WAIT: Metric = Metric::new("waited at the border router", "ms");
const TO_95: Metric = Metric::new("until the index is 0.95 and stays", "s");
const TO_99: Metric = Metric::new("until the index is 0.99 and stays", "s");
/// Steps at which Jain's index is shown.
const SECONDS: [u32; 8] = [5, 10, 20, 30, 60, 90, 120, 180];

/// One whole number of a run of the testbed.
type Read = fn(&Run) -> Reading;

/// The line of four hops, and testbed-1, with each rule at the border router.
pub fn border() -> Figure {
    let mut figure = Figure::new("border", "TAiM, FQ-CoDel and a limit on the lead")
        .x_label("seconds since all began")
        .about(
            "Who decides at the border router when a packet crosses it: nobody, TAiM, deficit \
             round robin and FQ-CoDel behind a shaper of TAiM's first delay, FQ-CoDel \
             alone, and `taim.policy = \"lead\"`. On a line of four hops, whose nodes all send, \
             and on testbed-1; with Redpoll's TCP, and with BLIP's one segment of 38 bytes. The \
             index is that of what each node has had since the beginning.",
        )
        .aside();
    of_line(&mut figure, "Redpoll", line(), "redpoll");
    of_line(&mut figure, "BLIP", line_of_blip(), "blip");
    of_testbed(&mut figure, "BLIP", Testbed::One.tcp(), "blip");
    of_testbed(&mut figure, "Redpoll", super::beyond::ours(), "redpoll");
    figure
}

/// What is read of a rule on the line.
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
            let at = (series.as_str(), X::None);
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
    let id = |what| format!("line-{word}-{what}");
    figure
        .of("Jain's index at the end, lead", lead.jain)
        .judged(id("fair"));
    figure
        .of("seconds until the index is 0.95, lead", lead.to_95)
        .judged(id("soon"));
    figure
        .difference("Jain's index, lead less FQ-CoDel", lead.jain, fq_codel.jain)
        .judged(id("over-fq-codel"));
    figure
        .ratio(
            "slowest flow, lead / without",
            lead.slowest,
            without.slowest,
        )
        .judged(id("slowest"));
    figure
        .ratio("all flows, lead / without", lead.together, without.together)
        .judged(id("together"));
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
            let at = (series.as_str(), X::None);
            figure.point(at, metric, &case, read).handle()
        })
    });
    let [without, taim, _, fq_codel, _, lead] = &rules;
    let id = |what| format!("testbed-{word}-{what}");
    figure.of("Jain's index, lead", lead[0]).judged(id("fair"));
    figure
        .difference("Jain's index, lead less FQ-CoDel", lead[0], fq_codel[0])
        .judged(id("over-fq-codel"));
    figure
        .difference("Jain's index, lead less TAiM", lead[0], taim[0])
        .judged(id("over-taim"));
    figure
        .ratio("all nodes, lead / without", lead[1], without[1])
        .judged(id("together"));
}
