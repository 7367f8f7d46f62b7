//! Radios of attackers.

use crate::scenario::check::Values;
use crate::scenario::error::ScenarioError;
use crate::scenario::model::{Role, Scenario};

/// Refuses roles and apps of an attacker, whose node runs no protocols, and long addresses, which
/// the forged frames lack.
pub(super) fn check(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for node in scenario.nodes.iter().filter(|node| node.attacker) {
        let path = |key: &str| format!("nodes.{}.{key}", node.name);
        if node.role != Role::Leaf {
            let problem = format!(
                "got {}, but the node is an attacker and forwards nothing; allowed: leaf",
                node.role.word()
            );
            return Err(values.error(&path("role"), problem));
        }
        if node.sleepy {
            let problem = "got true, but an attacker cannot be sleepy; allowed: false";
            return Err(values.error(&path("sleepy"), problem));
        }
        if let Some(app) = node.apps.first() {
            let problem = format!(
                "got attacker, but the app {} runs on it; allowed: apps on nodes of other kinds",
                app.name
            );
            return Err(values.error(&path("kind"), problem));
        }
        if scenario.mac.extended {
            let problem = "got attacker, but mac.addresses is extended; allowed: attacker with \
                           mac.addresses = \"short\"";
            return Err(values.error(&path("kind"), problem));
        }
    }
    Ok(())
}
