//! The files of `docs/rfc`; their form is described in `docs/rfc/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::items::Items;
use crate::report::Failure;

/// The sections that each RFC has.
pub type Sections = BTreeMap<u32, BTreeSet<String>>;

/// Maximum number of words of a requirement's text.
const WORDS: usize = 15;

/// The requirements of an RFC.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    pub rfc: u32,
    #[serde(rename = "title")]
    _title: String,
    /// The part of the RFC that the ledger covers, in words.
    #[serde(rename = "scope")]
    _scope: String,
    #[serde(default, rename = "requirement")]
    requirements: Vec<Requirement>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    section: String,
    level: Level,
    /// The requirement, in the words of the ledger.
    what: String,
    status: Status,
    #[serde(default)]
    place: Names,
    #[serde(default)]
    test: Names,
    #[serde(default)]
    reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
enum Level {
    #[serde(rename = "MUST")]
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    #[serde(rename = "MAY")]
    May,
    /// An algorithm's text states the requirement without a word such as MUST.
    #[serde(rename = "plain")]
    Plain,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    Met,
    Partly,
    Not,
    Later,
    OtherLayer,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

impl Default for Names {
    fn default() -> Self {
        Names::Several(Vec::new())
    }
}

impl Names {
    fn list(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }

    fn is_empty(&self) -> bool {
        self.list().is_empty()
    }
}

impl Status {
    pub const ALL: [Status; 5] = [
        Status::Met,
        Status::Partly,
        Status::Not,
        Status::Later,
        Status::OtherLayer,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Status::Met => "met",
            Status::Partly => "partly",
            Status::Not => "not met",
            Status::Later => "later",
            Status::OtherLayer => "other layer",
        }
    }
}

/// Returns the ledgers in `folder`, by number.
pub fn all(folder: &Path) -> Result<Vec<Ledger>, Failure> {
    let unreadable = |e| Failure::new(format!("cannot read {}: {e}", folder.display()));
    let mut ledgers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(number) = name
            .strip_prefix("rfc")
            .and_then(|n| n.strip_suffix(".toml"))
        else {
            continue;
        };
        let ledger: Ledger = parse(&path)?;
        if ledger.rfc.to_string() != number {
            let rfc = ledger.rfc;
            return Err(Failure::new(format!(
                "{name}: its key `rfc` is {rfc}; allowed: the number in the name of the file"
            )));
        }
        ledgers.push(ledger);
    }
    ledgers.sort_by_key(|ledger| ledger.rfc);
    Ok(ledgers)
}

/// Reads the file of section numbers: `9293 = "1 2 2.1 …"`.
pub fn sections(path: &Path) -> Result<Sections, Failure> {
    let lines: BTreeMap<String, String> = parse(path)?;
    lines
        .into_iter()
        .map(|(rfc, sections)| {
            let not_a_number = |_| {
                Failure::new(format!(
                    "sections.toml: `{rfc}` is not the number of an RFC"
                ))
            };
            let number = rfc.parse().map_err(not_a_number)?;
            Ok((
                number,
                sections.split_whitespace().map(String::from).collect(),
            ))
        })
        .collect()
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Failure> {
    let text = crate::source::read(path)?;
    toml::from_str(&text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

impl Ledger {
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|r| r.id.as_str())
    }

    /// Returns the number of requirements, their number by status, and the number of MUST and MUST
    /// NOT that are met partly or not at all.
    pub fn counts(&self) -> Vec<usize> {
        let all = &self.requirements;
        let of = |status| all.iter().filter(|r| r.status == status).count();
        let unmet = all.iter().filter(|r| r.is_must() && r.is_unmet()).count();
        std::iter::once(all.len())
            .chain(Status::ALL.map(of))
            .chain([unmet])
            .collect()
    }

    /// Lists the requirements that are met partly or not at all, with the reasons.
    pub fn print_open(&self) {
        for r in self.requirements.iter().filter(|r| r.is_unmet()) {
            let (rfc, id, section) = (self.rfc, &r.id, &r.section);
            println!("RFC {rfc} §{section} {id}, {}: {}", r.status.name(), r.what);
            println!("    {}", r.reason);
        }
    }

    pub fn check(&self, sections: &Sections, items: &mut Items, findings: &mut Vec<String>) {
        let mut seen = BTreeSet::new();
        for r in &self.requirements {
            let mut found = r.findings(items);
            if !seen.insert(&r.id) {
                found.push("another requirement has this name".to_owned());
            }
            let known = sections.get(&self.rfc);
            if !known.is_some_and(|known| known.contains(&r.section)) {
                found.push(format!("there is no section {}", r.section));
            }
            let name = format!("rfc{}.toml: {}", self.rfc, r.id);
            findings.extend(found.into_iter().map(|what| format!("{name}: {what}")));
        }
    }
}

impl Requirement {
    fn is_must(&self) -> bool {
        matches!(self.level, Level::Must | Level::MustNot)
    }

    fn is_unmet(&self) -> bool {
        matches!(self.status, Status::Partly | Status::Not)
    }

    fn findings(&self, items: &mut Items) -> Vec<String> {
        let (place, test) = (self.place.is_empty(), self.test.is_empty());
        let reason = self.reason.is_empty();
        let missing = match self.status {
            Status::Met if place => Some("met, but no place in the code is named"),
            Status::Met if test => Some("met without a test"),
            Status::Partly if place => Some("partly met, but no place in the code is named"),
            Status::Partly if reason => Some("partly met, and no `reason` is given"),
            Status::Not if reason => Some("not met, and no `reason` is given"),
            Status::OtherLayer if place && reason => {
                Some("met by another layer, but neither `place` nor `reason` names it")
            }
            _ => None,
        };
        let mut found: Vec<String> = missing.map(String::from).into_iter().collect();
        if self.what.split_whitespace().count() > WORDS {
            found.push(format!("its description has more than {WORDS} words"));
        }
        let places = self.place.list().iter();
        found.extend(places.filter_map(|place| items.wrong_place(place)));
        let tests = self.test.list().iter();
        found.extend(tests.filter_map(|test| items.wrong_test(test)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "rfc = 1\ntitle = \"T\"\nscope = \"all\"\n";

    fn findings(requirement: &str) -> Vec<String> {
        let text = format!("{HEAD}[[requirement]]\nid = \"a\"\n{requirement}");
        let ledger: Ledger = toml::from_str(&text).unwrap();
        let sections = [(1, ["2.1".to_owned()].into())].into();
        let mut items = Items::new(Path::new(env!("CARGO_MANIFEST_DIR")));
        let mut findings = Vec::new();
        ledger.check(&sections, &mut items, &mut findings);
        findings
    }

    fn of(status: &str, more: &str) -> Vec<String> {
        findings(&format!(
            "section = \"2.1\"\nlevel = \"MUST\"\nwhat = \"w\"\nstatus = \"{status}\"\n{more}"
        ))
    }

    #[test]
    fn each_status_demands_something() {
        let place = "place = \"src/rfc/ledger.rs:Ledger::check\"\n";
        let test = "test = [\"src/rfc/ledger.rs::each_status_demands_something\"]\n";
        let reason = "reason = \"r\"\n";
        for (status, more, fine) in [
            ("met", format!("{place}{test}"), true),
            ("met", place.to_owned(), false),
            ("met", test.to_owned(), false),
            ("partly", format!("{place}{reason}"), true),
            ("partly", place.to_owned(), false),
            ("not", reason.to_owned(), true),
            ("not", place.to_owned(), false),
            ("later", String::new(), true),
            ("other-layer", reason.to_owned(), true),
            ("other-layer", String::new(), false),
        ] {
            assert_eq!(of(status, &more).is_empty(), fine, "{status}: {more}");
        }
        assert_eq!(of("later", "place = \"src/rfc/ledger.rs:no\"").len(), 1);
    }

    #[test]
    fn sections_and_words_are_checked() {
        let text = "level = \"plain\"\nstatus = \"later\"\n";
        let long = "w ".repeat(16);
        assert!(findings(&format!("{text}section = \"2.1\"\nwhat = \"w\"\n")).is_empty());
        assert_eq!(
            findings(&format!("{text}section = \"2.2\"\nwhat = \"w\"\n")),
            ["rfc1.toml: a: there is no section 2.2"]
        );
        assert_eq!(
            findings(&format!("{text}section = \"2.1\"\nwhat = \"{long}\"\n")).len(),
            1
        );
    }

    #[test]
    fn misspelt_keys_are_refused() {
        for text in ["state = \"met\"", "status = \"mett\""] {
            let text = format!("{HEAD}[[requirement]]\nid = \"a\"\n{text}");
            assert!(toml::from_str::<Ledger>(&text).is_err());
        }
    }
}
