//! Tables with typed columns, as CSV and as Parquet.
//!
//! A [`Writer`] writes rows as they arrive and buffers at most one group of them.

mod read;
mod unit;
mod write;

pub use read::{ReadError, read};
pub use write::{Part, WriteError, Writer};

use std::fmt;
use std::path::Path;

#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Whole(i64),
    Number(f64),
    Truth(bool),
    Text(String),
}

/// A row; missing values are empty.
pub type Row = Vec<Option<Cell>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    Whole,
    Number,
    Truth,
    Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: CellType,
    /// Unit of the column's numbers, `1` for counts and ratios; `None` for booleans and texts.
    pub unit: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180), with a line of names.
    Csv,
    Parquet,
}

impl Format {
    /// Returns the format for the ending of a file's name: `.csv` or `.parquet`.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

impl Column {
    /// Makes a column, whose unit the name contains, as in `srtt_ms`.
    pub fn new(name: &str, kind: CellType) -> Column {
        Column {
            name: name.to_owned(),
            kind,
            unit: kind.is_number().then(|| unit::unit_of(name)).flatten(),
        }
    }
}

impl CellType {
    pub fn is_number(self) -> bool {
        matches!(self, CellType::Whole | CellType::Number)
    }
}

impl Cell {
    pub fn kind(&self) -> CellType {
        match self {
            Cell::Whole(_) => CellType::Whole,
            Cell::Number(_) => CellType::Number,
            Cell::Truth(_) => CellType::Truth,
            Cell::Text(_) => CellType::Text,
        }
    }

    pub fn number(&self) -> Option<f64> {
        match self {
            Cell::Number(number) => Some(*number),
            Cell::Whole(whole) => Some(*whole as f64),
            Cell::Truth(_) | Cell::Text(_) => None,
        }
    }

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
