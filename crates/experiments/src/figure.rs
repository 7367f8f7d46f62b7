//! Declaration of a figure. Some rows are read from runs. Other rows are computed from rows, which
//! they refer to by [`Handle`].

mod axis;
mod declared;

use std::fmt;

use crate::case::{Case, Probed};
use crate::criteria::{Band, Purpose};
use crate::probe::Probe;
use crate::run::{Reading, Run};
pub use axis::{At, Metric, X};
pub(crate) use declared::{Declared, Origin};
pub use declared::{Entry, Handle, Line};

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

    /// Uses the lines `low` and `high`, for example quartiles, as the ends of the error bars of
    /// `line`. Without this call, the bars show the spread of the seeds. Panics if `low` or `high`
    /// lacks a position of `line`.
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
