//! A result: a folder that `redpoll run --result DIR` has written, or one of its files.

use std::io;
use std::path::{Path, PathBuf};

use crate::table::Format;

/// The object that `redpoll run --json` writes.
pub const REPORT: &str = "result.json";
/// What a [`Series`](crate::series::Series) wrote.
pub const SERIES: &str = "series.parquet";
/// The frames on the air, as pcapng.
pub const FRAMES: &str = "frames.pcapng";
/// What `redpoll run --record` writes.
pub const RECORDING: &str = "recording.jsonl";

/// What is known to be there of a result.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files {
    /// A result as JSON.
    pub report: Option<PathBuf>,
    /// A series.
    pub series: Option<PathBuf>,
}

impl Files {
    /// Of the folder or file at `path`: a file is told by its ending.
    ///
    /// # Errors
    ///
    /// If there is nothing, or nothing of a result.
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

/// The file of that name, where `path` is a folder of a result that has it; else `path` itself.
/// For commands that need one file of it.
pub fn file(path: &Path, name: &str) -> PathBuf {
    let inside = path.join(name);
    if inside.is_file() {
        inside
    } else {
        path.to_owned()
    }
}

/// Makes a folder for a result.
///
/// # Errors
///
/// If it cannot be made, or has something in it.
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
