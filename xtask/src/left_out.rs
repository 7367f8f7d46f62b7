//! Finds files of tests that no program runs.
//!
//! The tests of most crates are one program, `tests/all.rs`, which names its files, because linking
//! one program is quicker than linking forty. A file that it does not name would never run.

use std::collections::BTreeSet;
use std::path::Path;

use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace::Workspace;

const PROGRAM: &str = "all.rs";

pub fn run(workspace: &Workspace) -> Outcome {
    let mut findings = Vec::new();
    for name in workspace.crates()? {
        let folder = workspace.root.join("crates").join(&name);
        let program = folder.join("tests").join(PROGRAM);
        if !program.is_file() {
            continue;
        }
        let manifest = source::read(&folder.join("Cargo.toml"))?;
        let files = files(&folder.join("tests"))?;
        for file in left_out(&files, &source::read(&program)?, &manifest) {
            findings.push(format!("crates/{name}/tests/{file}"));
        }
    }
    Failure::unless_empty(
        "left out: no `mod` in tests/all.rs and no [[test]] names these files, so their tests \
         never run:",
        findings,
    )
}

/// Returns the Rust files of a folder except for the program itself, without subfolders.
fn files(folder: &Path) -> Result<Vec<String>, Failure> {
    let entries = std::fs::read_dir(folder)
        .map_err(|e| Failure::new(format!("cannot read {}: {e}", folder.display())))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<String> = names
        .filter(|name| name.ends_with(".rs") && name != PROGRAM)
        .collect();
    files.sort();
    Ok(files)
}

/// Returns the files that neither the test program nor the manifest names.
fn left_out<'a>(files: &'a [String], program: &str, manifest: &str) -> Vec<&'a str> {
    let modules = (program.lines()).filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let programs =
        (manifest.lines()).filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    let named: BTreeSet<&str> = modules.chain(programs).collect();
    (files.iter())
        .map(String::as_str)
        .filter(|file| !named.contains(file.trim_end_matches(".rs")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unnamed_file_is_found() {
        let files = ["apart.rs", "forgotten.rs", "inside.rs"].map(str::to_owned);
        let program = "//! Tests.\n\nmod common;\nmod inside;\n";
        let manifest = "[package]\nname = \"x\"\n\n[[test]]\nname = \"apart\"\n";
        assert_eq!(left_out(&files, program, manifest), ["forgotten.rs"]);
    }
}
