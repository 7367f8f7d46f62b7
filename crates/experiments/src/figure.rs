//! A figure as a study declares it: rows read from runs, and rows made of other
//! rows, which they name by the handles that declaring those gave.

use std::fmt;

use serde::Serialize;

use crate::case::{Case, Probed};
use crate::criteria::{Band, Judgement, Kind};
use crate::probe::Probe;
use crate::run::{Reading, Run};

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

/// What a number is, and its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

impl Metric {
    /// A quantity with its unit, empty for pure numbers.
    ///
    /// # Panics
    ///
    /// If the name is empty or begins or ends with a blank; of a constant that is
    /// an error of the compiler's.
    pub const fn new(name: &'static str, unit: &'static str) -> Metric {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty(), "a metric has a name");
        assert!(
            bytes[0] != b' ' && bytes[bytes.len() - 1] != b' ',
            "a metric's name has no blanks around it"
        );
        Metric { name, unit }
    }
}

/// A row of a figure, for others that are made of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    figure: &'static str,
    pub(crate) index: usize,
}

/// The rows of one series and one metric along the first axis.
#[derive(Clone, Debug)]
pub struct Line {
    name: String,
    rows: Vec<(X, Handle)>,
}

impl Line {
    /// The row at `x`.
    ///
    /// # Panics
    ///
    /// If there is none, which is a mistake of the study's and shows when its
    /// figures are made.
    pub fn at(&self, x: impl Into<X>) -> Handle {
        let x = x.into();
        match self.rows.iter().find(|(it, _)| *it == x) {
            Some((_, handle)) => *handle,
            None => panic!("{} has nothing at {x:?}", self.name),
        }
    }

    /// All rows, in their order.
    pub fn all(&self) -> Vec<Handle> {
        self.rows.iter().map(|(_, handle)| *handle).collect()
    }

    /// Those at `xs`.
    ///
    /// # Panics
    ///
    /// As for [`Line::at`].
    pub fn some<T: Into<X>>(&self, xs: impl IntoIterator<Item = T>) -> Vec<Handle> {
        xs.into_iter().map(|x| self.at(x)).collect()
    }
}

type Read = Box<dyn Fn(&Run) -> Reading>;
type Make = Box<dyn Fn(&[f64]) -> f64>;

/// Where a row's number comes from.
pub(crate) enum Origin {
    /// Each run of a case gives one.
    Runs(Box<Case>, Read),
    /// It is made of other rows' numbers.
    Rows(Vec<usize>, Make),
    /// It is known.
    Known(f64),
}

/// A row as it is declared.
pub(crate) struct Declared {
    pub series: String,
    pub x: X,
    pub metric: Metric,
    pub origin: Origin,
    pub paper: Option<f64>,
    /// Its name in `criteria.toml`, behind the figure's.
    pub id: Option<String>,
    /// What `criteria.toml` says of it.
    pub judgement: Option<Judgement>,
    pub note: String,
    /// Why it does not hold, and the rows that show it.
    pub cause: Option<(String, Vec<usize>)>,
    pub is_aside: bool,
    /// The rows at which its error bar begins and ends, if it has one of its own.
    pub bar: Option<(usize, usize)>,
    /// It is an end of another row's error bar.
    pub is_bar: bool,
}

/// A range of the first axis that the picture shades.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shade {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub until: f64,
    /// What it is.
    pub name: &'static str,
}

/// A figure or table of a study.
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

/// The series of rows that speak of a figure as a whole.
pub const VERDICT: &str = "verdict";

impl Figure {
    /// A figure called `name` on the command line, such as `5b`, and what it shows.
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

    /// The figure with what the first axis has, and its unit.
    #[must_use]
    pub fn x_label(self, x_label: &'static str) -> Figure {
        Figure { x_label, ..self }
    }

    /// The figure with what was measured, in words: which scenario, which settings.
    #[must_use]
    pub fn about(self, about: &'static str) -> Figure {
        Figure { about, ..self }
    }

    /// The figure as something that the paper does not have.
    #[must_use]
    pub fn aside(self) -> Figure {
        Figure {
            is_aside: true,
            ..self
        }
    }

    /// The figure with a range of the first axis shaded.
    #[must_use]
    pub fn shade(self, shade: Shade) -> Figure {
        Figure {
            shade: Some(shade),
            ..self
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it shows.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// A number that `read` finds in each run of `case`, of a series at a place.
    pub fn point(
        &mut self,
        at: (impl Into<String>, impl Into<X>),
        metric: Metric,
        case: &Case,
        read: impl Fn(&Run) -> Reading + 'static,
    ) -> Entry<'_> {
        let origin = Origin::Runs(Box::new(case.clone()), Box::new(read));
        self.declare(at, metric, origin)
    }

    /// A number that `read` finds in each run of `case` and in what its probe found.
    pub fn seen<P: Probe>(
        &mut self,
        at: (impl Into<String>, impl Into<X>),
        metric: Metric,
        case: &Probed<P>,
        read: impl Fn(&Run, &P::Found) -> Reading + 'static,
    ) -> Entry<'_> {
        self.point(at, metric, case, move |run| {
            read(run, &*run.found::<P::Found>()?)
        })
    }

    /// A number that is known without any run.
    pub fn known(
        &mut self,
        at: (impl Into<String>, impl Into<X>),
        metric: Metric,
        value: f64,
    ) -> Entry<'_> {
        self.declare(at, metric, Origin::Known(value))
    }

    /// A number that `make` makes of other rows' numbers.
    pub fn made<const N: usize>(
        &mut self,
        at: (impl Into<String>, impl Into<X>),
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

    /// A number that `make` makes of any number of other rows' numbers, which it
    /// gets in the order of `of`.
    pub fn made_of_all(
        &mut self,
        at: (impl Into<String>, impl Into<X>),
        metric: Metric,
        of: &[Handle],
        make: impl Fn(&[f64]) -> f64 + 'static,
    ) -> Entry<'_> {
        let of = of.iter().map(|handle| self.index(*handle)).collect();
        self.declare(at, metric, Origin::Rows(of, Box::new(make)))
    }

    /// A statement about the figure as a whole, made of other rows' numbers.
    pub fn verdict<const N: usize>(
        &mut self,
        what: &'static str,
        of: [Handle; N],
        make: impl Fn([f64; N]) -> f64 + 'static,
    ) -> Entry<'_> {
        self.made((VERDICT, X::None), Metric::new(what, ""), of, make)
    }

    /// A verdict made of any number of rows.
    pub fn verdict_of_all(
        &mut self,
        what: &'static str,
        of: &[Handle],
        make: impl Fn(&[f64]) -> f64 + 'static,
    ) -> Entry<'_> {
        self.made_of_all((VERDICT, X::None), Metric::new(what, ""), of, make)
    }

    /// One row over another, of the figure as a whole.
    pub fn ratio(&mut self, what: &'static str, one: Handle, other: Handle) -> Entry<'_> {
        self.verdict(what, [one, other], |[one, other]| one / other)
    }

    /// One row less another, of the figure as a whole.
    pub fn difference(&mut self, what: &'static str, one: Handle, other: Handle) -> Entry<'_> {
        self.verdict(what, [one, other], |[one, other]| one - other)
    }

    /// A row's own number once more, as a statement about the figure as a whole.
    pub fn of(&mut self, what: &'static str, row: Handle) -> Entry<'_> {
        let unit = self.rows[self.index(row)].metric.unit;
        self.made(
            (VERDICT, X::None),
            Metric::new(what, unit),
            [row],
            |[value]| value,
        )
    }

    /// A series of points: at each of `cases`, what `read` finds there.
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
            let entry = self.point((series, x.clone()), metric, &case, read.clone());
            rows.push((x, entry.handle()));
        }
        Line {
            name: format!("{}: {series}, {}", self.name, metric.name),
            rows,
        }
    }

    /// A series of points out of one case: at each of `xs`, what `read` finds in its
    /// runs and in what its probe found.
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
            let entry = self.seen((series, x), metric, case, move |run, found| {
                read(run, found, x)
            });
            rows.push((x.into(), entry.handle()));
        }
        Line {
            name: format!("{}: {series}, {}", self.name, metric.name),
            rows,
        }
    }

    /// Draws two lines as the ends of error bars around a third, such as quartiles
    /// around a median, instead of the spread over the seeds.
    ///
    /// # Panics
    ///
    /// If they have not the same places, which shows when the figure is made.
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

    /// What was declared under a handle, to be added to.
    ///
    /// # Panics
    ///
    /// If it is another figure's.
    pub fn row(&mut self, handle: Handle) -> Entry<'_> {
        let index = self.index(handle);
        Entry {
            figure: self,
            index,
        }
    }

    fn declare(
        &mut self,
        (series, x): (impl Into<String>, impl Into<X>),
        metric: Metric,
        origin: Origin,
    ) -> Entry<'_> {
        let (series, x) = (series.into(), x.into());
        let is_same = |row: &Declared| (&row.series, &row.x, row.metric) == (&series, &x, metric);
        assert!(
            !self.rows.iter().any(is_same),
            "{}: {series} has {} at {x:?} twice",
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
            "a row of one figure is used in another"
        );
        handle.index
    }

    /// Its judged rows of a kind: name in `criteria.toml`, unit, and band.
    pub fn bands(&self, kind: Kind) -> impl Iterator<Item = (&str, &'static str, Band)> {
        self.rows.iter().filter_map(move |row| {
            let judgement = row.judgement.as_ref().filter(|it| it.kind == kind)?;
            Some((judgement.id.as_str(), row.metric.unit, judgement.band()?))
        })
    }

    /// The rows that have a reason why they would not hold: the name of each in
    /// `criteria.toml`, if it has one, and how many rows show that reason.
    pub fn causes(&self) -> impl Iterator<Item = (Option<&str>, usize)> {
        self.rows.iter().filter_map(|row| {
            let (_, shown_by) = row.cause.as_ref()?;
            Some((row.id.as_deref(), shown_by.len()))
        })
    }

    /// The cases to be run for it.
    pub fn cases(&self) -> impl Iterator<Item = &Case> {
        self.rows.iter().filter_map(|row| match &row.origin {
            Origin::Runs(case, _) => Some(&**case),
            _ => None,
        })
    }
}

/// A row that was declared, to be added to.
pub struct Entry<'a> {
    figure: &'a mut Figure,
    index: usize,
}

impl Entry<'_> {
    fn row(&mut self) -> &mut Declared {
        &mut self.figure.rows[self.index]
    }

    /// With the paper's number.
    pub fn paper(mut self, value: f64) -> Self {
        self.row().paper = Some(value);
        self
    }

    /// With the row's name in the study's `criteria.toml`, behind the figure's and a
    /// slash; what the row is for stands there.
    pub fn judged(mut self, id: impl Into<String>) -> Self {
        self.row().id = Some(id.into());
        self
    }

    /// With a remark.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.row().note = note.into();
        self
    }

    /// With the reason why its criterion does not hold, and the rows that show it.
    pub fn cause(mut self, text: impl Into<String>, shown_by: &[Handle]) -> Self {
        let rows = shown_by.iter().map(|it| self.figure.index(*it)).collect();
        self.row().cause = Some((text.into(), rows));
        self
    }

    /// As a side experiment, which the page folds away.
    pub fn aside(mut self) -> Self {
        self.row().is_aside = true;
        self
    }

    /// Its handle.
    pub fn handle(self) -> Handle {
        Handle {
            figure: self.figure.name,
            index: self.index,
        }
    }
}
