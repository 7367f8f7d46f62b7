//! The snapshot of the values that should not change unnoticed.

use std::path::{Path, PathBuf};

use super::types;
use crate::report::{Failure, Outcome};
use crate::workspace::Workspace;

/// First lines of the file.
pub const HEAD: &str = "\
# Sizes in bytes on 32-bit ARM of types with many instances, and flash.
# Compared by `cargo xtask size --check`, flash within 5 %; `cargo xtask size
# --accept` writes new values, those of flash if they differ by more. Read the diff
# before you accept. Some values also have a limit in xtask/src/size/snapshot.rs.
";

/// Prefix of the names of flash sizes.
pub const FLASH: &str = "flash: ";

/// Share by which flash may differ from the snapshot, because flash depends on the compiler and on
/// every change.
const TOLERANCE: f64 = 0.05;

/// Promised limits in bytes, whichever compiler built the image. `--accept` does not change them.
const LIMITS: [(&str, u64); 8] = [
    (types::CONNECTION, 376),
    (types::LISTENER, 18),
    (types::SOCKET, 72),
    (TCP, 25_600),
    (SUBSET, 19_200),
    (LEAF, 65_536),
    (NODE, 83_968),
    ("RPL, router or leaf, non-storing mode", 16_384),
];
/// All of TCP.
pub const TCP: &str = "TCP";
/// The part of TCP that TCPlp has.
pub const SUBSET: &str = "TCP with TCPlp's features";
/// A leaf, without its services.
pub const LEAF: &str = "a leaf";
/// The image `node`.
pub const NODE: &str = "a whole node";

/// Returns the limit of a type or of flash.
pub fn limit(name: &str) -> Option<u64> {
    let is_it = |it: &&(&str, u64)| it.0 == name;
    LIMITS.iter().find(is_it).map(|(_, bytes)| *bytes)
}

/// Returns whether the snapshot contains the size of the type `name`: it has the sizes of types
/// with many instances.
pub fn holds(name: &str) -> bool {
    let others = [
        "::ConnectionSlot<",
        "::ListenerSlot",
        types::SOCKET,
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

/// Returns the new text, with the old lines of flash that are still close enough.
fn renewed(old: &str, new: &str) -> String {
    let line = |line: &str| {
        let kept = old.lines().find(|other| is_near(other, line));
        format!("{}\n", kept.unwrap_or(line))
    };
    new.lines().map(line).collect()
}

fn size_of(line: &str) -> Option<(u64, &str)> {
    let (bytes, name) = line.trim_start().split_once("  ")?;
    Some((bytes.parse().ok()?, name))
}

fn flash_of(line: &str) -> Option<(u64, &str)> {
    let (bytes, name) = size_of(line)?;
    Some((bytes, name.strip_prefix(FLASH)?))
}

/// Returns whether both lines describe the same flash, with about the same size.
fn is_near(one: &str, other: &str) -> bool {
    match (flash_of(one), flash_of(other)) {
        (Some((one, name)), Some((other, same))) => {
            name == same && one.abs_diff(other) as f64 <= TOLERANCE * other as f64
        }
        _ => false,
    }
}

/// Returns the items above their limits.
fn exceeding(text: &str) -> Vec<String> {
    let over = |line: &str| {
        let (bytes, name) = flash_of(line).or_else(|| size_of(line))?;
        let limit = limit(name).filter(|limit| bytes > *limit)?;
        Some(format!(
            "{name}: {bytes} bytes, more than the limit of {limit}"
        ))
    };
    text.lines().filter_map(over).collect()
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
    Failure::unless_empty("size: larger than the project allows", exceeding(text))?;
    let expected = get(&path(workspace))?;
    Failure::unless_empty(
        "size: differs from firmware/size.txt (-: in the file, +: measured now); if that is \
         intended: cargo xtask \
         size --accept",
        difference(&expected, text),
    )
}

/// Returns the lines of one text that the other lacks. The lines are few and contain names, so that
/// their order is irrelevant.
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
    fn sizes_keep_their_limits() {
        assert!(exceeding("25600  flash: TCP\n99999  flash: RPL, all of it\n").is_empty());
        assert_eq!(
            exceeding("    8  A\n25601  flash: TCP\n"),
            ["TCP: 25601 bytes, more than the limit of 25600"]
        );
        let name = types::CONNECTION;
        assert!(exceeding(&format!("  376  {name}\n")).is_empty());
        assert_eq!(
            exceeding(&format!("  377  {name}\n")),
            [format!("{name}: 377 bytes, more than the limit of 376")]
        );
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
