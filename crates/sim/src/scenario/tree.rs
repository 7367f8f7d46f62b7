//! A TOML document as a tree of values with their origin, and overrides by dotted path.

use toml::de::{DeTable, DeValue};

use super::error::{Origin, ScenarioError};
use super::keys;

/// Maximum number of names in a dotted path; no key has a longer path.
const DEEPEST: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub origin: Origin,
    pub raw: Raw,
}

#[derive(Clone, Debug)]
pub(crate) enum Raw {
    Table(Vec<(String, Item)>),
    Array(Vec<Item>),
    Text(String),
    /// A number with a point or an exponent, or one that is too long for 64 bits.
    Real(f64),
    Integer(i64),
    Bool(bool),
    /// A date or time, which is kept for the error message.
    Date(String),
}

impl Raw {
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Raw::Real(value) => Some(*value),
            Raw::Integer(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// Returns the value as an error message shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Raw::Table(_) => "a table".to_owned(),
            Raw::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| item.raw.shown()).collect();
                format!("[{}]", items.join(", "))
            }
            Raw::Text(text) => format!("\"{text}\""),
            Raw::Real(value) => value.to_string(),
            Raw::Integer(value) => value.to_string(),
            Raw::Bool(value) => value.to_string(),
            Raw::Date(text) => text.clone(),
        }
    }
}

pub(crate) fn parse(file: &str, text: &str) -> Result<Item, ScenarioError> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or_default();
        let line = lines.at(span.start);
        // Join the lines of the parser's message, because an error takes one line.
        let message: Vec<&str> = error.message().lines().map(str::trim).collect();
        let mut message = message.join(", ");
        if message == "duplicate key" {
            let key = text.get(span).unwrap_or_default().trim_matches('"');
            message = format!("got the key \"{key}\" a second time; allowed: each key once");
        }
        ScenarioError::file(format!("{file}:{line}"), message)
    })?;
    let place = |offset| Origin::Line(lines.at(offset));
    Ok(Item {
        origin: Origin::Line(1),
        raw: table_of(table.get_ref(), &place),
    })
}

/// Sets `value` at the dotted path `key`, as `--set key=value` requests. The value is read as TOML
/// if possible, and otherwise as text: `mac.max_be=5` sets a number; `duration=5 s` and
/// `duration="5 s"` set the same text.
pub(crate) fn set(root: &mut Item, key: &str, value: &str) -> Result<(), ScenarioError> {
    if key.split('.').nth(DEEPEST).is_some() {
        let start: String = key.chars().take(40).collect();
        let problem = format!("got a key of more than {DEEPEST} names; allowed: at most {DEEPEST}");
        return Err(ScenarioError::at(
            "",
            &Origin::Set(start.clone()),
            &start,
            problem,
        ));
    }
    let shown = match keys::is_secret(key) {
        true => "…",
        false => value,
    };
    let origin = Origin::Set(format!("{key}={shown}"));
    let raw = match DeValue::parse(value.trim()) {
        Ok(value) => raw_of(value.get_ref(), &|_| origin.clone()),
        Err(_) => Raw::Text(value.trim().to_owned()),
    };
    let mut here = root;
    for step in key.split('.').map(str::trim) {
        if step.is_empty() {
            let problem = "got an empty name in the key; allowed: names separated by single dots";
            return Err(ScenarioError::at("", &origin, key, problem));
        }
        // Replaces a value on the path by a table; the check of known keys then reports an error.
        if !matches!(here.raw, Raw::Table(_)) {
            here.raw = Raw::Table(Vec::new());
        }
        let Raw::Table(entries) = &mut here.raw else {
            unreachable!("made a table above")
        };
        let at = match entries.iter().position(|(name, _)| name == step) {
            Some(at) => at,
            None => {
                let item = Item {
                    origin: origin.clone(),
                    raw: Raw::Table(Vec::new()),
                };
                entries.push((step.to_owned(), item));
                entries.len() - 1
            }
        };
        here = &mut entries[at].1;
    }
    *here = Item { origin, raw };
    Ok(())
}

fn table_of(table: &DeTable<'_>, place: &dyn Fn(usize) -> Origin) -> Raw {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entries = entries.into_iter().map(|(key, value)| {
        let item = Item {
            origin: place(key.span().start),
            raw: raw_of(value.get_ref(), place),
        };
        (key.get_ref().to_string(), item)
    });
    Raw::Table(entries.collect())
}

fn raw_of(value: &DeValue<'_>, place: &dyn Fn(usize) -> Origin) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => {
            // A number of more than 64 bits is too large for any key; messages show its digits.
            match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(value) => Raw::Integer(value),
                Err(_) => Raw::Real(number.as_str().parse().unwrap_or(f64::INFINITY)),
            }
        }
        DeValue::Float(number) => Raw::Real(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Raw::Bool(*value),
        DeValue::Datetime(date) => Raw::Date(date.to_string()),
        DeValue::Array(items) => Raw::Array(
            items
                .iter()
                .map(|item| Item {
                    origin: place(item.span().start),
                    raw: raw_of(item.get_ref(), place),
                })
                .collect(),
        ),
        DeValue::Table(table) => table_of(table, place),
    }
}

struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines(
            std::iter::once(0)
                .chain(starts.map(|(at, _)| at + 1))
                .collect(),
        )
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(item: &'a Item, path: &str) -> &'a Item {
        path.split('.').fold(item, |here, step| match &here.raw {
            Raw::Table(entries) => &entries.iter().find(|(name, _)| name == step).unwrap().1,
            other => panic!("{step}: not a table: {other:?}"),
        })
    }

    #[test]
    fn values_know_their_lines_and_keep_the_order_of_the_file() {
        let root = parse("f", "z = 1\n[b]\nx = \"q\"\n\n[a.c]\ny = [1,\n 2.5]\n").unwrap();
        assert_eq!(find(&root, "z").origin, Origin::Line(1));
        assert_eq!(find(&root, "b.x").origin, Origin::Line(3));
        assert_eq!(find(&root, "a.c.y").origin, Origin::Line(6));
        assert_eq!(find(&root, "a.c.y").raw.shown(), "[1, 2.5]");
        let Raw::Table(entries) = &root.raw else {
            panic!()
        };
        let order: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["z", "b", "a"]);
    }

    #[test]
    fn text_that_is_not_toml_is_refused_with_its_line() {
        let error = parse("f.toml", "a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("f.toml:2: "), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let twice = parse("f.toml", "a = 1\na = 2\n").unwrap_err().to_string();
        assert!(twice.starts_with("f.toml:2: "), "{twice}");
    }

    #[test]
    fn overrides_replace_and_create() {
        let mut root = parse("f", "[mac]\nmax_be = 5\n").unwrap();
        set(&mut root, "mac.max_be", "4").unwrap();
        set(&mut root, "mac.link_retry_delay", "0 ms").unwrap();
        set(&mut root, "radio.model", "\"ideal\"").unwrap();
        assert_eq!(find(&root, "mac.max_be").raw.shown(), "4");
        assert_eq!(find(&root, "mac.link_retry_delay").raw.shown(), "\"0 ms\"");
        assert_eq!(find(&root, "radio.model").raw.shown(), "\"ideal\"");
        let origin = &find(&root, "mac.max_be").origin;
        assert_eq!(*origin, Origin::Set("mac.max_be=4".to_owned()));
        assert!(set(&mut root, "mac..x", "4").is_err());
    }
}
