//! Figures of a run that a goal optimises or limits, such as the mean current of a node or a
//! percentile of a flow's latency.

use redpoll_experiments::Run;
use redpoll_sim::{AppKind, AppSpec, Role, Scenario};
use serde_json::Value;

use crate::draw::split;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quantity {
    Current,
    Charge,
    Lifetime,
    DutyCycle,
    Latency(&'static str),
    Transfer,
    Reliability,
    Goodput,
}

/// The units of a figure, each with its size in the first unit.
type Units = &'static [(&'static str, f64)];

const TIME: Units = &[("s", 1.0), ("ms", 1e-3), ("min", 60.0), ("h", 3_600.0)];

/// All figures: name, quantity, units, and whether a greater value is better.
const ALL: [(&str, Quantity, Units, bool); 12] = [
    (
        "current",
        Quantity::Current,
        &[("mA", 1.0), ("uA", 1e-3)],
        false,
    ),
    (
        "charge",
        Quantity::Charge,
        &[("mC", 1.0), ("C", 1e3)],
        false,
    ),
    (
        "lifetime",
        Quantity::Lifetime,
        &[
            ("days", 1.0),
            ("day", 1.0),
            ("years", 365.25),
            ("year", 365.25),
        ],
        true,
    ),
    ("duty-cycle", Quantity::DutyCycle, &[("%", 1.0)], false),
    ("latency.p25", Quantity::Latency("p25"), TIME, false),
    ("latency.p50", Quantity::Latency("p50"), TIME, false),
    ("latency.p75", Quantity::Latency("p75"), TIME, false),
    ("latency.p95", Quantity::Latency("p95"), TIME, false),
    ("latency.max", Quantity::Latency("max"), TIME, false),
    ("transfer", Quantity::Transfer, TIME, false),
    ("reliability", Quantity::Reliability, &[("%", 1.0)], true),
    ("goodput", Quantity::Goodput, &[("kb/s", 1.0)], true),
];

/// A figure of the nodes or flows with one name. If there are several, the worst value applies.
#[derive(Clone, Debug)]
pub struct Figure {
    what: Quantity,
    name: &'static str,
    units: Units,
    more_is_better: bool,
    /// The node or app of the figure; `None` for every leaf, or every flow with such a figure.
    of: Option<String>,
    /// Bytes that each bulk sender sends, by flow.
    totals: Vec<(String, u64)>,
}

impl Figure {
    /// Parses a figure for a scenario, such as `current` or `latency.p95 of readings`. An error
    /// describes the mistake and the allowed values.
    pub fn parse(text: &str, scenario: &Scenario) -> Result<Figure, String> {
        let (name, of) = match text.split_once(" of ") {
            Some((name, of)) => (name.trim(), Some(of.trim().to_owned())),
            None => (text.trim(), None),
        };
        let known = ALL.iter().find(|(known, ..)| *known == name);
        let names = || ALL.map(|(name, ..)| name).join(", ");
        let &(name, what, units, more_is_better) =
            known.ok_or_else(|| format!("there is no figure {name:?}; allowed: {}", names()))?;
        let totals = apps(scenario).filter_map(|app| match app.kind {
            AppKind::BulkSender { bytes, .. } => Some((app.name.clone(), bytes?)),
            _ => None,
        });
        let figure = Figure {
            what,
            name,
            units,
            more_is_better,
            of,
            totals: totals.collect(),
        };
        figure.check(scenario)?;
        Ok(figure)
    }

    fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let (kind, there): (_, Vec<&str>) = if self.is_of_nodes() {
            (
                "node",
                scenario
                    .nodes
                    .iter()
                    .map(|node| node.name.as_str())
                    .collect(),
            )
        } else {
            let names = apps(scenario).filter(|app| self.is_had_by(app));
            (
                "flow with this figure",
                names.map(|app| base(&app.name)).collect(),
            )
        };
        let is_there = match &self.of {
            Some(of) => there.contains(&base(of)),
            None if self.is_of_nodes() => scenario.nodes.iter().any(|node| node.role == Role::Leaf),
            None => !there.is_empty(),
        };
        if is_there {
            return Ok(());
        }
        let mut there = there;
        there.dedup();
        let allowed = if there.is_empty() {
            format!("the scenario has no {kind}")
        } else {
            format!(
                "allowed: \"{} of NAME\", where NAME is one of {}",
                self.name,
                there.join(", ")
            )
        };
        Err(match &self.of {
            Some(of) => format!("no {kind} has the name {of:?}; {allowed}"),
            None => format!(
                "the scenario has no {} with this figure; {allowed}",
                if self.is_of_nodes() { "leaf" } else { "flow" }
            ),
        })
    }

    fn is_of_nodes(&self) -> bool {
        matches!(
            self.what,
            Quantity::Current | Quantity::Charge | Quantity::Lifetime | Quantity::DutyCycle
        )
    }

    fn is_had_by(&self, app: &AppSpec) -> bool {
        match self.what {
            Quantity::Latency(_) | Quantity::Reliability => {
                matches!(app.kind, AppKind::Sensor(_) | AppKind::Client(_))
            }
            Quantity::Transfer => matches!(
                app.kind,
                AppKind::BulkSender { bytes: Some(_), .. } | AppKind::ImageLeaf(_)
            ),
            _ => matches!(
                app.kind,
                AppKind::Sensor(_) | AppKind::Client(_) | AppKind::BulkSender { .. }
            ),
        }
    }

    /// Reads the value from a run, in the first unit. Returns `None` if a node or flow of the
    /// figure has no value, for example because data did not arrive completely.
    pub fn read(&self, run: &Run) -> Option<f64> {
        let report = run.report();
        let simulated_s = report["simulated_s"].as_f64()?;
        let list = if self.is_of_nodes() { "nodes" } else { "flows" };
        let mut worst: Option<f64> = None;
        for item in report[list].as_array()? {
            let name = item["name"].as_str().unwrap_or_default();
            let is_meant = match &self.of {
                Some(of) => name == of || base(name) == of,
                None => !self.is_of_nodes() || item["role"] == "leaf",
            };
            if !is_meant || !self.is_had(item, name) {
                continue;
            }
            let value = self.of_item(item, name, simulated_s)?;
            worst = Some(match (worst, self.more_is_better) {
                (None, _) => value,
                (Some(worst), true) => worst.min(value),
                (Some(worst), false) => worst.max(value),
            });
        }
        worst
    }

    fn is_had(&self, item: &Value, name: &str) -> bool {
        match self.what {
            Quantity::Latency(_) | Quantity::Reliability => {
                item.get("readings").or(item.get("requests")).is_some()
            }
            Quantity::Transfer => item.get("image").is_some() || self.total(name).is_some(),
            _ => true,
        }
    }

    fn total(&self, name: &str) -> Option<u64> {
        let mut totals = self.totals.iter();
        totals.find(|(of, _)| of == name).map(|(_, total)| *total)
    }

    fn of_item(&self, item: &Value, name: &str, simulated_s: f64) -> Option<f64> {
        let at = |pointer: &str| item.pointer(pointer).and_then(Value::as_f64);
        let either = |field: &str| {
            let of = |kind: &str| at(&format!("/{kind}/{field}"));
            of("readings").or_else(|| of("requests"))
        };
        match self.what {
            Quantity::Current => Some(at("/energy/charge_mc")? / simulated_s),
            Quantity::Charge => at("/energy/charge_mc"),
            Quantity::Lifetime => at("/energy/battery_days"),
            Quantity::DutyCycle => Some(100.0 * at("/radio_duty_cycle")?),
            Quantity::Latency(field) => Some(either(&format!("latency_ms/{field}"))? / 1e3),
            Quantity::Transfer if item.get("image").is_some() => at("/image/took_s"),
            Quantity::Transfer => {
                let all = at("/delivered_bytes")? >= self.total(name)? as f64;
                all.then(|| at("/last_arrival_s")).flatten()
            }
            Quantity::Reliability => match at("/readings/reliability") {
                Some(share) => Some(100.0 * share),
                None => {
                    let (answered, failed) = (at("/requests/answered")?, at("/requests/failed")?);
                    (answered + failed > 0.0).then(|| 100.0 * answered / (answered + failed))
                }
            },
            Quantity::Goodput => at("/goodput_kbps"),
        }
    }

    /// Parses a limit such as `"4 s"`, and converts it to the figure's first unit.
    pub fn limit(&self, value: &toml::Value) -> Result<f64, String> {
        let units: Vec<&str> = self.units.iter().map(|(unit, _)| *unit).collect();
        let allowed = || {
            let units = units.join(", ");
            format!("got {value}; allowed: a number above 0 with one of the units {units}")
        };
        let (number, unit, _) = split(value).ok_or_else(allowed)?;
        let unit = self.units.iter().find(|(known, _)| *known == unit);
        let (_, size) = unit.ok_or_else(allowed)?;
        (number > 0.0).then_some(number * size).ok_or_else(allowed)
    }

    pub fn more_is_better(&self) -> bool {
        self.more_is_better
    }

    /// Returns whether the figure measures arrived data, which a silent sender does not have.
    pub fn is_of_traffic(&self) -> bool {
        matches!(
            self.what,
            Quantity::Transfer | Quantity::Reliability | Quantity::Goodput
        )
    }

    pub fn name(&self) -> String {
        match &self.of {
            Some(of) => format!("{} of {of}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// Formats a value with its unit and four digits.
    pub fn shown(&self, value: f64) -> String {
        format!("{} {}", digits(value), self.units[0].0)
    }

    pub fn unit(&self) -> &'static str {
        self.units[0].0
    }
}

/// Formats a number with four digits.
pub fn digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1_000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        v if v >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

fn base(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

fn apps(scenario: &Scenario) -> impl Iterator<Item = &AppSpec> {
    scenario.places().flat_map(|node| &node.apps)
}
