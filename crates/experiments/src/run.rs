//! The result of a run, and functions that read numbers from it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use redpoll_sim::Report;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// Nothing to measure: for example, no data arrived, or nothing was requested or lost.
    Nothing,
    /// A mistake of the study, which the text describes: for example, the report does not contain
    /// a name that the study reads.
    Unknown(String),
}

pub type Reading = Result<f64, Gap>;

/// A report, described in `docs/report.md`, and the result of the case's probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    report: Value,
    found: Value,
    /// `found`, parsed as the probe's type at the first access.
    #[serde(skip)]
    parsed: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        (&self.report, &self.found) == (&other.report, &other.found)
    }
}

impl Run {
    pub(crate) fn new(report: &Report, found: Value) -> Result<Run, serde_json::Error> {
        let mut run = Run::of(serde_json::to_value(report)?);
        run.found = found;
        Ok(run)
    }

    /// Returns a result with `report` and without the result of a probe.
    pub fn of(mut report: Value) -> Run {
        if let Some(fields) = report.as_object_mut() {
            // Removes the fields in which two runs of the same seed may differ.
            fields.remove("wall_s");
            fields.remove("set");
            fields.remove("peak_memory_bytes");
        }
        Run {
            report,
            found: Value::Null,
            parsed: OnceLock::new(),
        }
    }

    pub fn report(&self) -> &Value {
        &self.report
    }

    pub fn violation(&self) -> Option<&str> {
        let first = self.report.pointer("/oracle/violations/0")?;
        first.as_str()
    }

    pub(crate) fn found<F: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<F>, Gap> {
        let known = match self.parsed.get() {
            Some(known) => Arc::clone(known),
            None => {
                let found: F = serde_json::from_value(self.found.clone()).map_err(|error| {
                    Gap::Unknown(format!(
                        "the result of the case's probe cannot be read: {error}"
                    ))
                })?;
                let found: Arc<dyn Any + Send + Sync> = Arc::new(found);
                Arc::clone(self.parsed.get_or_init(|| found))
            }
        };
        known.downcast().map_err(|_| {
            Gap::Unknown("the study reads the result of a probe as two different types".to_owned())
        })
    }

    pub fn number(&self, pointer: &str) -> Reading {
        number(&self.report, pointer)
    }

    pub fn flows(&self, prefix: &str) -> Result<Vec<&Value>, Gap> {
        self.named("flows", prefix)
    }

    pub fn nodes(&self, prefix: &str) -> Result<Vec<&Value>, Gap> {
        self.named("nodes", prefix)
    }

    fn named(&self, list: &str, prefix: &str) -> Result<Vec<&Value>, Gap> {
        let all = self.report.get(list).and_then(Value::as_array);
        let named = |item: &&Value| {
            item["name"]
                .as_str()
                .is_some_and(|it| it.starts_with(prefix))
        };
        let found: Vec<&Value> = all.into_iter().flatten().filter(named).collect();
        if found.is_empty() {
            Err(Gap::Unknown(format!(
                "none of the {list} has a name that begins with {prefix:?}"
            )))
        } else {
            Ok(found)
        }
    }

    /// Returns the mean of a number at a JSON pointer over the flows whose name begins with
    /// `prefix`. Fails if no flow has the prefix, the pointer is unknown, or no flow has a number.
    pub fn flow(&self, prefix: &str, pointer: &str) -> Reading {
        mean(&numbers(&self.flows(prefix)?, pointer)?)
    }

    pub fn flow_sum(&self, prefix: &str, pointer: &str) -> Reading {
        Ok(numbers(&self.flows(prefix)?, pointer)?.iter().sum())
    }

    /// Returns the mean of a number at a JSON pointer over the nodes whose name begins with
    /// `prefix`. Fails if no node has the prefix, the pointer is unknown, or no node has a number.
    pub fn node(&self, prefix: &str, pointer: &str) -> Reading {
        mean(&numbers(&self.nodes(prefix)?, pointer)?)
    }

    pub fn node_sum(&self, prefix: &str, pointer: &str) -> Reading {
        Ok(numbers(&self.nodes(prefix)?, pointer)?.iter().sum())
    }
}

/// Optional parts of a flow or node in a report, absent if the flow or node has no such activity.
const OPTIONAL: [&str; 4] = ["requests", "readings", "recovery", "image"];

fn number(value: &Value, pointer: &str) -> Reading {
    let part = pointer.split('/').nth(1).unwrap_or_default();
    match value.pointer(pointer) {
        None if OPTIONAL.contains(&part) && value.get(part).is_none() => Err(Gap::Nothing),
        None => Err(Gap::Unknown(format!(
            "the report does not contain {pointer}"
        ))),
        Some(Value::Null) => Err(Gap::Nothing),
        Some(found) => found
            .as_f64()
            .ok_or_else(|| Gap::Unknown(format!("{pointer} of the report is not a number"))),
    }
}

pub fn numbers(items: &[&Value], pointer: &str) -> Result<Vec<f64>, Gap> {
    let found = items.iter().map(|item| number(item, pointer));
    let has_one = |reading: &Reading| *reading != Err(Gap::Nothing);
    found.filter(has_one).collect()
}

/// Returns the mean; [`Gap::Nothing`] if there are no values.
pub fn mean(values: &[f64]) -> Reading {
    if values.is_empty() {
        Err(Gap::Nothing)
    } else {
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// Returns the quantile `q` of the values, interpolated linearly; [`Gap::Nothing`] if there are no
/// values.
pub fn quantile(values: &[f64], q: f64) -> Reading {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1).ok_or(Gap::Nothing)?;
    let place = q * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted.get(below + 1).unwrap_or(&sorted[below]);
    Ok(sorted[below] + part * (above - sorted[below]))
}
