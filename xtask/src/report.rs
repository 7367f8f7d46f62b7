//! Outcomes of checks.

use std::fmt;

/// Outcome of a check: success, or the findings with instructions to correct them.
pub type Outcome = Result<(), Failure>;

/// Reason for which a check failed: a headline and a line for each finding.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    headline: String,
    findings: Vec<String>,
}

impl Failure {
    pub fn new(headline: impl Into<String>) -> Self {
        Failure {
            headline: headline.into(),
            findings: Vec::new(),
        }
    }

    /// Returns success if there are no findings.
    pub fn unless_empty(headline: impl Into<String>, findings: Vec<String>) -> Outcome {
        if findings.is_empty() {
            return Ok(());
        }
        Err(Failure {
            headline: headline.into(),
            findings,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline)?;
        self.findings
            .iter()
            .flat_map(|finding| finding.lines())
            .try_for_each(|line| write!(f, "\n  {line}"))
    }
}

/// Prints rows as columns, the first aligned left and the others right.
pub fn print_table(rows: &[Vec<String>]) {
    print!("{}", table(rows));
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|i| {
            rows.iter()
                .filter_map(|row| row.get(i))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            match i {
                0 => line.push_str(&format!("{cell:<width$}")),
                _ => line.push_str(&format!("  {cell:>width$}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let text = table(&[row(["name", "n", "§"]), row(["x", "100", ""])]);
        assert_eq!(text, "name    n  §\nx     100\n");
    }

    #[test]
    fn failures_list_their_findings() {
        assert_eq!(Failure::unless_empty("bad", vec![]), Ok(()));
        let findings = vec!["a".into(), "b:\n  c".into()];
        let failure = Failure::unless_empty("bad", findings).unwrap_err();
        assert_eq!(failure.to_string(), "bad\n  a\n  b:\n    c");
    }
}
