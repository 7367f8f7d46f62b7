//! Sweeps and searches for a goal: many runs, and the results file that stores them.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use redpoll_experiments::{
    FINGERPRINT, Job, Outcome, Results, ResultsError, Run, StudyError, conduct,
};
use redpoll_results::compare::Side;
use redpoll_results::picture::{Fit, swept};
use redpoll_results::report::Report;
use redpoll_sweep::tune::{Goal, Runs, Verdict, constants, json};
use redpoll_sweep::{Plan, PlanError};

use crate::picture::{Drawn, drawn};
use crate::scenario::{Changes, case, damaged, error};
use crate::table::Table;

/// A missing run: its number in the sweep's list, the changes of its scenario and its seed.
type ToDo = (usize, Changes, u64);

/// A sweep and its results file.
#[pyclass(frozen, module = "redpoll")]
pub struct Kept {
    plan: Plan,
    results: Mutex<Results>,
    path: String,
    jobs: Vec<Job>,
}

/// A results file.
pub struct Store<'a> {
    /// Path of the file.
    pub path: &'a str,
    /// Fingerprint of the sources on which the runs depend. The file stores the runs under it.
    pub fingerprint: &'a str,
}

impl<'a> Store<'a> {
    /// Returns the store at `path` for runs whose results depend only on the simulator's sources.
    fn of_simulator(path: &'a str) -> Store<'a> {
        Store {
            path,
            fingerprint: FINGERPRINT,
        }
    }

    /// Opens the results file.
    pub fn open(&self, py: Python<'_>) -> PyResult<Results> {
        self.try_open().map_err(|problem| damaged(py, &problem))
    }

    fn try_open(&self) -> Result<Results, ResultsError> {
        Results::open(Path::new(self.path), self.fingerprint)
    }
}

/// Returns the Python error for an invalid plan or goal.
fn misread(py: Python<'_>, problem: &PlanError) -> PyErr {
    let key = problem.key().to_owned();
    error(py, "ScenarioError", (problem.to_string(), key))
}

impl Kept {
    /// Returns the results file, even if another thread panicked while it held the lock: the file
    /// stays intact.
    fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Returns the reports of each point.
    fn side(&self) -> Result<Side, StudyError> {
        let least = self.plan.seeds.iter().copied().min().unwrap_or_default();
        let most = self.plan.seeds.iter().copied().max().unwrap_or_default();
        let results = self.results();
        let mut side = Side::default();
        for point in &self.plan.points {
            let mut runs = results.within(&point.case, least, most)?;
            runs.retain(|kept| self.plan.seeds.contains(&kept.seed));
            let reports = runs
                .iter()
                .filter_map(|kept| Report::of(kept.run.report().clone()));
            side.cases.push((point.case.text(), reports.collect()));
        }
        Ok(side)
    }
}

#[pymethods]
impl Kept {
    /// Opens the sweep `plan`, which is TOML, of a scenario, with the results file at `path`.
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        text: &str,
        changes: Changes,
        plan: &str,
        path: &str,
    ) -> PyResult<Kept> {
        let plan = Plan::parse(plan, case(name, text, &changes));
        let plan = plan.map_err(|problem| misread(py, &problem))?;
        let results = Store::of_simulator(path).open(py)?;
        let jobs = plan
            .jobs(&results)
            .map_err(|problem| damaged(py, &problem))?;
        Ok(Kept {
            plan,
            results: Mutex::new(results),
            path: path.to_owned(),
            jobs,
        })
    }

    /// The points of the sweep, each with its keys and their values.
    #[getter]
    fn points(&self) -> Vec<Changes> {
        self.plan
            .points
            .iter()
            .map(|point| point.values.clone())
            .collect()
    }

    /// The seeds of each point.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.plan.seeds.clone()
    }

    /// Returns the missing runs: those that the results file did not contain when it was opened.
    #[getter]
    fn todo(&self) -> Vec<ToDo> {
        let jobs = self.jobs.iter().enumerate();
        jobs.map(|(at, job)| (at, job.case.changes().to_vec(), job.seed))
            .collect()
    }

    /// Stores the result of run `number`: its report as JSON, and its processor time in seconds.
    /// Keeps an existing result of the run.
    fn put(&self, py: Python<'_>, number: usize, report: &str, cpu_s: f64) -> PyResult<()> {
        let wrong = |text: &str| error(py, "ResultsError", (text.to_owned(), String::new()));
        let job = self
            .jobs
            .get(number)
            .ok_or_else(|| wrong("the sweep has no run of this number"))?;
        let run = serde_json::from_str(report)
            .map_err(|_| wrong("the text is not the report of a run"))?;
        let kept = self
            .results()
            .put(&job.case, job.seed, cpu_s, &Run::of(run));
        kept.map_err(|problem| damaged(py, &problem))
    }

    /// Performs the missing runs on this computer, `at_once` in parallel, by default one per core.
    /// Whenever runs finish, calls `progress` with how many of the missing runs are finished, and
    /// with the number of runs that were missing.
    #[pyo3(signature = (at_once=None, progress=None))]
    fn conduct(
        &self,
        py: Python<'_>,
        at_once: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let store = Store::of_simulator(&self.path);
        conduct_here(py, &self.jobs, at_once, &store, progress.as_ref())
    }

    /// Returns a row for each run and flow, and the number of runs with oracle violations.
    fn flows(&self, py: Python<'_>) -> PyResult<(Table, u64)> {
        let table = redpoll_sweep::Table::flows(&self.plan, &self.results());
        let table = table.map_err(|problem| damaged(py, &problem))?;
        Ok((Table::of(&table)?, table.objections))
    }

    /// Returns the pictures of the sweep. Their x axis has the values of the key `over`, by default
    /// the key with the most values.
    #[pyo3(signature = (over=None))]
    fn pictures(&self, py: Python<'_>, over: Option<&str>) -> PyResult<Vec<Drawn>> {
        let side = self.side().map_err(|problem| damaged(py, &problem))?;
        let found = swept(&side, over, Fit::Page);
        let found =
            found.map_err(|problem| PyValueError::new_err(format!("the sweep {problem}")))?;
        Ok(drawn(found.pictures))
    }

    /// Returns a row for each run and node.
    fn nodes(&self, py: Python<'_>) -> PyResult<Table> {
        let table = redpoll_sweep::Table::nodes(&self.plan, &self.results());
        Table::of(&table.map_err(|problem| damaged(py, &problem))?)
    }
}

/// Runs `jobs` without holding Python's lock, and stores their results in `store`. Whenever jobs
/// finish, calls `progress` with the number of finished jobs and the number of all `jobs`. An
/// exception of `progress` ends the runs.
pub fn conduct_here(
    py: Python<'_>,
    jobs: &[Job],
    at_once: Option<usize>,
    store: &Store<'_>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = at_once.unwrap_or_else(cores);
    let conducted = py.detach(|| {
        // This thread opens the file itself, because an SQLite connection must stay in its thread.
        let results = store.try_open().map_err(|it| it.to_string())?;
        let mut stopped = None;
        let mut told = 0;
        let outcome = conduct(jobs, threads, &results, &mut |done, _| {
            let heard = Python::attach(|py| {
                if let Some(progress) = progress.filter(|_| done > told) {
                    progress.call1(py, (done, jobs.len()))?;
                }
                py.check_signals()
            });
            told = done;
            stopped = stopped.take().or(heard.err());
            stopped.is_none()
        });
        match (outcome, stopped) {
            (_, Some(error)) => Ok(Some(error)),
            (Ok(Outcome::Failed(line)), _) => Err(line),
            (Err(problem), _) => Err(problem.to_string()),
            _ => Ok(None),
        }
    });
    match conducted {
        Ok(None) => Ok(()),
        Ok(Some(error)) => Err(error),
        Err(line) => Err(error(py, "RunError", (line, String::new()))),
    }
}

/// The result of a search for a goal.
#[pyclass(frozen, module = "redpoll")]
pub struct Tuned {
    /// The result, as `redpoll tune --json` writes it.
    #[pyo3(get)]
    report: String,
    /// Found values, by scenario keys.
    #[pyo3(get)]
    changes: Changes,
    /// The found configuration as constants in Rust and C; `None` if it misses the goal's limits.
    #[pyo3(get)]
    constants: Option<(String, String)>,
}

/// Reason why a search gave no result.
enum Halt {
    Study(StudyError),
    Python(PyErr),
}

impl From<StudyError> for Halt {
    fn from(error: StudyError) -> Halt {
        Halt::Study(error)
    }
}

/// Searches for the values of the goal `plan`, which is TOML. Stores the runs in the file at
/// `path`. Calls `progress` with a line for each part of the search.
#[pyfunction]
#[pyo3(signature = (name, text, changes, plan, path, at_once=None, progress=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python code passes the arguments by keyword"
)]
pub fn tune(
    py: Python<'_>,
    name: &str,
    text: &str,
    changes: Changes,
    plan: &str,
    path: &str,
    at_once: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Tuned> {
    let goal = Goal::parse(plan, case(name, text, &changes));
    let goal = goal.map_err(|problem| misread(py, &problem))?;
    let store = Store::of_simulator(path);
    let results = store.open(py)?;
    let tuned = Runs::new(&goal, &results).tune(&mut |line: &str, jobs: &[Job]| {
        if let Some(progress) = &progress {
            progress.call1(py, (line,)).map_err(Halt::Python)?;
        }
        conduct_here(py, jobs, at_once, &store, None).map_err(Halt::Python)
    });
    let tuned = tuned.map_err(|halt| match halt {
        Halt::Study(problem) => damaged(py, &problem),
        Halt::Python(error) => error,
    })?;
    let failed = |line: String| error(py, "RunError", (line, String::new()));
    let tuned =
        tuned.ok_or_else(|| failed("no point was run, so there is no result".to_owned()))?;
    if tuned.objections > 0 {
        let line = format!(
            "the oracle reports violations in {} of the runs",
            tuned.objections
        );
        return Err(failed(line));
    }
    let best = tuned.found.best();
    let best = best.ok_or_else(|| failed("no values were found".to_owned()))?;
    let found = goal.case(best);
    let judged = &tuned.verdicts.best;
    let is_met = judged.verdict() != Verdict::Missed;
    let constants = match found.scenario() {
        Ok(scenario) if is_met => Some((
            constants::rust(&goal, judged, &scenario),
            constants::c(&goal, judged, &scenario),
        )),
        _ => None,
    };
    Ok(Tuned {
        report: json(&goal, &tuned).to_string(),
        changes: found.changes().to_vec(),
        constants,
    })
}
