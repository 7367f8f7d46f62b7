//! Common parts of the benches that run one transfer for each stack, loss rate and seed.

use std::fmt::Write as _;

use crate::subject::Subject;
use crate::transfer::{Measured, Transfer};

#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub bench: &'static str,
    pub subject: Subject,
    /// The metric, an element of the bench's metrics.
    pub metric: &'static str,
    /// Loss in percent.
    pub loss: u32,
    /// The value; `None` if at least half of the transfers did not finish.
    pub value: Option<f64>,
    pub unit: &'static str,
}

impl Figure {
    pub fn to_json(&self) -> String {
        let Figure {
            bench,
            subject,
            metric,
            loss,
            unit,
            ..
        } = self;
        let value = self.value.map_or("null".to_owned(), |v| v.to_string());
        format!(
            "{{\"bench\":\"{bench}\",\"subject\":\"{subject}\",\"metric\":\"{metric}\",\
             \"x\":{loss},\"value\":{value},\"unit\":\"{unit}\"}}"
        )
    }
}

/// A bench: its name, and its metrics with their units, in the order of the columns.
pub(crate) struct Bench<const N: usize> {
    pub(crate) name: &'static str,
    pub(crate) metrics: [(&'static str, &'static str); N],
}

pub(crate) struct Over<'p> {
    pub(crate) subjects: &'p [Subject],
    pub(crate) losses: &'p [u32],
    pub(crate) seeds: u64,
}

impl<const N: usize> Bench<N> {
    /// Runs a transfer for each stack, loss rate and seed; `at` returns the transfer for a loss
    /// rate. `values` computes the metrics from the runs with all seeds, and returns infinity for
    /// a metric without a value. Calls `on_transfer` before each transfer.
    pub(crate) fn run(
        &self,
        over: &Over<'_>,
        at: impl Fn(u32) -> Transfer,
        values: impl Fn(&[Measured]) -> [f64; N],
        mut on_transfer: impl FnMut(Subject, u32),
    ) -> Vec<Figure> {
        let mut figures = Vec::new();
        for &subject in over.subjects {
            for &loss in over.losses {
                let transfer = at(loss);
                let runs: Vec<Measured> = (1..=over.seeds)
                    .map(|seed| {
                        on_transfer(subject, loss);
                        transfer.run(subject, seed)
                    })
                    .collect();
                for ((metric, unit), value) in self.metrics.into_iter().zip(values(&runs)) {
                    figures.push(Figure {
                        bench: self.name,
                        subject,
                        metric,
                        loss,
                        value: value.is_finite().then_some(value),
                        unit,
                    });
                }
            }
        }
        figures
    }

    /// Returns the figures as text: a block per metric, a line per subject, a column per loss.
    pub(crate) fn table(&self, figures: &[Figure], cell: impl Fn(&str, f64) -> String) -> String {
        let mut text = String::new();
        let mut losses: Vec<u32> = figures.iter().map(|figure| figure.loss).collect();
        losses.sort_unstable();
        losses.dedup();
        for (metric, unit) in self.metrics {
            let _ = write!(text, "{:<30}", format!("{metric} [{unit}]"));
            for loss in &losses {
                let _ = write!(text, "{:>10}", format!("{loss} %"));
            }
            text.push('\n');
            for subject in Subject::ALL {
                let row: Vec<&Figure> = figures
                    .iter()
                    .filter(|figure| figure.subject == subject && figure.metric == metric)
                    .collect();
                if row.is_empty() {
                    continue;
                }
                let _ = write!(text, "  {subject:<28}");
                for loss in &losses {
                    let figure = row.iter().find(|figure| figure.loss == *loss);
                    let cell = figure.map(|figure| match figure.value {
                        Some(value) => cell(metric, value),
                        None => "failed".to_owned(),
                    });
                    let _ = write!(text, "{:>10}", cell.unwrap_or_default());
                }
                text.push('\n');
            }
            text.push('\n');
        }
        text
    }
}

/// Returns the stacks that are built into this program.
pub(crate) fn present() -> Vec<Subject> {
    let is_there = |subject: &Subject| subject.missing().is_none();
    Subject::ALL.into_iter().filter(is_there).collect()
}

/// Returns the median, which is infinite if half of the values are infinite.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, f64::INFINITY]), 3.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![1.0, f64::INFINITY, f64::INFINITY]).is_infinite());
    }

    #[test]
    fn a_figure_is_one_object() {
        let figure = Figure {
            bench: "loss",
            subject: Subject::Redpoll,
            metric: "completion_s",
            loss: 5,
            value: Some(170.25),
            unit: "s",
        };
        assert_eq!(
            figure.to_json(),
            r#"{"bench":"loss","subject":"redpoll","metric":"completion_s","x":5,"value":170.25,"unit":"s"}"#
        );
    }
}
