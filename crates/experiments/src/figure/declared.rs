//! A declared row: the origin of its number, and its settings.

use super::{Figure, Metric, X};
use crate::case::Case;
use crate::criteria::Judgement;
use crate::run::{Reading, Run};

/// A reference to a declared row, for the declaration of rows that are computed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handle {
    pub(super) figure: &'static str,
    pub(crate) index: usize,
}

/// The rows of one series and one metric along the x axis.
#[derive(Clone, Debug)]
pub struct Line {
    pub(super) name: String,
    pub(super) rows: Vec<(X, Handle)>,
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

/// A declared row, for further settings.
pub struct Entry<'a> {
    pub(super) figure: &'a mut Figure,
    pub(super) index: usize,
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
