//! The result of a run as text for people.

mod columns;
mod conditions;
mod flows;
mod nodes;

use std::fmt::Write as _;

use redpoll_sim::{Report, Scenario};

use columns::Table;
use conditions::{medium, radio, segments};
use flows::{flows, readings, requests, troubles};
use nodes::{nodes, paths};

/// Maximum number of rows of a table; more rows are only counted.
const ROWS: usize = 40;

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
            "apps that were not started, because of their key `when` or because their peer is not \
             started: {}",
            left_out.join(", ")
        );
    }
    text.push('\n');
    flows(&mut text, &report.flows);
    troubles(&mut text, report, scenario);
    text.push('\n');
    readings(&mut text, &report.flows);
    requests(&mut text, &report.flows);
    paths(&mut text, &report.nodes, scenario);
    text.push('\n');
    nodes(&mut text, &report.nodes, scenario);
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
            "oracle: each byte arrived at most once, in order and unchanged, and every frame is accounted for\n",
        );
    } else {
        text.push_str("oracle: VIOLATED\n");
        for violation in report.oracle.violations.iter().take(ROWS) {
            let _ = writeln!(text, "  {violation}");
        }
    }
    text
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

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use redpoll_base::Instant;
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
        assert!(text.contains("\nretransmitted segments by cause: rto (timeout), fast"));
        let mut lines = text.lines().skip_while(|line| !line.starts_with("flow "));
        let (heads, row) = (lines.next().unwrap(), lines.next().unwrap());
        for (head, number) in [("rto", "3001"), ("fast", "3002"), ("tail", "3003")] {
            let end = heads.find(&format!(" {head} ")).unwrap() + 1 + head.len();
            assert_eq!(row[..end].split(' ').next_back(), Some(number), "{text}");
        }
    }

    #[test]
    fn a_finished_transfer_and_a_sensor_between_two_readings_are_no_trouble() {
        let settings = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            list.iter().map(own).collect()
        };
        let set = settings(&[("apps.bulk.total", "10 KiB")]);
        let scenario = Scenario::load("pair", &set).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(30_000));
        let mut report = world.report();
        assert_eq!(report.flows[0].delivered_bytes, 10_240);
        assert!(report.flows[0].last_arrival_s.unwrap() < 27.0);
        let text = render(&report, &scenario, &[], false);
        assert!(!text.contains("nothing was delivered"), "{text}");
        report.flows[0].delivered_bytes = 10_239;
        let text = render(&report, &scenario, &[], false);
        assert!(text.contains("bulk: nothing was delivered after"), "{text}");

        let scenario = Scenario::load("intruder", &[]).unwrap();
        let mut world = World::new(&scenario, 1).unwrap();
        world.run_until(Instant::from_millis(25_000));
        let mut report = world.report();
        report.simulated_s = 100.0;
        let mut shown = |at: f64| {
            let flow = report.flows.iter_mut().find(|it| it.name == "readings");
            flow.unwrap().last_arrival_s = Some(at);
            render(&report, &scenario, &[], false)
        };
        // The sensor has an interval of 10 s, and `readings` may be silent for two intervals.
        let line = "readings: nothing was delivered after";
        assert!(!shown(80.5).contains(line));
        assert!(shown(79.5).contains(line));
        let text = shown(80.5);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("foe "))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[0], ["foe", "-", "attacker"]);
        assert_eq!(rows[1][7], "-", "{text}");
        let mut heads = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        let head = heads.find(|head| head.starts_with(&["node", "frames"]));
        assert_eq!(head.unwrap()[5], "battery");
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
}
