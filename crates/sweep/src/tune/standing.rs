//! Ranking of points by the figures of their runs.

use std::cmp::Ordering;

use redpoll_results::compare::{Interval, mean_of};

use super::figure::Figure;

/// Values of a run for the figures of [`Aims`]: first the figure to optimise, then each figure with
/// a limit. `None` for a figure that the run does not have.
pub type Sample = Vec<Option<f64>>;

#[derive(Clone, Debug)]
pub struct Aims {
    pub best: Figure,
    pub limits: Vec<(Figure, f64)>,
}

impl Aims {
    /// Returns all figures in the order of a [`Sample`].
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let limits = self.limits.iter().map(|(figure, _)| figure);
        std::iter::once(&self.best).chain(limits)
    }

    /// Ranks a point by its runs. Points within the limits precede all others, ordered by the
    /// optimised figure. The others are ordered by how far they miss the limits.
    pub fn standing(&self, samples: &[Sample], trust: Trust) -> Standing {
        let (value, without) = summed(samples, 0);
        let mut short = without;
        for (at, (figure, limit)) in self.limits.iter().enumerate() {
            let values = values(samples, at + 1);
            let (mean, without) = summed(samples, at + 1);
            let value = match (trust, mean_of(&values)) {
                // Judge by the unfavourable end of the 95 % interval.
                (Trust::Interval, Some(interval)) if values.len() > 2 => {
                    if figure.more_is_better() {
                        interval.low
                    } else {
                        interval.high
                    }
                }
                _ => mean,
            };
            let beyond = if figure.more_is_better() {
                (limit - value) / limit
            } else {
                (value - limit) / limit
            };
            short += without + beyond.max(0.0);
        }
        let cost = if self.best.more_is_better() {
            -value
        } else {
            value
        };
        Standing { short, cost }
    }
}

/// The estimate that represents a few runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// The mean: sufficient to exclude clearly worse points.
    Mean,
    /// The unfavourable end of the 95 % interval of a limited figure: to choose the best point.
    Interval,
}

/// The rank of a point ([`Aims::standing`]); less is better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// Sum of the limits' violations, each as a share of its limit; 0 if all hold.
    pub short: f64,
    cost: f64,
}

impl Standing {
    /// Compares two ranks.
    pub fn order(&self, other: &Standing) -> Ordering {
        let short = self.short.total_cmp(&other.short);
        short.then(self.cost.total_cmp(&other.cost))
    }
}

/// Returns the values of the figure with index `at`, from the runs that have one.
pub fn values(samples: &[Sample], at: usize) -> Vec<f64> {
    samples.iter().filter_map(|it| it[at]).collect()
}

/// Returns the mean of the figure `at` over the runs that have it, and a penalty for runs without
/// it. The penalty exceeds any violation of a limit.
fn summed(samples: &[Sample], at: usize) -> (f64, f64) {
    const WITHOUT: f64 = 1e6;
    let values = values(samples, at);
    let missing = samples.len() - values.len();
    let share = missing as f64 / samples.len().max(1) as f64;
    if values.is_empty() {
        // A point without values has a mean of 0 and the penalty of missing values.
        (0.0, WITHOUT)
    } else {
        (
            values.iter().sum::<f64>() / values.len() as f64,
            WITHOUT * share,
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The whole interval is within the limit.
    Holds,
    /// Only the mean is within the limit, or there is no interval.
    NotSure,
    /// The mean violates the limit, or a run has no such figure.
    Missed,
}

impl Verdict {
    pub fn of(figure: &Figure, limit: f64, values: &[f64], runs: usize) -> Verdict {
        let is_within = |value: f64| {
            if figure.more_is_better() {
                value >= limit
            } else {
                value <= limit
            }
        };
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if values.len() < runs || !is_within(mean) {
            return Verdict::Missed;
        }
        match mean_of(values) {
            Some(Interval { low, high, .. }) if is_within(low) && is_within(high) => Verdict::Holds,
            _ => Verdict::NotSure,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::NotSure => "not sure",
            Verdict::Missed => "missed",
        }
    }
}
