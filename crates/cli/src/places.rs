//! The files that a command reads and writes. No output is written over an input, and no two
//! outputs into one file.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use redpoll_results::folder;
use redpoll_sim::Scenario;

use crate::output::is_standard;

#[derive(PartialEq, Eq)]
enum Identity {
    Standard,
    /// A file that exists: its device, and its inode number on this device.
    File(u64, u64),
    New(PathBuf),
}

impl Identity {
    /// Returns the identity of `path`; `None` for a device or pipe, such as /dev/null, which may be
    /// named twice.
    fn of(path: &Path) -> Option<Identity> {
        if is_standard(path) {
            return Some(Identity::Standard);
        }
        if let Ok(found) = path.metadata() {
            return found
                .is_file()
                .then(|| Identity::File(found.dev(), found.ino()));
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Some(Identity::New(folder.join(path.file_name()?)))
    }
}

const OF_RESULTS: [&str; 4] = [
    folder::REPORT,
    folder::SERIES,
    folder::FRAMES,
    folder::RECORDING,
];
/// Depth to which a result's folders are searched: a result of several seeds has a folder per seed.
const DEEP: usize = 2;

/// Adds the result files in a folder; nothing if it is not the folder of a result.
fn below(at: &Path, deep: usize, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(at).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && deep > 0 {
            below(&path, deep - 1, found);
        } else if OF_RESULTS.iter().any(|name| path.ends_with(name)) {
            found.push(path);
        }
    }
}

#[derive(Default)]
pub struct Places<'a> {
    outputs: Vec<(&'static str, &'a Path)>,
    inputs: Vec<PathBuf>,
}

impl<'a> Places<'a> {
    pub fn with(mut self, option: &'static str, path: Option<&'a Path>) -> Places<'a> {
        self.outputs.extend(path.map(|path| (option, path)));
        self
    }

    /// Adds a file, or a folder of a result, that the command reads.
    pub fn reads(mut self, path: &Path) -> Places<'a> {
        if path.is_dir() {
            below(path, DEEP, &mut self.inputs)
        } else {
            self.inputs.push(path.to_owned())
        }
        self
    }

    /// Refuses two outputs in one place, and an output in the place of an input. An error names the
    /// outputs, and what is allowed.
    pub fn check(&self) -> Result<(), String> {
        for (at, (option, path)) in self.outputs.iter().enumerate() {
            let identity = Identity::of(path);
            let before = self.outputs.iter().take(at);
            let same =
                |(_, other): &&(_, &Path)| identity.is_some() && Identity::of(other) == identity;
            if let Some((other, _)) = before.clone().find(same) {
                return Err(format!(
                    "{other} and {option} both name {}; allowed: a different file for each",
                    path.display()
                ));
            }
        }
        let read: Vec<Identity> = (self.inputs.iter())
            .filter(|path| !is_standard(path))
            .filter_map(|path| Identity::of(path))
            .collect();
        match self.over(&read) {
            Some((option, path)) => Err(format!(
                "{option} names {}, which the command reads; allowed: another file",
                path.display()
            )),
            None => Ok(()),
        }
    }

    fn over(&self, places: &[Identity]) -> Option<&(&'static str, &'a Path)> {
        let is_over = |(_, path): &&(_, &Path)| {
            Identity::of(path).is_some_and(|place| places.contains(&place))
        };
        self.outputs.iter().find(is_over)
    }

    /// Checks the outputs as [`Places::check`] does, and refuses to write one over the file from
    /// which `scenario` was read. An error names the output, and what is allowed.
    pub fn check_beside(&self, scenario: &Scenario) -> Result<(), String> {
        self.check()?;
        let read: Vec<_> = scenario
            .files
            .iter()
            .filter_map(|file| Identity::of(file))
            .collect();
        match self.over(&read) {
            Some((option, path)) => Err(format!(
                "{option} would overwrite {}, the scenario of this run; allowed: another file",
                path.display()
            )),
            None => Ok(()),
        }
    }
}
