//! Errors of criteria, of results files and of studies.

use redpoll_sim::ScenarioError;

/// The version of the tables of a results file.
pub const SCHEMA: i32 = 3;

/// Figures and criteria that do not fit together: a mistake of the study's.
#[derive(Debug, thiserror::Error)]
pub enum CriteriaError {
    /// The file is not valid.
    #[error("criteria.toml: {0}")]
    Toml(#[from] toml::de::Error),
    /// The file of criteria contains an invalid entry for a row.
    #[error("criteria.toml: {id}: {fault}")]
    Fault {
        /// The row.
        id: String,
        /// What is wrong.
        fault: &'static str,
    },
    /// It has a row twice.
    #[error("criteria.toml has {0} twice")]
    Twice(String),
    /// No figure declares a row that it has.
    #[error("criteria.toml has {0}, which no figure declares")]
    Unused(String),
    /// It lacks a row that a figure declares.
    #[error("criteria.toml has no {0}, which its figure declares")]
    Missing(String),
}

/// A results file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It is something else.
    #[error("{0} is not a results file of a study; name another file or remove this one")]
    Foreign(String),
    /// It has other tables.
    #[error(
        "{path} is a results file of version {found}; this program uses version {SCHEMA}; name \
         another file or remove this one"
    )]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: i32,
    },
    /// It is damaged.
    #[error("{path} is damaged ({what}); name another file or remove this one")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// It cannot be opened, read or written.
    #[error("{path}: {error}")]
    Other {
        /// The file.
        path: String,
        /// Why.
        error: rusqlite::Error,
    },
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
