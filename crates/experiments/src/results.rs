//! The results file: the results of all runs in one SQLite file, so that an interrupted study can
//! continue.
//!
//! The key of a stored run is its case, its seed and the fingerprint of the sources that computed
//! it. After a rebuild of the same sources, stored runs are found. After a change of the sources,
//! runs are repeated, and the old ones stay. Several programs may use the file at the same time. No
//! program empties or overwrites the file: to start again, delete it or name another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use crate::case::Case;
use crate::error::{ResultsError, SCHEMA, StudyError};
use crate::run::Run;

/// Application ID in SQLite's header: "RPst".
const APPLICATION: i32 = 0x5250_7374;
/// Longest wait for another process that uses the file.
const PATIENCE: Duration = Duration::from_secs(60);

/// Fingerprint of the sources of this program that determine the result of a run.
pub const FINGERPRINT: &str = env!("REDPOLL_FINGERPRINT");

#[derive(Debug)]
pub struct Results {
    connection: Connection,
    path: PathBuf,
    fingerprint: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct StoredRun {
    pub seed: u64,
    pub cpu_s: f64,
    pub run: Run,
}

struct StoredText {
    seed: u64,
    cpu_s: f64,
    text: String,
    checksum: String,
}

impl Results {
    /// Opens or creates the file at `path` for a program whose sources have `fingerprint`
    /// ([`FINGERPRINT`]).
    pub fn open(path: &Path, fingerprint: &str) -> Result<Results, ResultsError> {
        let open = || {
            let connection = Connection::open(path)?;
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        };
        let mut results = Results {
            connection: open().map_err(|error| explain(path, error))?,
            path: path.to_owned(),
            fingerprint: fingerprint.to_owned(),
        };
        if results.is_empty(&results.connection)? {
            results.make()?;
        }
        results.check()?;
        results.write_ahead()?;
        Ok(results)
    }

    /// Enables SQLite's write-ahead log, with which reads and writes overlap and storing a run
    /// costs one write.
    fn write_ahead(&self) -> Result<(), ResultsError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let sql = "PRAGMA journal_mode = WAL";
            let set = self.connection.query_row(sql, [], |_| Ok(()));
            // For this pragma SQLite does not wait for other users of the file.
            let is_busy = set.as_ref().is_err_and(|error| {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
            });
            if !is_busy || Instant::now() > until {
                return set.map_err(|error| self.wrong(error));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn wrong(&self, error: rusqlite::Error) -> ResultsError {
        explain(&self.path, error)
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns whether the file has no tables yet, and does not belong to another application.
    fn is_empty(&self, connection: &Connection) -> Result<bool, ResultsError> {
        let look = || {
            let id: i32 = connection.pragma_query_value(None, "application_id", |it| it.get(0))?;
            let sql = "SELECT count(*) FROM sqlite_master";
            let tables: i64 = connection.query_row(sql, [], |row| row.get(0))?;
            Ok((id == 0 || id == APPLICATION) && tables == 0)
        };
        look().map_err(|error| self.wrong(error))
    }

    /// Creates the tables in one transaction, unless another process has created them.
    fn make(&mut self) -> Result<(), ResultsError> {
        let sql = format!(
            "PRAGMA application_id = {APPLICATION};
             PRAGMA user_version = {SCHEMA};
             CREATE TABLE runs (
                 fingerprint TEXT NOT NULL,
                 case_key TEXT NOT NULL,
                 seed INTEGER NOT NULL,
                 case_text TEXT NOT NULL,
                 cpu_s REAL NOT NULL,
                 run TEXT NOT NULL,
                 checksum TEXT NOT NULL,
                 PRIMARY KEY (fingerprint, case_key, seed)
             );"
        );
        let path = self.path.clone();
        let wrong = |error| explain(&path, error);
        let immediate = TransactionBehavior::Immediate;
        let transaction = Transaction::new_unchecked(&self.connection, immediate).map_err(wrong)?;
        if self.is_empty(&transaction)? {
            transaction.execute_batch(&sql).map_err(wrong)?;
        }
        transaction.commit().map_err(wrong)
    }

    fn check(&self) -> Result<(), ResultsError> {
        let number = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i32>(0))
                .map_err(|error| self.wrong(error))
        };
        if number("application_id")? != APPLICATION {
            return Err(ResultsError::Foreign(self.path()));
        }
        let found = number("user_version")?;
        if found != SCHEMA {
            let path = self.path();
            return Err(ResultsError::Version { path, found });
        }
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.wrong(error))?;
        if verdict == "ok" {
            Ok(())
        } else {
            Err(ResultsError::Damaged {
                path: self.path(),
                what: verdict,
            })
        }
    }

    pub fn has(&self, case: &Case, seed: u64) -> Result<bool, StudyError> {
        let sql = "SELECT 1 FROM runs WHERE fingerprint = ?1 AND case_key = ?2 AND seed = ?3";
        let place = params![self.fingerprint, case.key()?, seed as i64];
        let found = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut query| query.query_row(place, |_| Ok(())).optional());
        Ok(found.map_err(|error| self.wrong(error))?.is_some())
    }

    pub fn seeds(&self, case: &Case) -> Result<BTreeSet<u64>, StudyError> {
        let sql = "SELECT seed FROM runs WHERE fingerprint = ?1 AND case_key = ?2";
        let place = params![self.fingerprint, case.key()?];
        let read = || {
            let mut query = self.connection.prepare_cached(sql)?;
            let seeds = query.query_map(place, |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))?;
            seeds.collect::<Result<BTreeSet<u64>, _>>()
        };
        Ok(read().map_err(|error| self.wrong(error))?)
    }

    /// Stores a run that took `cpu_s` seconds of CPU time.
    pub fn put(&self, case: &Case, seed: u64, cpu_s: f64, run: &Run) -> Result<(), StudyError> {
        let key = case.key()?;
        let text = serde_json::to_string(run).map_err(|error| ResultsError::Damaged {
            path: self.path(),
            what: error.to_string(),
        })?;
        let checksum = self.checksum(&key, seed, &text);
        let row = params![
            self.fingerprint,
            key,
            seed as i64,
            case.text(),
            cpu_s,
            text,
            checksum
        ];
        self.connection
            .execute(
                "INSERT OR IGNORE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                row,
            )
            .map_err(|error| self.wrong(error))?;
        Ok(())
    }

    /// Returns the stored runs of `case` with the seeds from 1 to `seeds`.
    pub fn runs(&self, case: &Case, seeds: u64) -> Result<Vec<StoredRun>, StudyError> {
        self.between(case, 1, seeds)
    }

    /// Returns the stored runs of `case` with the seeds from `least` to `most`.
    pub fn within(&self, case: &Case, least: u64, most: u64) -> Result<Vec<StoredRun>, StudyError> {
        self.between(case, least, most)
    }

    fn between(&self, case: &Case, from: u64, to: u64) -> Result<Vec<StoredRun>, StudyError> {
        let key = case.key()?;
        let read = || {
            let sql = "SELECT seed, cpu_s, run, checksum FROM runs
                       WHERE fingerprint = ?1 AND case_key = ?2 AND seed BETWEEN ?3 AND ?4
                       ORDER BY seed";
            let mut query = self.connection.prepare_cached(sql)?;
            let rows =
                query.query_map(params![self.fingerprint, key, from as i64, to as i64], raw)?;
            rows.collect::<Result<Vec<StoredText>, _>>()
        };
        let damaged = |what: String| ResultsError::Damaged {
            path: self.path(),
            what: format!("{}: {what}", case.text()),
        };
        let raw = read().map_err(|error| match error {
            rusqlite::Error::SqliteFailure(..) => self.wrong(error),
            // A column does not have the expected type, or its text is not UTF-8.
            _ => damaged(error.to_string()),
        })?;
        let case = case.text();
        let kept = raw.into_iter().map(|raw| self.kept(raw, &key, &case));
        Ok(kept.collect::<Result<_, _>>()?)
    }

    /// Opens an existing file and selects the runs of the program version that last wrote to it.
    pub fn of_latest(path: &Path) -> Result<Results, ResultsError> {
        let mut results = Results::open(path, "")?;
        let sql = "SELECT fingerprint FROM runs ORDER BY rowid DESC LIMIT 1";
        let latest = results.connection.query_row(sql, [], |row| row.get(0));
        let latest: Option<String> = latest.optional().map_err(|error| results.wrong(error))?;
        results.fingerprint = latest.unwrap_or_default();
        Ok(results)
    }

    /// Returns all runs: the text of the case ([`Case::text`]), the seed and the result.
    pub fn all(&self) -> Result<Vec<(String, u64, Run)>, ResultsError> {
        let read = || {
            let sql = "SELECT seed, cpu_s, run, checksum, case_key, case_text FROM runs
                       WHERE fingerprint = ?1 ORDER BY case_text, seed";
            let mut query = self.connection.prepare_cached(sql)?;
            let rows = query.query_map(params![self.fingerprint], |row| {
                Ok((raw(row)?, row.get(4)?, row.get(5)?))
            })?;
            rows.collect::<Result<Vec<(StoredText, String, String)>, _>>()
        };
        let rows = read().map_err(|error| self.wrong(error))?;
        let run = |(raw, key, text): (StoredText, String, String)| {
            let StoredRun { seed, run, .. } = self.kept(raw, &key, &text)?;
            Ok((text, seed, run))
        };
        rows.into_iter().map(run).collect()
    }

    fn kept(&self, raw: StoredText, key: &str, case: &str) -> Result<StoredRun, ResultsError> {
        let damaged = |what: String| ResultsError::Damaged {
            path: self.path(),
            what: format!("{case}: {what}"),
        };
        let StoredText { seed, cpu_s, .. } = raw;
        if raw.checksum != self.checksum(key, seed, &raw.text) {
            return Err(damaged(format!(
                "the checksum of the run with seed {seed} is wrong"
            )));
        }
        let run = serde_json::from_str(&raw.text)
            .map_err(|error| damaged(format!("seed {seed}: {error}")))?;
        Ok(StoredRun { seed, cpu_s, run })
    }

    fn checksum(&self, key: &str, seed: u64, text: &str) -> String {
        let mut hash = Sha256::new();
        for part in [&self.fingerprint, key, &seed.to_string(), text] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        let digest = hash.finalize();
        let bytes = digest.iter().take(8);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }
}

fn raw(row: &Row<'_>) -> rusqlite::Result<StoredText> {
    let seed: i64 = row.get(0)?;
    Ok(StoredText {
        seed: seed.unsigned_abs(),
        cpu_s: row.get(1)?,
        text: row.get(2)?,
        checksum: row.get(3)?,
    })
}

/// Converts SQLite's error for the file at `path` to an error of this crate.
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
