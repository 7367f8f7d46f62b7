//! A study: its figures, its criteria, and what its page says of it.

use redpoll_sim::scenario::ScenarioError;

use super::criteria::{CriteriaError, bind};
use super::figure::Figure;
use super::results::ResultsError;

/// A published study.
#[derive(Debug)]
pub struct Study {
    /// Its short name, as on the command line.
    pub name: &'static str,
    /// Who, what, where and when.
    pub citation: &'static str,
    /// What the words mean that its figures use, such as the names of series.
    pub terms: &'static [(&'static str, &'static str)],
    /// The colour of each series, by the beginning of its name up to a comma.
    pub palette: &'static [(&'static str, Hue)],
    /// The text of its `criteria.toml`.
    pub criteria: &'static str,
    /// Its figures and tables, in the order in which they are told.
    pub figures: fn() -> Vec<Figure>,
}

/// A colour of the page; those who do not see all colours tell them apart, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Hue {
    Blue,
    Vermilion,
    Green,
    Purple,
    Orange,
    Sky,
    Grey,
}

/// A study that cannot be told: a mistake of its own, or of its results file.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Its criteria do not fit its figures.
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
    /// A case is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A row reads what no run has.
    #[error("figure {figure}: {row}: {what}")]
    Unknown {
        /// The figure.
        figure: &'static str,
        /// The row.
        row: String,
        /// What it asked for.
        what: String,
    },
    /// The results cannot be read or written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl Study {
    /// Its figures with their criteria.
    ///
    /// # Errors
    ///
    /// If a criterion has no row, a judged row no criterion, or the criteria are not
    /// valid.
    pub fn load(&self) -> Result<Vec<Figure>, StudyError> {
        let mut figures = (self.figures)();
        bind(&mut figures, self.criteria)?;
        Ok(figures)
    }
}
