//! The targets of the program: `redpoll` compiles for the Linux computers that our documents
//! name as border routers, 32-bit and 64-bit ARM boards included.
//!
//! A check compiles no machine code, so it needs neither a linker nor a C compiler for the
//! target, only the target's standard library.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::report::{Failure, Outcome};
use crate::workspace::{self, Workspace};

/// Targets in addition to this computer's. docs/radios.md lists them.
const TARGETS: [&str; 2] = ["armv7-unknown-linux-gnueabihf", "aarch64-unknown-linux-gnu"];

/// A program that does nothing, in place of a C compiler and an archiver: a check links no C code
/// of dependencies.
const NOTHING: &str = "true";

/// The packages of `redpoll` and `redpoll-taim`.
const PROGRAMS: [&str; 2] = ["redpoll", "redpoll-taim"];
/// The packages that call the system, whose types differ most between targets.
const SYSTEM: [&str; 2] = ["redpoll-linux", "redpoll-taim"];

/// Checks the packages that call the system for the target that differs most from this computer's
/// own: its words have 32 bits. `make hosts` checks the programs for all targets.
pub fn short(workspace: &Workspace) -> Result<Option<String>, Failure> {
    run(workspace, &TARGETS[..1], &SYSTEM)
}

/// Checks `packages` for `targets`, and returns the targets that the toolchain lacks.
fn run(
    workspace: &Workspace,
    targets: &[&'static str],
    packages: &[&str],
) -> Result<Option<String>, Failure> {
    let sysroot = workspace::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
    let (there, missing): (Vec<&str>, Vec<&str>) = targets
        .iter()
        .copied()
        .partition(|target| libraries.join(target).join("lib").is_dir());
    for target in there {
        let mut cargo = workspace.cargo();
        cargo.args(["check", "--quiet", "--target", target]);
        cargo.args(packages.iter().map(|it| format!("--package={it}")));
        for tool in ["CC", "CXX", "AR"] {
            cargo.env(format!("{tool}_{}", target.replace('-', "_")), NOTHING);
        }
        workspace::run(&mut cargo)?;
        println!("hosts: {} compile for {target}", packages.join(", "));
    }
    Ok(advice(&missing))
}

/// Runs the check as a separate command.
pub fn check(workspace: &Workspace) -> Outcome {
    if let Some(skipped) = run(workspace, &TARGETS, &PROGRAMS)? {
        println!("hosts: skipped: {skipped}");
        note(&format!("hosts: {skipped}"))?;
    }
    Ok(())
}

/// Returns instructions to install missing targets; `None` if none is missing.
fn advice(missing: &[&str]) -> Option<String> {
    let list = missing.join(" ");
    (!missing.is_empty()).then(|| {
        format!("the toolchain lacks the standard library of {list}: `rustup target add {list}`")
    })
}

/// Appends a line to the file that `REDPOLL_SKIPPED` names, if it names one.
fn note(line: &str) -> Outcome {
    let Some(path) = std::env::var_os("REDPOLL_SKIPPED") else {
        return Ok(());
    };
    let file = OpenOptions::new().create(true).append(true).open(&path);
    file.and_then(|mut file| writeln!(file, "{line}"))
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_targets_are_named_with_the_command_that_installs_them() {
        assert_eq!(advice(&[]), None);
        let said = advice(&TARGETS).unwrap();
        for target in TARGETS {
            assert_eq!(said.matches(target).count(), 2, "{said}");
        }
    }

    #[test]
    fn the_documents_name_every_target() {
        let document = Workspace::here().root.join("docs/radios.md");
        let text = std::fs::read_to_string(document).unwrap();
        for target in TARGETS {
            assert!(text.contains(target), "{target}");
        }
    }
}
