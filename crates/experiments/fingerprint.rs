//! Computes, in build scripts, the fingerprint of all sources that determine the result of a run.
//! The results file stores each run with the fingerprint. Changes of a figure, a criterion or the
//! page keep runs valid; changes of the simulator or the workspace manifests do not.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// The crate that runs a simulation. Its sources and those of its dependencies in the repository
/// determine the result of a run.
const SIMULATOR: &str = "sim";

/// Files of the crate `experiments` that can change the result of a run.
const EXPERIMENTS: [&str; 3] = ["src/case.rs", "src/probe.rs", "src/run.rs"];

/// Files of the workspace, which determine the features and versions of external crates.
const WORKSPACE: [&str; 2] = ["Cargo.toml", "Cargo.lock"];

/// Returns the fingerprint of the simulator, of the crate `experiments`, and of the files and
/// folders in `more`. `root` is the folder of the repository.
pub fn fingerprint(root: &Path, more: &[PathBuf]) -> String {
    let crates = root.join("crates");
    let mut files = Vec::new();
    for name in simulator(&crates) {
        let folder = crates.join(name);
        collect(&folder.join("Cargo.toml"), &mut files);
        collect(&folder.join("src"), &mut files);
    }
    let own = EXPERIMENTS.map(|path| crates.join("experiments").join(path));
    let of_workspace = WORKSPACE.map(|path| root.join(path));
    for path in own.iter().chain(&of_workspace).chain(more) {
        collect(path, &mut files);
    }
    files.sort();
    let mut hash = Sha256::new();
    for path in &files {
        println!("cargo:rerun-if-changed={}", path.display());
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(root).unwrap_or(path);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    let digest = hash.finalize();
    let bytes = digest.iter().take(8);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the names of the simulator crate and of the workspace crates it depends on. `crates` is
/// the folder of all crates.
pub fn simulator(crates: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![SIMULATOR.to_owned()];
    while let Some(name) = next.pop() {
        let manifest = crates.join(&name).join("Cargo.toml");
        if found.insert(name) {
            let text = fs::read_to_string(&manifest)
                .unwrap_or_else(|error| panic!("{}: {error}", manifest.display()));
            next.extend(dependencies(&text).map(str::to_owned));
        }
    }
    found
}

/// Returns the workspace crates in a manifest's table `[dependencies]`, without the prefix
/// `redpoll-`.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let lines = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]");
    let lines = lines.skip(1).take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| {
        let name = line.strip_prefix("redpoll-")?;
        name.split(['.', ' ', '=']).next()
    })
}

/// Adds the file, or all files below the folder except tests.
pub fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    // A new file in the folder also changes the fingerprint.
    println!("cargo:rerun-if-changed={}", path.display());
    for entry in children(path) {
        let is_test = entry
            .file_stem()
            .is_some_and(|stem| stem == "tests" || stem == "test");
        if !is_test {
            collect(&entry, files);
        }
    }
}

pub fn children(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("the folder can be read").path())
        .collect()
}
