//! Works out the fingerprint of all sources that decide what a run gives: the
//! engine's and the simulator's crates, how cases are run, and every probe. The
//! results file keeps runs under it, so that they outlive a rebuild, and a change
//! of a figure, a criterion or the page, but no change of what computes them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// Crates that a run goes through.
const CRATES: &[&str] = &[
    "base", "wire", "tcp", "mac", "lowpan", "stack", "assist", "border", "coap", "rivals", "sim",
];

/// Files and folders of this crate that a run goes through.
const OWN: &[&str] = &[
    "src/engine/case.rs",
    "src/engine/probe.rs",
    "src/engine/run.rs",
    "src/vocabulary/probes",
];

/// Files and folders of the workspace: which features and which versions of other
/// crates they are built with.
const WORKSPACE: &[&str] = &["Cargo.toml", "Cargo.lock"];

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = here.join("../..");
    let mut files = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name);
        collect(&folder.join("Cargo.toml"), &mut files);
        collect(&folder.join("src"), &mut files);
    }
    for path in OWN {
        collect(&here.join(path), &mut files);
    }
    for path in WORKSPACE {
        collect(&root.join(path), &mut files);
    }
    collect_probes(&here.join("src/studies"), &mut files);
    files.sort();
    let mut hash = Sha256::new();
    for path in &files {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.strip_prefix(&here).unwrap_or(path);
        hash.update(name.to_string_lossy().as_bytes());
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(&bytes);
    }
    let digest = hash.finalize();
    let text: String = digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo:rustc-env=REDPOLL_FINGERPRINT={text}");
}

/// The file, or all files below the folder, but for tests.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", path.display());
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    for entry in children(path) {
        let is_test = entry
            .file_stem()
            .is_some_and(|stem| stem == "tests" || stem == "test");
        if !is_test {
            collect(&entry, files);
        }
    }
}

/// The probes that studies have of their own: `studies/NAME/probes.rs` or a folder
/// `studies/NAME/probes`.
fn collect_probes(studies: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", studies.display());
    for study in children(studies).into_iter().filter(|path| path.is_dir()) {
        let probes = children(&study).into_iter().filter(|path| {
            path.file_stem()
                .is_some_and(|stem| stem.to_string_lossy() == "probes")
        });
        probes.for_each(|path| collect(&path, files));
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.expect("a folder that can be read").path())
        .collect()
}
