//! How good a point is, by what its runs gave.

use std::cmp::Ordering;

use redpoll_results::compare::{Interval, mean_of};

use super::figure::Figure;

/// What a run gave: the figure to be best, and behind it those with limits, in their order;
/// `None` where a run has none.
pub type Sample = Vec<Option<f64>>;

/// What a goal wants of a point.
#[derive(Clone, Debug)]
pub struct Aims {
    /// What is to be least or most.
    pub best: Figure,
    /// What is limited, and to what.
    pub limits: Vec<(Figure, f64)>,
}

impl Aims {
    /// All figures, in the order of a [`Sample`].
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        let limits = self.limits.iter().map(|(figure, _)| figure);
        std::iter::once(&self.best).chain(limits)
    }

    /// How good a point is with these runs. A point within the limits beats every other one; of
    /// those within, that with the better figure; of the others that which misses by less.
    pub fn standing(&self, samples: &[Sample], trust: Trust) -> Standing {
        let (value, without) = summed(samples, 0);
        let mut short = without;
        for (at, (figure, limit)) in self.limits.iter().enumerate() {
            let values = values(samples, at + 1);
            let (mean, without) = summed(samples, at + 1);
            let value = match (trust, mean_of(&values)) {
                // The end of the interval at which the limit is.
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

/// What of a few runs is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// The mean: to leave out what is surely worse.
    Mean,
    /// The end of its interval of 95 % that is nearer to the limit: to choose.
    Interval,
}

/// See [`Aims::standing`]; the lesser is the better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Standing {
    /// By how much the limits are missed, as shares of them, summed; 0 if none is.
    pub short: f64,
    cost: f64,
}

impl Standing {
    /// Whether this is better than the other.
    pub fn order(&self, other: &Standing) -> Ordering {
        let short = self.short.total_cmp(&other.short);
        short.then(self.cost.total_cmp(&other.cost))
    }
}

/// The values of the figure number `at`, of the runs that have one.
pub fn values(samples: &[Sample], at: usize) -> Vec<f64> {
    samples.iter().filter_map(|it| it[at]).collect()
}

/// The mean of those, and what is to be added for runs that have none: more than any limit
/// could be missed by.
fn summed(samples: &[Sample], at: usize) -> (f64, f64) {
    const WITHOUT: f64 = 1e6;
    let values = values(samples, at);
    let missing = samples.len() - values.len();
    let share = missing as f64 / samples.len().max(1) as f64;
    if values.is_empty() {
        // Then nothing is known that could be compared.
        (0.0, WITHOUT)
    } else {
        (
            values.iter().sum::<f64>() / values.len() as f64,
            WITHOUT * share,
        )
    }
}

/// Whether a limit is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// All of the interval is within.
    Holds,
    /// The mean is, a part of the interval is not; or there is no interval.
    NotSure,
    /// The mean is not, or runs had no such figure.
    Missed,
}

impl Verdict {
    /// Of a figure's values in so many runs.
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

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::NotSure => "not sure",
            Verdict::Missed => "missed",
        }
    }
}
