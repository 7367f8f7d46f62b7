//! The snapshot of what should not change unnoticed.

use std::path::{Path, PathBuf};

use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

/// How the file begins.
pub const HEAD: &str = "\
# Sizes in bytes on 32-bit ARM of what there may be many of, and flash.
# Compared by `cargo xtask size --check`, flash within 5 %; `cargo xtask size
# --accept` writes it anew, flash where it differs by more. Look at the difference
# before you do.
";

/// How the names of flash begin.
pub const FLASH: &str = "flash: ";

/// By how much flash may differ: it follows the compiler and whatever is changed.
const TOLERANCE: f64 = 0.05;

/// Whether a type's size is in it: those of which there are many.
pub fn holds(name: &str) -> bool {
    let others = [
        "::ConnectionSlot<",
        "::ListenerSlot",
        "::posix::Socket",
        "::RplNeighbour",
        "::RouteSlot",
    ];
    name.starts_with("redpoll_tcp::") || others.iter().any(|other| name.contains(other))
}

fn path(workspace: &Workspace) -> PathBuf {
    workspace.root.join("firmware/size.txt")
}

pub fn write(workspace: &Workspace, text: &str) -> Outcome {
    let path = path(workspace);
    let old = get(&path).unwrap_or_default();
    put(&path, &renewed(&old, text))
}

/// The text with the old lines of flash where they are still good.
fn renewed(old: &str, new: &str) -> String {
    let line = |line: &str| {
        let kept = old.lines().find(|other| is_near(other, line));
        format!("{}\n", kept.unwrap_or(line))
    };
    new.lines().map(line).collect()
}

/// Whether both are of the same flash, and about as much.
fn is_near(one: &str, other: &str) -> bool {
    let read = |line: &str| -> Option<(f64, String)> {
        let (bytes, name) = line.trim_start().split_once("  ")?;
        name.starts_with(FLASH)
            .then_some((bytes.parse().ok()?, name.to_owned()))
    };
    match (read(one), read(other)) {
        (Some((one, name)), Some((other, same))) => {
            name == same && (one - other).abs() <= TOLERANCE * other
        }
        _ => false,
    }
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
    let lacks = |text: &str, line: &str| {
        let is = |other: &str| other == line || is_near(other, line);
        !text.lines().any(is)
    };
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

    #[test]
    fn flash_may_differ_a_little() {
        let before = "    8  A\n10000  flash: TCP\n";
        let near = "    8  A\n10400  flash: TCP\n";
        let far = "    8  A\n10600  flash: TCP\n";
        assert!(difference(before, near).is_empty());
        assert_eq!(difference(before, far).len(), 2);
        assert_eq!(renewed(before, near), before);
        assert_eq!(renewed(before, far), far);
        assert_eq!(difference(before, "    9  A\n10000  flash: TCP\n").len(), 2);
    }
}
