//! Runs a single scenario.

use std::rc::Rc;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use pyo3::prelude::*;
use redpoll_base::{Duration, Instant};
use redpoll_results::series::{COLUMNS, Sampler};
use redpoll_results::table::{Column, Row};
use redpoll_sim::{Scenario, World, WorldOptions};

use crate::app::{Fault, PythonApp, check};
use crate::congestion::Classes;
use crate::scenario::{Changes, error, load, refused};
use crate::table::Table;

/// Real time to simulate between two checks for Ctrl-C.
const SLICE: WallDuration = WallDuration::from_millis(100);

/// The result of a run.
#[pyclass(frozen, module = "redpoll")]
pub struct Ran {
    /// The report as JSON.
    #[pyo3(get)]
    report: String,
    /// The series, if one was requested.
    #[pyo3(get)]
    series: Option<Py<Table>>,
}

/// Reason why a run gave no result.
enum Failure {
    Build(String),
    Python(PyErr),
}

/// Runs a scenario. `apps` has pairs of a node's name and an application. `congestion` has pairs of
/// a congestion control's name in the scenario and the Python class that implements it.
#[pyfunction]
#[pyo3(signature = (name, text, changes, seed, apps, interval_s=None, congestion=Vec::new()))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python code passes the arguments by keyword"
)]
pub fn run(
    py: Python<'_>,
    name: &str,
    text: &str,
    changes: Changes,
    seed: u64,
    apps: Vec<(String, Py<PyAny>)>,
    interval_s: Option<f64>,
    congestion: Vec<(String, Py<PyAny>)>,
) -> PyResult<Ran> {
    let given: Vec<String> = congestion.iter().map(|(name, _)| name.clone()).collect();
    let scenario = load(name, text, &changes, &given).map_err(|problem| refused(py, &problem))?;
    let mut placed = Vec::new();
    for (node, app) in apps {
        let index = scenario.node(&node).ok_or_else(|| {
            let text = format!("there is no node called {node:?}");
            error(py, "ScenarioError", (text, "nodes".to_owned()))
        })?;
        check(app.bind(py))?;
        placed.push((index, app));
    }
    let every = interval_s.map(|s| Duration::from_micros((s * 1e6) as u64));
    let simulated = py.detach(|| simulate(&scenario, seed, placed, congestion, every));
    let (report, rows) = simulated.map_err(|failure| match failure {
        Failure::Build(text) => error(py, "ScenarioError", (text, String::new())),
        Failure::Python(error) => error,
    })?;
    let series = match every {
        Some(_) => {
            let columns = COLUMNS
                .iter()
                .map(|(name, kind, ..)| Column::new(name, *kind));
            let table = Table::new(&columns.collect::<Vec<_>>(), &rows)?;
            Some(Py::new(py, table)?)
        }
        None => None,
    };
    Ok(Ran { report, series })
}

/// Runs the scenario. `placed` has the applications with the indexes of their nodes. Returns the
/// report as JSON, and the series with rows at the interval `every`.
fn simulate(
    scenario: &Scenario,
    seed: u64,
    placed: Vec<(usize, Py<PyAny>)>,
    congestion: Vec<(String, Py<PyAny>)>,
    every: Option<Duration>,
) -> Result<(String, Vec<Row>), Failure> {
    let build = |problem: &dyn std::fmt::Display| Failure::Build(problem.to_string());
    let fault = Fault::default();
    let classes = Classes::new(congestion, &fault);
    let options = WorldOptions {
        seed: Some(seed),
        controllers: Some(Rc::new(move |name: &str, node: &str| {
            classes.begin(name, node)
        })),
        ..WorldOptions::default()
    };
    let world = World::with(scenario.clone(), options);
    let mut world = world.map_err(|problem| build(&problem))?;
    for (index, app) in placed {
        let app = PythonApp::new(app, index, scenario, &fault);
        world.add_app(index, Box::new(app));
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut series = every.map(Sampler::new);
    let end = Instant::ZERO + scenario.duration;
    let mut step = Duration::from_millis(100);
    loop {
        if let Some(series) = &mut series {
            series.look(&world, &mut rows);
        }
        if world.now() >= end {
            break;
        }
        let next = series.as_ref().map_or(end, |series| series.next());
        advance(&mut world, next.min(end), &mut step, &fault)?;
    }
    if let Some(series) = &mut series {
        series.end(&world, &mut rows);
    }
    let report = serde_json::to_string(&world.report()).map_err(|problem| build(&problem))?;
    Ok((report, rows))
}

/// Runs `world` until `end`, but at most for about [`SLICE`], after which Python handles signals.
/// `step` is the virtual time that a slice takes.
fn advance(
    world: &mut World,
    end: Instant,
    step: &mut Duration,
    fault: &Fault,
) -> Result<(), Failure> {
    let began = WallInstant::now();
    while world.now() < end && began.elapsed() < SLICE {
        let until = end.min(world.now() + *step);
        let started = WallInstant::now();
        world.run_until(until);
        *step = match started.elapsed() {
            took if took > SLICE => step.divided_by(2).max(Duration::from_millis(1)),
            took if took < SLICE / 4 => step.times(2).min(Duration::from_secs(3_600)),
            _ => *step,
        };
        drop(world.take_printed());
        if let Some(error) = fault.take() {
            return Err(Failure::Python(error));
        }
    }
    if began.elapsed() >= SLICE {
        Python::attach(|py| py.check_signals()).map_err(Failure::Python)?;
    }
    Ok(())
}
