//! The files of `.github`: a workflow runs existing make targets only, which a person can run, too,
//! and uses actions of GitHub itself, each at a fixed commit. actionlint checks the syntax; without
//! actionlint, this part is skipped.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::{self, Workspace};

/// Version of actionlint that `scripts/setup.sh test` installs.
const VERSION: &str = "1.7.12";
/// Fields of the bug form without which a report cannot be reproduced.
const ASKED: [&str; 4] = ["version", "scenario", "seed", "capture"];

/// Checks the workflows and forms; returns the skipped part.
pub fn run(workspace: &Workspace) -> Result<Option<String>, Failure> {
    let makefile = source::read(&workspace.root.join("Makefile"))?;
    let targets = targets(&makefile);
    let folder = workspace.root.join(".github/workflows");
    let mut findings = Vec::new();
    let files = source::files(&folder, "yml")?;
    for file in &files {
        let text = source::read(file)?;
        let name = workspace.relative(file).display().to_string();
        findings.extend(wrong_steps(&name, &text, &targets));
    }
    let form = ".github/ISSUE_TEMPLATE/bug.yml";
    let text = source::read(&workspace.root.join(form))?;
    let lacks = ASKED
        .iter()
        .filter(|it| !text.contains(&format!("\n    id: {it}\n")));
    findings.extend(lacks.map(|it| format!("{form}: the issue form does not ask for the {it}")));
    Failure::unless_empty("workflows:", findings)?;
    let Some(program) = program(workspace) else {
        return Ok(Some(format!(
            "actionlint {VERSION} is missing (scripts/setup.sh test); the commands were checked"
        )));
    };
    let mut lint = Command::new(program);
    workspace::run(lint.arg("-no-color").args(&files))?;
    println!("workflows: {} files pass actionlint", files.len());
    Ok(None)
}

/// Checks the workflows for a person: a missing tool is a failure.
pub fn check(workspace: &Workspace) -> Outcome {
    match run(workspace)? {
        None => Ok(()),
        Some(reason) => Err(Failure::new(format!("workflows: {reason}"))),
    }
}

/// Returns actionlint of the required version: the one that setup.sh installed, or that in PATH.
fn program(workspace: &Workspace) -> Option<PathBuf> {
    let own = workspace.root.join("target/tools/bin/actionlint");
    [own, PathBuf::from("actionlint")]
        .into_iter()
        .find(|program| {
            let printed = workspace::output(Command::new(program).arg("-version"));
            let first = printed.as_deref().unwrap_or_default().lines().next();
            first.is_some_and(|line| line.trim_start_matches('v') == VERSION)
        })
}

/// Returns the targets of a Makefile.
fn targets(makefile: &str) -> BTreeSet<&str> {
    let names = makefile.lines().filter_map(|line| line.split_once(':'));
    names
        .filter(|(name, rest)| is_name(name) && !rest.starts_with('='))
        .map(|(name, _)| name)
        .collect()
}

fn is_name(word: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !word.is_empty() && word.chars().all(allowed)
}

/// Returns the lines of a workflow whose step is neither a make command nor a fixed action.
fn wrong_steps(file: &str, text: &str, targets: &BTreeSet<&str>) -> Vec<String> {
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start().trim_start_matches("- ");
        if line.starts_with('#') {
            continue;
        }
        let mut add = |what: String| findings.push(format!("{file}:{}: {what}", at + 1));
        if let Some(uses) = line.strip_prefix("uses:") {
            if !is_fixed(uses.trim()) {
                add(format!(
                    "`{}` is not an action of GitHub at a commit, such as `actions/checkout@3d3c… # v7.0.1`",
                    uses.trim()
                ));
            }
        } else if let Some(command) = line.strip_prefix("run:") {
            if let Some(what) = wrong_command(command.trim(), targets) {
                add(what);
            }
        } else if line.contains("run:") || line.contains("uses:") {
            add("write each `run:` and `uses:` on a line of its own".to_owned());
        }
    }
    findings
}

/// Returns whether a step uses an action of GitHub at a commit, with its version in a comment.
fn is_fixed(uses: &str) -> bool {
    let Some((action, version)) = uses.split_once(" # v") else {
        return false;
    };
    let commit = action
        .strip_prefix("actions/")
        .and_then(|it| it.split_once('@'));
    let is_hash = |it: &str| it.len() == 40 && it.chars().all(|c| c.is_ascii_hexdigit());
    commit.is_some_and(|(_, commit)| is_hash(commit)) && !version.is_empty()
}

/// Returns what is wrong with a command, unless it is `make` with existing targets and variables.
fn wrong_command(command: &str, targets: &BTreeSet<&str>) -> Option<String> {
    let Some(words) = command.strip_prefix("make ") else {
        return Some(format!("`{command}` is not a make command on one line"));
    };
    let mut named = 0;
    for word in words.split_whitespace() {
        let is_variable = word.split_once('=').is_some_and(|(name, value)| {
            let upper = |c: char| c.is_ascii_uppercase() || c == '_';
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            name.chars().all(upper) && value.chars().all(plain)
        });
        if is_variable {
            continue;
        }
        if !targets.contains(word) {
            return Some(format!("Makefile has no target `{word}`"));
        }
        named += 1;
    }
    (named == 0).then(|| format!("`{command}` names no target"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKEFILE: &str = "A := b\nMSRV = x:y\ntest: ## Test\n\t@x: y\npackage-all: test\n";

    #[test]
    fn targets_of_a_makefile_are_found() {
        let found: Vec<_> = targets(MAKEFILE).into_iter().collect();
        assert_eq!(found, ["package-all", "test"]);
    }

    #[test]
    fn only_make_and_fixed_actions_are_accepted() {
        let targets = targets(MAKEFILE);
        let commit = "3d3c42e5aac5ba805825da76410c181273ba90b1";
        let step = |line: &str| wrong_steps("x.yml", line, &targets);
        let good = [
            "      - run: make test".to_owned(),
            "        run: make package-all test SECONDS=60".to_owned(),
            format!("      - uses: actions/checkout@{commit} # v7.0.1"),
            "# run: anything".to_owned(),
            "  timeout-minutes: 90".to_owned(),
        ];
        for line in good {
            assert_eq!(step(&line), Vec::<String>::new(), "{line}");
        }
        let bad = [
            "- run: make missing".to_owned(),
            "- run: make".to_owned(),
            "- run: make SECONDS=60".to_owned(),
            "- run: make test && curl example.org".to_owned(),
            "- run: make test X=$(id)".to_owned(),
            "- run: cargo test".to_owned(),
            "- run: |".to_owned(),
            "- { run: make test }".to_owned(),
            "- uses: actions/checkout@v7".to_owned(),
            format!("- uses: actions/checkout@{commit}"),
            format!("- uses: someone/checkout@{commit} # v7.0.1"),
        ];
        for line in bad {
            assert_eq!(step(&line).len(), 1, "{line}");
        }
    }

    #[test]
    fn the_workflows_run_existing_targets() {
        run(&Workspace::here()).unwrap();
    }
}
