//! The files that a scenario names: measured links and noise.

use std::fs::File;
use std::io::BufRead;
use std::path::PathBuf;

use crate::measured::{FileError, open};

use super::builtin::BUILT_IN_FILES;
use super::check::{NamedFile, Values};
use super::error::ScenarioError;

pub(super) const LINKS: &str = "topology.file";
pub(super) const NOISE: &str = "medium.noise_trace";

pub(super) fn on_disk(values: &Values<'_>) -> Vec<PathBuf> {
    let named = [LINKS, NOISE].into_iter().filter(|key| values.has(key));
    let named = named.filter_map(|key| match values.named_file(key) {
        NamedFile::OnDisk(file) => Some(file),
        NamedFile::BuiltIn(_) => None,
    });
    values.own_file().into_iter().chain(named).collect()
}

/// Reads the file that the key `path` names, and returns the result of `read`. If the file cannot
/// be opened, the error names the key. Errors within the file name its line and column.
pub(crate) fn read<T>(
    values: &Values<'_>,
    path: &str,
    read: impl FnOnce(Box<dyn BufRead + '_>) -> Result<T, FileError>,
) -> Result<T, ScenarioError> {
    let unreadable = |name: &str, error: &std::io::Error| {
        let problem = format!(
            "got the file {name}, which cannot be read ({error}); allowed: a readable file"
        );
        values.error(path, problem)
    };
    let (name, result) = match values.named_file(path) {
        NamedFile::BuiltIn(name) => {
            let file = BUILT_IN_FILES.iter().find(|(known, _)| *known == name);
            let Some((_, bytes)) = file else {
                let problem = format!(
                    "got the file {name}, which is not built in; allowed: a file of a built-in scenario"
                );
                return Err(values.error(path, problem));
            };
            let reader = open(*bytes).map_err(|error| unreadable(&name, &error))?;
            let result = read(reader);
            (name, result)
        }
        NamedFile::OnDisk(file) => {
            let name = file.display().to_string();
            let reader = File::open(&file).and_then(open);
            let reader = reader.map_err(|error| unreadable(&name, &error))?;
            (name, read(reader))
        }
    };
    result.map_err(|error| {
        let place = format!("{name}:{}:{}", error.line, error.column);
        ScenarioError::file(place, error.problem)
    })
}
