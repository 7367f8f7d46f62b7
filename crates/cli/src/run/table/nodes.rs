//! The nodes of a run: their paths to the root, and what they sent and used.

use redpoll_sim::{NodeFigures, Scenario};

use super::columns::Table;
use super::{more, percent};

const NODES: usize = 20;

/// Writes the hops to the root and the parent of each node: those of RPL at the end of the run, or
/// those of the fixed routes. An attacker has neither.
pub(super) fn paths(text: &mut String, nodes: &[NodeFigures], scenario: &Scenario) {
    let mut table = Table::new(&["node", "hops", "parent"]);
    for node in nodes.iter().take(NODES) {
        if is_attacker(node, scenario) {
            table.row(vec![node.name.clone(), "-".into(), "attacker".into()]);
            continue;
        }
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

pub(super) fn nodes(text: &mut String, nodes: &[NodeFigures], scenario: &Scenario) {
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
            if is_attacker(node, scenario) {
                "-".to_owned()
            } else {
                days(node.energy.battery_days)
            },
            format!("{:.1} KiB", node.memory_bytes as f64 / 1_024.0),
            drops.join(", "),
        ]);
    }
    table.render(text);
    more(text, nodes.len(), NODES, "nodes");
}

fn is_attacker(node: &NodeFigures, scenario: &Scenario) -> bool {
    let spec = scenario.nodes.iter().find(|it| it.name == node.name);
    spec.is_some_and(|it| it.attacker)
}

fn days(days: f64) -> String {
    let digits = usize::from(days < 100.0);
    format!("{days:.digits$} days")
}
