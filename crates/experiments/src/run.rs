//! What a run gave, and how numbers are read from it.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use redpoll_sim::Report;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why there is no number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Gap {
    /// The run has none: nothing arrived, was asked, was lost.
    Nothing,
    /// Nothing has that name: a mistake of whoever reads it.
    Unknown(String),
}

/// A number read from a run.
pub type Reading = Result<f64, Gap>;

/// A report, as `docs/report.md` describes it, and what the case's probe found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    report: Value,
    found: Value,
    /// `found` as the probe's type, once it was asked for.
    #[serde(skip)]
    parsed: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        (&self.report, &self.found) == (&other.report, &other.found)
    }
}

impl Run {
    /// The result of a run.
    ///
    /// # Errors
    ///
    /// If the report has no JSON form.
    pub(crate) fn new(report: &Report, found: Value) -> Result<Run, serde_json::Error> {
        let mut run = Run::of(serde_json::to_value(report)?);
        run.found = found;
        Ok(run)
    }

    /// A run with this report, of which nothing else is known.
    pub fn of(mut report: Value) -> Run {
        if let Some(fields) = report.as_object_mut() {
            // What differs between two runs of the same seed, and how the scenario was written.
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

    /// The report.
    pub fn report(&self) -> &Value {
        &self.report
    }

    /// What the oracle found wrong, the first of it.
    pub fn violation(&self) -> Option<&str> {
        let first = self.report.pointer("/oracle/violations/0")?;
        first.as_str()
    }

    /// What the case's probe found.
    ///
    /// # Errors
    ///
    /// If the probe finds something else.
    pub(crate) fn found<F: DeserializeOwned + Send + Sync + 'static>(&self) -> Result<Arc<F>, Gap> {
        let known = match self.parsed.get() {
            Some(known) => Arc::clone(known),
            None => {
                let found: F = serde_json::from_value(self.found.clone()).map_err(|error| {
                    Gap::Unknown(format!("the probe did not find the value: {error}"))
                })?;
                let found: Arc<dyn Any + Send + Sync> = Arc::new(found);
                Arc::clone(self.parsed.get_or_init(|| found))
            }
        };
        known.downcast().map_err(|_| {
            Gap::Unknown(
                "the study reads a value of another type than its probe returns".to_owned(),
            )
        })
    }

    /// The number at a JSON pointer of the report.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn number(&self, pointer: &str) -> Reading {
        number(&self.report, pointer)
    }

    /// The flows whose names begin with `prefix`.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn flows(&self, prefix: &str) -> Result<Vec<&Value>, Gap> {
        self.named("flows", prefix)
    }

    /// The nodes whose names begin with `prefix`.
    ///
    /// # Errors
    ///
    /// If there is none.
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
            Err(Gap::Unknown(format!("none of the {list} is {prefix:?}")))
        } else {
            Ok(found)
        }
    }

    /// The mean over flows of a number at a JSON pointer within each, of those that
    /// have one.
    ///
    /// # Errors
    ///
    /// If no flow has such a name, nothing has the pointer's, or no flow a number.
    pub fn flow(&self, prefix: &str, pointer: &str) -> Reading {
        mean(&numbers(&self.flows(prefix)?, pointer)?)
    }

    /// The sum over flows of a number at a JSON pointer within each.
    ///
    /// # Errors
    ///
    /// If no flow has such a name, or nothing has the pointer's.
    pub fn flow_sum(&self, prefix: &str, pointer: &str) -> Reading {
        Ok(numbers(&self.flows(prefix)?, pointer)?.iter().sum())
    }

    /// The mean over nodes of a number at a JSON pointer within each, of those that
    /// have one.
    ///
    /// # Errors
    ///
    /// If no node has such a name, nothing has the pointer's, or no node a number.
    pub fn node(&self, prefix: &str, pointer: &str) -> Reading {
        mean(&numbers(&self.nodes(prefix)?, pointer)?)
    }

    /// The sum over nodes of a number at a JSON pointer within each.
    ///
    /// # Errors
    ///
    /// If no node has such a name, or nothing has the pointer's.
    pub fn node_sum(&self, prefix: &str, pointer: &str) -> Reading {
        Ok(numbers(&self.nodes(prefix)?, pointer)?.iter().sum())
    }
}

/// What a report leaves out of a flow or a node that has had none.
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

/// The numbers at a JSON pointer within each of `items`, of those that have one.
///
/// # Errors
///
/// If one of them has nothing of that name.
pub fn numbers(items: &[&Value], pointer: &str) -> Result<Vec<f64>, Gap> {
    let found = items.iter().map(|item| number(item, pointer));
    let has_one = |reading: &Reading| *reading != Err(Gap::Nothing);
    found.filter(has_one).collect()
}

/// The mean.
///
/// # Errors
///
/// [`Gap::Nothing`] of nothing.
pub fn mean(values: &[f64]) -> Reading {
    if values.is_empty() {
        Err(Gap::Nothing)
    } else {
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// The value below which a share `q` of the values lies, between neighbours in
/// proportion.
///
/// # Errors
///
/// [`Gap::Nothing`] of nothing.
pub fn quantile(values: &[f64], q: f64) -> Reading {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1).ok_or(Gap::Nothing)?;
    let place = q * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted.get(below + 1).unwrap_or(&sorted[below]);
    Ok(sorted[below] + part * (above - sorted[below]))
}
