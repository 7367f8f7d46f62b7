//! Errors in a scenario, with their place.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A line of the file, from 1.
    Line(usize),
    /// An override, as the user wrote it: `a.b.c=value`.
    Set(String),
}

/// An error in a scenario, with its place, the problem and the allowed values. Its text is one
/// line: `file:line: key: problem; allowed: values`, or `--set key=value: …` for an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    place: String,
    key: String,
    problem: String,
}

impl ScenarioError {
    /// Returns an error of the whole file: it cannot be read, or it is not TOML.
    pub(crate) fn file(place: impl Into<String>, problem: impl Into<String>) -> Self {
        ScenarioError {
            place: place.into(),
            key: String::new(),
            problem: problem.into(),
        }
    }

    pub(crate) fn at(file: &str, origin: &Origin, key: &str, problem: impl Into<String>) -> Self {
        let place = match origin {
            Origin::Line(line) => format!("{file}:{line}"),
            Origin::Set(text) => format!("--set {text}"),
        };
        ScenarioError {
            place,
            key: key.to_owned(),
            problem: problem.into(),
        }
    }

    /// Returns the dotted path of the wrong key; empty if the error concerns the whole file.
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}: {}", self.place, self.problem)
        } else {
            write!(f, "{}: {}: {}", self.place, self.key, self.problem)
        }
    }
}

impl std::error::Error for ScenarioError {}
