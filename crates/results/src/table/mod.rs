//! Tables with columns of one kind each, as CSV and as Parquet.
//!
//! A [`Writer`] writes rows as they come and keeps a group of them at most.

mod read;
mod write;

pub use read::{ReadError, read};
pub use write::{Part, WriteError, Writer};

use std::fmt;
use std::path::Path;

/// A value of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A whole number.
    Whole(i64),
    /// Any number.
    Number(f64),
    /// Yes or no.
    Truth(bool),
    /// A text.
    Text(String),
}

/// A row; what it does not have is empty.
pub type Row = Vec<Option<Cell>>;

/// What all cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Cell::Whole`].
    Whole,
    /// [`Cell::Number`].
    Number,
    /// [`Cell::Truth`].
    Truth,
    /// [`Cell::Text`].
    Text,
}

/// A column. What its numbers are in is part of its name, such as `srtt_ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it has.
    pub kind: Kind,
}

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180), with a line of names.
    Csv,
    /// Parquet, not compressed.
    Parquet,
}

impl Format {
    /// By the ending of a file's name: `.csv` or `.parquet`.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

impl Column {
    /// A column of that name.
    pub fn new(name: &str, kind: Kind) -> Column {
        Column {
            name: name.to_owned(),
            kind,
        }
    }
}

impl Cell {
    /// What kind it is.
    pub fn kind(&self) -> Kind {
        match self {
            Cell::Whole(_) => Kind::Whole,
            Cell::Number(_) => Kind::Number,
            Cell::Truth(_) => Kind::Truth,
            Cell::Text(_) => Kind::Text,
        }
    }

    /// Its number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Whole(whole) => Some(*whole as f64),
            Cell::Truth(_) | Cell::Text(_) => None,
        }
    }

    /// Its text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Whole(whole) => whole.fmt(f),
            Cell::Number(number) => number.fmt(f),
            Cell::Truth(truth) => truth.fmt(f),
            Cell::Text(text) => text.fmt(f),
        }
    }
}
