//! Tables of the results of runs.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use redpoll_experiments::{Gap, Results, Run, StoredRun, StudyError};
use redpoll_results::table::{Cell, CellType, Column, Format, Part, Row, WriteError, Writer};
use serde_json::Value;

use crate::plan::Plan;

/// Rows with typed columns; missing values are empty.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub columns: Vec<String>,
    /// Rows, each with a cell for every column.
    pub rows: Vec<Row>,
    /// Number of runs in which the oracle found a violation, including runs without rows.
    pub objections: u64,
    places: HashMap<String, usize>,
}

const SEEDS: usize = 256;
/// Greatest depth at which a report's nested objects become columns.
const DEPTH_MAX: usize = 4;

impl Table {
    /// Returns a row for each run and flow: `point` (from 1), `seed`, the keys of the sweep,
    /// whether the oracle found no violation, and the flow's figures (`docs/report.md`). Nested
    /// figures have dotted names.
    pub fn flows(plan: &Plan, results: &Results) -> Result<Table, StudyError> {
        Table::of(plan, results, Run::flows)
    }

    pub fn nodes(plan: &Plan, results: &Results) -> Result<Table, StudyError> {
        Table::of(plan, results, Run::nodes)
    }

    /// Returns a row for each object in one report's list of flows or nodes.
    pub fn of_items(items: &[Value]) -> Table {
        let mut table = Table::default();
        for item in items {
            table.rows.push(vec![None; table.columns.len()]);
            table.flatten("", item, DEPTH_MAX);
        }
        table.unify();
        table
    }

    fn of(
        plan: &Plan,
        results: &Results,
        items: impl for<'a> Fn(&'a Run, &str) -> Result<Vec<&'a Value>, Gap>,
    ) -> Result<Table, StudyError> {
        let mut table = Table::default();
        for (at, point) in plan.points.iter().enumerate() {
            for seeds in plan.seeds.chunks(SEEDS) {
                let least = seeds.iter().copied().min().unwrap_or_default();
                let most = seeds.iter().copied().max().unwrap_or_default();
                let kept = results.within(&point.case, least, most)?;
                let kept = kept.iter().map(|kept| (kept.seed, kept));
                let kept: BTreeMap<u64, &StoredRun> = kept.collect();
                for kept in seeds.iter().filter_map(|seed| kept.get(seed)) {
                    table.add(at, &point.values, kept, &items);
                }
            }
        }
        table.unify();
        Ok(table)
    }

    fn add(
        &mut self,
        at: usize,
        values: &[(String, String)],
        kept: &StoredRun,
        items: &impl for<'a> Fn(&'a Run, &str) -> Result<Vec<&'a Value>, Gap>,
    ) {
        let is_ok = kept.run.violation().is_none();
        self.objections += u64::from(!is_ok);
        // A scenario without flows adds no rows.
        for item in items(&kept.run, "").unwrap_or_default() {
            self.rows.push(vec![None; self.columns.len()]);
            self.put("point", Cell::Whole(at as i64 + 1));
            self.put("seed", Cell::Whole(kept.seed as i64));
            for (key, value) in values {
                self.put(key, Cell::Text(value.clone()));
            }
            self.put("oracle_ok", Cell::Truth(is_ok));
            self.put("cpu_s", Cell::Number(kept.cpu_s));
            self.flatten("", item, DEPTH_MAX);
        }
    }

    fn put(&mut self, column: &str, cell: Cell) {
        let at = match self.places.get(column) {
            Some(&at) => at,
            None => {
                let at = self.columns.len();
                self.places.insert(column.to_owned(), at);
                self.columns.push(column.to_owned());
                self.rows.iter_mut().for_each(|row| row.push(None));
                at
            }
        };
        if let Some(row) = self.rows.last_mut() {
            row[at] = Some(cell);
        }
    }

    fn flatten(&mut self, path: &str, value: &Value, depth: usize) {
        let cell = match value {
            Value::Object(fields) if depth > 0 => {
                for (name, value) in fields {
                    let path = match path {
                        "" => name.clone(),
                        _ => format!("{path}.{name}"),
                    };
                    self.flatten(&path, value, depth - 1);
                }
                return;
            }
            Value::Null | Value::Array(_) | Value::Object(_) => return,
            Value::Bool(truth) => Cell::Truth(*truth),
            Value::String(text) => Cell::Text(text.clone()),
            Value::Number(number) => match number.as_i64() {
                Some(whole) => Cell::Whole(whole),
                None => Cell::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
        };
        self.put(path, cell);
    }

    /// Converts integers to floating-point numbers in a column that also has those, and all values
    /// to texts in a column of mixed types.
    fn unify(&mut self) {
        for column in 0..self.columns.len() {
            let cells = || self.rows.iter().filter_map(|row| row[column].as_ref());
            let has = |kind: fn(&Cell) -> bool| cells().any(kind);
            let text = has(|it| matches!(it, Cell::Text(_)));
            let truth = has(|it| matches!(it, Cell::Truth(_)));
            let number = has(|it| matches!(it, Cell::Number(_)));
            let whole = has(|it| matches!(it, Cell::Whole(_)));
            let mixed = text && (truth || number || whole) || truth && (number || whole);
            for cell in self.rows.iter_mut().filter_map(|row| row[column].as_mut()) {
                match cell {
                    any if mixed => *any = Cell::Text(any.to_string()),
                    Cell::Whole(value) if number => *cell = Cell::Number(*value as f64),
                    _ => {}
                }
            }
        }
    }

    pub fn numbers(&self, column: &str, keep: impl Fn(&[Option<Cell>]) -> bool) -> Vec<f64> {
        let Some(&at) = self.places.get(column) else {
            return Vec::new();
        };
        let rows = self.rows.iter().filter(|row| keep(row));
        rows.filter_map(|row| row[at].as_ref()?.number()).collect()
    }

    /// Writes the table to a file. An existing file is replaced only once the new one is complete.
    pub fn write(&self, path: &Path, format: Format) -> Result<(), WriteError> {
        let (part, file) = Part::create(path)?;
        self.write_to(file, format)?;
        Ok(part.keep()?)
    }

    pub fn write_to(&self, out: impl Write + Send, format: Format) -> Result<(), WriteError> {
        let mut writer = Writer::new(out, format, self.schema(), &[])?;
        for row in &self.rows {
            writer.row(row.clone())?;
        }
        writer.finish()
    }

    pub fn schema(&self) -> Vec<Column> {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(at, name)| Column::new(name, self.kind(at)));
        columns.collect()
    }

    fn kind(&self, column: usize) -> CellType {
        let first = self.rows.iter().find_map(|row| row[column].as_ref());
        first.map_or(CellType::Text, Cell::kind)
    }
}
