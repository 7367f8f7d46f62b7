//! Link-layer security of a scenario: the network's key, and nodes with another key or none.

use redpoll_mac::security::{Key, SecurityLevel};

use super::super::check::Values;
use super::super::error::ScenarioError;
use super::super::model::{NodeKey, Scenario, SecurityParams};

/// Returns the security of all nodes that have no separate setting; `None` means unsecured frames.
pub(super) fn params(values: &Values<'_>) -> Result<Option<SecurityParams>, ScenarioError> {
    let Some(level) = level(values) else {
        return Ok(None);
    };
    let Some(bytes) = values.chosen("security.key").and_then(read) else {
        let problem = "is missing; allowed: 32 hexadecimal digits, which security.level requires";
        return Err(values.error("security.key", problem.to_owned()));
    };
    if values.has("mac.security_bytes") {
        let problem = "has no meaning together with security.level; allowed: one of the two";
        return Err(values.error("mac.security_bytes", problem.to_owned()));
    }
    if values.text("mac.access") != "csma" {
        let problem = format!(
            "got {}, but mac.access is \"{}\", for which link security is not implemented; allowed: none, or mac.access = \"csma\"",
            values.text("security.level"),
            values.text("mac.access")
        );
        return Err(values.error("security.level", problem));
    }
    Ok(Some(SecurityParams {
        level,
        key: Key::new(values.small("security.key_index"), bytes),
        counter_stretch: values.small("security.counter_stretch"),
        neighbours: values.small("security.neighbours"),
    }))
}

fn level(values: &Values<'_>) -> Option<SecurityLevel> {
    Some(match values.text("security.level").as_str() {
        "mic-32" => SecurityLevel::Mic32,
        "mic-64" => SecurityLevel::Mic64,
        "mic-128" => SecurityLevel::Mic128,
        "enc-mic-32" => SecurityLevel::EncMic32,
        "enc-mic-64" => SecurityLevel::EncMic64,
        "enc-mic-128" => SecurityLevel::EncMic128,
        _ => return None,
    })
}

pub(super) fn overhead(values: &Values<'_>) -> u16 {
    let index: u16 = values.small("security.key_index");
    let header = if index == 0 { 5 } else { 6 };
    level(values).map_or(0, |level| header + level.mic_len() as u16)
}

pub(super) fn node_key(values: &Values<'_>, name: &str) -> NodeKey {
    match values.chosen(&format!("nodes.{name}.key")) {
        None => NodeKey::Network,
        Some(text) => read(text).map_or(NodeKey::None, NodeKey::Own),
    }
}

pub(super) fn check(values: &Values<'_>, scenario: &Scenario) -> Result<(), ScenarioError> {
    for node in &scenario.nodes {
        let path = format!("nodes.{}.key", node.name);
        if scenario.security.is_none() && values.has(&path) {
            let problem = "has no effect; allowed: with security.level other than none";
            return Err(values.error(&path, problem.to_owned()));
        }
        if scenario.security.is_some() && node.module.is_some() {
            let problem = format!(
                "got {}, but {} runs the firmware of another stack, which ignores security.level; \
                 allowed: none, or no nodes of the kinds module and openthread",
                values.text("security.level"),
                node.name
            );
            return Err(values.error("security.level", problem));
        }
    }
    Ok(())
}

/// Returns the bytes of 32 hexadecimal digits, which the schema has checked.
fn read(text: String) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(&text, 16).ok()?;
    Some(number.to_be_bytes())
}
