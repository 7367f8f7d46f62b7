//! The flows of a run: their transfers, readings and requests, and those that ended early.

use std::fmt::Write as _;

use redpoll_base::{Duration, Instant};
use redpoll_sim::{AppKind, AppSpec, FaultRule, FlowFigures, LatencyMs, Report, Scenario};

use super::columns::Table;
use super::{ROWS, more, percent};

/// Maximum number of listed flows that ended early or delivered nothing.
const TROUBLES: usize = 10;

/// Explains the columns of retransmissions.
const CAUSES: &str = "retransmitted segments by cause: rto (timeout), fast (fast retransmit), \
    tail (tail loss probe), link (reported by the link, or a smaller path MTU), probe (closed \
    window)\n";

pub(super) fn flows(text: &mut String, flows: &[FlowFigures]) {
    if flows.is_empty() {
        text.push_str("no flows\n");
        return;
    }
    let mut table = Table::new(&[
        "flow",
        "from",
        "to",
        "delivered",
        "goodput",
        "segments",
        "loss",
        "rto",
        "fast",
        "tail",
        "link",
        "probe",
        "RTT p50",
        "p95",
    ]);
    for flow in flows.iter().take(ROWS) {
        let again = &flow.retransmissions;
        let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.0} ms"));
        table.row(vec![
            flow.name.clone(),
            flow.from.clone(),
            flow.to.clone(),
            format!("{} B", flow.delivered_bytes),
            format!("{:.1} kb/s", flow.goodput_kbps),
            flow.segments_sent.to_string(),
            percent(flow.segment_loss),
            again.rto.to_string(),
            again.fast.to_string(),
            again.tail.to_string(),
            (again.link_lost + again.path_mtu).to_string(),
            again.probe.to_string(),
            ms(flow.rtt_ms.p50),
            ms(flow.rtt_ms.p95),
        ]);
    }
    table.render(text);
    more(text, flows.len(), ROWS, "flows");
    text.push_str(CAUSES);
    if flows.len() > 1 {
        let delivered: u64 = flows.iter().map(|flow| flow.delivered_bytes).sum();
        let sent: u64 = flows.iter().map(|flow| flow.segments_sent).sum();
        let lost: f64 = flows
            .iter()
            .map(|flow| flow.segment_loss * flow.segments_sent as f64)
            .sum();
        let loss = if sent > 0 { lost / sent as f64 } else { 0.0 };
        let _ = writeln!(
            text,
            "all {} flows: {delivered} B delivered, {sent} segments or datagrams sent, {} lost",
            flows.len(),
            percent(loss),
        );
    }
}

/// Returns whether the app of `flow` has done everything that the scenario wants from it.
fn is_complete(flow: &FlowFigures, app: &AppSpec) -> bool {
    match &app.kind {
        AppKind::BulkSender { bytes, .. } => bytes.is_some_and(|it| flow.delivered_bytes >= it),
        AppKind::Client(client) => client.count.is_some_and(|count| {
            let requests = flow.requests.as_ref();
            requests.is_some_and(|it| it.answered + it.failed >= count.into())
        }),
        AppKind::ImageLeaf(_) => flow.image.as_ref().is_some_and(|it| it.took_s.is_some()),
        _ => false,
    }
}

/// Returns how long `app` may deliver nothing, in seconds: two of its periods.
fn patience_s(app: &AppSpec) -> f64 {
    let (interval, batch) = match &app.kind {
        AppKind::Sensor(sensor) => (sensor.interval, sensor.batch),
        AppKind::MqttSensor {
            interval, batch, ..
        } => (*interval, *batch),
        AppKind::Client(client) => (client.interval, 1),
        _ => return 0.0,
    };
    2.0 * f64::from(batch.max(1)) * interval.as_micros() as f64 / 1e6
}

/// Writes a line for each node that was switched off, for each node whose address a router refused,
/// and for each flow that ended early or delivered nothing. Transfers that are complete, and
/// periodic apps that have been silent for less than two periods, get no line.
pub(super) fn troubles(text: &mut String, report: &Report, scenario: &Scenario) {
    /// Share of the run up to which a flow must have been active: a flow that is silent during the
    /// last tenth of the run has ended.
    const END: f64 = 0.9;
    let end = Instant::ZERO + Duration::from_micros((report.simulated_s * 1e6) as u64);
    let seconds = |at: Instant| at.as_micros() as f64 / 1e6;
    for fault in &scenario.faults {
        let FaultRule::NodeOff { node } = fault.rule else {
            continue;
        };
        let Some(node) = scenario.nodes.get(node).filter(|_| fault.from < end) else {
            continue;
        };
        let until = if fault.until < end {
            format!("until {:.0} s", seconds(fault.until))
        } else {
            "to the end".to_owned()
        };
        let from = seconds(fault.from);
        let _ = writeln!(text, "{} was off from {from:.0} s {until}", node.name);
    }
    for node in report.nodes.iter().filter(|it| it.addresses_refused > 0) {
        let _ = writeln!(
            text,
            "{}: a router refused this node's address, because another node has it; packets to \
             this address may reach either node",
            node.name
        );
    }
    let ended = report.flows.iter().filter_map(|flow| {
        let (name, rate) = (&flow.name, flow.goodput_kbps);
        let nodes = scenario.nodes.iter().chain(&scenario.host);
        let app = nodes.flat_map(|it| &it.apps).find(|it| it.name == *name);
        if app.is_some_and(|app| {
            let start = (app.start + app.start_spread).as_micros() as f64 / 1e6;
            let silence = report.simulated_s - flow.last_arrival_s.unwrap_or(start);
            is_complete(flow, app) || silence < patience_s(app)
        }) {
            return None;
        }
        match flow.last_arrival_s {
            None => Some(format!("{name}: nothing was delivered")),
            Some(at) if at < END * report.simulated_s => Some(format!(
                "{name}: nothing was delivered after {at:.1} s; until then {rate:.1} kb/s"
            )),
            Some(_) => None,
        }
    });
    let ended: Vec<String> = ended.collect();
    for line in ended.iter().take(TROUBLES) {
        let _ = writeln!(text, "{line}");
    }
    more(
        text,
        ended.len(),
        TROUBLES,
        "flows that delivered nothing or stopped",
    );
}

pub(super) fn readings(text: &mut String, flows: &[FlowFigures]) {
    let mut table = Table::new(&[
        "readings",
        "made",
        "delivered",
        "lost",
        "in flight",
        "reliability",
        "latency p50",
        "p95",
        "max",
    ]);
    let mut rows = flows
        .iter()
        .filter_map(|flow| Some((flow, flow.readings.as_ref()?)))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    for (flow, readings) in rows.take(ROWS) {
        let mut row = vec![
            flow.name.clone(),
            readings.made.to_string(),
            readings.delivered.to_string(),
            readings.lost.to_string(),
            readings.under_way.to_string(),
            percent(readings.reliability),
        ];
        row.extend(latency(&readings.latency_ms));
        table.row(row);
    }
    table.render(text);
    text.push('\n');
}

pub(super) fn requests(text: &mut String, flows: &[FlowFigures]) {
    let mut table = Table::new(&[
        "requests",
        "made",
        "answered",
        "failed",
        "latency p50",
        "p95",
        "max",
    ]);
    let mut rows = flows
        .iter()
        .filter_map(|flow| Some((flow, flow.requests.as_ref()?)))
        .peekable();
    if rows.peek().is_none() {
        return;
    }
    for (flow, requests) in rows.take(ROWS) {
        let mut row = vec![
            flow.name.clone(),
            requests.made.to_string(),
            requests.answered.to_string(),
            requests.failed.to_string(),
        ];
        row.extend(latency(&requests.latency_ms));
        table.row(row);
    }
    table.render(text);
    text.push('\n');
}

fn latency(latency: &LatencyMs) -> [String; 3] {
    let ms = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.0} ms"));
    [ms(latency.p50), ms(latency.p95), ms(latency.max)]
}
