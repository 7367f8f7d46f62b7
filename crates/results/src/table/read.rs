//! Reads a table from a file of a [`Writer`](super::Writer) or of another program.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use super::{Cell, Format, Row};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read the file: {0}")]
    Io(#[from] std::io::Error),
    #[error("not a table in CSV: {0}")]
    Csv(#[from] csv::Error),
    #[error("not a table in Parquet: {0}")]
    Parquet(#[from] ParquetError),
    /// The name of the file has neither of the two endings.
    #[error("not a table; allowed: a name that ends in .csv or .parquet")]
    Ending,
}

/// Reads the table at `path` row by row. Each row has the cells of `columns` in that order; cells
/// of missing columns are empty.
pub fn read(path: &Path, columns: &[&str], mut each: impl FnMut(Row)) -> Result<(), ReadError> {
    let format = Format::of(path).ok_or(ReadError::Ending)?;
    let file = File::open(path)?;
    match format {
        Format::Csv => {
            let mut reader = csv::Reader::from_reader(file);
            let names = reader.headers()?.clone();
            let place = |column: &&str| names.iter().position(|name| name == *column);
            let places: Vec<_> = columns.iter().map(place).collect();
            for record in reader.records() {
                let record = record?;
                let cell = |place: &Option<usize>| record.get((*place)?).and_then(parse);
                each(places.iter().map(cell).collect());
            }
        }
        Format::Parquet => {
            let reader = SerializedFileReader::new(file)?;
            let places: HashMap<&str, usize> = columns
                .iter()
                .enumerate()
                .map(|(at, name)| (*name, at))
                .collect();
            for record in reader.get_row_iter(None)? {
                let mut row = vec![None; columns.len()];
                for (name, field) in record?.into_columns() {
                    if let Some(&at) = places.get(name.as_str()) {
                        row[at] = cell(field);
                    }
                }
                each(row);
            }
        }
    }
    Ok(())
}

/// Converts a field of a CSV file; an empty field is a missing value.
fn parse(text: &str) -> Option<Cell> {
    if text.is_empty() {
        return None;
    }
    let number = text.parse().map(Cell::Number);
    Some(number.unwrap_or_else(|_| Cell::Text(text.to_owned())))
}

fn cell(field: Field) -> Option<Cell> {
    Some(match field {
        Field::Bool(truth) => Cell::Truth(truth),
        Field::Int(whole) => Cell::Whole(whole.into()),
        Field::Long(whole) => Cell::Whole(whole),
        Field::Float(number) => Cell::Number(number.into()),
        Field::Double(number) => Cell::Number(number),
        Field::Str(text) => Cell::Text(text),
        _ => return None,
    })
}
