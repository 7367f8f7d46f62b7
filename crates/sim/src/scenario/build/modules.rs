//! Nodes with the firmware of other stacks, and their link-layer addresses.

use crate::fault::{Rule, Spec};
use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{
    AppKind, AppSpec, Interface, ModuleParams, Mss, NodeSpec, Role, Scenario, TargetHost, ThreadTcp,
};

/// Largest buffer of a connection in the firmware in bytes: `BUFFER_MAX` of
/// `integrations/openthread/node.h`.
const THREAD_BUFFER_MAX: u32 = 16_384;
/// Least MSS in bytes with which Redpoll for C creates a node.
const C_LEAST_MSS: u16 = 64;

pub(super) fn params(values: &Values<'_>) -> ModuleParams {
    let patience = values.duration("modules.patience");
    ModuleParams {
        quantum: values.duration("modules.quantum"),
        patience: std::time::Duration::from_micros(patience.as_micros()),
    }
}

/// Refuses short addresses for Cooja modules, and extended ones for sleepy nodes without a module.
pub(super) fn check_links(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    const KEY: &str = "mac.addresses";
    if !scenario.mac.extended {
        let is_cooja =
            |node: &&NodeSpec| node.module.is_some() && node.interface == Interface::Cooja;
        return match scenario.nodes.iter().find(is_cooja) {
            None => Ok(()),
            Some(node) => {
                let problem = format!(
                    "got short, but {} runs firmware for Cooja, which uses extended addresses; \
                     allowed: extended",
                    node.name
                );
                Err(values.error(KEY, problem))
            }
        };
    }
    if let Some(node) = scenario
        .nodes
        .iter()
        .find(|node| node.sleepy && node.module.is_none())
    {
        let problem = format!(
            "got extended, but {} is sleepy; allowed: extended without sleepy nodes, or short",
            node.name
        );
        return Err(values.error(KEY, problem));
    }
    Ok(())
}

/// Refuses settings that the firmware of other stacks does not implement.
pub(super) fn check_use(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let modules = scenario.nodes.iter().filter(|node| node.module.is_some());
    for node in modules {
        let path = |key: &str| format!("nodes.{}.{key}", node.name);
        if let Some(app) = node.apps.iter().find(|app| !runs(scenario, node, app)) {
            let (kind, allowed) = match node.thread {
                None => ("module", ""),
                Some(_) => (
                    "openthread",
                    ", or bulk-sender and bulk-sink between nodes of the kind openthread",
                ),
            };
            let problem = format!(
                "got {kind}, but the app {} runs on it; allowed: apps on nodes of the kind redpoll{allowed}",
                app.name
            );
            return Err(values.error(&path("kind"), problem));
        }
        if node.role == Role::Border && scenario.host.is_some() {
            let problem = "got border, but a node of the kind module cannot exchange packets with a simulated host; allowed: border only if no app has on = \"host\"";
            return Err(values.error(&path("role"), problem));
        }
    }
    check_senders(values, scenario)?;
    check_thread(values, scenario)?;
    let is_disturbed = |node: &NodeSpec| {
        let is_it = |spec: &Spec| match spec.rule {
            Rule::NodeRestart { node: at } | Rule::ClockStep { node: at, .. } => scenario
                .nodes
                .get(at)
                .is_some_and(|it| it.name == node.name),
            _ => false,
        };
        node.module.is_some() && scenario.faults.iter().any(is_it)
    };
    match scenario.nodes.iter().find(|node| is_disturbed(node)) {
        None => Ok(()),
        Some(node) => {
            let problem = "got module or openthread, but a fault restarts the node or steps its clock; allowed: node-restart and clock-step of nodes of the kind redpoll";
            Err(values.error(&format!("nodes.{}.kind", node.name), problem))
        }
    }
}

/// Refuses sizes with which the apps on nodes of OpenThread cannot start.
fn check_thread(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut tcps = scenario
        .nodes
        .iter()
        .filter(|node| !node.apps.is_empty())
        .filter_map(|node| node.thread)
        .peekable();
    if tcps.peek().is_none() {
        return Ok(());
    }
    let allowed = |got: &dyn std::fmt::Display, limit: &str| {
        format!("got {got} B; allowed with apps on nodes of the kind openthread: {limit} B")
    };
    let buffers = [
        ("tcp.send_buffer", scenario.tcp.send_buffer),
        ("tcp.receive_buffer", scenario.tcp.receive_buffer),
    ];
    for (key, bytes) in buffers {
        if bytes > THREAD_BUFFER_MAX {
            let limit = format!("at most {THREAD_BUFFER_MAX}");
            return Err(values.error(key, allowed(&bytes, &limit)));
        }
    }
    // The key `tcp.mss` applies only to modules with Redpoll's TCP.
    match scenario.tcp.mss {
        Mss::Bytes(bytes) if bytes < C_LEAST_MSS && tcps.any(|tcp| tcp == ThreadTcp::Redpoll) => {
            let limit = format!("at least {C_LEAST_MSS}");
            Err(values.error("tcp.mss", allowed(&bytes, &limit)))
        }
        _ => Ok(()),
    }
}

/// Refuses apps on other nodes that send to a node of OpenThread, which is in another network.
fn check_senders(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for node in scenario.places().filter(|node| node.thread.is_none()) {
        for app in &node.apps {
            let Some(TargetHost::Node(far)) = app.kind.target().map(|to| to.host) else {
                continue;
            };
            let Some(far) = scenario.nodes.get(far).filter(|it| it.thread.is_some()) else {
                continue;
            };
            let table = app.name.split('/').next().unwrap_or(&app.name);
            let problem = format!(
                "got {}, a node of the kind openthread, but the app runs on {}, which is outside \
                 the Thread network; allowed: a destination of another kind, or an app on a node \
                 of the kind openthread",
                far.name, node.name
            );
            return Err(values.error(&format!("apps.{table}.to"), problem));
        }
    }
    Ok(())
}

/// Returns whether the firmware of a node can run the app.
fn runs(scenario: &Scenario, node: &NodeSpec, app: &AppSpec) -> bool {
    match &app.kind {
        AppKind::BulkSink { read_rate, .. } => node.thread.is_some() && read_rate.is_none(),
        AppKind::BulkSender { to, resumes, .. } => {
            let far = match to.host {
                TargetHost::Node(far) => scenario.nodes.get(far),
                TargetHost::Outside => None,
            };
            let is_thread = |it: &NodeSpec| it.thread.is_some();
            is_thread(node) && !resumes && far.is_some_and(is_thread)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::THREAD_BUFFER_MAX;

    #[test]
    fn the_largest_buffer_is_that_of_the_firmware() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../integrations/openthread/node.h"
        );
        let header = std::fs::read_to_string(path).unwrap();
        let line = header
            .lines()
            .find_map(|line| line.strip_prefix("#define BUFFER_MAX "));
        assert_eq!(line.unwrap().parse(), Ok(THREAD_BUFFER_MAX));
    }
}
