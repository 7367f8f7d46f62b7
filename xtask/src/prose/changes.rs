//! The lines that have changed since the last change of a file, according to Git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::blocks::Block;
use crate::workspace::{self, Workspace};

/// Ranges of lines, the last one included.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes(BTreeMap<PathBuf, Vec<(usize, usize)>>);

impl Changes {
    /// Returns the lines of all files that were added or changed since the last commit that
    /// changed `file`. The result is empty without Git.
    pub fn since(workspace: &Workspace, file: &str) -> Changes {
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            workspace::output(git.current_dir(&workspace.root).args(args)).unwrap_or_default()
        };
        let commit = git(&["log", "-1", "--format=%H", "--", file]);
        let commit = Some(commit.trim()).filter(|it| !it.is_empty());
        let since = commit.unwrap_or("HEAD");
        let mut changes = Changes::of(&git(&["diff", "--unified=0", "--no-ext-diff", since]));
        for file in git(&["ls-files", "--others", "--exclude-standard"]).lines() {
            changes.0.insert(file.into(), vec![(1, usize::MAX)]);
        }
        changes
    }

    /// Returns the lines that a diff without context adds.
    fn of(diff: &str) -> Changes {
        let mut changes = Changes::default();
        let mut file = PathBuf::new();
        for line in diff.lines() {
            if let Some(name) = line.strip_prefix("+++ b/") {
                file = name.into();
            }
            let hunk = line.strip_prefix("@@ ").and_then(|it| it.split_once('+'));
            let Some((added, _)) = hunk.and_then(|it| it.1.split_once(" @@")) else {
                continue;
            };
            let (from, count) = added.split_once(',').unwrap_or((added, "1"));
            if let (Ok(from), Ok(count @ 1..)) = (from.parse::<usize>(), count.parse::<usize>()) {
                let ranges = changes.0.entry(file.clone()).or_default();
                ranges.push((from, from + count - 1));
            }
        }
        changes
    }

    pub fn meet(&self, file: &Path, block: &Block) -> bool {
        let mut ranges = self.0.get(file).into_iter().flatten();
        ranges.any(|(from, to)| *from <= block.lines.1 && block.lines.0 <= *to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_are_read_from_a_diff() {
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@ -3,2 +3,2 @@ fn f()\n+a\n+b\n@@ -9 +8,0 @@\n-c\n\
                    @@ -12,0 +12 @@\n+d\n";
        let changes = Changes::of(diff);
        let meets = |name: &str, from, to| {
            let (lines, text) = ((from, to), String::new());
            changes.meet(Path::new(name), &Block { lines, text })
        };
        assert!(meets("x.rs", 1, 3) && meets("x.rs", 4, 4) && meets("x.rs", 12, 20));
        assert!(!meets("x.rs", 5, 11) && !meets("y.rs", 3, 3));
    }
}
