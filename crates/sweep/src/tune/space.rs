//! The search space of a goal: parameters with their values, and the points to try.
//!
//! A point has a coordinate for each parameter: the index of a list's value, or the position in a
//! range, from 0 at one end to 1 at the other.

use redpoll_base::Rng;

use crate::draw::Ends;

/// A free parameter: one or several keys of the scenario with a common value.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name: the key, or the name in the goal.
    pub name: String,
    /// The keys by dotted path.
    pub keys: Vec<String>,
    pub values: Values,
}

#[derive(Clone, Debug)]
pub enum Values {
    /// A list of values, in which neighbouring values have similar effects.
    List(Vec<String>),
    Range {
        ends: Ends,
        /// Number of equally spaced values, both ends included. At least two.
        steps: usize,
    },
}

impl Values {
    fn written(&self, at: f64) -> String {
        match self {
            Values::List(list) => list[index(at, list)].clone(),
            Values::Range { ends, .. } => ends.written(ends.rounded(at)),
        }
    }

    /// Returns the distance between adjacent values of the list, or between the `steps` values of
    /// the range.
    fn step(&self) -> f64 {
        match self {
            Values::List(_) => 1.0,
            Values::Range { steps, .. } => 1.0 / (*steps - 1) as f64,
        }
    }

    fn last(&self) -> f64 {
        match self {
            Values::List(list) => (list.len() - 1) as f64,
            Values::Range { .. } => 1.0,
        }
    }

    fn levels(&self) -> usize {
        match self {
            Values::List(list) => list.len(),
            Values::Range { steps, .. } => *steps,
        }
    }

    fn of_stratum(&self, at: usize, count: usize) -> f64 {
        match self {
            Values::List(list) => (at * list.len() / count) as f64,
            Values::Range { .. } => (at as f64 + 0.5) / count as f64,
        }
    }
}

fn index(at: f64, list: &[String]) -> usize {
    (at.round().max(0.0) as usize).min(list.len() - 1)
}

#[derive(Clone, Debug)]
pub struct Point {
    at: Vec<f64>,
    /// A value for each parameter, as in a scenario.
    pub values: Vec<String>,
}

/// Two points are equal if their written values are.
impl PartialEq for Point {
    fn eq(&self, other: &Point) -> bool {
        self.values == other.values
    }
}

#[derive(Clone, Debug)]
pub struct Space {
    /// The parameters in the order of the goal's file.
    pub parameters: Vec<Parameter>,
}

/// The direction from a point to its neighbour along a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Towards the first value.
    Below,
    /// Towards the last value.
    Above,
}

impl Space {
    fn point(&self, at: Vec<f64>) -> Point {
        let values = self.parameters.iter().zip(&at);
        let values = values.map(|(it, at)| it.values.written(*at)).collect();
        Point { at, values }
    }

    pub fn combinations(&self) -> usize {
        let levels = self.parameters.iter().map(|it| it.values.levels());
        levels.fold(1, usize::saturating_mul)
    }

    /// Returns the points of the first pass: every combination if there are at most `most`,
    /// otherwise `most` points by Latin hypercube sampling (McKay, Beckman and Conover 1979), which
    /// spreads them evenly along each parameter.
    pub fn first_pass(&self, most: usize) -> Vec<Point> {
        let all = self.combinations();
        let mut points: Vec<Point> = if all <= most {
            (0..all).map(|number| self.combination(number)).collect()
        } else {
            self.hypercube(most)
        };
        let mut known: Vec<Vec<String>> = Vec::new();
        points.retain(|point| {
            let is_new = !known.contains(&point.values);
            known.push(point.values.clone());
            is_new
        });
        points
    }

    fn combination(&self, mut number: usize) -> Point {
        let mut at = Vec::new();
        for parameter in self.parameters.iter().rev() {
            let levels = parameter.values.levels();
            at.push((number % levels) as f64 * parameter.values.step());
            number /= levels;
        }
        at.reverse();
        self.point(at)
    }

    fn hypercube(&self, count: usize) -> Vec<Point> {
        let mut rng = Rng::named(1, "tune");
        let mut places: Vec<Vec<usize>> = Vec::new();
        for _ in &self.parameters {
            let mut order: Vec<usize> = (0..count).collect();
            for last in (1..count).rev() {
                let other = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
                order.swap(last, other as usize);
            }
            places.push(order);
        }
        let of = |number: usize| {
            let strata = self.parameters.iter().zip(&places);
            let at = strata.map(|(it, order)| it.values.of_stratum(order[number], count));
            self.point(at.collect())
        };
        (0..count).map(of).collect()
    }

    /// Returns the neighbour of a point along the parameter with index `along`: the next value of a
    /// list, or in a range a value at `part` of the distance between its `steps` values. Returns
    /// `None` beyond the end.
    pub fn neighbour(&self, point: &Point, along: usize, side: Side, part: f64) -> Option<Point> {
        let values = &self.parameters[along].values;
        let step = match values {
            Values::List(_) => 1.0,
            Values::Range { .. } => part * values.step(),
        };
        let mut at = point.at.clone();
        at[along] += match side {
            Side::Below => -step,
            Side::Above => step,
        };
        // A step beyond an end of the range leads to that end.
        if matches!(values, Values::Range { .. }) {
            at[along] = at[along].clamp(0.0, values.last());
        }
        if at[along] < -0.5 || at[along] > values.last() + 0.5 {
            return None;
        }
        let neighbour = self.point(at);
        (neighbour != *point).then_some(neighbour)
    }

    /// Returns copies of `point` in which one parameter is set: to each value of its list, or to
    /// each of the `steps` values of its range.
    pub fn around(&self, point: &Point) -> Vec<Point> {
        let mut found = Vec::new();
        for (along, parameter) in self.parameters.iter().enumerate() {
            for level in 0..parameter.values.levels() {
                let mut at = point.at.clone();
                at[along] = level as f64 * parameter.values.step();
                found.push(self.point(at));
            }
        }
        found
    }

    pub fn neighbours(&self, point: &Point, parts: &[f64]) -> Vec<(usize, Side, Point)> {
        let along = parts.iter().enumerate();
        let sides = along
            .flat_map(|(along, part)| [(along, Side::Below, *part), (along, Side::Above, *part)]);
        let found = sides.filter_map(|(along, side, part)| {
            Some((along, side, self.neighbour(point, along, side, part)?))
        });
        found.collect()
    }

    /// Combines several moves from a point; for each parameter the first move wins.
    pub fn together(&self, point: &Point, moves: &[(usize, Point)]) -> Point {
        let mut at = point.at.clone();
        for (along, to) in moves.iter().rev() {
            at[*along] = to.at[*along];
        }
        self.point(at)
    }

    pub fn end(&self, point: &Point, along: usize) -> Option<Side> {
        let values = &self.parameters[along].values;
        match values.written(point.at[along]) {
            value if value == values.written(0.0) => Some(Side::Below),
            value if value == values.written(values.last()) => Some(Side::Above),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str, values: &[&str]) -> Parameter {
        Parameter {
            name: name.to_owned(),
            keys: vec![name.to_owned()],
            values: Values::List(values.iter().map(|it| (*it).to_owned()).collect()),
        }
    }

    fn range(name: &str, text: &str, steps: usize) -> Parameter {
        let range: crate::draw::Range = toml::from_str(text).unwrap();
        Parameter {
            name: name.to_owned(),
            keys: vec![name.to_owned()],
            values: Values::Range {
                ends: range.ends().unwrap(),
                steps,
            },
        }
    }

    #[test]
    fn a_small_space_is_looked_at_whole_and_a_large_one_evenly() {
        let space = Space {
            parameters: vec![
                list("a", &["x", "y", "z"]),
                range("b", "from = \"1 s\"\nto = \"100 s\"\nscale = \"log\"", 3),
            ],
        };
        let all: Vec<_> = space
            .first_pass(9)
            .into_iter()
            .map(|it| it.values)
            .collect();
        assert_eq!(all.len(), 9);
        assert_eq!(all[1], ["x", "10 s"]);
        assert_eq!(all[8], ["z", "100 s"]);

        let wide = Space {
            parameters: vec![
                list("a", &["x", "y", "z"]),
                range("b", "from = 0\nto = 1000", 50),
            ],
        };
        let some = wide.first_pass(12);
        for value in ["x", "y", "z"] {
            assert_eq!(some.iter().filter(|it| it.values[0] == value).count(), 4);
        }
        // There is one point in each twelfth of the range.
        let mut twelfths: Vec<_> = some
            .iter()
            .map(|it| it.values[1].parse::<usize>().unwrap() * 12 / 1001)
            .collect();
        twelfths.sort_unstable();
        assert_eq!(twelfths, (0..12).collect::<Vec<_>>());
    }

    #[test]
    fn neighbours_end_where_the_values_end() {
        let space = Space {
            parameters: vec![
                list("a", &["x", "y", "z"]),
                range("b", "from = \"0 ms\"\nto = \"40 ms\"", 5),
            ],
        };
        let corner = space.combination(0);
        assert_eq!(space.end(&corner, 0), Some(Side::Below));
        let next: Vec<_> = space.neighbours(&corner, &[0.5; 2]);
        let values: Vec<_> = next.iter().map(|(_, _, it)| it.values.clone()).collect();
        assert_eq!(values, [["y", "0 ms"], ["x", "5 ms"]]);
        let inside = space.combination(6);
        assert_eq!(inside.values, ["y", "10 ms"]);
        assert_eq!(space.neighbours(&inside, &[1.0; 2]).len(), 4);
        assert_eq!(space.end(&inside, 1), None);
    }
}
