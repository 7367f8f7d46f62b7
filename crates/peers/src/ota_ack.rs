//! The bench `ota-ack`: an update in blocks, to each of which the receiver responds with one byte.
//!
//! The byte is in a separate segment without later data, so only the retransmission timer repairs
//! its loss, and each loss doubles the timer (RFC 6298 §5.5). If four of ten packets are lost, five
//! losses in a row raise a timeout of 1.5 s to 48 s, and a waiting application gives up.

use redpoll_base::Duration;

use crate::loss;
use crate::subject::Subject;
use crate::sweep::{self, Bench, Figure, Over, median};
use crate::transfer::{Measured, Transfer};

pub const NAME: &str = "ota-ack";

/// Loss rates of the full bench, in percent.
pub const LOSSES: [u32; 4] = [10, 20, 30, 40];

pub const BLOCK: usize = 8_192;

/// Time to an answer after which the update counts as stalled: an assumption.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The metrics and their units, in the order of the columns.
///
/// - `stalled`: share of updates with an answer later than [`PATIENCE`], or without an end.
/// - `longest_answer_s`: the longest time to an answer, as median over the seeds.
/// - `completion_s`: time from the first byte to the last answer, as median over the seeds.
pub const METRICS: [(&str, &str); 3] = [
    ("stalled", "%"),
    ("longest_answer_s", "s"),
    ("completion_s", "s"),
];

const BENCH: Bench<{ METRICS.len() }> = Bench {
    name: NAME,
    metrics: METRICS,
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The stacks; each must not be [`missing`](Subject::missing).
    pub subjects: Vec<Subject>,
    /// Losses in percent.
    pub losses: Vec<u32>,
    /// Number of seeds; seeds count from 1.
    pub seeds: u64,
    pub blocks: usize,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            subjects: sweep::present(),
            losses: LOSSES.to_vec(),
            seeds: 40,
            blocks: 8,
        }
    }
}

pub fn update(loss: u32, blocks: usize) -> Transfer {
    Transfer {
        block: Some(BLOCK),
        ..loss::transfer(loss, blocks * BLOCK)
    }
}

impl Plan {
    pub fn transfers(&self) -> usize {
        self.subjects.len() * self.losses.len() * self.seeds as usize
    }

    /// Runs the bench. Calls `on_transfer` before each update.
    pub fn run(&self, on_transfer: impl FnMut(Subject, u32)) -> Vec<Figure> {
        let over = Over {
            subjects: &self.subjects,
            losses: &self.losses,
            seeds: self.seeds,
        };
        let at = |loss| update(loss, self.blocks);
        BENCH.run(&over, at, values, on_transfer)
    }
}

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
        median(all.collect())
    };
    [
        100.0 * stalled as f64 / runs.len().max(1) as f64,
        over(|run| run.longest_answer),
        over(|run| run.completion.unwrap_or(Duration::ZERO)),
    ]
}

/// Returns the bench's settings and its figures as text: a block per metric, a line per subject, a
/// column per loss.
pub fn table(plan: &Plan, figures: &[Figure]) -> String {
    let rules = format!(
        "ota-ack: {} blocks of {BLOCK} B, and the receiver answers each block with one byte; the \
         link is that of the bench `loss`; {} seeds\n",
        plan.blocks, plan.seeds
    );
    rules + &BENCH.table(figures, |_, value| format!("{value:.1}"))
}
