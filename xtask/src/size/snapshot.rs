//! The snapshot of what should not change unnoticed.

use std::path::{Path, PathBuf};

use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

/// How the file begins.
pub const HEAD: &str = "\
# Sizes in bytes on 32-bit ARM of what there may be many of.
# Compared by `cargo xtask size --check`; `cargo xtask size --accept` writes it
# anew. Look at the difference before you do.
";

/// Whether a type's size is in it: those of which there are many.
pub fn holds(name: &str) -> bool {
    name.starts_with("redpoll_tcp::") || name.contains("::ConnectionSlot<")
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join("firmware/size.txt")
}

pub fn write(workspace: &Workspace, text: &str) -> Outcome {
    put(&path(workspace), text)
}

pub fn put(path: &Path, text: &str) -> Outcome {
    std::fs::write(path, text)
        .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))
}

pub fn get(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))
}

pub fn compare(workspace: &Workspace, text: &str) -> Outcome {
    let expected = get(&path(workspace))?;
    Failure::unless_empty(
        "size: not as in firmware/size.txt (- there, + now); \
         if that is meant: cargo xtask size --accept",
        difference(&expected, text),
    )
}

/// The lines of one text that the other lacks. They are few and have names in
/// them, so that their order says nothing.
fn difference(expected: &str, found: &str) -> Vec<String> {
    let lacks = |text: &str, line: &str| !text.lines().any(|other| other == line);
    let gone = expected.lines().filter(|line| lacks(found, line));
    let new = found.lines().filter(|line| lacks(expected, line));
    gone.map(|line| format!("- {line}"))
        .chain(new.map(|line| format!("+ {line}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_shown_by_line() {
        let before = "# head\n  496  Connection\n   18  Listener\n";
        let after = "# head\n  504  Connection\n   18  Listener\n    1  X\n";
        assert_eq!(
            difference(before, after),
            ["-   496  Connection", "+   504  Connection", "+     1  X"]
        );
        assert!(difference(before, before).is_empty());
    }
}
