//! Tables for programs with Arrow: the PyCapsule interface, with which pandas, polars and pyarrow
//! read tables without copying.
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use redpoll_experiments::page::escape;
use redpoll_results::table::{Cell, CellType, Column, Row};

/// Metadata key of a field for the unit of its numbers.
const UNIT: &str = "unit";
/// Number of rows that a notebook shows.
const SHOWN: usize = 10;

/// A table with named columns, each with values of one type. Pass the table to
/// `pandas.DataFrame.from_arrow`, `polars.DataFrame` or `pyarrow.table`.
#[pyclass(frozen, module = "redpoll")]
pub struct Table {
    batch: RecordBatch,
}

fn wrong(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Table {
    /// Returns a table of these rows.
    pub fn new(columns: &[Column], rows: &[Row]) -> PyResult<Table> {
        let fields = columns.iter().map(|column| {
            let kind = match column.kind {
                CellType::Whole => DataType::Int64,
                CellType::Number => DataType::Float64,
                CellType::Truth => DataType::Boolean,
                CellType::Text => DataType::Utf8,
            };
            let unit = column.unit.map(|unit| (UNIT.to_owned(), unit.to_owned()));
            let metadata = unit.into_iter().collect::<HashMap<_, _>>();
            Field::new(&column.name, kind, true).with_metadata(metadata)
        });
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.iter().enumerate();
        let arrays = arrays.map(|(at, column)| array(at, column.kind, rows));
        let batch = match columns.is_empty() {
            true => RecordBatch::new_empty(schema),
            false => RecordBatch::try_new(schema, arrays.collect()).map_err(wrong)?,
        };
        Ok(Table { batch })
    }

    /// Copies the table into rows.
    pub fn rows(&self) -> Vec<Row> {
        rows(&self.batch)
    }

    /// Copies the result table of a sweep to Arrow's format.
    pub fn of(table: &redpoll_sweep::Table) -> PyResult<Table> {
        Table::new(&table.schema(), &table.rows)
    }
}

/// Returns a table with a row for each flow or node of a JSON report. `part` is `flows` or `nodes`.
#[pyfunction]
pub fn report_table(text: &str, part: &str) -> PyResult<Table> {
    let report: serde_json::Value =
        serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let items = report[part].as_array().cloned().unwrap_or_default();
    Table::of(&redpoll_sweep::Table::of_items(&items))
}

fn array(at: usize, kind: CellType, rows: &[Row]) -> ArrayRef {
    let cells = rows.iter().map(|row| row.get(at).and_then(Option::as_ref));
    macro_rules! of {
        ($array:ty, $pattern:pat => $value:expr) => {
            Arc::new(<$array>::from_iter(cells.map(|cell| match cell {
                Some($pattern) => Some($value),
                _ => None,
            })))
        };
    }
    match kind {
        CellType::Whole => of!(Int64Array, Cell::Whole(it) => *it),
        CellType::Number => of!(Float64Array, Cell::Number(it) => *it),
        CellType::Truth => of!(BooleanArray, Cell::Truth(it) => *it),
        CellType::Text => of!(StringArray, Cell::Text(it) => it.as_str()),
    }
}

/// Copies a batch into rows.
fn rows(batch: &RecordBatch) -> Vec<Row> {
    let mut rows = vec![Row::new(); batch.num_rows()];
    for column in batch.columns() {
        macro_rules! cells {
            ($($array:ty, $cell:expr);*) => {
                $(if let Some(array) = column.as_any().downcast_ref::<$array>() {
                    for (row, value) in rows.iter_mut().zip(array) {
                        row.push(value.map($cell));
                    }
                    continue;
                })*
            };
        }
        cells!(
            Int64Array, Cell::Whole;
            Float64Array, Cell::Number;
            BooleanArray, Cell::Truth;
            StringArray, |text: &str| Cell::Text(text.to_owned())
        );
    }
    rows
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.batch.num_rows(), self.batch.num_columns());
        format!("<redpoll.Table of {rows} rows, {columns} columns>")
    }

    /// Returns the first rows as HTML, for notebooks.
    fn _repr_html_(&self) -> String {
        let mut html = String::from("<table><thead><tr>");
        for field in self.batch.schema().fields() {
            let _ = write!(html, "<th>{}</th>", escape(field.name()));
        }
        html.push_str("</tr></thead><tbody>");
        let count = self.batch.num_rows().min(SHOWN);
        for row in rows(&self.batch.slice(0, count)) {
            html.push_str("<tr>");
            for cell in row {
                let text = cell.map_or_else(|| "–".to_owned(), |cell| cell.to_string());
                let _ = write!(html, "<td>{}</td>", escape(&text));
            }
            html.push_str("</tr>");
        }
        let all = self.batch.num_rows();
        let _ = write!(html, "</tbody></table><p>{count} of {all} rows</p>");
        html
    }

    /// Returns a column as a list; `None` stands for an empty cell.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.batch.column_by_name(name);
        let column = column.ok_or_else(|| {
            PyValueError::new_err(format!(
                "no column {name:?}; the table has {:?}",
                self.columns()
            ))
        })?;
        macro_rules! list {
            ($($array:ty),*) => {{
                $(if let Some(array) = column.as_any().downcast_ref::<$array>() {
                    return PyList::new(py, array.iter());
                })*
                PyList::new(py, Vec::<Option<f64>>::new())
            }};
        }
        list!(Int64Array, Float64Array, BooleanArray, StringArray)
    }

    /// Returns all columns as lists, by name.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.columns() {
            dict.set_item(&name, self.column(py, &name)?)?;
        }
        Ok(dict)
    }

    /// The Arrow PyCapsule interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The requested schema is optional and is ignored.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
