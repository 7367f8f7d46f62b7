//! The bench `ota-ack`: an update in blocks, each of which is answered by one byte.
//!
//! The byte is a segment by itself with nothing behind it: nothing but its own timer
//! repairs its loss, and each loss doubles that (RFC 6298 §5.5). Where four packets of ten
//! are lost, a second and a half becomes 48 s in five steps, and whoever waits for the byte
//! gives up.

use std::fmt::Write as _;

use redpoll_base::Duration;

use crate::loss;
use crate::peer::Subject;
use crate::transfer::{Measured, Transfer};

/// The name of the bench.
pub const NAME: &str = "ota-ack";

/// The losses of the full bench, in percent.
pub const LOSSES: [u32; 4] = [10, 20, 30, 40];

/// Bytes of a block.
pub const BLOCK: usize = 8_192;

/// An answer that takes longer stalls the update: an assumption about how long its sender
/// waits.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The metrics and their units, in the order of the columns.
///
/// - `stalled`: updates of which an answer took longer than [`PATIENCE`] to arrive, or
///   that did not end.
/// - `longest_answer_s`: the longest that an answer took; the median over the seeds.
/// - `completion_s`: from the first byte to the last answer; the median.
pub const METRICS: [(&str, &str); 3] = [
    ("stalled", "%"),
    ("longest_answer_s", "s"),
    ("completion_s", "s"),
];

/// What to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Which stacks; none of them [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    /// Losses in percent.
    pub losses: Vec<u32>,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Blocks an update.
    pub blocks: usize,
}

/// One figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Which stack.
    pub subject: Subject,
    /// Which of [`METRICS`].
    pub metric: &'static str,
    /// Loss in percent.
    pub loss: u32,
    /// `None` if half of the updates or more did not end.
    pub value: Option<f64>,
    /// The unit.
    pub unit: &'static str,
}

impl Default for Plan {
    fn default() -> Self {
        let is_there = |subject: &Subject| subject.missing().is_none();
        Plan {
            subjects: Subject::ALL.into_iter().filter(is_there).collect(),
            losses: LOSSES.to_vec(),
            seeds: 40,
            blocks: 8,
        }
    }
}

/// An update of so many blocks at this loss.
pub fn update(loss: u32, blocks: usize) -> Transfer {
    Transfer {
        block: Some(BLOCK),
        ..loss::transfer(loss, blocks * BLOCK)
    }
}

impl Plan {
    /// How many updates it takes.
    pub fn transfers(&self) -> usize {
        self.subjects.len() * self.losses.len() * self.seeds as usize
    }

    /// Measures. `on_transfer` hears of each update before it begins.
    pub fn run(&self, mut on_transfer: impl FnMut(Subject, u32)) -> Vec<Figure> {
        let mut figures = Vec::new();
        for &subject in &self.subjects {
            for &loss in &self.losses {
                let update = update(loss, self.blocks);
                let runs: Vec<Measured> = (1..=self.seeds)
                    .map(|seed| {
                        on_transfer(subject, loss);
                        update.run(subject, seed)
                    })
                    .collect();
                for ((metric, unit), value) in METRICS.into_iter().zip(values(&runs)) {
                    figures.push(Figure {
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
}

/// In the order of [`METRICS`].
fn values(runs: &[Measured]) -> [f64; METRICS.len()] {
    let seconds = |span: Duration| span.as_micros() as f64 / 1e6;
    let stalled = runs
        .iter()
        .filter(|run| run.completion.is_none() || run.longest_answer > PATIENCE)
        .count();
    let over = |of: fn(&Measured) -> Duration| {
        let all = runs.iter().map(|run| match run.completion {
            Some(_) => seconds(of(run)),
            None => f64::INFINITY,
        });
        loss::median(all.collect())
    };
    [
        100.0 * stalled as f64 / runs.len().max(1) as f64,
        over(|run| run.longest_answer),
        over(|run| run.completion.unwrap_or(Duration::ZERO)),
    ]
}

impl Figure {
    /// The figure as a JSON object on one line.
    pub fn to_json(&self) -> String {
        loss::json(
            NAME,
            self.subject,
            self.metric,
            self.loss,
            self.value,
            self.unit,
        )
    }
}

/// The rules, and the figures as text: a block a metric, a line a subject, a column a loss.
pub fn table(plan: &Plan, figures: &[Figure]) -> String {
    let mut text = format!(
        "ota-ack: {} blocks of {BLOCK} B, each answered by one byte; the link of the bench \
         `loss`, {} seeds\n",
        plan.blocks, plan.seeds
    );
    for (metric, unit) in METRICS {
        let _ = write!(text, "{:<30}", format!("{metric} [{unit}]"));
        for loss in &plan.losses {
            let _ = write!(text, "{:>10}", format!("{loss} %"));
        }
        text.push('\n');
        for subject in &plan.subjects {
            let _ = write!(text, "  {subject:<28}");
            let row = figures
                .iter()
                .filter(|figure| figure.subject == *subject && figure.metric == metric);
            for figure in row {
                let cell = figure
                    .value
                    .map_or("failed".to_owned(), |value| format!("{value:.1}"));
                let _ = write!(text, "{cell:>10}");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}
