//! The results file: what every run gave, in one SQLite file, so that a study
//! that was interrupted goes on where it stopped.
//!
//! A file belongs to one build of the program, since another one may simulate
//! something else. It is never emptied or overwritten: who wants to begin anew
//! removes it or names another.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::{Case, Run};

/// What SQLite's header says the file is: "RPst".
const APPLICATION: i32 = 0x5250_7374;
/// The version of the tables.
const SCHEMA: i32 = 1;
/// How long to wait for another process that has the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the beginning of this file.
#[derive(Debug)]
pub struct Results {
    connection: Connection,
    path: PathBuf,
}

/// A results file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It is something else.
    #[error("{0} is no results file of a study; name another or remove it")]
    Foreign(String),
    /// It has other tables.
    #[error(
        "{path} is a results file of version {found}, this program's have {SCHEMA}; \
         name another or remove it"
    )]
    Version {
        /// The file.
        path: String,
        /// Its version.
        found: i32,
    },
    /// Another build of the program made it.
    #[error(
        "{0} has results of another build of redpoll, which this one's must not be \
         mixed with; name another or remove it"
    )]
    Build(String),
    /// It is damaged.
    #[error("{path} is damaged ({what}); name another or remove it")]
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

impl Results {
    /// Opens the file at `path` for the program's build called `build`, or
    /// makes it if there is none.
    ///
    /// # Errors
    ///
    /// If it is not one, another build's, damaged, or cannot be opened.
    pub fn open(path: &Path, build: &str) -> Result<Results, ResultsError> {
        let is_new = path.metadata().map_or(true, |it| it.len() == 0);
        let open = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        };
        let results = Results {
            connection: open().map_err(|error| explain(path, error))?,
            path: path.to_owned(),
        };
        match is_new {
            true => results.make(build)?,
            false => results.check(build)?,
        }
        Ok(results)
    }

    fn make(&self, build: &str) -> Result<(), ResultsError> {
        let sql = format!(
            "PRAGMA application_id = {APPLICATION};
             PRAGMA user_version = {SCHEMA};
             BEGIN;
             CREATE TABLE build (name TEXT NOT NULL);
             CREATE TABLE runs (
                 case_key TEXT NOT NULL,
                 seed INTEGER NOT NULL,
                 case_text TEXT NOT NULL,
                 wall_s REAL NOT NULL,
                 run TEXT NOT NULL,
                 PRIMARY KEY (case_key, seed)
             );
             COMMIT;"
        );
        let make = || {
            self.connection.execute_batch(&sql)?;
            self.connection
                .execute("INSERT INTO build VALUES (?1)", [build])
        };
        make()
            .map(|_| ())
            .map_err(|error| explain(&self.path, error))
    }

    fn check(&self, build: &str) -> Result<(), ResultsError> {
        let path = || self.path.display().to_string();
        let number = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i32>(0))
                .map_err(|error| explain(&self.path, error))
        };
        if number("application_id")? != APPLICATION {
            return Err(ResultsError::Foreign(path()));
        }
        let found = number("user_version")?;
        if found != SCHEMA {
            let path = path();
            return Err(ResultsError::Version { path, found });
        }
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| explain(&self.path, error))?;
        if verdict != "ok" {
            let path = path();
            let what = verdict;
            return Err(ResultsError::Damaged { path, what });
        }
        let theirs: Option<String> = self
            .connection
            .query_row("SELECT name FROM build", [], |row| row.get(0))
            .optional()
            .map_err(|error| explain(&self.path, error))?;
        match theirs {
            Some(theirs) if theirs == build => Ok(()),
            _ => Err(ResultsError::Build(path())),
        }
    }

    /// Whether it has the run of `case` with `seed`.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn has(&self, case: &Case, seed: u64) -> Result<bool, ResultsError> {
        self.connection
            .prepare_cached("SELECT 1 FROM runs WHERE case_key = ?1 AND seed = ?2")
            .and_then(|mut query| query.exists(params![case.key(), seed as i64]))
            .map_err(|error| explain(&self.path, error))
    }

    /// Keeps a run that took `wall_s` seconds.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn put(&self, case: &Case, seed: u64, wall_s: f64, run: &Run) -> Result<(), ResultsError> {
        let text = serde_json::to_string(run).unwrap_or_default();
        let row = params![case.key(), seed as i64, case.text(), wall_s, text];
        self.connection
            .execute(
                "INSERT OR IGNORE INTO runs VALUES (?1, ?2, ?3, ?4, ?5)",
                row,
            )
            .map(|_| ())
            .map_err(|error| explain(&self.path, error))
    }

    /// The runs of `case` with the seeds from 1 to `seeds`, of those it has.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a run in it cannot.
    pub fn runs(&self, case: &Case, seeds: u64) -> Result<Vec<Run>, ResultsError> {
        let read = || {
            let sql = "SELECT run FROM runs WHERE case_key = ?1 AND seed BETWEEN 1 AND ?2
                       ORDER BY seed";
            let mut query = self.connection.prepare_cached(sql)?;
            let rows = query.query_map(params![case.key(), seeds as i64], |row| row.get(0))?;
            rows.collect::<Result<Vec<String>, _>>()
        };
        let texts = read().map_err(|error| explain(&self.path, error))?;
        let runs = texts.iter().map(|text| serde_json::from_str(text));
        runs.collect::<Result<_, _>>()
            .map_err(|error| ResultsError::Damaged {
                path: self.path.display().to_string(),
                what: error.to_string(),
            })
    }
}

/// Says what SQLite's error means for the file at `path`.
fn explain(path: &Path, error: rusqlite::Error) -> ResultsError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let path = path.display().to_string();
    match error.sqlite_error_code() {
        Some(NotADatabase) => ResultsError::Foreign(path),
        Some(DatabaseCorrupt) => ResultsError::Damaged {
            path,
            what: error.to_string(),
        },
        _ => ResultsError::Other { path, error },
    }
}
