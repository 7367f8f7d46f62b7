//! Tables as CSV and as Parquet.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::table::{Cell, Table};

/// What a table is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values (RFC 4180), with a line of names.
    Csv,
    /// Parquet, one row group, not compressed.
    Parquet,
}

/// A table that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// By the operating system.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// As CSV.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// As Parquet.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
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

impl Table {
    /// Writes the table to a file, all or nothing: what stands there is replaced once all is
    /// written.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &Path, format: Format) -> Result<(), WriteError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = Path::new(&name);
        let written = File::create(part)
            .map_err(WriteError::from)
            .and_then(|file| {
                let mut file = BufWriter::new(file);
                match format {
                    Format::Csv => self.csv(&mut file)?,
                    Format::Parquet => self.parquet(&mut file)?,
                }
                Ok(file.flush()?)
            });
        match written {
            Ok(()) => Ok(std::fs::rename(part, path)?),
            Err(error) => {
                // The first error is the one to tell.
                let _ = std::fs::remove_file(part);
                Err(error)
            }
        }
    }

    /// Writes the table as CSV.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn csv(&self, out: impl Write) -> Result<(), WriteError> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(&self.columns)?;
        for row in &self.rows {
            let texts = row
                .iter()
                .map(|cell| cell.as_ref().map_or_else(String::new, Cell::to_string));
            writer.write_record(texts)?;
        }
        Ok(writer.flush()?)
    }

    fn parquet(&self, out: impl Write + Send) -> Result<(), WriteError> {
        let columns = self.columns.iter().enumerate();
        let fields = columns
            .map(|(at, name)| field(name, self.kind(at)))
            .collect::<Result<Vec<TypePtr>, _>>()?;
        let schema = Type::group_type_builder("redpoll")
            .with_fields(fields)
            .build()?;
        let properties = Arc::new(WriterProperties::default());
        let mut writer = SerializedFileWriter::new(out, Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for at in 0..self.columns.len() {
            let mut column = group.next_column()?.ok_or_else(|| {
                ParquetError::General("fewer columns than the schema has".to_owned())
            })?;
            let levels: Vec<i16> = self
                .rows
                .iter()
                .map(|row| row[at].is_some().into())
                .collect();
            macro_rules! put {
                ($kind:ty, $pattern:pat => $value:expr) => {{
                    let cells = self.rows.iter().filter_map(|row| row[at].as_ref());
                    let values: Vec<<$kind as DataType>::T> = cells
                        .filter_map(|cell| match cell {
                            $pattern => Some($value),
                            _ => None,
                        })
                        .collect();
                    column
                        .typed::<$kind>()
                        .write_batch(&values, Some(&levels), None)?;
                }};
            }
            match self.kind(at) {
                Kind::Whole => put!(Int64Type, Cell::Whole(it) => *it),
                Kind::Number => put!(DoubleType, Cell::Number(it) => *it),
                Kind::Truth => put!(BoolType, Cell::Truth(it) => *it),
                Kind::Text => {
                    put!(ByteArrayType, Cell::Text(it) => ByteArray::from(it.as_str()))
                }
            }
            column.close()?;
        }
        group.close()?;
        writer.close()?;
        Ok(())
    }

    /// What a column has; texts where it has nothing.
    fn kind(&self, column: usize) -> Kind {
        match self.rows.iter().find_map(|row| row[column].as_ref()) {
            Some(Cell::Whole(_)) => Kind::Whole,
            Some(Cell::Number(_)) => Kind::Number,
            Some(Cell::Truth(_)) => Kind::Truth,
            Some(Cell::Text(_)) | None => Kind::Text,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Number,
    Truth,
    Text,
}

fn field(name: &str, kind: Kind) -> Result<TypePtr, ParquetError> {
    let physical = match kind {
        Kind::Whole => Physical::INT64,
        Kind::Number => Physical::DOUBLE,
        Kind::Truth => Physical::BOOLEAN,
        Kind::Text => Physical::BYTE_ARRAY,
    };
    let mut builder = Type::primitive_type_builder(name, physical);
    builder = builder.with_repetition(Repetition::OPTIONAL);
    if let Kind::Text = kind {
        builder = builder
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8);
    }
    Ok(Arc::new(builder.build()?))
}
