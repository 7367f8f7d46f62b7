//! A result: a folder written by `redpoll run --result DIR`, or one of its files.

use std::io;
use std::path::{Path, PathBuf};

use crate::table::Format;

/// File with the object that `redpoll run --json` writes.
pub const REPORT: &str = "result.json";
/// File written by [`Series`](crate::series::Series).
pub const SERIES: &str = "series.parquet";
/// File with the frames on the air, in the pcapng format.
pub const FRAMES: &str = "frames.pcapng";
/// File that `redpoll run --record` writes.
pub const RECORDING: &str = "recording.jsonl";

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    pub report: Option<PathBuf>,
    pub series: Option<PathBuf>,
}

impl Files {
    /// Finds the files of the folder or file at `path`. The ending of a file's name determines its
    /// type. Fails if the path does not exist, or has no file of a result.
    pub fn of(path: &Path) -> io::Result<Files> {
        let there = |name: &str| Some(path.join(name)).filter(|file| file.is_file());
        let files = if path.metadata()?.is_dir() {
            Files {
                report: there(REPORT),
                series: there(SERIES),
            }
        } else if Format::of(path).is_some() {
            Files {
                series: Some(path.to_owned()),
                ..Files::default()
            }
        } else {
            Files {
                report: Some(path.to_owned()),
                ..Files::default()
            }
        };
        if files == Files::default() {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a result; allowed: a folder written by `redpoll run --result DIR`, or a file \
                 written by --json or --series",
            ))
        } else {
            Ok(files)
        }
    }
}

/// Returns the file called `name` in the result folder `path`, or `path` itself if the folder does
/// not have that file. Commands that need one file of a result use this.
pub fn file(path: &Path, name: &str) -> PathBuf {
    let inside = path.join(name);
    if inside.is_file() {
        inside
    } else {
        path.to_owned()
    }
}

pub fn create(path: &Path) -> io::Result<()> {
    std::fs::create_dir_all(path)?;
    match path.read_dir()?.next() {
        None => Ok(()),
        Some(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "is not empty; allowed: a new folder",
        )),
    }
}
