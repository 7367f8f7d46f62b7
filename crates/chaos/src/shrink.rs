//! Removes parts of a failing scenario as long as the same kind of failure remains.

use toml::{Table, Value};

use crate::examine::{Failure, Verdict};

/// A smaller scenario with the same kind of failure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shrunk {
    pub text: String,
    pub failure: Failure,
    pub runs: usize,
}

/// Tables whose entries are parts that can be removed alone.
const PARTS: [&str; 4] = ["faults", "interferers", "apps", "nodes"];
/// Keys that are never removed, because the rest would be a different scenario.
const KEPT: [&str; 4] = ["duration", "seed", "topology", "oracle"];
/// Options that are never removed: `oracle.patience` is computed from their values, and would be
/// too short for their defaults.
const KEPT_OPTIONS: [[&str; 2]; 3] = [
    ["tcp", "max_rto"],
    ["tcp", "max_retries"],
    ["poll", "base_interval"],
];
/// Keys of apps that are never removed. A transfer without a total never ends, and starves the
/// other streams although no code is wrong.
const KEPT_OF_APPS: [&str; 2] = ["total", "count"];

/// Shrinks the scenario `text`, which fails with `failure`, in at most `runs` runs. `examine` runs
/// a scenario.
pub fn shrink(
    text: &str,
    failure: &Failure,
    runs: usize,
    examine: &dyn Fn(&str) -> Verdict,
) -> Shrunk {
    let mut best = Shrunk {
        text: text.to_owned(),
        failure: failure.clone(),
        runs: 0,
    };
    loop {
        let Ok(document) = best.text.parse::<Table>() else {
            return best;
        };
        let mut is_smaller = false;
        for step in steps(&document) {
            // Parse again, because an earlier step may have changed `best`.
            let Ok(mut document) = best.text.parse::<Table>() else {
                return best;
            };
            if !step.apply(&mut document) {
                continue;
            }
            if best.runs == runs {
                return best;
            }
            let text = document.to_string();
            best.runs += 1;
            match examine(&text) {
                Verdict::Failed(found) if found.kind == failure.kind => {
                    (best.text, best.failure) = (text, found);
                    is_smaller = true;
                }
                Verdict::Stopped => return best,
                Verdict::Failed(_) | Verdict::Passed { .. } => {}
            }
        }
        if !is_smaller {
            return best;
        }
    }
}

/// A change that makes a scenario smaller.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// Removes a table or a key. Removing a node or an app also removes whatever refers to it.
    Remove(Vec<String>),
    /// Removes a link.
    Unlink(String),
}

/// Returns all steps, the largest parts first.
fn steps(document: &Table) -> Vec<Step> {
    let mut steps = Vec::new();
    let path = |words: &[&str]| Step::Remove(words.iter().map(|word| (*word).to_owned()).collect());
    for part in PARTS {
        for name in table(document, part).keys() {
            steps.push(path(&[part, name]));
        }
    }
    let rest = |name: &&String| !PARTS.contains(&name.as_str()) && !KEPT.contains(&name.as_str());
    for name in document.keys().filter(rest) {
        let is_kept = |key: &str| KEPT_OPTIONS.contains(&[name.as_str(), key]);
        let keys = || table(document, name).keys();
        if !keys().any(|key| is_kept(key)) {
            steps.push(path(&[name]));
        }
        for key in keys().filter(|key| !is_kept(key)) {
            steps.push(path(&[name, key]));
        }
    }
    for part in PARTS {
        for (name, value) in table(document, part) {
            for key in value.as_table().into_iter().flat_map(Table::keys) {
                if part != "apps" || !KEPT_OF_APPS.contains(&key.as_str()) {
                    steps.push(path(&[part, name, key]));
                }
            }
        }
    }
    for link in links(document) {
        steps.push(Step::Unlink(link));
    }
    steps
}

impl Step {
    /// Changes `document`; returns false if there is nothing to change.
    fn apply(&self, document: &mut Table) -> bool {
        match self {
            Step::Unlink(link) => keep_links(document, |other| other != link),
            Step::Remove(path) => {
                let Some(removed) = remove(document, path) else {
                    return false;
                };
                match (path.first().map(String::as_str), path.len()) {
                    (Some("nodes"), 2) => forget_node(document, &path[1]),
                    (Some("apps"), 2) => forget_app(document, &removed),
                    _ => {}
                }
                true
            }
        }
    }
}

fn table<'a>(document: &'a Table, name: &str) -> &'a Table {
    static EMPTY: std::sync::LazyLock<Table> = std::sync::LazyLock::new(Table::new);
    document
        .get(name)
        .and_then(Value::as_table)
        .unwrap_or(&EMPTY)
}

fn remove(document: &mut Table, path: &[String]) -> Option<Value> {
    let (last, above) = path.split_last()?;
    let mut table = &mut *document;
    for step in above {
        table = table.get_mut(step)?.as_table_mut()?;
    }
    let removed = table.remove(last)?;
    let is_empty = table.is_empty();
    if is_empty && !above.is_empty() && !above.starts_with(&["nodes".to_owned()]) {
        remove(document, above);
    }
    Some(removed)
}

fn links(document: &Table) -> Vec<String> {
    let links = table(document, "topology").get("links");
    let links = links.and_then(Value::as_array).into_iter().flatten();
    links.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn keep_links(document: &mut Table, is_kept: impl Fn(&str) -> bool) -> bool {
    let topology = document.get_mut("topology").and_then(Value::as_table_mut);
    let links = topology.and_then(|it| it.get_mut("links")?.as_array_mut());
    let Some(links) = links else {
        return false;
    };
    let before = links.len();
    links.retain(|link| link.as_str().is_none_or(&is_kept));
    links.len() < before
}

/// Removes the links, apps and faults of a node. Links its first neighbour to its other neighbours.
fn forget_node(document: &mut Table, node: &str) {
    let ends = |link: &str| {
        let pair = link.split(',').next().unwrap_or_default();
        let ends: Vec<String> = pair.split("<->").map(|it| it.trim().to_owned()).collect();
        ends
    };
    let all = links(document);
    let around = all
        .iter()
        .filter(|link| ends(link).iter().any(|end| end == node));
    let around: Vec<String> = around
        .flat_map(|link| ends(link))
        .filter(|end| end != node)
        .collect();
    keep_links(document, |link| !ends(link).iter().any(|end| end == node));
    if let Some((first, others)) = around.split_first()
        && let Some(topology) = document.get_mut("topology").and_then(Value::as_table_mut)
        && let Some(links) = topology.get_mut("links").and_then(Value::as_array_mut)
    {
        links.extend(
            others
                .iter()
                .map(|other| format!("{first} <-> {other}").into()),
        );
    }
    for part in ["apps", "faults"] {
        if let Some(entries) = document.get_mut(part).and_then(Value::as_table_mut) {
            entries.retain(|_, entry| !names(entry, node));
        }
    }
}

/// Returns whether an app or a fault names `node`.
fn names(entry: &Value, node: &str) -> bool {
    let keys = ["on", "to", "node", "sender", "receiver"];
    keys.iter()
        .filter_map(|key| entry.get(key)?.as_str())
        .any(|text| text == node || text.split_once(':').is_some_and(|(name, _)| name == node))
}

/// Removes the apps that send to the removed server.
fn forget_app(document: &mut Table, removed: &Value) {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let port = removed.get("port").and_then(Value::as_integer);
    let (Some(on), Some(port)) = (text(removed, "on"), port) else {
        return;
    };
    let place = format!("{on}:{port}");
    if let Some(apps) = document.get_mut("apps").and_then(Value::as_table_mut) {
        apps.retain(|_, app| text(app, "to").as_ref() != Some(&place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::kind::Kind;

    fn failure() -> Failure {
        let line = "byte 1 is wrong".to_owned();
        let kind = Kind::of(&line, &[]);
        Failure { kind, line }
    }

    /// Shrinks a scenario. A smaller scenario still fails if `needs` returns true for it.
    fn shrunk(text: &str, needs: &dyn Fn(&Table) -> bool) -> Shrunk {
        shrink(text, &failure(), 10_000, &|text| {
            let document = text.parse::<Table>().unwrap();
            let is_valid = redpoll_sim::Scenario::parse("chaos", text, &[]).is_ok();
            if is_valid && needs(&document) {
                Verdict::Failed(failure())
            } else {
                Verdict::Passed { events: 0 }
            }
        })
    }

    #[test]
    fn only_what_the_failure_needs_remains() {
        let seed = (1..).find(|seed| {
            let text = generate(*seed).unwrap();
            let document: Table = text.parse().unwrap();
            table(&document, "faults").len() > 2 && table(&document, "nodes").len() > 4
        });
        let text = generate(seed.unwrap()).unwrap();
        let small = shrunk(&text, &|document| {
            !table(document, "faults").is_empty() && table(document, "nodes").len() >= 2
        });
        let document: Table = small.text.parse().unwrap();
        assert_eq!(table(&document, "faults").len(), 1, "{}", small.text);
        assert_eq!(table(&document, "nodes").len(), 2, "{}", small.text);
        assert!(table(&document, "apps").is_empty(), "{}", small.text);
        for key in table(&document, "tcp").keys() {
            assert!(KEPT_OPTIONS.contains(&["tcp", key]), "{}", small.text);
        }
        assert_eq!(small.failure, failure());
    }

    #[test]
    fn a_transfer_keeps_its_amount() {
        let has_total = |text: &str| {
            let document: Table = text.parse().unwrap();
            let mut apps = table(&document, "apps").values();
            apps.any(|app| app.get("total").is_some())
        };
        let seed = (1..).find(|seed| has_total(&generate(*seed).unwrap()));
        let text = generate(seed.unwrap()).unwrap();
        let is_sender =
            |app: &Value| app.get("type").and_then(Value::as_str) == Some("bulk-sender");
        let small = shrunk(&text, &|document| {
            table(document, "apps").values().any(is_sender)
        });
        assert!(has_total(&small.text), "{}", small.text);
    }

    #[test]
    fn another_kind_of_failure_does_not_count() {
        let text = generate(1).unwrap();
        let other = Failure {
            kind: Kind::of("something else", &[]),
            line: "something else".to_owned(),
        };
        let same = shrink(&text, &failure(), 1_000, &|_| {
            Verdict::Failed(other.clone())
        });
        assert_eq!(same.text, text);
        assert!(same.runs > 10);
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let text = generate(1).unwrap();
        let small = shrink(&text, &failure(), 3, &|_| Verdict::Failed(failure()));
        assert_eq!(small.runs, 3);
    }
}
