//! What a run gave.

use redpoll_sim::report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::watch::Found;

/// A time, in the probe's unit, and what was found.
pub type Sample = (f64, f64);

/// A report, as `docs/report.md` describes it, samples, and what was seen on the air.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run {
    report: Value,
    samples: Vec<Sample>,
    found: Found,
}

impl Run {
    /// The result of a run.
    pub fn new(report: &Report, samples: Vec<Sample>, found: Found) -> Run {
        let mut report = serde_json::to_value(report).unwrap_or_default();
        if let Some(fields) = report.as_object_mut() {
            // What differs between two runs of the same seed.
            fields.remove("wall_s");
            fields.remove("peak_memory_bytes");
        }
        Run {
            report,
            samples,
            found,
        }
    }

    /// What the oracle found wrong, the first of it.
    pub fn violation(&self) -> Option<&str> {
        let first = self.report.pointer("/oracle/violations/0")?;
        first.as_str()
    }

    /// The samples of the probe.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// What was seen on the air by this name, see [`View`](crate::View).
    pub fn seen(&self, name: &str) -> Option<f64> {
        self.found.get(name).copied()
    }

    /// The number at a JSON pointer of the report.
    pub fn number(&self, pointer: &str) -> Option<f64> {
        self.report.pointer(pointer)?.as_f64()
    }

    /// The flows whose names begin with `prefix`.
    pub fn flows(&self, prefix: &str) -> Vec<&Value> {
        self.named("flows", prefix)
    }

    /// The nodes whose names begin with `prefix`.
    pub fn nodes(&self, prefix: &str) -> Vec<&Value> {
        self.named("nodes", prefix)
    }

    fn named(&self, list: &str, prefix: &str) -> Vec<&Value> {
        let all = self.report.get(list).and_then(Value::as_array);
        let named = |item: &&Value| {
            item["name"]
                .as_str()
                .is_some_and(|it| it.starts_with(prefix))
        };
        all.into_iter().flatten().filter(named).collect()
    }

    /// The mean over flows of a number at a JSON pointer within each.
    pub fn flow(&self, prefix: &str, pointer: &str) -> Option<f64> {
        mean(&numbers(&self.flows(prefix), pointer))
    }

    /// The sum over flows of a number at a JSON pointer within each.
    pub fn flow_sum(&self, prefix: &str, pointer: &str) -> f64 {
        numbers(&self.flows(prefix), pointer).iter().sum()
    }

    /// The mean over nodes of a number at a JSON pointer within each.
    pub fn node(&self, prefix: &str, pointer: &str) -> Option<f64> {
        mean(&numbers(&self.nodes(prefix), pointer))
    }

    /// The sum over nodes of a number at a JSON pointer within each.
    pub fn node_sum(&self, prefix: &str, pointer: &str) -> f64 {
        numbers(&self.nodes(prefix), pointer).iter().sum()
    }
}

/// The numbers at a JSON pointer within each of `items`, of those that have one.
pub fn numbers(items: &[&Value], pointer: &str) -> Vec<f64> {
    let found = items.iter().filter_map(|item| item.pointer(pointer));
    found.filter_map(Value::as_f64).collect()
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The value below which a share `q` of the values lies, between neighbours in
/// proportion; `None` of nothing.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = q * (sorted.len().checked_sub(1)? as f64);
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted.get(below + 1).unwrap_or(&sorted[below]);
    Some(sorted[below] + part * (above - sorted[below]))
}
