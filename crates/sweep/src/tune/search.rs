//! The search: a first pass with few seeds, successive halving, and steps to better neighbours.
//!
//! Successive halving (Jamieson and Talwalkar, *Non-stochastic Best Arm Identification and
//! Hyperparameter Optimization*, 2016) runs all points with few seeds, the better half with twice
//! as many, and so on, so that promising points get most seeds. From the best remaining point the
//! search steps to better neighbours, one parameter at a time, and along all better parameters at
//! once (Hooke and Jeeves, *"Direct Search" Solution of Numerical and Statistical Problems*, 1961).
//! A parameter without a better neighbour gets half the step in the next round.

use super::space::{Point, Space};
use super::standing::{Aims, Sample, Standing, Trust};

#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Greatest number of points of the first pass.
    pub points: usize,
    /// Greatest number of seeds of a point; they are 1, 2, ... .
    pub seeds: u64,
    /// Greatest number of rounds of steps to neighbours of the best point.
    pub rounds: usize,
}

const FIRST: u64 = 2;
/// Minimum number of points that remain after each halving.
const LEFT: usize = 3;

#[derive(Clone, Debug)]
pub struct Stage {
    pub name: String,
    pub points: usize,
    /// Seeds of each point, including those of earlier stages.
    pub seeds: u64,
}

#[derive(Clone, Debug)]
pub struct Found {
    /// All points that ran with all seeds, the best first.
    pub ranked: Vec<(Point, Standing)>,
    pub tried: usize,
    pub stages: Vec<Stage>,
}

impl Found {
    pub fn best(&self) -> Option<&Point> {
        self.ranked.first().map(|(point, _)| point)
    }

    /// Returns the best point whose results differ from [`best`](Self::best)'s. Points that differ
    /// only in a value without effect, such as a buffer that never fills, have equal results.
    pub fn second(&self) -> Option<&Point> {
        let (_, best) = self.ranked.first()?;
        let mut others = self.ranked.iter().filter(|(_, standing)| standing != best);
        others.next().map(|(point, _)| point)
    }
}

/// Runs points with the seeds of a stage, and returns the figures of each run.
pub type Measure<'a, E> = dyn FnMut(&Stage, &[Point]) -> Result<Vec<Vec<Sample>>, E> + 'a;

/// Number of parts into which the last pass divides half a step from the best point; it tries the
/// points between the parts.
const TEETH: u32 = 8;

type Measured = Vec<(Point, Vec<Sample>)>;

/// Searches the valid points of `space` for the best one by `aims`.
pub fn search<E>(
    space: &Space,
    aims: &Aims,
    effort: &Effort,
    is_valid: &dyn Fn(&Point) -> bool,
    measure: &mut Measure<'_, E>,
) -> Result<Found, E> {
    let mut search = Search {
        aims,
        measure,
        stages: Vec::new(),
        known: Vec::new(),
    };
    let left = search.halve(space, effort)?;
    let mut ranked = search.rank(left, Trust::Interval);
    let mut parts = vec![0.5; space.parameters.len()];
    for round in 1..=effort.rounds {
        let Some((best, standing)) = ranked.first().cloned() else {
            break;
        };
        let around = space.neighbours(&best, &parts);
        let name = format!("neighbours of the best point, round {round}");
        let points = around.iter().map(|(_, _, point)| point.clone()).collect();
        search.add(&mut ranked, name, points, effort.seeds, is_valid)?;
        // Combine the better moves of all parameters.
        let moves: Vec<(usize, Point)> = (ranked.iter())
            .filter(|(_, it)| it.order(&standing).is_lt())
            .filter_map(|(point, _)| {
                let (along, ..) = around.iter().find(|(.., it)| it == point)?;
                Some((*along, point.clone()))
            })
            .collect();
        for (along, part) in parts.iter_mut().enumerate() {
            // A parameter without a better neighbour gets a smaller step.
            if !moves.iter().any(|(it, _)| *it == along) {
                *part /= 2.0;
            }
        }
        if moves.len() > 1 {
            let name = format!("combination of the better neighbours, round {round}");
            let together = vec![space.together(&best, &moves)];
            search.add(&mut ranked, name, together, effort.seeds, is_valid)?;
        }
    }
    if let Some((best, _)) = ranked.first().filter(|_| effort.rounds > 0).cloned() {
        // Between two points, a figure can be better than at both: for example, a poll that
        // coincides with a timer saves current, and a slightly earlier poll does not.
        let teeth = (1..TEETH).map(|tooth| 0.5 * f64::from(tooth) / f64::from(TEETH));
        let between = teeth.flat_map(|part| space.neighbours(&best, &vec![part; parts.len()]));
        let points = between.map(|(.., point)| point).collect();
        let name = "between the best point and its neighbours".to_owned();
        search.add(&mut ranked, name, points, effort.seeds, is_valid)?;
    }
    Ok(Found {
        ranked,
        tried: search.known.len(),
        stages: search.stages,
    })
}

struct Search<'a, 'm, E> {
    aims: &'a Aims,
    measure: &'a mut Measure<'m, E>,
    stages: Vec<Stage>,
    known: Vec<Point>,
}

impl<E> Search<'_, '_, E> {
    /// Runs the first pass and the halving; returns the points that have all seeds.
    fn halve(&mut self, space: &Space, effort: &Effort) -> Result<Measured, E> {
        let mut points = space.first_pass(effort.points);
        let mut seeds = FIRST.min(effort.seeds);
        let mut name = "first pass".to_owned();
        loop {
            let measured = self.measure(name, points, seeds)?;
            if seeds >= effort.seeds {
                return Ok(measured);
            }
            let half = measured.len().div_ceil(2).max(LEFT.min(measured.len()));
            let ranked = self.rank(measured, Trust::Mean);
            points = ranked.into_iter().take(half).map(|(it, _)| it).collect();
            seeds = (2 * seeds).min(effort.seeds);
            name = "the better half of the points".to_owned();
        }
    }

    /// Measures the points that are not ranked yet, and ranks them.
    fn add(
        &mut self,
        ranked: &mut Vec<(Point, Standing)>,
        name: String,
        points: Vec<Point>,
        seeds: u64,
        is_valid: &dyn Fn(&Point) -> bool,
    ) -> Result<(), E> {
        let mut new: Vec<Point> = Vec::new();
        for point in points {
            let is_known = ranked.iter().any(|(known, _)| *known == point);
            if !is_known && !new.contains(&point) && is_valid(&point) {
                new.push(point);
            }
        }
        if !new.is_empty() {
            let more = self.measure(name, new, seeds)?;
            ranked.extend(self.rank(more, Trust::Interval));
            ranked.sort_by(|(_, a), (_, b)| a.order(b));
        }
        Ok(())
    }

    fn measure(&mut self, name: String, points: Vec<Point>, seeds: u64) -> Result<Measured, E> {
        let stage = Stage {
            name,
            points: points.len(),
            seeds,
        };
        let samples = (self.measure)(&stage, &points)?;
        self.stages.push(stage);
        for point in &points {
            if !self.known.contains(point) {
                self.known.push(point.clone());
            }
        }
        Ok(points.into_iter().zip(samples).collect())
    }

    fn rank(&self, measured: Measured, trust: Trust) -> Vec<(Point, Standing)> {
        let standing = |(point, samples): (Point, Vec<Sample>)| {
            let standing = self.aims.standing(&samples, trust);
            (point, standing)
        };
        let mut ranked: Vec<_> = measured.into_iter().map(standing).collect();
        ranked.sort_by(|(_, a), (_, b)| a.order(b));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use redpoll_base::Rng;
    use redpoll_sim::Scenario;

    use super::super::figure::Figure;
    use super::super::space::{Parameter, Values};
    use super::*;
    use crate::draw::Range;

    const SCENE: &str = r#"
        topology = { kind = "line", nodes = 2, spacing = "10 m" }
        nodes.node-1.role = "border"
        nodes.node-2.role = "leaf"
        apps.sink = { type = "bulk-sink", on = "node-1", port = 1 }
        apps.readings = { type = "sensor", on = "node-2", to = "node-1:1", transport = "tcp" }
    "#;

    fn aims(limit: f64) -> Aims {
        let scenario = Scenario::parse("a", SCENE, &[]).unwrap();
        let figure = |name| Figure::parse(name, &scenario).unwrap();
        Aims {
            best: figure("current"),
            limits: vec![(figure("latency.p95"), limit)],
        }
    }

    fn range(name: &str, text: &str) -> Parameter {
        let range: Range = toml::from_str(text).unwrap();
        Parameter {
            name: name.to_owned(),
            keys: vec![name.to_owned()],
            values: Values::Range {
                ends: range.ends().unwrap(),
                steps: 5,
            },
        }
    }

    /// Models a node that polls once per `interval` and listens for `window`. The current decreases
    /// with the interval and is least at a window of 30 ms; the latency is the interval. Each run
    /// deviates by up to 5 %.
    fn model(point: &Point, seed: u64) -> Sample {
        let number = |at: usize| {
            point.values[at]
                .split(' ')
                .next()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        let (interval, window) = (number(0), number(1));
        let mut rng = Rng::named(seed, &point.values.concat());
        let mut noisy =
            |value: f64| value * (0.95 + 0.1 * f64::from(rng.next_u32()) / f64::from(u32::MAX));
        let current = 1.0 / interval + 0.01 * (window / 30.0).ln().powi(2);
        vec![Some(noisy(current)), Some(noisy(interval))]
    }

    fn searched(limit: f64, effort: &Effort) -> (Found, u64) {
        searched_in(model, limit, effort)
    }

    fn searched_in(model: fn(&Point, u64) -> Sample, limit: f64, effort: &Effort) -> (Found, u64) {
        let space = Space {
            parameters: vec![
                range(
                    "interval",
                    "from = \"1 s\"\nto = \"100 s\"\nscale = \"log\"",
                ),
                range(
                    "window",
                    "from = \"5 ms\"\nto = \"500 ms\"\nscale = \"log\"",
                ),
            ],
        };
        let mut most = 0;
        let found = search(
            &space,
            &aims(limit),
            effort,
            &|_| true,
            &mut |stage, points| {
                most = most.max(stage.seeds);
                let of = |point: &Point| (1..=stage.seeds).map(|seed| model(point, seed)).collect();
                Ok::<_, Infallible>(points.iter().map(of).collect())
            },
        );
        (found.unwrap(), most)
    }

    const EFFORT: Effort = Effort {
        points: 25,
        seeds: 8,
        rounds: 6,
    };

    #[test]
    fn the_search_approaches_the_limit_within_the_noise() {
        let (found, most) = searched(20.0, &EFFORT);
        let (best, standing) = &found.ranked[0];
        let number = |at: usize| {
            best.values[at]
                .split(' ')
                .next()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        assert_eq!(standing.short, 0.0);
        assert!((16.0..20.0).contains(&number(0)), "{best:?}");
        assert!((15.0..60.0).contains(&number(1)), "{best:?}");
        assert_eq!(most, 8);
        // 13 and then 7 of the 25 points remain; the first pass has the fewest seeds.
        let stages: Vec<_> = found
            .stages
            .iter()
            .map(|it| (it.points, it.seeds))
            .collect();
        assert_eq!(stages[..3], [(25, 2), (13, 4), (7, 8)]);
        // The runner-up is another point, and not better.
        assert!(found.ranked[1].1.order(standing).is_ge());
        assert_ne!(found.ranked[1].0, *best);
    }

    #[test]
    fn an_unreachable_limit_is_missed_by_the_least() {
        let (found, _) = searched(0.5, &EFFORT);
        let (best, standing) = &found.ranked[0];
        assert_eq!(best.values[0], "1 s");
        assert!(standing.short > 0.9, "{standing:?}");
    }

    /// The current is halved for intervals of 12 to 12.8 s. These are between 10 s, a point of the
    /// grid, and 17.8 s, half a step away, which is otherwise best.
    #[test]
    fn a_minimum_between_grid_points_is_found() {
        fn interval(point: &Point) -> f64 {
            point.values[0].split(' ').next().unwrap().parse().unwrap()
        }
        fn dented(point: &Point, seed: u64) -> Sample {
            let mut sample = model(point, seed);
            if (12.0..12.8).contains(&interval(point)) {
                sample[0] = sample[0].map(|current| current * 0.5);
            }
            sample
        }
        let effort = Effort {
            rounds: 1,
            ..EFFORT
        };
        let (found, _) = searched_in(dented, 20.0, &effort);
        let found = interval(&found.ranked[0].0);
        assert!((12.0..12.8).contains(&found), "{found}");
    }

    #[test]
    fn search_steps_improve_the_result() {
        let cost = |rounds| {
            let (found, _) = searched(20.0, &Effort { rounds, ..EFFORT });
            let values = &found.ranked[0].0.values;
            1.0 / values[0].split(' ').next().unwrap().parse::<f64>().unwrap()
        };
        assert!(cost(6) < 0.8 * cost(0), "{} {}", cost(6), cost(0));
    }
}
