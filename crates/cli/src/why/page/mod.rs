//! The page of `redpoll why --html`: the map, and for each slowed connection its segments over time
//! with the causes marked, the remedies, and the same traffic simulated with each remedy.

mod map;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use redpoll_experiments::page::{Fit, Look, Range, Sequence, Shades, escape, opening, today};

use super::causes::Finding;
use super::flow::Flow;
use super::simulate::{Comparison, Simulated};
use super::{Seen, Told, WhyArgs, tell};
use crate::FAILED;
use crate::output::{fail, is_standard, print};

/// Maximum number of connections on the page. First comes the connection to which a single cause of
/// slowness has cost the most time.
const FLOWS: usize = 6;
/// Maximum number of a connection's causes that have plots.
const CAUSES: usize = 3;
/// Time shown before an event, as a multiple of the event's duration; the same time is shown after
/// the event.
const AROUND: f64 = 2.0;
/// Shortest time that a plot of one event shows, in seconds.
const CLOSE_MIN_S: f64 = 1.0;

/// Writes the page. Returns the program's exit code if it cannot be written.
pub fn write(path: &Path, args: &WhyArgs, seen: &Seen, told: &[Vec<Told>]) -> Result<(), ExitCode> {
    let page = render(args, seen, told);
    let written = if is_standard(path) {
        print(&page)
    } else {
        std::fs::write(path, page)
    };
    written.map_err(|error| {
        let name = if is_standard(path) {
            "to standard output".to_owned()
        } else {
            path.display().to_string()
        };
        fail(FAILED, format!("cannot write {name}: {error}"))
    })
}

fn render(args: &WhyArgs, seen: &Seen, told: &[Vec<Told>]) -> String {
    let name = args.file.display().to_string();
    let mut page = opening(&format!("Why TCP is slow: {name}"));
    let mut all: Vec<(&Flow, &[Told])> = seen
        .flows
        .iter()
        .zip(told.iter().map(Vec::as_slice))
        .collect();
    let cost = |told: &[Told]| told.iter().map(|it| it.finding.tally.cost_us).max();
    all.sort_by_key(|(_, told)| std::cmp::Reverse(cost(told)));
    let _ = writeln!(
        page,
        "<p class=\"big\"><strong>{}</strong></p>",
        escape(&headline(&all))
    );
    let _ = writeln!(
        page,
        "<p>{} frames, {} connection{}.</p>",
        seen.frames,
        seen.flows.len(),
        if seen.flows.len() == 1 { "" } else { "s" }
    );
    let ends = all.first().map(|(flow, _)| flow.main().near);
    if let Some(map) = map::svg(&seen.links, ends.flatten()) {
        let _ = writeln!(
            page,
            "<h2>Links</h2>\n<p>The map shows the links with at least a hundredth of the frames of \
             the busiest link. A wider line carries more frames. The number is the share of a \
             link's transmission attempts that failed; links above 20 % are red. The map does not \
             show the positions of the nodes, because a capture does not contain them.</p>\n{map}"
        );
    }
    for (flow, told) in all.iter().take(FLOWS) {
        connection(&mut page, flow, told);
    }
    if all.len() > FLOWS {
        let _ = writeln!(
            page,
            "<p>This page leaves out {} more connections; the text output of <code>redpoll \
             why</code> shows them.</p>",
            all.len() - FLOWS
        );
    }
    let _ = writeln!(
        page,
        "<p class=\"soft\">Written by Redpoll {} on {}.</p>\n</body></html>",
        env!("CARGO_PKG_VERSION"),
        today()
    );
    page
}

fn headline(all: &[(&Flow, &[Told])]) -> String {
    match all.first() {
        None => "No TCP connection was found.".to_owned(),
        Some((_, [])) => "No known cause found.".to_owned(),
        Some((_, [worst, ..])) => format!(
            "The main cause is {}: it cost {:.0} % of the time with data in flight.",
            worst.finding.cause.title(),
            100.0 * worst.finding.share
        ),
    }
}

fn connection(page: &mut String, flow: &Flow, told: &[Told]) {
    let [first, second] = flow.ends.map(|end| format!("[{}]:{}", end.addr, end.port));
    let _ = writeln!(
        page,
        "<h2>{} and {}</h2>\n<p>{}</p>",
        escape(&first),
        escape(&second),
        escape(&tell::summary(flow, &[]))
    );
    if told.is_empty() {
        page.push_str("<p>No known cause found.</p>\n<div class=\"charts\">\n");
        let findings: [&Finding; 0] = [];
        let _ = writeln!(
            page,
            "<div>{}</div></div>",
            whole(flow, &findings, None, "captured").svg(Fit::Page)
        );
        return;
    }
    for (at, told) in told.iter().enumerate() {
        cause(page, at, flow, told);
    }
}

fn cause(page: &mut String, at: usize, flow: &Flow, told: &Told) {
    let finding = &told.finding;
    let _ = write!(
        page,
        "<div class=\"miss\"><p><strong>{}. {}</strong>, {:.0} % of the time with data in \
         flight</p><p>{}.</p><p>Remedy: {}.</p>",
        at + 1,
        escape(finding.cause.title()),
        100.0 * finding.share,
        escape(&finding.seen),
        escape(finding.remedy)
    );
    let both = match &told.simulated {
        Some(Ok(both)) => Some(both),
        Some(Err(problem)) => {
            let _ = write!(page, "<p>Not simulated: {}</p>", escape(problem));
            None
        }
        None => None,
    };
    if let Some(both) = both {
        gain(page, both);
    }
    page.push_str("</div>\n");
    if at >= CAUSES {
        return;
    }
    let remedied = both.and_then(|both| both.remedied.flow.as_ref());
    page.push_str("<div class=\"charts\">\n");
    for plot in plots(flow, finding, remedied) {
        let _ = writeln!(page, "<div>{}</div>", plot.svg(Fit::Page));
    }
    page.push_str("</div>\n");
}

/// Writes the goodput of both simulations and their commands.
fn gain(page: &mut String, both: &Comparison) {
    let Comparison { captured, remedied } = both;
    let _ = write!(
        page,
        "<p>Simulated: <strong>{:.1} kb/s</strong> with the cause, <strong>{:.1} kb/s</strong> with \
         the remedy.</p><details><summary>Commands</summary>",
        captured.goodput_kbps, remedied.goodput_kbps
    );
    for (what, Simulated { command, .. }) in
        [("with the cause", captured), ("with the remedy", remedied)]
    {
        let _ = write!(
            page,
            "<p>{what}:</p><pre tabindex=\"0\">{}</pre>",
            escape(command)
        );
    }
    page.push_str("</details>");
}

/// Returns the plots of a cause: the captured connection, the same traffic with the remedy at the
/// same scale, and the event that cost the most time.
fn plots(flow: &Flow, finding: &Finding, remedied: Option<&Flow>) -> Vec<Sequence> {
    let mut captured = whole(
        flow,
        &[finding],
        finding.side,
        "captured: sequence number (bytes)",
    );
    let mut plots = Vec::new();
    let close = closest(&captured, flow, finding);
    if let Some(remedied) = remedied {
        let mut simulated = whole(
            remedied,
            &[],
            None,
            "simulated with the remedy: sequence number (bytes)",
        );
        simulated.t = captured.t;
        let visible = simulated.sent.iter().filter(|it| it.t <= captured.t.1);
        let most = visible
            .map(|it| it.until)
            .fold(captured.most.unwrap_or(1.0), f64::max);
        captured.most = Some(most);
        simulated.most = Some(most);
        plots.push(captured);
        plots.push(simulated);
    } else {
        plots.push(captured);
    }
    plots.extend(close);
    plots
}

/// Returns the plot of a flow's direction from its start to its end.
fn whole(flow: &Flow, findings: &[&Finding], side: Option<usize>, title: &str) -> Sequence {
    let [first, second] = &flow.halves;
    let busier = usize::from(second.bytes > first.bytes);
    let Some(traces) = &flow.traces else {
        return Sequence::default();
    };
    let trace = &traces[side.unwrap_or(busier)];
    let start_us = flow.start_us;
    let s = |us: u64| us.saturating_sub(start_us) as f64 / 1e6;
    let ranges = |is_again: bool| {
        let sent = trace.sent.iter().filter(|it| it.is_again == is_again);
        let ranges = sent.map(|it| Range {
            t: s(it.at_us),
            from: f64::from(it.from),
            until: f64::from(it.from) + f64::from(it.len),
        });
        ranges.collect::<Vec<_>>()
    };
    let shades = findings.iter().map(|finding| Shades {
        name: finding.cause.title().to_owned(),
        look: Look::nth(4, 0),
        times: finding
            .tally
            .kept
            .iter()
            .map(|event| {
                let [a, b] = event.frames.map(|place| place.start_us);
                let from = a.min(b);
                (s(from), s(a.max(b).max(from + event.cost_us)))
            })
            .collect(),
    });
    let last = trace.sent.last().map_or(0.0, |sent| s(sent.at_us));
    let acked = trace.acked.last().map_or(0.0, |acked| s(acked.0));
    Sequence {
        title: title.to_owned(),
        sent: ranges(false),
        again: ranges(true),
        acked: trace
            .acked
            .iter()
            .map(|(at, acked)| (s(*at), f64::from(*acked)))
            .collect(),
        shades: shades.collect(),
        t: (0.0, last.max(acked).max(0.1)),
        most: Some(f64::from(trace.most().max(1))),
    }
}

/// Returns the plot around the event of a cause that cost the most time.
fn closest(captured: &Sequence, flow: &Flow, finding: &Finding) -> Option<Sequence> {
    let s = |us: u64| us.saturating_sub(flow.start_us) as f64 / 1e6;
    let mut events = finding.tally.kept.iter().map(|event| {
        let [a, b] = event.frames;
        (
            a,
            b,
            s(a.start_us.min(b.start_us)),
            s(a.start_us.max(b.start_us)),
        )
    });
    let (a, b, from, until) = events.find(|it| it.3 <= captured.t.1)?;
    let room = (AROUND * (until - from)).max(CLOSE_MIN_S / 2.0);
    Some(Sequence {
        title: format!(
            "captured frames {} and {}: sequence number (bytes)",
            a.number, b.number
        ),
        t: ((from - room).max(0.0), until + room),
        most: None,
        ..captured.clone()
    })
}
