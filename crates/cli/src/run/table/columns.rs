//! Columns of text.

use std::fmt::Write as _;

/// Columns as wide as their widest cell. Cells that begin with a digit are right-aligned,
/// except in the last column.
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Table {
        Table {
            rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()],
        }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(super) fn render(&self, text: &mut String) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let is_last = column + 1 == columns;
                let is_number = self
                    .rows
                    .get(1)
                    .and_then(|first| first.get(column))
                    .is_some_and(|first| {
                        first == "-" || first.starts_with(|c: char| c.is_ascii_digit())
                    });
                if is_number && !is_last {
                    let _ = write!(line, "{cell:>width$}  ");
                } else {
                    let _ = write!(line, "{cell:<width$}  ");
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_numbers_to_the_right() {
        let mut table = Table::new(&["name", "n", "what"]);
        table.row(vec!["a".into(), "7 B".into(), "x".into()]);
        table.row(vec!["longer".into(), "1200 B".into(), String::new()]);
        let mut text = String::new();
        table.render(&mut text);
        assert_eq!(
            text,
            "name         n  what\na          7 B  x\nlonger  1200 B\n"
        );
    }
}
