//! Checks a document against the list of keys, and returns its values.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redpoll_base::{Addr, Duration};

use super::error::{Origin, ScenarioError};
use super::keys;
use super::schema::{Key, KeyKind, Presence, Value};
use super::tree::{Item, Raw};
use crate::name::is_name;

#[derive(Debug)]
pub(crate) struct Values<'f> {
    file: &'f str,
    is_built_in: bool,
    /// Names that the caller adds to the choices of keys of the kind [`KeyKind::ChoiceOrGiven`].
    given: &'f [String],
    found: BTreeMap<String, (Value, Origin)>,
    tables: BTreeMap<String, Origin>,
    /// Names chosen in `nodes`, `apps` and similar tables, in the file's order.
    names: BTreeMap<String, Vec<String>>,
}

#[derive(Debug)]
pub(crate) enum NamedFile {
    OnDisk(PathBuf),
    /// Name of a file that is built into the program, as the scenario is.
    BuiltIn(String),
}

impl<'f> Values<'f> {
    pub(crate) fn check(
        file: &'f str,
        is_built_in: bool,
        root: &Item,
        given: &'f [String],
    ) -> Result<Values<'f>, ScenarioError> {
        let mut values = Values {
            file,
            is_built_in,
            given,
            found: BTreeMap::new(),
            tables: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        values.walk("", root)?;
        values.check_conditions()?;
        values.check_required()?;
        Ok(values)
    }

    fn walk(&mut self, path: &str, item: &Item) -> Result<(), ScenarioError> {
        let error = |problem| Err(ScenarioError::at(self.file, &item.origin, path, problem));
        if let Some(key) = keys::find(path) {
            match key.kind.read_with(&item.raw, self.given) {
                Ok(value) => {
                    self.found
                        .insert(path.to_owned(), (value, item.origin.clone()));
                    return Ok(());
                }
                Err(got) => {
                    let mut allowed = key.kind.allowed();
                    if matches!(key.kind, KeyKind::ChoiceOrGiven(_)) {
                        self.given
                            .iter()
                            .for_each(|it| allowed += &format!(", {it}"));
                    }
                    return error(format!("got {got}; allowed: {allowed}"));
                }
            }
        }
        let Raw::Table(entries) = &item.raw else {
            return error(format!("got {}; allowed: a table", item.raw.shown()));
        };
        self.tables.insert(path.to_owned(), item.origin.clone());
        let allowed = keys::children(path);
        for (name, child) in entries {
            let below = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            let error = |problem| Err(ScenarioError::at(self.file, &child.origin, &below, problem));
            if allowed.is_empty() {
                if !is_name(name) {
                    return error(format!(
                        "got the name \"{name}\"; allowed: a word of letters, digits, - and _"
                    ));
                }
                self.names
                    .entry(path.to_owned())
                    .or_default()
                    .push(name.clone());
            } else if !allowed.contains(&name.as_str()) {
                return error(unknown("key", name, &allowed));
            }
            self.walk(&below, child)?;
        }
        Ok(())
    }

    /// Refuses keys that have no meaning with the value of another key. If an override changed that
    /// other key, the file's keys for the old value are ignored instead. Otherwise `--set
    /// medium.model=sinr` would fail with every file that sets ranges.
    fn check_conditions(&mut self) -> Result<(), ScenarioError> {
        let mut passed_over = Vec::new();
        for (path, (_, origin)) in &self.found {
            let Some(key) = keys::find(path) else {
                continue;
            };
            let Some((selector, wanted)) = key.only else {
                continue;
            };
            let selector = sibling(path, selector);
            let Some(chosen) = self.chosen(&selector) else {
                continue;
            };
            if wanted.contains(&chosen.as_str()) {
                continue;
            }
            let overridden = matches!(self.found.get(&selector), Some((_, Origin::Set(_))));
            if overridden && matches!(origin, Origin::Line(_)) {
                passed_over.push(path.clone());
                continue;
            }
            let selector_name = selector.rsplit('.').next().unwrap_or(&selector);
            let problem = format!(
                "has no meaning where {selector_name} is {chosen}; allowed: with {selector_name} {}",
                wanted.join(", ")
            );
            return Err(ScenarioError::at(self.file, origin, path, problem));
        }
        for path in passed_over {
            self.found.remove(&path);
        }
        Ok(())
    }

    fn check_required(&self) -> Result<(), ScenarioError> {
        for key in keys::all().filter(|key| matches!(key.presence, Presence::Required)) {
            for path in self.instances(key) {
                let applies = match key.only {
                    None => true,
                    Some((selector, wanted)) => self
                        .chosen(&sibling(&path, selector))
                        .is_some_and(|chosen| wanted.contains(&chosen.as_str())),
                };
                if applies && !self.has(&path) {
                    let allowed = key.kind.allowed();
                    return Err(self.error(&path, format!("is missing; allowed: {allowed}")));
                }
            }
        }
        Ok(())
    }

    fn instances(&self, key: &Key) -> Vec<String> {
        match key.path.split_once(".*.") {
            None => vec![key.path.to_owned()],
            Some((table, last)) => self
                .names(table)
                .iter()
                .map(|name| format!("{table}.{name}.{last}"))
                .collect(),
        }
    }

    pub(crate) fn chosen(&self, path: &str) -> Option<String> {
        match self.value(path) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the file at the key `path`. A relative name in the scenario file is relative to the
    /// scenario's folder; in an override, to the current folder.
    pub(crate) fn named_file(&self, path: &str) -> NamedFile {
        let name = self.text(path);
        let is_override = matches!(self.found.get(path), Some((_, Origin::Set(_))));
        if is_override {
            return NamedFile::OnDisk(PathBuf::from(name));
        }
        let folder = Path::new(self.file).parent().unwrap_or(Path::new(""));
        match self.is_built_in {
            true => NamedFile::BuiltIn(name),
            false => NamedFile::OnDisk(folder.join(name)),
        }
    }

    pub(crate) fn own_file(&self) -> Option<PathBuf> {
        (!self.is_built_in).then(|| PathBuf::from(self.file))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.found.contains_key(path)
    }

    pub(crate) fn names(&self, table: &str) -> &[String] {
        self.names.get(table).map_or(&[], Vec::as_slice)
    }

    /// Returns the error `problem` at the key `path`. Its place is the line or the override that
    /// sets the key, otherwise the line of the innermost table above it, otherwise line 1.
    pub(crate) fn error(&self, path: &str, problem: impl Into<String>) -> ScenarioError {
        let mut origin = self.found.get(path).map(|(_, origin)| origin);
        let mut above = path;
        while origin.is_none() {
            origin = self.tables.get(above);
            above = match above.rsplit_once('.') {
                Some((above, _)) => above,
                None => break,
            };
        }
        ScenarioError::at(self.file, origin.unwrap_or(&Origin::Line(1)), path, problem)
    }

    fn value(&self, path: &str) -> Option<Value> {
        match self.found.get(path) {
            Some((value, _)) => Some(value.clone()),
            None => keys::find(path).and_then(keys::default_of),
        }
    }

    pub(crate) fn text(&self, path: &str) -> String {
        self.chosen(path).unwrap_or_default()
    }

    pub(crate) fn texts(&self, path: &str) -> Vec<String> {
        match self.value(path) {
            Some(Value::Texts(texts)) => texts,
            Some(Value::Text(text)) => vec![text],
            _ => Vec::new(),
        }
    }

    pub(crate) fn count(&self, path: &str) -> Option<u64> {
        match self.value(path) {
            Some(Value::Count(count)) => Some(count),
            _ => None,
        }
    }

    /// Returns the whole number at `path` as a type that the key's range fits into.
    pub(crate) fn small<T: TryFrom<u64> + Default>(&self, path: &str) -> T {
        self.count(path)
            .and_then(|count| T::try_from(count).ok())
            .unwrap_or_default()
    }

    pub(crate) fn number(&self, path: &str) -> Option<f64> {
        match self.value(path) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn real(&self, path: &str) -> f64 {
        self.number(path).unwrap_or_default()
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<u64> {
        self.number(path).map(|bytes| bytes.round() as u64)
    }

    pub(crate) fn time(&self, path: &str) -> Option<Duration> {
        self.number(path)
            .map(|us| Duration::from_micros(us.round() as u64))
    }

    pub(crate) fn duration(&self, path: &str) -> Duration {
        self.time(path).unwrap_or_default()
    }

    pub(crate) fn flag(&self, path: &str) -> bool {
        matches!(self.value(path), Some(Value::Bool(true)))
    }

    pub(crate) fn address(&self, path: &str) -> Addr {
        match self.value(path) {
            Some(Value::Address(addr)) => addr,
            _ => Addr::UNSPECIFIED,
        }
    }

    pub(crate) fn position(&self, path: &str) -> Option<(f64, f64)> {
        match self.value(path) {
            Some(Value::Position(x, y)) => Some((x, y)),
            _ => None,
        }
    }

    pub(crate) fn frames(&self, path: &str) -> Option<u8> {
        match self.value(path) {
            Some(Value::Frames(frames)) => Some(frames),
            _ => None,
        }
    }
}

/// Returns `path` with its last name replaced by `last`.
fn sibling(path: &str, last: &str) -> String {
    match path.rsplit_once('.') {
        Some((table, _)) => format!("{table}.{last}"),
        None => last.to_owned(),
    }
}

/// Returns the message about a name that is not in `allowed`.
pub(crate) fn unknown<T: AsRef<str>>(what: &str, name: &str, allowed: &[T]) -> String {
    const LISTED: usize = 40;
    let hint = match closest(name, allowed) {
        Some(close) => format!(" (did you mean {close}?)"),
        None => String::new(),
    };
    let mut list: Vec<&str> = allowed.iter().take(LISTED).map(AsRef::as_ref).collect();
    if allowed.len() > LISTED {
        list.push("…");
    }
    format!(
        "got the unknown {what} \"{name}\"{hint}; allowed: {}",
        list.join(", ")
    )
}

/// Returns the element of `allowed` that `name` probably means.
fn closest<'a, T: AsRef<str>>(name: &str, allowed: &'a [T]) -> Option<&'a str> {
    let near = allowed
        .iter()
        .map(|word| (distance(name, word.as_ref()), word.as_ref()));
    let (distance, word) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= 1 + name.len() / 4).then_some(word)
}

/// Returns the number of letters that must be inserted, removed, replaced or swapped with a
/// neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_given_only_for_similar_names() {
        let allowed = ["link_retry_delay", "max_be", "min_be"];
        assert_eq!(
            closest("link_retry_dealy", &allowed),
            Some("link_retry_delay")
        );
        assert_eq!(closest("maxbe", &allowed), Some("max_be"));
        assert_eq!(closest("colour", &allowed), None);
    }

    #[test]
    fn distances_count_swaps_once() {
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("abc", "acb"), 1);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
