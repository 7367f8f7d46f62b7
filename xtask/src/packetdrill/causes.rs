//! Why scripts do not pass: `docs/packetdrill.toml`.

use serde::Deserialize;

use super::outcome::Outcome;
use super::suite::Suite;
use super::tool::Ended;
use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

/// Path of the list of causes, from the repository's root.
pub const FILE: &str = "docs/packetdrill.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    pub suite: String,
    pub by: By,
    /// Names of scripts, where `*` stands for any characters.
    pub scripts: Vec<String>,
    #[serde(default)]
    pub except: Vec<String>,
    pub why: String,
}

/// The kind of reason for which a script does not pass.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The script needs behaviour that no RFC requires, or that an RFC excludes.
    Choice,
    /// The library does not have a call or an option.
    Missing,
    /// The reason is in the tool, or in the script.
    Tool,
    /// An RFC requires behaviour that the stack does not have.
    Stack,
}

impl By {
    pub fn name(self) -> &'static str {
        match self {
            By::Choice => "choice",
            By::Missing => "missing",
            By::Tool => "tool",
            By::Stack => "stack",
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Causes {
    cause: Vec<Cause>,
}

impl Cause {
    pub fn is_for(&self, suite: Suite, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        self.suite == suite.key() && any(&self.scripts) && !any(&self.except)
    }
}

pub fn read(workspace: &Workspace) -> Result<Vec<Cause>, Failure> {
    let text = source::read(&workspace.root.join(FILE))?;
    let causes: Causes = toml::from_str(&text).map_err(|e| Failure::new(format!("{FILE}: {e}")))?;
    Ok(causes.cause)
}

/// Returns the first cause of a script.
pub fn of<'a>(causes: &'a [Cause], outcome: &Outcome) -> Option<&'a Cause> {
    let fits = |cause: &&Cause| cause.is_for(outcome.suite, &outcome.name);
    causes.iter().find(fits)
}

pub fn differences(causes: &[Cause], outcomes: &[Outcome]) -> Vec<String> {
    let mut findings = Vec::new();
    for outcome in outcomes {
        let place = format!("{}: {}", outcome.suite.key(), outcome.name);
        let listed = causes
            .iter()
            .filter(|cause| cause.is_for(outcome.suite, &outcome.name))
            .count();
        match (&outcome.ended, listed) {
            (Ok(Ended::Failed { line, message }), 0) => {
                let line = line.map_or(String::new(), |line| format!(" line {}:", line + 1));
                findings.push(format!(
                    "{place}: fails without a listed cause:{line} {message}"
                ));
            }
            (Ok(Ended::Passed), 1..) => {
                findings.push(format!(
                    "{place}: passes, but {FILE} lists a cause of failure; remove that cause"
                ));
            }
            (Ok(Ended::Failed { .. }), 2..) => {
                findings.push(format!("{place}: {FILE} lists several causes; keep one"));
            }
            _ => {}
        }
    }
    findings
}

/// Returns whether `name` matches `pattern`, in which `*` matches any characters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, rest)) => {
            let Some(after) = name.strip_prefix(begin) else {
                return false;
            };
            (0..=after.len())
                .filter(|at| after.is_char_boundary(*at))
                .any(|at| matches(rest, &after[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, fits) in [
            ("a/*-b", "a/x-b", true),
            ("a/*-b", "a/x-b-c", false),
            ("a/*b*", "a/bc", true),
            ("a", "a", true),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
