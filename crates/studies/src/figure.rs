//! A figure: points read from runs, facts made of points, and the verdict.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::Serialize;

use crate::run::{Run, mean};
use crate::{Case, Results, ResultsError};

/// Where on the first axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum X {
    /// A number, in the figure's unit.
    Number(f64),
    /// One of several things.
    Name(&'static str),
    /// Nowhere: the row speaks of the whole figure.
    None,
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            X::Number(x) => f.pad(&x.to_string()),
            X::Name(x) => f.pad(x),
            X::None => f.pad(""),
        }
    }
}

impl From<f64> for X {
    fn from(x: f64) -> X {
        X::Number(x)
    }
}

impl From<u32> for X {
    fn from(x: u32) -> X {
        X::Number(x.into())
    }
}

impl From<&'static str> for X {
    fn from(x: &'static str) -> X {
        X::Name(x)
    }
}

/// What a number must be for the figure to be reproduced.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Criterion {
    /// From the first to the second.
    Between(f64, f64),
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
}

impl Criterion {
    /// Whether `value` meets it.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Criterion::Between(least, most) => (least..=most).contains(&value),
            Criterion::AtLeast(least) => value >= least,
            Criterion::AtMost(most) => value <= most,
        }
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No more digits than anybody wrote down.
        let round = |value: f64| (value * 1_000.0).round() / 1_000.0;
        match *self {
            Criterion::Between(least, most) => write!(f, "{} to {}", round(least), round(most)),
            Criterion::AtLeast(least) => write!(f, "at least {}", round(least)),
            Criterion::AtMost(most) => write!(f, "at most {}", round(most)),
        }
    }
}

type Read = Box<dyn Fn(&Run) -> Option<f64>>;
type Derive = Box<dyn Fn(&Table<'_>) -> Option<f64>>;

/// A number that each run of a case gives.
pub struct Point {
    series: String,
    x: X,
    metric: &'static str,
    unit: &'static str,
    case: Case,
    read: Read,
    paper: Option<f64>,
    criterion: Option<Criterion>,
    note: String,
}

impl Point {
    /// What `read` finds in the runs of `case`.
    pub fn new(
        (series, x): (impl Into<String>, impl Into<X>),
        (metric, unit): (&'static str, &'static str),
        case: &Case,
        read: impl Fn(&Run) -> Option<f64> + 'static,
    ) -> Point {
        Point {
            series: series.into(),
            x: x.into(),
            metric,
            unit,
            case: case.clone(),
            read: Box::new(read),
            paper: None,
            criterion: None,
            note: String::new(),
        }
    }

    /// The same with the paper's number.
    #[must_use]
    pub fn paper(mut self, value: f64) -> Point {
        self.paper = Some(value);
        self
    }

    /// The same with a criterion.
    #[must_use]
    pub fn must(mut self, criterion: Criterion) -> Point {
        self.criterion = Some(criterion);
        self
    }

    /// The same with a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Point {
        self.note = note.into();
        self
    }
}

/// A number made of the figure's points, or known without any run.
pub struct Fact {
    series: String,
    x: X,
    metric: &'static str,
    unit: &'static str,
    derive: Derive,
    paper: Option<f64>,
    criterion: Option<Criterion>,
    note: String,
}

impl Fact {
    /// What `derive` makes of the points.
    pub fn new(
        (series, x): (impl Into<String>, impl Into<X>),
        (metric, unit): (&'static str, &'static str),
        derive: impl Fn(&Table<'_>) -> Option<f64> + 'static,
    ) -> Fact {
        Fact {
            series: series.into(),
            x: x.into(),
            metric,
            unit,
            derive: Box::new(derive),
            paper: None,
            criterion: None,
            note: String::new(),
        }
    }

    /// A statement about the figure as a whole: a ratio, an order, a shape.
    pub fn shape(
        what: &'static str,
        derive: impl Fn(&Table<'_>) -> Option<f64> + 'static,
        criterion: Criterion,
    ) -> Fact {
        Fact::new(("verdict", X::None), (what, ""), derive).must(criterion)
    }

    /// The same with the paper's number.
    #[must_use]
    pub fn paper(mut self, value: f64) -> Fact {
        self.paper = Some(value);
        self
    }

    /// The same with a criterion.
    #[must_use]
    pub fn must(mut self, criterion: Criterion) -> Fact {
        self.criterion = Some(criterion);
        self
    }

    /// The same with a remark.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Fact {
        self.note = note.into();
        self
    }
}

/// A figure or table of a study.
pub struct Figure {
    /// Its name on the command line, such as `5b`.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// What the first axis has, with its unit.
    pub x_label: &'static str,
    /// What was measured, in words: which scenario, which settings.
    pub about: &'static str,
    /// What each run gives.
    pub points: Vec<Point>,
    /// What follows from that.
    pub facts: Vec<Fact>,
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figure")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// One number of a figure beside the paper's.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The study's name.
    pub study: &'static str,
    /// The figure's name.
    pub figure: &'static str,
    /// What belongs together on a line or among bars.
    pub series: String,
    /// Where on the first axis.
    pub x: X,
    /// What the number is.
    pub metric: &'static str,
    /// The mean over the seeds; `null` if no run gave any.
    pub value: Option<f64>,
    /// Its unit; empty for pure numbers.
    pub unit: &'static str,
    /// The least of all seeds.
    pub low: Option<f64>,
    /// The greatest of all seeds.
    pub high: Option<f64>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// Whether the criterion holds; `null` if there is none.
    pub ok: Option<bool>,
    /// The criterion, and remarks.
    pub note: String,
}

type Place<'a> = (&'a str, String, &'static str);

/// The values of a figure's points, for facts.
pub struct Table<'a> {
    values: BTreeMap<Place<'a>, f64>,
}

impl Table<'_> {
    /// The value of a point.
    pub fn get(&self, series: &str, x: impl Into<X>, metric: &'static str) -> Option<f64> {
        let place: Place<'_> = (series, x.into().to_string(), metric);
        self.values.get(&place).copied()
    }

    /// One point's value over another's.
    pub fn ratio(
        &self,
        metric: &'static str,
        (series, x): (&str, impl Into<X>),
        (other, other_x): (&str, impl Into<X>),
    ) -> Option<f64> {
        Some(self.get(series, x, metric)? / self.get(other, other_x, metric)?)
    }
}

impl Figure {
    /// The cases to be run for it.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.points.iter().map(|point| &point.case)
    }

    /// Its rows for `seeds` seeds, of the runs that `results` has.
    ///
    /// # Errors
    ///
    /// If the results cannot be read.
    pub fn rows(
        &self,
        study: &'static str,
        results: &Results,
        seeds: u64,
    ) -> Result<Vec<Row>, ResultsError> {
        let mut runs: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        for case in self.cases() {
            if let Entry::Vacant(place) = runs.entry(case.key()) {
                place.insert(results.runs(case, case.seeds(seeds))?);
            }
        }
        let values: Vec<Vec<f64>> = self
            .points
            .iter()
            .map(|point| {
                let of_case = runs.get(&point.case.key());
                of_case
                    .into_iter()
                    .flatten()
                    .filter_map(&point.read)
                    .collect()
            })
            .collect();
        let mut rows = Vec::new();
        for (point, values) in self.points.iter().zip(&values) {
            let mut row = self.row(study, (&point.series, &point.x), point.metric, point.unit);
            let of_case = runs.get(&point.case.key());
            let violation = of_case.into_iter().flatten().find_map(Run::violation);
            row.judge(
                mean(values),
                values,
                point.paper,
                point.criterion,
                &point.note,
            );
            if let Some(violation) = violation {
                row.ok = Some(false);
                row.note = format!("oracle: {violation}; {}", row.note);
            }
            rows.push(row);
        }
        for fact in &self.facts {
            let mut row = self.row(study, (&fact.series, &fact.x), fact.metric, fact.unit);
            let (value, of_seeds) = self.derive(fact, &values);
            row.judge(value, &of_seeds, fact.paper, fact.criterion, &fact.note);
            rows.push(row);
        }
        Ok(rows)
    }

    /// What a fact is of the means, and then of each seed that all points have.
    fn derive(&self, fact: &Fact, values: &[Vec<f64>]) -> (Option<f64>, Vec<f64>) {
        let seeds = values.iter().map(Vec::len).max().unwrap_or(0);
        let of = |pick: &dyn Fn(&Vec<f64>) -> Option<f64>| {
            let places = self.points.iter().map(|point| {
                let place: Place<'_> = (&point.series, point.x.to_string(), point.metric);
                place
            });
            let found = places
                .zip(values)
                .filter_map(|(place, values)| Some((place, pick(values)?)));
            (fact.derive)(&Table {
                values: found.collect(),
            })
        };
        let of_seeds = (0..seeds).filter_map(|seed| of(&|values| values.get(seed).copied()));
        (of(&|values| mean(values)), of_seeds.collect())
    }

    fn row(
        &self,
        study: &'static str,
        (series, x): (&str, &X),
        metric: &'static str,
        unit: &'static str,
    ) -> Row {
        Row {
            study,
            figure: self.name,
            series: series.to_owned(),
            x: x.clone(),
            metric,
            value: None,
            unit,
            low: None,
            high: None,
            paper: None,
            ok: None,
            note: String::new(),
        }
    }
}

impl Row {
    /// Fills in the number, its spread over the seeds, and the verdict on it.
    fn judge(
        &mut self,
        value: Option<f64>,
        of_seeds: &[f64],
        paper: Option<f64>,
        criterion: Option<Criterion>,
        note: &str,
    ) {
        self.value = value;
        self.low = of_seeds.iter().copied().reduce(f64::min);
        self.high = of_seeds.iter().copied().reduce(f64::max);
        self.paper = paper;
        self.ok = criterion.map(|criterion| value.is_some_and(|value| criterion.holds(value)));
        let asked = criterion.map(|criterion| format!("must be {criterion}"));
        let parts = asked.into_iter().chain([note.to_owned()]);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        self.note = parts.join("; ");
    }
}
