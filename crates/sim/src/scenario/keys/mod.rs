//! Every key of a scenario: the list behind the parser, its messages and `docs/scenario.md`.

mod energy;
mod faults;
mod kinds;
mod link;
mod mesh;
mod network;
mod nodes;
mod oracle;
mod transport;

pub(super) use kinds::CONGESTION;

use super::schema::Presence::*;
use super::schema::{Key, KeyKind, Value};

const TABLES: &[&[Key]] = &[
    mesh::KEYS,
    link::KEYS,
    transport::KEYS,
    energy::KEYS,
    network::KEYS,
    nodes::KEYS,
    faults::KEYS,
    oracle::KEYS,
];

pub(crate) fn all() -> impl Iterator<Item = &'static Key> {
    TABLES.iter().copied().flatten()
}

pub(crate) fn is_secret(path: &str) -> bool {
    find(path).is_some_and(|key| matches!(key.kind, KeyKind::KeyDigits { .. }))
}

pub(crate) fn find(path: &str) -> Option<&'static Key> {
    all().find(|key| key.matches(path))
}

/// Returns the names of the keys and tables that may occur directly in the table `path` (empty for
/// the whole document), without names that the scenario chooses.
pub(crate) fn children(path: &str) -> Vec<&'static str> {
    let depth = if path.is_empty() {
        0
    } else {
        path.split('.').count()
    };
    let mut names: Vec<&'static str> = Vec::new();
    for key in all().filter(|key| path.is_empty() || key.is_below(path)) {
        match key.path.split('.').nth(depth) {
            Some(step) if step != "*" && !names.contains(&step) => names.push(step),
            _ => {}
        }
    }
    names
}

pub(crate) fn default_of(key: &Key) -> Option<Value> {
    match key.presence {
        Default(text) => key.kind.read_default(text).ok(),
        Required | Optional(_) => None,
    }
}
