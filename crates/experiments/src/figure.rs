//! Declaration of a figure. Some rows are read from runs. Other rows are computed from rows, which
//! they refer to by [`Handle`].

use std::fmt;

use serde::Serialize;

use crate::case::{Case, Probed};
use crate::criteria::{Band, Judgement, Purpose};
use crate::probe::Probe;
use crate::run::{Reading, Run};

/// A position on the x axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum X {
    Number(f64),
    Name(&'static str),
    /// No position: the row concerns the whole figure.
    None,
}

/// The place of a row in its figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct At<S, P> {
    pub series: S,
    /// Position on the x axis.
    pub x: P,
}

impl<S, P> At<S, P> {
    pub fn new(series: S, x: P) -> At<S, P> {
        At { series, x }
    }
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

impl Metric {
    /// Returns a quantity with its unit, which is empty for pure numbers. Panics if the name is
    /// empty, or begins or ends with a blank. In a constant, the panic is a compiler error.
    pub const fn new(name: &'static str, unit: &'static str) -> Metric {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty(), "the name of a metric must not be empty");
        assert!(
            bytes[0] != b' ' && bytes[bytes.len() - 1] != b' ',
            "the name of a metric must not begin or end with a blank"
        );
        Metric { name, unit }
    }
}

/// A reference to a declared row, for the declaration of rows that are computed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    figure: &'static str,
    pub(crate) index: usize,
}

/// The rows of one series and one metric along the x axis.
#[derive(Clone, Debug)]
pub struct Line {
    name: String,
    rows: Vec<(X, Handle)>,
}

impl Line {
    /// Returns the row at `x`. Panics if the line has no such row, which is a mistake of the study.
    pub fn at(&self, x: impl Into<X>) -> Handle {
        let x = x.into();
        match self.rows.iter().find(|(it, _)| *it == x) {
            Some((_, handle)) => *handle,
            None => panic!("{} has no row at {x:?}", self.name),
        }
    }

    pub fn all(&self) -> Vec<Handle> {
        self.rows.iter().map(|(_, handle)| *handle).collect()
    }

    pub fn some<T: Into<X>>(&self, xs: impl IntoIterator<Item = T>) -> Vec<Handle> {
        xs.into_iter().map(|x| self.at(x)).collect()
    }
}

type Read = Box<dyn Fn(&Run) -> Reading>;
type Make = Box<dyn Fn(&[f64]) -> f64>;

pub(crate) enum Origin {
    Runs(Box<Case>, Read),
    Rows(Vec<usize>, Make),
    Known(f64),
}

pub(crate) struct Declared {
    pub series: String,
    pub x: X,
    pub metric: Metric,
    pub origin: Origin,
    pub paper: Option<f64>,
    /// Row name in `criteria.toml`, without the figure's name.
    pub id: Option<String>,
    /// Entry in `criteria.toml`.
    pub judgement: Option<Judgement>,
    pub note: String,
    /// Reason why the criterion does not hold, and the rows that show this reason.
    pub cause: Option<(String, Vec<usize>)>,
    pub is_aside: bool,
    /// Rows with the ends of the row's error bar; `None` if the bar shows the spread of the seeds.
    pub bar: Option<(usize, usize)>,
    /// Whether the row is an end of another row's error bar.
    pub is_bar: bool,
}

/// A shaded range of the x axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shade {
    pub from: f64,
    pub until: f64,
    pub name: &'static str,
}

pub struct Figure {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) x_label: &'static str,
    pub(crate) about: &'static str,
    pub(crate) is_aside: bool,
    pub(crate) shade: Option<Shade>,
    pub(crate) rows: Vec<Declared>,
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figure")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Series name of rows that concern the whole figure.
pub const VERDICT: &str = "verdict";

impl Figure {
    /// Returns an empty figure. `name` selects the figure on the command line, for example `5b`.
    pub fn new(name: &'static str, title: &'static str) -> Figure {
        Figure {
            name,
            title,
            x_label: "",
            about: "",
            is_aside: false,
            shade: None,
            rows: Vec::new(),
        }
    }

    /// Sets the label of the x axis, with its unit.
    #[must_use]
    pub fn x_label(self, x_label: &'static str) -> Figure {
        Figure { x_label, ..self }
    }

    /// Sets the description of the scenario and its settings.
    #[must_use]
    pub fn about(self, about: &'static str) -> Figure {
        Figure { about, ..self }
    }

    #[must_use]
    pub fn aside(self) -> Figure {
        Figure {
            is_aside: true,
            ..self
        }
    }

    #[must_use]
    pub fn shade(self, shade: Shade) -> Figure {
        Figure {
            shade: Some(shade),
            ..self
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn title(&self) -> &'static str {
        self.title
    }

    pub fn point(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        case: &Case,
        read: impl Fn(&Run) -> Reading + 'static,
    ) -> Entry<'_> {
        let origin = Origin::Runs(Box::new(case.clone()), Box::new(read));
        self.declare(at, metric, origin)
    }

    pub fn seen<P: Probe>(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        case: &Probed<P>,
        read: impl Fn(&Run, &P::Found) -> Reading + 'static,
    ) -> Entry<'_> {
        self.point(at, metric, case, move |run| {
            read(run, &*run.found::<P::Found>()?)
        })
    }

    pub fn known(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        value: f64,
    ) -> Entry<'_> {
        self.declare(at, metric, Origin::Known(value))
    }

    /// Adds a number that `make` computes from other rows' numbers.
    pub fn made<const N: usize>(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        of: [Handle; N],
        make: impl Fn([f64; N]) -> f64 + 'static,
    ) -> Entry<'_> {
        self.made_of_all(at, metric, &of, move |values| {
            let mut all = [0.0; N];
            all.copy_from_slice(values);
            make(all)
        })
    }

    /// Adds a number that `make` computes from other rows' numbers, in the order of `of`.
    pub fn made_of_all(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        of: &[Handle],
        make: impl Fn(&[f64]) -> f64 + 'static,
    ) -> Entry<'_> {
        let of = of.iter().map(|handle| self.index(*handle)).collect();
        self.declare(at, metric, Origin::Rows(of, Box::new(make)))
    }

    /// Adds a verdict about the whole figure, computed from other rows' numbers.
    pub fn verdict<const N: usize>(
        &mut self,
        what: &'static str,
        of: [Handle; N],
        make: impl Fn([f64; N]) -> f64 + 'static,
    ) -> Entry<'_> {
        self.made(At::new(VERDICT, X::None), Metric::new(what, ""), of, make)
    }

    pub fn verdict_of_all(
        &mut self,
        what: &'static str,
        of: &[Handle],
        make: impl Fn(&[f64]) -> f64 + 'static,
    ) -> Entry<'_> {
        self.made_of_all(At::new(VERDICT, X::None), Metric::new(what, ""), of, make)
    }

    pub fn ratio(&mut self, what: &'static str, one: Handle, other: Handle) -> Entry<'_> {
        self.verdict(what, [one, other], |[one, other]| one / other)
    }

    pub fn difference(&mut self, what: &'static str, one: Handle, other: Handle) -> Entry<'_> {
        self.verdict(what, [one, other], |[one, other]| one - other)
    }

    pub fn of(&mut self, what: &'static str, row: Handle) -> Entry<'_> {
        let unit = self.rows[self.index(row)].metric.unit;
        self.made(
            At::new(VERDICT, X::None),
            Metric::new(what, unit),
            [row],
            |[value]| value,
        )
    }

    pub fn line<T: Into<X>>(
        &mut self,
        series: &str,
        metric: Metric,
        cases: impl IntoIterator<Item = (T, Case)>,
        read: impl Fn(&Run) -> Reading + Clone + 'static,
    ) -> Line {
        let mut rows = Vec::new();
        for (x, case) in cases {
            let x = x.into();
            let entry = self.point(At::new(series, x.clone()), metric, &case, read.clone());
            rows.push((x, entry.handle()));
        }
        Line {
            name: format!("{}: {series}, {}", self.name, metric.name),
            rows,
        }
    }

    /// Adds a series of rows from one case. For each of `xs`, `read` computes the number from a run
    /// and its probe result.
    pub fn seen_line<P: Probe, T: Into<X> + Copy + 'static>(
        &mut self,
        series: &str,
        metric: Metric,
        case: &Probed<P>,
        xs: impl IntoIterator<Item = T>,
        read: impl Fn(&Run, &P::Found, T) -> Reading + Clone + 'static,
    ) -> Line {
        let mut rows = Vec::new();
        for x in xs {
            let read = read.clone();
            let entry = self.seen(At::new(series, x), metric, case, move |run, found| {
                read(run, found, x)
            });
            rows.push((x.into(), entry.handle()));
        }
        Line {
            name: format!("{}: {series}, {}", self.name, metric.name),
            rows,
        }
    }

    /// Makes two lines, for example quartiles, the ends of the error bars of `line`, instead of the
    /// spread of the seeds. Panics if `low` or `high` lacks a position of `line`.
    pub fn error_bars(&mut self, line: &Line, [low, high]: [&Line; 2]) {
        for (x, handle) in &line.rows {
            let ends = [low, high].map(|end| self.index(end.at(x.clone())));
            for end in ends {
                self.rows[end].is_bar = true;
            }
            let index = self.index(*handle);
            self.rows[index].bar = Some((ends[0], ends[1]));
        }
    }

    /// Returns the declared row of a handle, to change its settings. Panics if the handle belongs
    /// to another figure.
    pub fn row(&mut self, handle: Handle) -> Entry<'_> {
        let index = self.index(handle);
        Entry {
            figure: self,
            index,
        }
    }

    fn declare(
        &mut self,
        at: At<impl Into<String>, impl Into<X>>,
        metric: Metric,
        origin: Origin,
    ) -> Entry<'_> {
        let (series, x) = (at.series.into(), at.x.into());
        let is_same = |row: &Declared| (&row.series, &row.x, row.metric) == (&series, &x, metric);
        assert!(
            !self.rows.iter().any(is_same),
            "{}: the row of {series}, {}, at {x:?} is declared twice",
            self.name,
            metric.name
        );
        self.rows.push(Declared {
            series,
            x,
            metric,
            origin,
            paper: None,
            id: None,
            judgement: None,
            note: String::new(),
            cause: None,
            is_aside: false,
            bar: None,
            is_bar: false,
        });
        let index = self.rows.len() - 1;
        Entry {
            figure: self,
            index,
        }
    }

    fn index(&self, handle: Handle) -> usize {
        assert_eq!(
            handle.figure, self.name,
            "the row belongs to another figure"
        );
        handle.index
    }

    /// Returns the name in `criteria.toml`, unit and band of each judged row of purpose `kind`.
    pub fn bands(&self, kind: Purpose) -> impl Iterator<Item = (&str, &'static str, Band)> {
        self.rows.iter().filter_map(move |row| {
            let judgement = row.judgement.as_ref().filter(|it| it.kind == kind)?;
            Some((judgement.id.as_str(), row.metric.unit, judgement.band()?))
        })
    }

    /// Returns, for each row with a cause, its name in `criteria.toml`, if any, and the number of
    /// rows that show the cause.
    pub fn causes(&self) -> impl Iterator<Item = (Option<&str>, usize)> {
        self.rows.iter().filter_map(|row| {
            let (_, shown_by) = row.cause.as_ref()?;
            Some((row.id.as_deref(), shown_by.len()))
        })
    }

    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.rows.iter().filter_map(|row| match &row.origin {
            Origin::Runs(case, _) => Some(&**case),
            _ => None,
        })
    }
}

/// A declared row, for further settings.
pub struct Entry<'a> {
    figure: &'a mut Figure,
    index: usize,
}

impl Entry<'_> {
    fn row(&mut self) -> &mut Declared {
        &mut self.figure.rows[self.index]
    }

    pub fn paper(mut self, value: f64) -> Self {
        self.row().paper = Some(value);
        self
    }

    /// Sets the row's name in `criteria.toml`, without the figure's name and the slash.
    pub fn judged(mut self, id: impl Into<String>) -> Self {
        self.row().id = Some(id.into());
        self
    }

    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.row().note = note.into();
        self
    }

    /// Sets the reason why the criterion does not hold, and the rows that show this reason.
    pub fn cause(mut self, text: impl Into<String>, shown_by: &[Handle]) -> Self {
        let rows = shown_by.iter().map(|it| self.figure.index(*it)).collect();
        self.row().cause = Some((text.into(), rows));
        self
    }

    /// Marks the row as a side experiment, which the page collapses.
    pub fn aside(mut self) -> Self {
        self.row().is_aside = true;
        self
    }

    pub fn handle(self) -> Handle {
        Handle {
            figure: self.figure.name,
            index: self.index,
        }
    }
}
