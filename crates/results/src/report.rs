//! Reader of the object that `redpoll run --json` writes (`docs/report.md`).

use std::collections::HashMap;
use std::io;
use std::path::Path;

use redpoll_experiments::page::{Mesh, Place};
use serde_json::Value;

use crate::table::ReadError;

/// Greatest size of a report in bytes.
const LARGEST: u64 = 1 << 30;
/// The newest version of a report that this program reads. It reads every earlier one.
const NEWEST: u64 = 1;

/// The reason why a result file is unusable.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot read {path}: {error}")]
    Io { path: String, error: io::Error },
    /// The file's contents are not a usable report.
    #[error("{path}: {what}")]
    Other {
        path: String,
        /// Description of the mistake and of the allowed contents.
        what: String,
    },
}

impl Problem {
    pub fn io(path: &Path, error: io::Error) -> Problem {
        let path = path.display().to_string();
        Problem::Io { path, error }
    }

    pub fn other(path: &Path, what: impl ToString) -> Problem {
        Problem::Other {
            path: path.display().to_string(),
            what: what.to_string(),
        }
    }

    pub fn table(path: &Path, error: ReadError) -> Problem {
        match error {
            ReadError::Io(error) => Problem::io(path, error),
            error => Problem::other(path, error),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    value: Value,
}

impl Report {
    pub fn read(path: &Path) -> Result<Report, Problem> {
        let mut all = Report::read_all(path)?;
        match (all.pop(), all.is_empty()) {
            (Some(report), true) => Ok(report),
            _ => Err(Problem::other(path, "has several results; allowed: one")),
        }
    }

    pub fn read_all(path: &Path) -> Result<Vec<Report>, Problem> {
        let meta = path.metadata().map_err(|error| Problem::io(path, error))?;
        if meta.len() > LARGEST {
            let text = format!("has {} bytes; allowed: at most {LARGEST} bytes", meta.len());
            return Err(Problem::other(path, text));
        }
        let bytes = std::fs::read(path).map_err(|error| Problem::io(path, error))?;
        let not_one = "not a result; allowed: a file written by `redpoll run --json FILE`, a list \
            of such results, or a folder of `redpoll run --result DIR`";
        let value = serde_json::from_slice(&bytes).map_err(|_| Problem::other(path, not_one))?;
        let values = match value {
            Value::Array(values) if !values.is_empty() => values,
            value => vec![value],
        };
        if let Some(found) = values.iter().find_map(newer) {
            let text = format!(
                "a newer Redpoll wrote this result: its format has version {found}, and \
                 this program reads formats up to version {NEWEST}; read it with the Redpoll that \
                 wrote it, or repeat the run with this program"
            );
            return Err(Problem::other(path, text));
        }
        let reports = values
            .into_iter()
            .map(Report::of)
            .collect::<Option<Vec<_>>>();
        reports.ok_or_else(|| Problem::other(path, not_one))
    }

    pub fn of(value: Value) -> Option<Report> {
        let has_lists = value["flows"].is_array() && value["nodes"].is_array();
        (has_lists && value["scenario"].is_string()).then_some(Report { value })
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    pub fn scenario(&self) -> &str {
        self.value["scenario"].as_str().unwrap_or_default()
    }

    pub fn seed(&self) -> u64 {
        self.value["seed"].as_u64().unwrap_or_default()
    }

    pub fn flows(&self) -> &[Value] {
        self.value["flows"].as_array().map_or(&[], Vec::as_slice)
    }

    pub fn nodes(&self) -> &[Value] {
        self.value["nodes"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns the name and the scaled number at `pointer` of each flow that has this number.
    pub fn of_flows(&self, pointer: &str, scale: f64) -> Vec<(String, f64)> {
        numbers(self.flows(), pointer, scale)
    }

    /// Returns the name and the scaled number at `pointer` of each node that has this number.
    pub fn of_nodes(&self, pointer: &str, scale: f64) -> Vec<(String, f64)> {
        numbers(self.nodes(), pointer, scale)
    }

    pub fn mesh(&self) -> Option<Mesh> {
        let place = |value: &Value| {
            let place = value["position_m"].as_array()?;
            Some((place.first()?.as_f64()?, place.get(1)?.as_f64()?))
        };
        let names = self.nodes().iter().enumerate();
        let names = names.filter_map(|(at, node)| Some((node["name"].as_str()?, at)));
        let names: HashMap<&str, usize> = names.collect();
        let nodes = self.nodes().iter().map(|node| {
            let parent = node["parent"].as_str();
            Some(Place {
                name: node["name"].as_str()?.to_owned(),
                role: node["role"].as_str()?.to_owned(),
                position_m: place(node)?,
                parent: parent.and_then(|parent| names.get(parent).copied()),
            })
        });
        let nodes = nodes
            .collect::<Option<Vec<_>>>()
            .filter(|nodes| !nodes.is_empty())?;
        let interferers = self.value["interferers"].as_array();
        let interferers = interferers.into_iter().flatten();
        let interferers =
            interferers.filter_map(|it| Some((it["name"].as_str()?.to_owned(), place(it)?)));
        Some(Mesh {
            nodes,
            interferers: interferers.collect(),
        })
    }
}

fn numbers(items: &[Value], pointer: &str, scale: f64) -> Vec<(String, f64)> {
    let items = items.iter().filter_map(|item| {
        let number = item.pointer(pointer)?.as_f64()?;
        Some((item["name"].as_str()?.to_owned(), number * scale))
    });
    items.collect()
}

/// Returns the version of a report that this program does not know.
fn newer(report: &Value) -> Option<u64> {
    report["version"].as_u64().filter(|&it| it > NEWEST)
}
