//! Nodes that run outside the simulator.

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{ExternalParams, Role, Scenario};

pub(super) fn params(values: &Values<'_>) -> ExternalParams {
    let patience = values.duration("external.patience");
    ExternalParams {
        patience: std::time::Duration::from_micros(patience.as_micros()),
    }
}

/// Refuses settings that an external node does not implement or does not receive.
pub(super) fn check(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    let external = scenario.nodes.iter().filter(|node| node.line.is_some());
    for node in external {
        let path = |key: &str| format!("nodes.{}.{key}", node.name);
        if node.role != Role::Leaf {
            let problem = format!(
                "got {}, but the node is external and gets no routes; allowed: leaf",
                node.role.word()
            );
            return Err(values.error(&path("role"), problem));
        }
        if node.sleepy {
            let problem = "got true, but an external node cannot be sleepy; allowed: false";
            return Err(values.error(&path("sleepy"), problem));
        }
        if let Some(app) = node.apps.first() {
            let problem = format!(
                "got external, but the app {} runs on it; allowed: apps on nodes of the kind redpoll",
                app.name
            );
            return Err(values.error(&path("kind"), problem));
        }
        if scenario.routing.rpl().is_some() {
            let problem = "got external, but routing is rpl, which external nodes may lack; allowed: external with routing = \"fixed\"";
            return Err(values.error(&path("kind"), problem));
        }
        if scenario.mac.extended {
            let problem = "got external, but mac.addresses is extended; allowed: external with mac.addresses = \"short\"";
            return Err(values.error(&path("kind"), problem));
        }
        if scenario.mac.security_bytes > 0 || scenario.security.is_some() {
            let problem = "got external, but security.level or mac.security_bytes is set, and the node gets no key; allowed: external without these keys";
            return Err(values.error(&path("kind"), problem));
        }
        if scenario.mac.duty.is_some() {
            let problem = "got external, but mac.access is not csma; allowed: external with mac.access = \"csma\"";
            return Err(values.error(&path("kind"), problem));
        }
    }
    Ok(())
}
