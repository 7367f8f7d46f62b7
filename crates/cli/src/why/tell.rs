//! Prints the findings as text or as JSON.

use std::io::{self, Write};
use std::process::ExitCode;

use redpoll_base::Addr;
use serde_json::{Value, json};

use super::WhyArgs;
use super::causes::{self, Finding};
use super::flow::Flow;
use super::half::Half;
use super::segment::End;
use super::simulate::Simulated;
use super::{Seen, Told, air::Place};
use crate::FAILED;
use crate::output::{fail, is_closed_pipe, is_standard};

const WIDTH: usize = 96;

/// Prints the findings. Returns the program's exit code if the output cannot be written.
pub fn tell(args: &WhyArgs, seen: &Seen, told: &[Vec<Told>]) -> Result<(), ExitCode> {
    if let Some(path) = &args.json {
        let text = format!("{:#}\n", json(seen, told));
        if is_standard(path) {
            return write(text.as_bytes());
        }
        if let Err(error) = std::fs::write(path, text) {
            let problem = format!("cannot write {}: {error}", path.display());
            return Err(fail(FAILED, problem));
        }
    }
    write(text(args, seen, told).as_bytes())
}

fn write(bytes: &[u8]) -> Result<(), ExitCode> {
    match io::stdout().lock().write_all(bytes) {
        Err(error) if !is_closed_pipe(&error) => {
            let problem = format!("cannot write to standard output: {error}");
            Err(fail(FAILED, problem))
        }
        _ => Ok(()),
    }
}

fn text(args: &WhyArgs, seen: &Seen, told: &[Vec<Told>]) -> String {
    let mut lines = Vec::new();
    for (at, (flow, told)) in seen.flows.iter().zip(told).enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        about(flow, told, &mut lines);
    }
    if seen.flows.is_empty() {
        lines.push("No TCP connection was found.".to_owned());
    }
    if args.simulate && told.iter().all(Vec::is_empty) {
        lines.push("Nothing to simulate: no cause was found.".to_owned());
    }
    for (count, what) in [
        (seen.broken, "frames are broken or cut off"),
        (seen.malformed, "frames have no MAC header that can be read"),
        (
            seen.without_radio,
            "records contain no 802.15.4 frame and were skipped",
        ),
        (seen.secured, shut(args, seen)),
        (
            seen.beyond,
            "connections were left out, because the table of connections was full",
        ),
    ] {
        if count > 0 {
            lines.push(format!("{count} {what}."));
        }
    }
    if seen.acks == 0 && seen.frames > 0 {
        lines.push(
            "The capture has no link acknowledgements: losses on links cannot be detected."
                .to_owned(),
        );
    }
    lines.join("\n") + "\n"
}

/// Returns why secured frames were not decrypted.
fn shut(args: &WhyArgs, seen: &Seen) -> &'static str {
    match (args.network.keys.keys().is_given(), seen.opened) {
        (false, _) => {
            "frames are secured and were not decrypted: use --key, or --thread-key for Thread"
        }
        (true, 0) => {
            "frames are secured, and the given key decrypts none of them: check --key and --eui64"
        }
        (true, _) => {
            "frames are secured and could not be decrypted with the given key: check --eui64"
        }
    }
}

/// Returns the ends of a flow and its data in one line. Addresses of nodes in `nodes` are replaced
/// by their names.
pub fn summary(flow: &Flow, nodes: &[&str]) -> String {
    let name = |end: End| match short_address(end.addr).and_then(|at| nodes.get(at - 1)) {
        Some(name) => format!("{name}:{}", end.port),
        None => self::end(end),
    };
    let [first, second] = flow.ends;
    let [to_second, to_first] = &flow.halves;
    let (half, from, to) = if to_second.bytes >= to_first.bytes {
        (to_second, first, second)
    } else {
        (to_first, second, first)
    };
    format!("{} to {}: {}", name(from), name(to), carried(half, flow))
}

/// Returns the short address in the interface identifier of a simulated node (RFC 4944 §6).
fn short_address(addr: Addr) -> Option<usize> {
    let [a, b, c, d, e, f, high, low] = <[u8; 8]>::try_from(addr.octets().get(8..)?).ok()?;
    let at = usize::from(u16::from_be_bytes([high, low]));
    ([a, b, c, d, e, f] == [0, 0, 0, 0xff, 0xfe, 0] && at > 0).then_some(at)
}

fn about(flow: &Flow, told: &[Told], lines: &mut Vec<String>) {
    let [first, second] = flow.ends;
    lines.push(match flow.connections {
        1 => format!("{} <> {}", end(first), end(second)),
        more => format!(
            "{more} connections between {} and {}",
            first.addr,
            end(second)
        ),
    });
    let has_data = flow.halves.iter().any(|half| half.bytes > 0);
    for (half, to) in flow.halves.iter().zip([second, first]) {
        if half.bytes > 0 || !has_data && half.controls > 0 {
            lines.push(format!("  to {}: {}", end(to), carried(half, flow)));
        }
    }
    if told.is_empty() {
        lines.push("  No known cause was found.".to_owned());
        wrap(&below(flow), lines);
    }
    for (at, Told { finding, simulated }) in told.iter().enumerate() {
        let title = finding.cause.title();
        let cost = format!(
            "costs {} of the {} with data in flight ({:.0} %)",
            seconds(finding.tally.cost_us),
            seconds(flow.busy_us()),
            100.0 * finding.share
        );
        lines.push(format!("  {}. {title}: {cost}", at + 1));
        wrap(&finding.seen, lines);
        for event in finding.tally.shown() {
            let [a, b] = event.frames;
            let cost = seconds(event.cost_us);
            let shown = format!(
                "Example: {} and {}: this occurrence costs {cost}",
                frame(a),
                frame(b)
            );
            wrap(&shown, lines);
        }
        wrap(&format!("Remedy: {}.", finding.remedy), lines);
        match simulated {
            None => {}
            Some(Err(problem)) => wrap(&format!("Not simulated: {problem}"), lines),
            Some(Ok(both)) => {
                lines.push(run("Simulated with the cause", &both.captured));
                lines.push(run("Simulated with the remedy", &both.remedied));
            }
        }
    }
}

/// Returns the most costly cause among those that are not reported for a flow, and what to check
/// next.
fn below(flow: &Flow) -> String {
    let least = 100.0 * causes::NAMED_FROM;
    let most = match causes::below(flow) {
        None => "The capture shows none of the six causes.".to_owned(),
        Some(finding) => format!(
            "A cause is named if it costs at least {least:.0} % of the time with data in flight and \
             occurs at least {} times. The most costly of the other causes: {}, {} of the {} with \
             data in flight ({:.1} %), {}.",
            causes::TIMES_MIN,
            finding.cause.title(),
            seconds(finding.tally.cost_us),
            seconds(flow.busy_us()),
            100.0 * finding.share,
            counted(finding.tally.count, "occurrence"),
        ),
    };
    format!(
        "{most} Next, check what `why` does not look for: too many senders on one channel, full \
         queues, a timeout shorter than the round trip."
    )
}

fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

fn run(what: &str, simulated: &Simulated) -> String {
    let (rate, command) = (simulated.goodput_kbps, &simulated.command);
    format!("     {what}: {rate:.1} kb/s\n       {command}")
}

fn carried(half: &Half, flow: &Flow) -> String {
    let us = (flow.end_us - flow.start_us).max(1);
    let rtt = half.round_trips.median_us().map_or_else(String::new, |us| {
        format!(", median round-trip time on the air {}", seconds(us))
    });
    let controls = match half.controls {
        0 => String::new(),
        count => format!(" and {count} with only SYN or FIN"),
    };
    format!(
        "{} B in {} ({:.1} kb/s) over {}, {}{controls} (retransmissions among them: {}), largest \
         number of segments in flight: {}{rtt}",
        half.bytes,
        seconds(us),
        half.bytes as f64 * 8e3 / us as f64,
        counted(half.hops().into(), "hop"),
        counted(half.segments, "data segment"),
        half.again,
        half.most,
    )
}

fn frame(place: Place) -> String {
    format!(
        "frame {} at {:.3} s",
        place.number,
        place.start_us as f64 / 1e6
    )
}

fn seconds(us: u64) -> String {
    match us {
        0..1_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

fn end(end: End) -> String {
    format!("[{}]:{}", end.addr, end.port)
}

fn wrap(text: &str, lines: &mut Vec<String>) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.len() + 1 + word.len() > WIDTH - 5 {
            lines.push(format!("     {line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(format!("     {line}"));
}

fn json(seen: &Seen, told: &[Vec<Told>]) -> Value {
    let flows = seen.flows.iter().zip(told);
    json!({
        "frames": seen.frames,
        "broken": seen.broken,
        "malformed": seen.malformed,
        "without_radio": seen.without_radio,
        "secured": seen.secured,
        "opened": seen.opened,
        "link_acknowledgments": seen.acks,
        "other_datagrams": seen.others,
        "connections_left_out": seen.beyond,
        "flows": flows.map(|(flow, told)| flow_of(flow, told)).collect::<Vec<_>>(),
    })
}

fn flow_of(flow: &Flow, told: &[Told]) -> Value {
    json!({
        "ends": flow.ends.map(|it| json!({"address": it.addr.to_string(), "port": it.port})),
        "connections": flow.connections,
        "start_s": s(flow.start_us),
        "end_s": s(flow.end_us),
        "busy_s": s(flow.busy_us()),
        "directions": flow.halves.each_ref().map(direction),
        "causes": told.iter().map(cause).collect::<Vec<_>>(),
        "largest_below_threshold": causes::below(flow).as_ref().map(small),
    })
}

fn direction(half: &Half) -> Value {
    json!({
        "bytes": half.bytes,
        "hops": half.hops(),
        "mss": half.mss,
        "segments": half.segments,
        "control_segments": half.controls,
        "sent_again": half.again,
        "sent_again_though_arrived": half.needless,
        "most_in_flight": half.most,
        "busy_s": s(half.busy_us),
        "median_rtt_s": half.round_trips.median_us().map(s),
    })
}

fn small(finding: &Finding) -> Value {
    json!({
        "cause": finding.cause.name(),
        "direction": finding.side,
        "times": finding.tally.count,
        "cost_s": s(finding.tally.cost_us),
        "share": finding.share,
    })
}

fn cause(told: &Told) -> Value {
    let finding = &told.finding;
    let shown = finding.tally.shown().iter().map(|event| {
        json!({
            "frames": event.frames.map(|place| place.number),
            "cost_s": s(event.cost_us),
        })
    });
    json!({
        "cause": finding.cause.name(),
        "direction": finding.side,
        "times": finding.tally.count,
        "cost_s": s(finding.tally.cost_us),
        "share": finding.share,
        "seen": finding.seen,
        "remedy": finding.remedy,
        "evidence": shown.collect::<Vec<_>>(),
        "simulated": told.simulated.as_ref().map(|both| match both {
            Err(problem) => json!({"error": problem}),
            Ok(both) => json!({
                "captured": simulated(&both.captured),
                "remedied": simulated(&both.remedied),
            }),
        }),
    })
}

fn simulated(run: &Simulated) -> Value {
    json!({"command": run.command, "goodput_kbps": run.goodput_kbps})
}

fn s(us: u64) -> f64 {
    us as f64 / 1e6
}
