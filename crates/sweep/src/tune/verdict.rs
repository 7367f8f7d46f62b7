//! Verdicts about the result of a search, with seeds that the search did not use.
//!
//! A point chosen as the best of many looks better in the runs that chose it than it is (the
//! winner's curse). The best point, the runner-up, the neighbours and the unchanged scenario
//! therefore run with held-out seeds, and only those runs are reported.

use redpoll_results::compare::{Difference, Interval, difference, mean_of};

use super::goal::Goal;
use super::search::Found;
use super::space::{Point, Side};
use super::standing::{Sample, Verdict, values};

/// A figure of a point with the held-out seeds.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    /// Mean with its 95 % interval; `None` if fewer than two runs have a value.
    pub mean: Option<Interval>,
    pub without: usize,
    /// Whether the limit holds, for a limited figure.
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Debug)]
pub struct Judged {
    pub values: Vec<String>,
    /// A line for each figure, the optimised one first.
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

    pub fn verdict(&self) -> Verdict {
        let verdicts = || self.lines.iter().filter_map(|line| line.verdict);
        match () {
            () if verdicts().any(|it| it == Verdict::Missed) => Verdict::Missed,
            () if verdicts().any(|it| it == Verdict::NotSure) => Verdict::NotSure,
            () => Verdict::Holds,
        }
    }

    fn missed(&self) -> Vec<String> {
        let lines = self.lines.iter();
        let missed = lines.filter(|line| line.verdict == Some(Verdict::Missed));
        missed.map(|line| line.name.clone()).collect()
    }
}

/// A neighbour of the best point, which differs in one parameter.
#[derive(Clone, Debug)]
pub struct Neighbour {
    pub along: usize,
    pub value: String,
    pub judged: Judged,
    pub differences: Vec<Option<Difference>>,
    pub is_better: bool,
}

/// The reason why the search found no better point.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// The neighbouring point `neighbour` has a better optimised figure, but violates `limits`.
    Limit {
        limits: Vec<String>,
        neighbour: usize,
    },
    /// A parameter is at an end of its values, towards which the figure improves.
    End {
        along: usize,
        /// The end at which the parameter is.
        side: Side,
    },
    /// With the held-out seeds, this neighbour has a better mean and violates no limit in the mean.
    /// The search could not distinguish the two points, or excluded this neighbour, because an end
    /// of the 95 % interval of a figure violated the figure's limit.
    Alike { neighbour: usize },
}

#[derive(Clone, Debug)]
pub struct Verdicts {
    pub best: Judged,
    /// The runner-up; `None` if all points have the same results as the best one.
    pub second: Option<Judged>,
    /// Difference between the optimised figures of the runner-up and of the best point.
    pub lead: Option<Difference>,
    /// The unchanged scenario.
    pub before: Judged,
    /// Effect of a change of each parameter: by half a step in a range, or to the next value in a
    /// list.
    pub neighbours: Vec<Neighbour>,
    /// Reasons why no better point was found.
    pub bounds: Vec<Bound>,
}

/// Returns the points that [`Verdicts::of`] needs; `None` is the unchanged scenario.
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

/// Returns the neighbours of the found point; in a range, at half the distance between its values
/// in the goal file.
fn neighbours(goal: &Goal, best: &Point) -> Vec<(usize, Side, Point)> {
    let mut around = goal
        .space
        .neighbours(best, &vec![0.5; goal.space.parameters.len()]);
    around.retain(|(_, _, point)| goal.is_valid(point));
    around
}

impl Verdicts {
    /// Judges `found`. `samples` returns the runs of a point with the held-out seeds. Returns
    /// `None` if the search found no point.
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
        // At an end there is only one neighbour. If it is clearly worse, the figure improves
        // towards the end.
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
