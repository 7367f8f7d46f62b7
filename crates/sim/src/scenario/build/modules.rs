//! Nodes with the firmware of other stacks, and their link-layer addresses.

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{Interface, ModuleParams, NodeSpec, Role, Scenario};

pub(super) fn params(values: &Values<'_>) -> ModuleParams {
    let patience = values.duration("modules.patience");
    ModuleParams {
        quantum: values.duration("modules.quantum"),
        patience: std::time::Duration::from_micros(patience.as_micros()),
    }
}

/// Refuses link-layer addresses with which these nodes cannot work.
pub(super) fn check_links(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    const KEY: &str = "mac.addresses";
    if !scenario.mac.extended {
        let is_cooja =
            |node: &&NodeSpec| node.module.is_some() && node.interface == Interface::Cooja;
        return match scenario.nodes.iter().find(is_cooja) {
            None => Ok(()),
            Some(node) => {
                let problem = format!(
                    "got short, and {} is a module; allowed: extended, the addresses of modules",
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
            "got extended, and {} is sleepy; allowed: extended where all nodes are awake, or short",
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
        if let Some(app) = node.apps.first() {
            let problem = format!(
                "got module, but the app {} runs on it; allowed: apps on nodes of the kind redpoll",
                app.name
            );
            return Err(values.error(&path("kind"), problem));
        }
        if node.role == Role::Border && scenario.host.is_some() {
            let problem = "got border, but a node of the kind module has no host side; allowed: border only if no app has on = \"host\"";
            return Err(values.error(&path("role"), problem));
        }
    }
    let restarts = |node: &NodeSpec| {
        let is_it = |spec: &crate::fault::Spec| match spec.rule {
            crate::fault::Rule::NodeRestart { node: at } => scenario
                .nodes
                .get(at)
                .is_some_and(|it| it.name == node.name),
            _ => false,
        };
        node.module.is_some() && scenario.faults.iter().any(is_it)
    };
    match scenario.nodes.iter().find(|node| restarts(node)) {
        None => Ok(()),
        Some(node) => {
            let problem = "got module, but a fault restarts it; allowed: node-restart of nodes of the kind redpoll";
            Err(values.error(&format!("nodes.{}.kind", node.name), problem))
        }
    }
}
