//! Errors of criteria, of results files and of studies.

use redpoll_sim::ScenarioError;

/// Version of the tables in a results file.
pub const SCHEMA: i32 = 3;

/// A mistake of the study: its figures and criteria do not match.
#[derive(Debug, thiserror::Error)]
pub enum CriteriaError {
    #[error("criteria.toml: {0}")]
    Toml(#[from] toml::de::Error),
    /// An entry of the file is invalid.
    #[error("criteria.toml: {id}: {fault}")]
    Fault { id: String, fault: &'static str },
    #[error("criteria.toml has the row {0} twice; remove one")]
    Twice(String),
    #[error("criteria.toml has the row {0}, which no figure declares")]
    Unused(String),
    /// `criteria.toml` lacks a row that a figure declares.
    #[error("criteria.toml has no row {0}, which a figure declares")]
    Missing(String),
}

#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    #[error(
        "{0} is not a results file of a study, sweep or search; name another file or delete this \
         file"
    )]
    Foreign(String),
    /// The results file has tables of another version.
    #[error(
        "{path} is a results file of version {found}; this program uses version {SCHEMA}; name \
         another file or delete this file"
    )]
    Version { path: String, found: i32 },
    #[error("{path} is damaged ({what}); name another file or delete this file")]
    Damaged { path: String, what: String },
    /// The results file cannot be opened, read or written.
    #[error("{path}: {error}")]
    Other {
        path: String,
        error: rusqlite::Error,
    },
}

/// A mistake in a study or in its results file prevents the evaluation.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error("figure {figure}: {row}: {what}")]
    Unknown {
        figure: &'static str,
        row: String,
        what: String,
    },
    #[error(transparent)]
    Results(#[from] ResultsError),
}
