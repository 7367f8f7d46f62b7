//! What is said of what was found, by seeds that have not chosen it.
//!
//! Whoever is chosen as the best of many by some runs looks better in those runs than it is (the
//! winner's curse). So what was found, the runner-up, the neighbours and the scenario as it stands
//! are all run with seeds that the search has not seen, and only those runs are told.

use redpoll_results::compare::{Difference, Interval, difference, mean_of};

use super::goal::Goal;
use super::search::Found;
use super::space::{Point, Side};
use super::standing::{Sample, Verdict, values};

/// A figure of a point, by the seeds that judge.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it is called.
    pub name: String,
    /// The mean, with its interval of 95 %; `None` if fewer than two runs have one.
    pub mean: Option<Interval>,
    /// Runs that have none.
    pub without: usize,
    /// Of what is limited, whether that holds.
    pub verdict: Option<Verdict>,
}

/// A point, judged.
#[derive(Clone, Debug)]
pub struct Judged {
    /// A value for each parameter.
    pub values: Vec<String>,
    /// A line for each figure, that to be best first.
    pub lines: Vec<Line>,
}

impl Judged {
    fn of(goal: &Goal, values_of: Vec<String>, samples: &[Sample]) -> Judged {
        let limits = goal.aims.limits.iter().map(|(_, limit)| Some(*limit));
        let limits = std::iter::once(None).chain(limits);
        let lines = goal.aims.figures().zip(limits).enumerate();
        let lines = lines.map(|(at, (figure, limit))| {
            let found = values(samples, at);
            Line {
                name: figure.name(),
                mean: mean_of(&found),
                without: samples.len() - found.len(),
                verdict: limit.map(|limit| Verdict::of(figure, limit, &found, samples.len())),
            }
        });
        Judged {
            values: values_of,
            lines: lines.collect(),
        }
    }

    /// The worst verdict of all limits.
    pub fn verdict(&self) -> Verdict {
        let verdicts = || self.lines.iter().filter_map(|line| line.verdict);
        match () {
            () if verdicts().any(|it| it == Verdict::Missed) => Verdict::Missed,
            () if verdicts().any(|it| it == Verdict::NotSure) => Verdict::NotSure,
            () => Verdict::Holds,
        }
    }

    /// The names of the limits that are missed.
    fn missed(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let missed = lines.filter(|line| line.verdict == Some(Verdict::Missed));
        missed.map(|line| line.name.clone()).collect()
    }
}

/// A neighbour of what was found, which differs in one parameter.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// The number of the parameter.
    pub along: usize,
    /// Its value here.
    pub value: String,
    /// What the runs gave.
    pub judged: Judged,
    /// For each figure how it differs from what was found.
    pub differences: Vec<Option<Difference>>,
    /// Whether the figure to be best is better here, in the mean.
    pub is_better: bool,
}

/// Why nothing better was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// A limit: this neighbour would be better, and misses it.
    Limit {
        /// The limits that it misses.
        limits: Vec<String>,
        /// Which neighbour.
        neighbour: usize,
    },
    /// A parameter is at an end of its values, towards which it got better.
    End {
        /// The number of the parameter.
        along: usize,
        /// Which end.
        side: Side,
    },
    /// This neighbour is within the limits in the mean and not worse by more than the seeds are:
    /// the search could not tell them apart, or its margin kept it away.
    Alike {
        /// Which.
        neighbour: usize,
    },
}

/// Everything that is told.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// What was found.
    pub best: Judged,
    /// What came next, if the search had more than one point.
    pub second: Option<Judged>,
    /// How the runner-up's figure to be best differs from that of what was found.
    pub lead: Option<Difference>,
    /// The scenario as it stands.
    pub before: Judged,
    /// What one step along each parameter changes.
    pub neighbours: Vec<Neighbour>,
    /// What limits.
    pub bounds: Vec<Bound>,
}

/// The points whose runs [`Verdicts::of`] wants, `None` being the scenario as it stands.
pub fn to_judge(goal: &Goal, found: &Found) -> Vec<Option<Point>> {
    let mut points = vec![None];
    let first = [found.best(), found.second()].into_iter().flatten();
    points.extend(first.cloned().map(Some));
    if let Some(best) = found.best() {
        let around = neighbours(goal, best);
        points.extend(around.into_iter().map(|(_, _, point)| Some(point)));
    }
    points
}

/// The neighbours half a step of the first look away.
fn neighbours(goal: &Goal, best: &Point) -> Vec<(usize, Side, Point)> {
    let mut around = goal
        .space
        .neighbours(best, &vec![0.5; goal.space.parameters.len()]);
    around.retain(|(_, _, point)| goal.is_valid(point));
    around
}

impl Verdicts {
    /// What is told of `found`; `samples` gives the runs of a point with the seeds that judge.
    /// `None` if nothing was found at all.
    pub fn of(
        goal: &Goal,
        found: &Found,
        samples: &dyn Fn(Option<&Point>) -> Vec<Sample>,
    ) -> Option<Verdicts> {
        let best = found.best()?;
        let of_best = samples(Some(best));
        let judged = |point: &Point| Judged::of(goal, point.values.clone(), &samples(Some(point)));
        let second = found.second();
        let lead = second.and_then(|point| {
            let of_second = samples(Some(point));
            difference(&values(&of_best, 0), &values(&of_second, 0))
        });
        let around = neighbours(goal, best);
        let told = around.iter().map(|(along, _, point)| {
            let of_point = samples(Some(point));
            let differ = |at| difference(&values(&of_best, at), &values(&of_point, at));
            let figures = 0..goal.aims.figures().count();
            let differences: Vec<Option<Difference>> = figures.map(differ).collect();
            let gain = differences[0].map_or(0.0, |it| it.difference.value);
            Neighbour {
                along: *along,
                value: point.values[*along].clone(),
                judged: judged(point),
                differences,
                is_better: (gain > 0.0) == goal.aims.best.more_is_better() && gain != 0.0,
            }
        });
        let told: Vec<Neighbour> = told.collect();
        Some(Verdicts {
            bounds: bounds(goal, best, &around, &told),
            best: judged(best),
            lead,
            second: second.map(judged),
            before: Judged::of(goal, Vec::new(), &samples(None)),
            neighbours: told,
        })
    }
}

/// See [`Bound`].
fn bounds(
    goal: &Goal,
    best: &Point,
    around: &[(usize, Side, Point)],
    told: &[Neighbour],
) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for (neighbour, it) in told.iter().enumerate().filter(|(_, it)| it.is_better) {
        let limits = it.judged.missed();
        bounds.push(if limits.is_empty() {
            Bound::Alike { neighbour }
        } else {
            Bound::Limit { limits, neighbour }
        });
    }
    for along in 0..goal.space.parameters.len() {
        let Some(side) = goal.space.end(best, along) else {
            continue;
        };
        // Better towards the end if the only neighbour, away from it, is surely worse.
        let away = around
            .iter()
            .position(|(of, to, _)| *of == along && *to != side);
        let is_worse = away.is_some_and(|at| {
            let apart = told[at].differences[0].map(|it| it.difference.excludes(0.0));
            !told[at].is_better && apart == Some(true)
        });
        if is_worse {
            bounds.push(Bound::End { along, side });
        }
    }
    bounds
}
