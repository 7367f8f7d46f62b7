//! The generated tables of `docs/packetdrill.md` and `docs/packetdrill-failures.md`.

use std::fmt::Write;

use super::adapt::RULES;
use super::causes::{self, By, Cause};
use super::favours::FAVOURS;
use super::outcome::Outcome;
use super::suite::{Skipped, Suite};
use super::tool::Ended;
use crate::report::Failure;
use crate::source;
use crate::workspace::Workspace;

/// Maximum number of a cause's scripts for which the page lists names. For more scripts, the page
/// lists the patterns.
const NAMES_MAX: usize = 5;

/// Path of the page with the results, from the repository's root.
pub const FILE: &str = "docs/packetdrill.md";
const FAILURES: &str = "docs/packetdrill-failures.md";

pub fn write(workspace: &Workspace, causes: &[Cause], outcomes: &[Outcome]) -> Result<(), Failure> {
    let results = [
        ("summary", summary(causes, outcomes)),
        ("skipped", skipped(outcomes)),
        ("rules", rules(outcomes)),
        ("favours", favours(outcomes)),
    ];
    let failures = [
        ("stack", reasons(causes, outcomes, None)),
        ("freebsd", reasons(causes, outcomes, Some(Suite::FreeBsd))),
        ("linux", reasons(causes, outcomes, Some(Suite::Linux))),
    ];
    fill(workspace, FILE, &results)?;
    fill(workspace, FAILURES, &failures)
}

/// Replaces the named blocks of a page.
fn fill(workspace: &Workspace, file: &str, tables: &[(&str, String)]) -> Result<(), Failure> {
    let path = workspace.root.join(file);
    let mut text = source::read(&path)?;
    for (name, table) in tables {
        text = replaced(&text, name, table)
            .ok_or_else(|| Failure::new(format!("{file}: there is no block `{name}`")))?;
    }
    std::fs::write(&path, text)
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))
}

/// Returns the page with `table` between the marks of `name`.
fn replaced(text: &str, name: &str, table: &str) -> Option<String> {
    let open = format!("<!-- packetdrill: {name} -->\n");
    let (before, rest) = text.split_once(&open)?;
    let (_, after) = rest.split_once("<!-- end -->")?;
    Some(format!("{before}{open}{table}<!-- end -->{after}"))
}

/// Counts the scripts of a suite: all, run, passed, not passed, and not passed because of the
/// stack.
pub fn counts(suite: Suite, causes: &[Cause], outcomes: &[Outcome]) -> [usize; 5] {
    let own = || outcomes.iter().filter(|outcome| outcome.suite == suite);
    let run = own().filter(|outcome| outcome.ended.is_ok()).count();
    let passed = own().filter(|outcome| outcome.passed()).count();
    let by_stack = own().filter(|outcome| outcome.failed() && is_by_stack(causes, outcome));
    [own().count(), run, passed, run - passed, by_stack.count()]
}

fn is_by_stack(causes: &[Cause], outcome: &Outcome) -> bool {
    causes::of(causes, outcome).is_some_and(|cause| cause.by == By::Stack)
}

fn summary(causes: &[Cause], outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| suite | number of scripts | scripts run | scripts that pass | scripts that do not pass | scripts that do not pass because of the stack |\n\
         | --- | --: | --: | --: | --: | --: |\n",
    );
    for suite in Suite::ALL {
        let cells = counts(suite, causes, outcomes).map(thousands).join(" | ");
        let _ = writeln!(text, "| {} | {cells} |", suite.title());
    }
    text
}

/// Returns a number with commas, in the format of the page.
fn thousands(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

fn skipped(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| reason | scripts of FreeBSD | scripts of packetdrill |\n| --- | --: | --: |\n",
    );
    for reason in Skipped::ALL {
        let count = |suite| {
            let fits = |o: &&Outcome| o.suite == suite && o.ended == Err(reason);
            outcomes.iter().filter(fits).count()
        };
        let (freebsd, linux) = (count(Suite::FreeBsd), count(Suite::Linux));
        let _ = writeln!(text, "| {} | {freebsd} | {linux} |", reason.what());
    }
    text
}

fn rules(outcomes: &[Outcome]) -> String {
    let mut text = String::from("| change | number of scripts | reason |\n| --- | --: | --- |\n");
    for (index, rule) in RULES.iter().enumerate() {
        let changed = |outcome: &&Outcome| outcome.rules.contains(&index);
        let count = outcomes.iter().filter(changed).count();
        let _ = writeln!(text, "| {} | {count} | {} |", rule.name, rule.reason);
    }
    text
}

fn favours(outcomes: &[Outcome]) -> String {
    let mut text =
        String::from("| relaxed comparison | number of scripts | reason |\n| --- | --: | --- |\n");
    for (index, favour) in FAVOURS.iter().enumerate() {
        let needs = |outcome: &&Outcome| outcome.passed() && outcome.favours.contains(&index);
        let count = outcomes.iter().filter(needs).count();
        let _ = writeln!(text, "| {} | {count} | {} |", favour.name, favour.reason);
    }
    let none = |outcome: &&Outcome| outcome.passed() && outcome.favours.is_empty();
    let count = outcomes.iter().filter(none).count();
    let _ = writeln!(
        text,
        "| no relaxation | {count} | the scripts pass without a relaxation |"
    );
    text
}

/// Returns the scripts that do not pass, by cause: those of a suite, or those caused by the stack.
fn reasons(causes: &[Cause], outcomes: &[Outcome], suite: Option<Suite>) -> String {
    let mut rows = String::new();
    for cause in causes {
        let chosen = match suite {
            Some(suite) => cause.suite == suite.key() && cause.by != By::Stack,
            None => cause.by == By::Stack,
        };
        let own = |o: &&Outcome| {
            o.failed() && causes::of(causes, o).is_some_and(|of| std::ptr::eq(of, cause))
        };
        let names: Vec<&str> = outcomes
            .iter()
            .filter(own)
            .map(|o| o.name.as_str())
            .collect();
        if chosen && !names.is_empty() {
            let (count, by) = (names.len(), cause.by.name());
            // For many scripts, patterns are shorter than names.
            let patterns: Vec<&str> = cause.scripts.iter().map(String::as_str).collect();
            let shown = if count > NAMES_MAX {
                by_folder(&patterns)
            } else {
                by_folder(&names)
            };
            let _ = writeln!(rows, "| {count} | {shown} | {by} | {} |", cause.why);
        }
    }
    if rows.is_empty() {
        return "No script fails because the library violates an RFC.\n".to_owned();
    }
    format!(
        "| number of scripts | names | kind of cause | cause |\n| --: | --- | --- | --- |\n{rows}"
    )
}

fn by_folder(names: &[&str]) -> String {
    let mut text = String::new();
    let mut last = "";
    for name in names {
        let (folder, script) = name.rsplit_once('/').unwrap_or(("", name));
        if folder == last {
            text.push_str(", ");
        } else if text.is_empty() {
            let _ = write!(text, "`{folder}/`: ");
        } else {
            let _ = write!(text, "; `{folder}/`: ");
        }
        let _ = write!(text, "`{script}`");
        last = folder;
    }
    text
}

/// Returns the outcomes of all scripts as JSON.
pub fn json(causes: &[Cause], outcomes: &[Outcome]) -> serde_json::Value {
    let rows = outcomes.iter().map(|outcome| {
        let (ended, line, message) = match &outcome.ended {
            Ok(Ended::Passed) => ("passes", None, None),
            Ok(Ended::Failed { line, message }) => {
                ("fails", line.map(|line| line + 1), Some(message.clone()))
            }
            Err(reason) => ("not run", None, Some(reason.what().to_owned())),
        };
        let cause = causes::of(causes, outcome).filter(|_| outcome.failed());
        let favours: Vec<_> = outcome.favours.iter().map(|i| FAVOURS[*i].name).collect();
        let rules: Vec<_> = outcome.rules.iter().map(|i| RULES[*i].name).collect();
        serde_json::json!({
            "suite": outcome.suite.key(),
            "script": outcome.name,
            "ended": ended,
            "line": line,
            "message": message,
            "changed": rules,
            "relaxed": favours,
            "by": cause.map(|cause| cause.by.name()),
            "why": cause.map(|cause| cause.why.as_str()),
        })
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_between_its_marks() {
        let page = "a\n<!-- packetdrill: x -->\nold\n<!-- end -->\nb\n";
        let new = "a\n<!-- packetdrill: x -->\nnew\n<!-- end -->\nb\n";
        assert_eq!(replaced(page, "x", "new\n").as_deref(), Some(new));
        assert_eq!(replaced(page, "y", ""), None);
    }

    #[test]
    fn each_folder_is_named_once() {
        assert_eq!(
            by_folder(&["a/b", "a/c", "d/e"]),
            "`a/`: `b`, `c`; `d/`: `e`"
        );
    }
}
