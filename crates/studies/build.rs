//! Computes the fingerprint of the sources that decide the result of a study's run: the sources of
//! every simulation, and every probe.

use std::env;
use std::path::{Path, PathBuf};

#[path = "../experiments/fingerprint.rs"]
mod fingerprint;

fn main() {
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = here
        .ancestors()
        .nth(2)
        .expect("the crate is in the folder `crates/` of the repository");
    let mut probes = vec![here.join("src/vocabulary/probes")];
    probes.extend(probes_of(&here.join("src/studies")));
    let text = fingerprint::fingerprint(root, &probes);
    println!("cargo:rustc-env=REDPOLL_FINGERPRINT={text}");
}

/// Returns the probes of single studies: `studies/NAME/probes.rs` or a folder
/// `studies/NAME/probes`.
fn probes_of(studies: &Path) -> Vec<PathBuf> {
    println!("cargo:rerun-if-changed={}", studies.display());
    let folders = fingerprint::children(studies);
    let folders = folders.iter().filter(|path| path.is_dir());
    let files = folders.flat_map(|study| fingerprint::children(study));
    let is_probe = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem == "probes");
    files.filter(is_probe).collect()
}
