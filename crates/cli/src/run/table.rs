//! The result of a run as text for people.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use redpoll_base::{Duration, Instant};
use redpoll_sim::{
    FaultRule, FlowFigures, LatencyMs, MediumConfig, MediumFigures, NodeFigures, Report, Scenario,
    Sinr, UnitDisk,
};

/// Maximum number of rows of a table; more rows are only counted.
const ROWS: usize = 40;
const NODES: usize = 20;
/// Maximum number of listed flows without delivery.
const TROUBLES: usize = 10;

/// Returns the result of `scenario`, in which the apps `left_out` were not started.
pub fn render(
    report: &Report,
    scenario: &Scenario,
    left_out: &[String],
    was_ended: bool,
) -> String {
    let mut text = String::new();
    let speed = report.simulated_s / report.wall_s.max(1e-9);
    let ended = if was_ended { ", ended early" } else { "" };
    let _ = writeln!(
        text,
        "{}: {:.3} s simulated in {:.2} s ({speed:.0} x real time), seed {}, {} events{ended}",
        report.scenario, report.simulated_s, report.wall_s, report.seed, report.events
    );
    if !left_out.is_empty() {
        let _ = writeln!(
            text,
            "apps that were not started, because they belong to redpoll up or are switched off: {}",
            left_out.join(", ")
        );
    }
    text.push('\n');
    flows(&mut text, &report.flows);
    troubles(&mut text, report, scenario);
    text.push('\n');
    readings(&mut text, &report.flows);
    requests(&mut text, &report.flows);
    paths(&mut text, &report.nodes);
    text.push('\n');
    nodes(&mut text, &report.nodes);
    text.push('\n');
    air_time(&mut text, report);
    let _ = writeln!(text, "medium: {}", medium(&report.medium));
    let _ = writeln!(
        text,
        "radio: {}; link retry delay {} ms; {}",
        radio(scenario),
        scenario.mac.link_retry_delay.as_micros() as f64 / 1_000.0,
        segments(scenario),
    );
    if report.oracle.ok {
        text.push_str(
            "oracle: every byte arrived once and in order, and every frame is accounted for\n",
        );
    } else {
        text.push_str("oracle: VIOLATED\n");
        for violation in report.oracle.violations.iter().take(ROWS) {
            let _ = writeln!(text, "  {violation}");
        }
    }
    text
}

fn radio(scenario: &Scenario) -> String {
    let name = match scenario.radio.model {
        redpoll_sim::RadioModel::At86rf233 => "AT86RF233",
        redpoll_sim::RadioModel::Cc2420 => "CC2420",
        redpoll_sim::RadioModel::Ideal => "ideal",
    };
    match scenario.radio.spi_us_per_byte {
        Some(us) => format!("{name}, {us} us of SPI per byte"),
        None => name.to_owned(),
    }
}

/// Returns the payload of full TCP segments, for each TCP stack of the nodes.
fn segments(scenario: &Scenario) -> String {
    let own = scenario
        .nodes
        .iter()
        .filter(|it| it.module.is_none() && it.line.is_none());
    let sizes: BTreeSet<u16> = own
        .map(|node| scenario.full_segment(&node.transport))
        .collect();
    if sizes.is_empty() {
        return "TCP segments: -".to_owned();
    }
    let sizes: Vec<String> = sizes.iter().map(|size| format!("{size} B")).collect();
    format!("TCP segments of {}", sizes.join(" and "))
}

fn medium(medium: &MediumFigures) -> String {
    if medium.listed_links {
        return "listed links: nodes hear, sense and disturb each other only over these links"
            .to_owned();
    }
    if medium.measured_links {
        return "measured links".to_owned()
            + match medium.config {
                MediumConfig::UnitDisk(_) => {
                    ": nodes hear, sense and disturb each other only over these links"
                }
                MediumConfig::Sinr(_) => ": the mean RSSI of a link is the power at its receiver",
            };
    }
    match medium.config {
        MediumConfig::UnitDisk(UnitDisk {
            transmission_range_m,
            interference_range_m,
            carrier_sense_range_m,
            success_ratio_tx,
            success_ratio_rx,
        }) => {
            let mut text = format!(
                "unit disk: transmission {transmission_range_m} m, interference \
                 {interference_range_m} m, carrier sense (CCA) {carrier_sense_range_m} m"
            );
            if (success_ratio_tx, success_ratio_rx) != (1.0, 1.0) {
                let _ = write!(
                    text,
                    ", success ratios: senders {success_ratio_tx}, receivers {success_ratio_rx}"
                );
            }
            text
        }
        MediumConfig::Sinr(Sinr {
            tx_power_dbm,
            path_loss_exponent,
            shadowing_sigma_db,
            noise_floor_dbm,
            sensitivity_dbm,
            capture_db,
            cca_threshold_dbm,
            ..
        }) => format!(
            "SINR: {tx_power_dbm} dBm, path loss exponent {path_loss_exponent}, shadowing \
             {shadowing_sigma_db} dB, noise {noise_floor_dbm} dBm, sensitivity {sensitivity_dbm} \
             dBm, capture {capture_db} dB, CCA threshold {cca_threshold_dbm} dBm"
        ),
    }
}

fn flows(text: &mut String, flows: &[FlowFigures]) {
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

/// Writes a line for each node that was switched off, and for each flow that ended early or
/// delivered nothing.
fn troubles(text: &mut String, report: &Report, scenario: &Scenario) {
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
    more(text, ended.len(), TROUBLES, "flows without deliveries");
}

fn readings(text: &mut String, flows: &[FlowFigures]) {
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

fn requests(text: &mut String, flows: &[FlowFigures]) {
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

/// Writes the hops to the root and the parent of each node: those of RPL at the end of the run, or
/// those of the fixed routes.
fn paths(text: &mut String, nodes: &[NodeFigures]) {
    let mut table = Table::new(&["node", "hops", "parent"]);
    for node in nodes.iter().take(NODES) {
        let (hops, parent) = match &node.rpl {
            Some(rpl) => (rpl.hops, &rpl.parent),
            None => (node.hops, &node.parent),
        };
        table.row(vec![
            node.name.clone(),
            hops.map_or("-".to_owned(), |hops| hops.to_string()),
            parent.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.render(text);
    more(text, nodes.len(), NODES, "nodes");
}

fn nodes(text: &mut String, nodes: &[NodeFigures]) {
    let mut table = Table::new(&[
        "node", "frames", "retries", "radio", "cpu", "battery", "memory", "dropped",
    ]);
    for node in nodes.iter().take(NODES) {
        let drops: Vec<String> = node
            .drops
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .collect();
        table.row(vec![
            node.name.clone(),
            node.frames_sent.to_string(),
            node.frame_retries.to_string(),
            percent(node.radio_duty_cycle),
            format!("{:.2} %", node.energy.cpu_duty_cycle * 100.0),
            days(node.energy.battery_days),
            format!("{:.1} KiB", node.memory_bytes as f64 / 1_024.0),
            drops.join(", "),
        ]);
    }
    table.render(text);
    more(text, nodes.len(), NODES, "nodes");
}

fn air_time(text: &mut String, report: &Report) {
    let sent = report.air_time.by_message.values();
    let mut sent: Vec<_> = sent.filter(|it| it.frames > 0).collect();
    if sent.is_empty() {
        return;
    }
    sent.sort_by(|a, b| b.air_s.total_cmp(&a.air_s));
    let mut table = Table::new(&["air time by message type", "frames", "time", "share"]);
    for message in sent {
        table.row(vec![
            message.title.to_owned(),
            message.frames.to_string(),
            format!("{:.2} s", message.air_s),
            format!("{:>6.2} %", message.share * 100.0),
        ]);
    }
    table.render(text);
    let _ = writeln!(
        text,
        "control plane (RPL and neighbour discovery): {:.2} % of {:.2} s of air time\n",
        report.air_time.control_share * 100.0,
        report.air_time.total_s
    );
}

fn more(text: &mut String, all: usize, shown: usize, what: &str) {
    if all > shown {
        let _ = writeln!(
            text,
            "… and {} more {what}; to list them all: --json FILE",
            all - shown
        );
    }
}

fn days(days: f64) -> String {
    let digits = usize::from(days < 100.0);
    format!("{days:.digits$} days")
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Columns as wide as their widest cell. Cells that begin with a digit are right-aligned,
/// except in the last column.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Table {
        Table {
            rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    fn render(&self, text: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let is_last = column + 1 == columns;
                let is_number = self
                    .rows
                    .get(1)
                    .and_then(|first| first.get(column))
                    .is_some_and(|first| {
                        first == "-" || first.starts_with(|c: char| c.is_ascii_digit())
                    });
                if is_number && !is_last {
                    let _ = write!(line, "{cell:>width$}  ");
                } else {
                    let _ = write!(line, "{cell:<width$}  ");
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use redpoll_sim::World;

    use super::*;

    #[test]
    fn the_table_shows_a_refused_address_and_fast_retransmissions() {
        let scenario = Scenario::load("pair", &[]).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(2_000));
        let mut report = world.report();
        let before = render(&report, &scenario, &[], false);
        assert!(!before.contains("this node's address"), "{before}");
        report.nodes[1].addresses_refused = 1;
        let again = &mut report.flows[0].retransmissions;
        (again.rto, again.fast, again.tail) = (3_001, 3_002, 3_003);
        let text = render(&report, &scenario, &[], false);
        let name = &report.nodes[1].name;
        assert!(text.contains(&format!("{name}: a router refused this node's address")));
        let mut lines = text.lines().skip_while(|line| !line.starts_with("flow "));
        let (heads, row) = (lines.next().unwrap(), lines.next().unwrap());
        for (head, number) in [("rto", "3001"), ("fast", "3002"), ("tail", "3003")] {
            let end = heads.find(&format!(" {head} ")).unwrap() + 1 + head.len();
            assert_eq!(row[..end].split(' ').next_back(), Some(number), "{text}");
        }
    }

    #[test]
    fn flows_are_first_then_paths_and_many_nodes_are_collapsed() {
        let settings = [("duration".to_owned(), "2 s".to_owned())];
        for (name, nodes, more) in [("office", 15, 0), ("grid-30", 20, 10)] {
            let scenario = Scenario::load(name, &settings).unwrap();
            let mut world = World::new(&scenario, 1).unwrap();
            world.run_until(Instant::from_millis(2_000));
            let text = render(&world.report(), &scenario, &[], false);
            let at = |head: &str| text.find(head).unwrap_or_else(|| panic!("{head}: {text}"));
            let heads = ["\nflow ", "\nnode     hops  parent\n", "\nnode     frames"];
            let places = [
                at(heads[0]),
                at(heads[1]),
                at(heads[2]),
                at("\nair time by message type "),
                at("\nmedium: "),
                at("\noracle: "),
            ];
            assert!(places.is_sorted(), "{places:?}");
            let paths = text[places[1]..].lines().skip(2);
            let paths = paths.take_while(|line| !line.is_empty() && !line.starts_with('…'));
            let rows: Vec<&str> = paths.collect();
            assert_eq!(rows.len(), nodes, "{text}");
            assert_eq!(
                rows[0].split_whitespace().collect::<Vec<_>>(),
                ["node-1", "0", "-"]
            );
            let line = format!("… and {more} more nodes; to list them all: --json FILE");
            assert_eq!(
                text.matches(&line).count(),
                if more > 0 { 2 } else { 0 },
                "{text}"
            );
        }
    }

    #[test]
    fn the_size_of_segments_is_that_of_the_nodes_tcp() {
        let shown = |settings: &[(&str, &str)]| {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let settings: Vec<_> = settings.iter().map(own).collect();
            segments(&Scenario::load("pair", &settings).unwrap())
        };
        assert_eq!(shown(&[]), "TCP segments of 471 B");
        assert_eq!(
            shown(&[("tcp.transport", "uip-3.0")]),
            "TCP segments of 48 B"
        );
        let mixed = [("nodes.node-2.transport", "blip")];
        assert_eq!(shown(&mixed), "TCP segments of 200 B and 471 B");
        let too_large = [
            ("tcp.transport", "one-segment"),
            ("rivals.segment_mss", "1220 B"),
            ("routing", "rpl"),
        ];
        assert_eq!(shown(&too_large), "TCP segments of 1212 B");
    }

    #[test]
    fn columns_are_aligned_numbers_to_the_right() {
        let mut table = Table::new(&["name", "n", "what"]);
        table.row(vec!["a".into(), "7 B".into(), "x".into()]);
        table.row(vec!["longer".into(), "1200 B".into(), String::new()]);
        let mut text = String::new();
        table.render(&mut text);
        assert_eq!(
            text,
            "name         n  what\na          7 B  x\nlonger  1200 B\n"
        );
    }
}
