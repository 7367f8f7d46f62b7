//! The table of differences that are justified.
//!
//! Columns: fields (names separated by blanks, `*` at the end stands for any ending), the value
//! of Redpoll and the value of tshark (`-` for none, `*` for any), a condition `FIELD=VALUE` over
//! the frame, and the reason.

use std::path::Path;

use super::compare::Difference;
use crate::report::Failure;
use crate::source;

/// The heading before the table.
const HEADING: &str = "## Differences that remain";

/// See the [module](self).
pub struct Table {
    rows: Vec<Row>,
}

struct Row {
    fields: Vec<String>,
    ours: String,
    theirs: String,
    condition: Option<(String, String)>,
}

impl Table {
    pub fn read(path: &Path) -> Result<Table, Failure> {
        let text = source::read(path)?;
        // The figures before this heading also have a table.
        let (_, text) = text
            .split_once(HEADING)
            .ok_or_else(|| Failure::new(format!("{}: no heading {HEADING:?}", path.display())))?;
        let mut rows = Vec::new();
        for line in text.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [fields, ours, theirs, condition, reason] = cells.as_slice() else {
                let problem = format!("{}: a row must have five columns: {line}", path.display());
                return Err(Failure::new(problem));
            };
            if reason.trim().is_empty() {
                return Err(Failure::new(format!(
                    "{}: the last column of a row must have a reason: {line}",
                    path.display()
                )));
            }
            let bare = |cell: &str| cell.trim_matches('`').to_owned();
            rows.push(Row {
                fields: bare(fields).split_whitespace().map(str::to_owned).collect(),
                ours: bare(ours),
                theirs: bare(theirs),
                condition: bare(condition)
                    .split_once('=')
                    .map(|(field, value)| (field.to_owned(), value.to_owned())),
            });
        }
        Ok(Table { rows })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn name(&self, row: usize) -> String {
        self.rows[row].fields.join(" ")
    }

    /// Returns the row that justifies a difference.
    pub fn row_of(&self, difference: &Difference) -> Option<usize> {
        self.rows.iter().position(|row| row.justifies(difference))
    }
}

impl Row {
    fn justifies(&self, difference: &Difference) -> bool {
        let is_field = |pattern: &String| matches(pattern, &difference.field);
        self.fields.iter().any(is_field)
            && is_value(&self.ours, &difference.ours)
            && is_value(&self.theirs, &difference.theirs)
            && self.condition.as_ref().is_none_or(|(field, value)| {
                let all = difference
                    .both
                    .iter()
                    .filter_map(|fields| fields.get(field));
                let mut values = all.flatten();
                values.any(|found| matches(value, found))
            })
    }
}

fn is_value(pattern: &str, values: &[String]) -> bool {
    match pattern {
        "*" => true,
        "-*" => values.iter().any(|value| value.starts_with('-')),
        "-" => values.is_empty(),
        other => {
            values.join("\\|") == other || values.iter().all(|it| it == other) && !values.is_empty()
        }
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => pattern == text,
    }
}
