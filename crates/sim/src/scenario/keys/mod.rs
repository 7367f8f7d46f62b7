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

use std::collections::HashMap;
use std::sync::LazyLock;

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

/// A key, and its number in the order of [`all`].
type Numbered = (usize, &'static Key);

pub(crate) fn find(path: &str) -> Option<&'static Key> {
    /// The keys by their first and last step, in the order of [`all`]: a scenario of 1,000 nodes
    /// looks for 9,000 paths.
    static BY_ENDS: LazyLock<HashMap<(&str, &str), Vec<Numbered>>> = LazyLock::new(|| {
        let mut by_ends = HashMap::<_, Vec<_>>::new();
        for (index, key) in all().enumerate() {
            by_ends
                .entry(ends(key.path))
                .or_default()
                .push((index, key));
        }
        by_ends
    });
    let (first, last) = ends(path);
    let keys = [(first, last), (first, "*")].map(|ends| BY_ENDS.get(&ends));
    let fit = keys.into_iter().flatten().flatten();
    let fit = fit.filter(|(_, key)| key.matches(path));
    fit.min_by_key(|(index, _)| *index).map(|(_, key)| *key)
}

/// Returns the first and the last step of a path. No key begins with a name that the scenario
/// chooses.
fn ends(path: &str) -> (&str, &str) {
    let first = path.split('.').next().unwrap_or_default();
    (first, path.rsplit('.').next().unwrap_or_default())
}

/// Returns the names of the keys and tables that may occur directly in the table `path` (empty for
/// the whole document), without names that the scenario chooses.
pub(crate) fn children(path: &str) -> Vec<&'static str> {
    let depth = if path.is_empty() {
        0
    } else {
        path.split('.').count()
    };
    let (first, _) = ends(path);
    let mut names: Vec<&'static str> = Vec::new();
    // Most keys differ in their first step, and `is_below` takes longer to find that.
    let keys = all().filter(|key| key.path.starts_with(first));
    for key in keys.filter(|key| path.is_empty() || key.is_below(path)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_the_first_key_that_matches_it() {
        for key in all() {
            assert!(!key.path.starts_with('*'), "{}", key.path);
            let path = key.path.replace('*', "node-1");
            let first = all().find(|it| it.matches(&path)).map(|it| it.path);
            assert_eq!(find(&path).map(|it| it.path), first, "{path}");
            assert!(find(&format!("{path}.more")).is_none_or(|it| it.path != key.path));
        }
        assert!(find("").is_none() && find("nodes..role").is_none());
    }
}
