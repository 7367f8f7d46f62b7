//! Finds out whether a commit passed the continuous integration: here, by a note that `cargo xtask
//! ci` leaves in `target/`; or on GitHub, by its program `gh`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::workspace;

/// The commit for which all checks passed, and the names of the skipped checks, one a line.
const NOTE: &str = "target/ci-passed";

/// Returns the commit of a working tree without changes.
pub fn clean_commit(root: &Path) -> Option<String> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        workspace::output(git.current_dir(root).args(args)).ok()
    };
    let changes = git(&["status", "--porcelain"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    changes.is_empty().then(|| commit.trim().to_owned())
}

/// Records that all checks passed for the commit `before`, if it is still the clean tree's commit.
pub fn note(root: &Path, before: Option<&str>, skipped: &[String]) {
    let Some(commit) = before.filter(|it| clean_commit(root).as_deref() == Some(it)) else {
        return;
    };
    let text = format!("{commit}\n{}\n", skipped.join("\n"));
    if let Err(e) = std::fs::write(root.join(NOTE), text) {
        println!("ci: cannot write to {NOTE} that the checks passed: {e}");
    }
}

/// Returns where the checks of this commit passed, and what was skipped; `None` if they did not.
pub fn find(root: &Path, gh: &Path, commit: &str) -> Option<String> {
    let note = std::fs::read_to_string(root.join(NOTE)).unwrap_or_default();
    let mut lines = note.lines();
    if lines.next() == Some(commit) {
        let skipped: Vec<&str> = lines.filter(|it| !it.is_empty()).collect();
        return Some(match skipped.as_slice() {
            [] => "here, with no check skipped".to_owned(),
            some => format!("here; skipped: {}", some.join("; ")),
        });
    }
    let mut runs = Command::new(gh);
    runs.current_dir(root);
    runs.args(["run", "list", "--workflow", "ci.yml", "--commit", commit]);
    runs.args(["--json", "conclusion"]);
    let runs: Value = serde_json::from_str(&workspace::output(&mut runs).ok()?).ok()?;
    let passed = runs.as_array()?.iter();
    let mut passed = passed.filter(|run| run["conclusion"] == "success");
    passed.next().map(|_| "on GitHub".to_owned())
}
