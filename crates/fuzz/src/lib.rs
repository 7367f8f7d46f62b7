//! Fuzz targets for every parser, and for every state machine that processes input of other nodes.
//!
//! A [`Target`] is a function that takes bytes and panics if it finds a mistake. Three runners use
//! it. `cargo test` replays the inputs in `seeds` and adds a fixed number of random ones. The
//! program of this crate runs random inputs for a given time on stable Rust. `make fuzz` runs
//! libFuzzer, which is guided by coverage and needs nightly Rust.

mod mutation;
mod targets;

pub use mutation::Mutator;
pub use targets::{TARGETS, Target};

use std::io;
use std::path::{Path, PathBuf};

/// Folders with further inputs of targets, which other tests also use, relative to the repository.
const SHARED: [(&str, &str); 3] = [
    ("capture", "crates/dissect/tests/inputs"),
    ("recording", "crates/cli/tests/written/0.1.0/result"),
    ("scenario", "scenarios"),
];

impl Target {
    /// Returns the target with this name.
    pub fn find(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// Returns the folders of the target's inputs, relative to the repository, if it has inputs.
    pub fn folders(&self) -> Vec<String> {
        let shared = SHARED.iter().filter(|(name, _)| *name == self.name);
        let shared = shared.map(|(_, folder)| (*folder).to_owned());
        let own = format!("crates/fuzz/seeds/{}", self.name);
        let all = [own].into_iter().chain(shared);
        all.filter(|folder| root().join(folder).is_dir()).collect()
    }

    /// Reads the inputs in the target's folders, sorted by path.
    pub fn seeds(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut paths = Vec::new();
        for folder in self.folders() {
            for entry in root().join(folder).read_dir()? {
                paths.push(entry?.path());
            }
        }
        paths.retain(|path| path.is_file());
        paths.sort();
        paths.iter().map(std::fs::read).collect()
    }
}

/// Returns the repository from which the program was built.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
