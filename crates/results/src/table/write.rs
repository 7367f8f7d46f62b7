//! Writes a table to a file, row by row.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use super::{Cell, CellType, Column, Format, Row};

/// Number of rows of a group, which are buffered before they are written.
const GROUP: usize = 8_192;

/// Key of the note of a Parquet file with the units of its columns of numbers, as a JSON object.
const UNITS: &str = "redpoll.units";

/// The reason why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Csv(#[from] csv::Error),
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

/// Writes a table with known columns, row by row.
pub struct Writer<W: Write + Send> {
    columns: Vec<Column>,
    rows: Vec<Row>,
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    Parquet(Box<SerializedFileWriter<W>>),
}

impl<W: Write + Send> Writer<W> {
    /// Starts a table. `notes` are stored by name if the format supports that.
    pub fn new(
        out: W,
        format: Format,
        columns: Vec<Column>,
        notes: &[(&str, String)],
    ) -> Result<Writer<W>, WriteError> {
        let out = match format {
            Format::Csv => {
                let mut writer = csv::Writer::from_writer(out);
                writer.write_record(columns.iter().map(|column| &column.name))?;
                Out::Csv(Box::new(writer))
            }
            Format::Parquet => {
                let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
                let schema = Type::group_type_builder("redpoll").with_fields(fields);
                let units = (UNITS, units(&columns));
                let notes = notes.iter().chain([&units]);
                let notes =
                    notes.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
                let properties = WriterProperties::builder()
                    .set_key_value_metadata(Some(notes.collect()))
                    .build();
                let schema = Arc::new(schema.build()?);
                let writer = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
                Out::Parquet(Box::new(writer))
            }
        };
        Ok(Writer {
            columns,
            rows: Vec::new(),
            out,
        })
    }

    /// Adds a row, whose cells have their columns' types.
    pub fn row(&mut self, row: Row) -> Result<(), WriteError> {
        self.rows.push(row);
        if self.rows.len() >= GROUP {
            self.write_group()
        } else {
            Ok(())
        }
    }

    pub fn finish(mut self) -> Result<(), WriteError> {
        self.write_group()?;
        match self.out {
            Out::Csv(mut writer) => writer.flush()?,
            Out::Parquet(mut writer) => {
                writer.finish()?;
                writer.inner_mut().flush()?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self) -> Result<(), WriteError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        match &mut self.out {
            Out::Csv(writer) => {
                for row in &rows {
                    let texts = row.iter().map(|cell| match cell {
                        Some(cell) => cell.to_string(),
                        None => String::new(),
                    });
                    writer.write_record(texts)?;
                }
            }
            Out::Parquet(writer) => parquet_group(writer, &self.columns, &rows)?,
        }
        Ok(())
    }
}

fn units(columns: &[Column]) -> String {
    let units = columns.iter().filter_map(|it| {
        let unit = serde_json::Value::from(it.unit?);
        Some((it.name.clone(), unit))
    });
    serde_json::Value::Object(units.collect()).to_string()
}

fn parquet_group<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &[Column],
    rows: &[Row],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (at, column) in columns.iter().enumerate() {
        let mut out = group.next_column()?.ok_or_else(|| {
            ParquetError::General("the row has more columns than the schema".to_owned())
        })?;
        let cells = || rows.iter().map(|row| row.get(at).and_then(Option::as_ref));
        let levels: Vec<i16> = cells().map(|cell| cell.is_some().into()).collect();
        macro_rules! put {
            ($kind:ty, $pattern:pat => $value:expr) => {{
                let values = cells().flatten().filter_map(|cell| match cell {
                    $pattern => Some($value),
                    _ => None,
                });
                let values: Vec<<$kind as DataType>::T> = values.collect();
                out.typed::<$kind>()
                    .write_batch(&values, Some(&levels), None)?;
            }};
        }
        match column.kind {
            CellType::Whole => put!(Int64Type, Cell::Whole(it) => *it),
            CellType::Number => put!(DoubleType, Cell::Number(it) => *it),
            CellType::Truth => put!(BoolType, Cell::Truth(it) => *it),
            CellType::Text => put!(ByteArrayType, Cell::Text(it) => ByteArray::from(it.as_str())),
        }
        out.close()?;
    }
    group.close()?;
    Ok(())
}

fn field(column: &Column) -> Result<TypePtr, ParquetError> {
    let physical = match column.kind {
        CellType::Whole => Physical::INT64,
        CellType::Number => Physical::DOUBLE,
        CellType::Truth => Physical::BOOLEAN,
        CellType::Text => Physical::BYTE_ARRAY,
    };
    let mut builder = Type::primitive_type_builder(&column.name, physical);
    builder = builder.with_repetition(Repetition::OPTIONAL);
    if let CellType::Text = column.kind {
        builder = builder
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8);
    }
    Ok(Arc::new(builder.build()?))
}

/// A new file that replaces an existing one only once it is complete, so that readers never see a
/// partial file. [`Part::in_place`] is for processes that cannot rename a file at the end.
#[derive(Debug)]
pub struct Part {
    part: PathBuf,
    path: PathBuf,
    is_kept: bool,
}

impl Part {
    pub fn create(path: &Path) -> io::Result<(Part, BufWriter<File>)> {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let part = Part {
            part: PathBuf::from(name),
            path: path.to_owned(),
            is_kept: false,
        };
        let file = File::create(&part.part)?;
        Ok((part, BufWriter::new(file)))
    }

    /// Starts a file at `path` itself, and replaces an existing one: for a process that loses its
    /// rights to the folder before the file is complete.
    pub fn in_place(path: &Path) -> io::Result<(Part, BufWriter<File>)> {
        let part = Part {
            part: path.to_owned(),
            path: path.to_owned(),
            is_kept: true,
        };
        Ok((part, BufWriter::new(File::create(path)?)))
    }

    /// Moves the complete file to its path.
    pub fn keep(mut self) -> io::Result<()> {
        if !self.is_kept {
            std::fs::rename(&self.part, &self.path)?;
            self.is_kept = true;
        }
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_kept {
            // Ignore a failure: the caller has already reported why the file is incomplete.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
