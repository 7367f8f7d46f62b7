//! Scenarios, and errors in them.

use std::borrow::Cow;

use pyo3::prelude::*;
use redpoll_experiments::{Case, Scene};
use redpoll_sim::{BUILT_IN, Scenario, ScenarioError, When};

/// Keys and values, in the form of `--set`.
pub type Changes = Vec<(String, String)>;

/// Returns an object of the named class in `redpoll.errors`, as an error to raise.
pub fn error(py: Python<'_>, class: &str, args: (String, String)) -> PyErr {
    let raise = || {
        let class = py.import("redpoll.errors")?.getattr(class)?;
        class.call1(args)
    };
    match raise() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Returns a `redpoll.ScenarioError`, with the key.
pub fn refused(py: Python<'_>, problem: &ScenarioError) -> PyErr {
    let args = (problem.to_string(), problem.key().to_owned());
    error(py, "ScenarioError", args)
}

/// Returns a `redpoll.ResultsError`.
pub fn damaged(py: Python<'_>, problem: &dyn std::error::Error) -> PyErr {
    error(py, "ResultsError", (problem.to_string(), String::new()))
}

/// Parses the scenario `text` and applies `changes`. `given` lists the names of the caller's
/// congestion controllers, which the scenario may use. Removes the apps that do not run under
/// `redpoll run`.
pub fn load(
    name: &str,
    text: &str,
    changes: &Changes,
    given: &[String],
) -> Result<Scenario, ScenarioError> {
    let mut scenario = Scenario::parse_with(name, text, changes, given)?;
    scenario.retain_apps_of(When::Run);
    Ok(scenario)
}

/// Returns the case whose key identifies runs of this text with these changes in a results file.
pub fn case(name: &str, text: &str, changes: &Changes) -> Case {
    let scene = Scene {
        name: Cow::Owned(name.to_owned()),
        text: text.to_owned(),
    };
    let set = |case: Case, (key, value): &(String, String)| case.set(key, value);
    changes.iter().fold(Case::new(scene), set)
}

/// Checks a scenario, and returns its name, seed, duration in seconds, and nodes.
#[pyfunction]
pub fn check(
    py: Python<'_>,
    name: &str,
    text: &str,
    changes: Changes,
    given: Vec<String>,
) -> PyResult<(String, u64, f64, Vec<String>)> {
    let scenario = load(name, text, &changes, &given).map_err(|problem| refused(py, &problem))?;
    let nodes = scenario.nodes.iter().map(|node| node.name.clone());
    let seconds = scenario.duration.as_micros() as f64 / 1e6;
    Ok((
        scenario.name.clone(),
        scenario.seed,
        seconds,
        nodes.collect(),
    ))
}

/// Returns the text of the built-in scenario `name`; `None` if no built-in scenario has this name.
#[pyfunction]
pub fn built_in(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|scenario| scenario.name == name)?;
    Some(found.text)
}
