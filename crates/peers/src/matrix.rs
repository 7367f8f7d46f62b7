//! The bench `matrix`: the transfer of the bench `loss` for each pair of stacks.

use std::fmt::Write as _;

use crate::loss::transfer;
use crate::subject::Subject;
use crate::sweep::{self, median};

pub const NAME: &str = "matrix";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The stacks; each must not be [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    /// Loss rate in percent, in both directions.
    pub loss: u32,
    /// Number of seeds; seeds count from 1, and the figures are medians over them.
    pub seeds: u64,
    pub bytes: usize,
}

/// The duration of a transfer: the median over the seeds.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub sender: Subject,
    pub receiver: Subject,
    /// Loss in percent.
    pub loss: u32,
    /// Seconds; `None` if at least half of the transfers did not finish.
    pub completion_s: Option<f64>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            subjects: sweep::present(),
            loss: 10,
            seeds: 5,
            bytes: 1 << 18,
        }
    }
}

impl Plan {
    pub fn transfers(&self) -> usize {
        self.subjects.len().pow(2) * self.seeds as usize
    }

    /// Runs the bench. Calls `on_transfer` before each transfer.
    pub fn run(&self, mut on_transfer: impl FnMut(Subject, Subject)) -> Vec<Figure> {
        let transfer = transfer(self.loss, self.bytes);
        let pairs = self.subjects.iter().flat_map(|sender| {
            self.subjects
                .iter()
                .map(move |receiver| (*sender, *receiver))
        });
        pairs
            .map(|(sender, receiver)| {
                let times = (1..=self.seeds).map(|seed| {
                    on_transfer(sender, receiver);
                    let measured = transfer.run_between([sender, receiver], seed);
                    let took = measured
                        .completion
                        .map(|took| took.as_micros() as f64 / 1e6);
                    took.unwrap_or(f64::INFINITY)
                });
                let median = median(times.collect());
                Figure {
                    sender,
                    receiver,
                    loss: self.loss,
                    completion_s: median.is_finite().then_some(median),
                }
            })
            .collect()
    }
}

impl Figure {
    pub fn to_json(&self) -> String {
        let value = self
            .completion_s
            .map_or("null".to_owned(), |s| s.to_string());
        let Figure {
            sender,
            receiver,
            loss,
            ..
        } = self;
        format!(
            "{{\"bench\":\"{NAME}\",\"subject\":\"{sender}\",\"receiver\":\"{receiver}\",\
             \"metric\":\"completion_s\",\"x\":{loss},\"value\":{value},\"unit\":\"s\"}}"
        )
    }
}

/// Returns the figures as text: a line for each sender, a column for each receiver.
pub fn table(plan: &Plan, figures: &[Figure]) -> String {
    let mut text = format!(
        "matrix: {} B at {} % loss; the other conditions are those of the bench `loss`; each cell: \
         time in seconds, median of {} seeds\n\
         {:<22}",
        plan.bytes, plan.loss, plan.seeds, "from, to"
    );
    for receiver in &plan.subjects {
        let _ = write!(text, "{receiver:>15}");
    }
    text.push('\n');
    for sender in &plan.subjects {
        let _ = write!(text, "  {sender:<20}");
        for figure in figures.iter().filter(|figure| figure.sender == *sender) {
            let cell = figure
                .completion_s
                .map_or("failed".to_owned(), |s| format!("{s:.1}"));
            let _ = write!(text, "{cell:>15}");
        }
        text.push('\n');
    }
    text
}
