//! A goal, as read from its file.

use std::path::Path;

use redpoll_experiments::Case;
use redpoll_sim::Scenario;
use serde::Deserialize;

use super::figure::Figure;
use super::search::Effort;
use super::space::{Parameter, Point, Space, Values};
use super::standing::Aims;
use crate::draw::Range;
use crate::plan::{NO_SCENARIO, PlanError, Problem, SECOND_SCENARIO, scene, walk, written};

/// The input of a search: the free keys with their values, the aims, and the effort.
#[derive(Clone, Debug)]
pub struct Goal {
    pub space: Space,
    pub aims: Aims,
    pub effort: Effort,
    /// The seeds that judge the result; the search does not use them.
    pub held_out: Vec<u64>,
    pub case: Case,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Option<String>,
    minimize: Option<String>,
    maximize: Option<String>,
    #[serde(default)]
    limits: toml::Table,
    #[serde(default)]
    set: toml::Table,
    free: toml::Table,
    #[serde(default)]
    search: Searching,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Searching {
    points: usize,
    seeds: u64,
    held_out: u64,
    rounds: usize,
}

impl Default for Searching {
    fn default() -> Self {
        Searching {
            points: 48,
            seeds: 8,
            held_out: 12,
            rounds: 4,
        }
    }
}

/// A free key: a list of values, a range, or a name for several keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Free {
    keys: Option<Vec<String>>,
    values: Option<Vec<toml::Value>>,
    from: Option<toml::Value>,
    to: Option<toml::Value>,
    scale: Option<toml::Value>,
    steps: Option<usize>,
}

const HELD_OUT: u64 = 1_000_001;
const STEPS: usize = 5;

impl Goal {
    /// Reads the goal at `path`, and checks every value of every key.
    pub fn load(path: &Path) -> Result<Goal, PlanError> {
        let read = || {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot be read: {error}"))?;
            let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
            let name = file.scenario.as_ref();
            let name = name.ok_or_else(|| NO_SCENARIO.to_owned())?;
            let scene = scene(name, path.parent().unwrap_or(Path::new("")))?;
            Goal::of(&file, Case::new(scene))
        };
        read().map_err(|problem: Problem| PlanError {
            file: format!("{}: ", path.display()),
            problem,
        })
    }

    /// Parses the goal of `case` in `text`, which does not name a scenario.
    pub fn parse(text: &str, case: Case) -> Result<Goal, PlanError> {
        let file = toml::from_str(text).map_err(|error| Problem::Other(error.to_string()));
        let goal = file.and_then(|file: File| match file.scenario {
            None => Goal::of(&file, case),
            Some(_) => Err(SECOND_SCENARIO.to_owned().into()),
        });
        goal.map_err(|problem| PlanError {
            file: String::new(),
            problem,
        })
    }

    fn of(file: &File, mut case: Case) -> Result<Goal, Problem> {
        for (key, value) in walk("", &file.set, &|_| false) {
            case = case.set(&key, written(value));
        }
        let scenario = case.scenario()?;
        let goal = Goal {
            space: space(&file.free)?,
            aims: aims(file, &scenario)?,
            effort: effort(&file.search)?,
            held_out: (HELD_OUT..HELD_OUT + file.search.held_out).collect(),
            case,
        };
        goal.check()?;
        Ok(goal)
    }

    pub fn case(&self, point: &Point) -> Case {
        let each = self.space.parameters.iter().zip(&point.values);
        each.fold(self.case.clone(), |case, (parameter, value)| {
            let keys = parameter.keys.iter();
            keys.fold(case, |case, key| case.set(key, value))
        })
    }

    /// Returns whether the scenario accepts this combination of values.
    pub fn is_valid(&self, point: &Point) -> bool {
        self.case(point).scenario().is_ok()
    }

    /// Checks all points that the search tries first, every value of each parameter, and both ends
    /// of each range.
    fn check(&self) -> Result<(), Problem> {
        let pass = self.space.first_pass(self.effort.points);
        let others = pass.first().map(|first| self.space.around(first));
        for point in pass.iter().chain(&others.unwrap_or_default()) {
            self.case(point).scenario()?;
        }
        Ok(())
    }
}

fn space(free: &toml::Table) -> Result<Space, String> {
    let is_value = |table: &toml::Table| {
        ["from", "keys", "values"]
            .iter()
            .any(|field| table.contains_key(*field))
    };
    let mut parameters: Vec<Parameter> = Vec::new();
    for (name, value) in walk("", free, &is_value) {
        let parameter = parameter(&name, value).map_err(|line| format!("free.{name}: {line}"))?;
        let mut before = parameters.iter().flat_map(|it| &it.keys);
        if let Some(key) = parameter
            .keys
            .iter()
            .find(|key| before.any(|it| it == *key))
        {
            return Err(format!(
                "free.{name}: another entry of [free] varies {key} already; allowed: each key once"
            ));
        }
        parameters.push(parameter);
    }
    if parameters.is_empty() {
        Err(
            "free: got no key; allowed: keys of the scenario, each with a list of values or \
                     { from = …, to = … }"
                .to_owned(),
        )
    } else {
        Ok(Space { parameters })
    }
}

fn parameter(name: &str, value: &toml::Value) -> Result<Parameter, String> {
    let allowed = "allowed: a list of at least two values, or { from = …, to = … }; to give several \
                   keys the same value: any name and { keys = […], values = […] }";
    let list = |values: &[toml::Value]| match values.len() {
        0 => Err(format!("got an empty list; {allowed}")),
        1 => Err(format!("got a list with one value; {allowed}")),
        _ => Ok(Values::List(values.iter().map(written).collect())),
    };
    let (keys, values) = match value {
        toml::Value::Array(values) => (None, list(values)?),
        toml::Value::Table(_) => {
            let free: Free = value
                .clone()
                .try_into()
                .map_err(|error| format!("{error}; {allowed}"))?;
            let values = match &free {
                Free {
                    values: Some(values),
                    from: None,
                    to: None,
                    ..
                } => list(values)?,
                Free {
                    values: None,
                    from: Some(_),
                    to: Some(_),
                    ..
                } => range(&free)?,
                _ => {
                    let got = "got a list and a range, an incomplete range, or neither";
                    return Err(format!("{got}; {allowed}"));
                }
            };
            (free.keys, values)
        }
        _ => return Err(format!("got {value}; {allowed}")),
    };
    let keys = keys.unwrap_or_else(|| vec![name.to_owned()]);
    match keys.iter().find(|key| *key == "seed") {
        _ if keys.is_empty() => {
            Err("keys: got an empty list; allowed: one or more keys of the scenario".to_owned())
        }
        Some(_) => Err("the seed cannot be a free key; allowed: `seeds` in [search]".to_owned()),
        None => Ok(Parameter {
            name: name.to_owned(),
            keys,
            values,
        }),
    }
}

fn range(free: &Free) -> Result<Values, String> {
    let mut table = toml::Table::new();
    let fields = [
        ("from", &free.from),
        ("to", &free.to),
        ("scale", &free.scale),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            table.insert(name.to_owned(), value.clone());
        }
    }
    let range: Range = table.try_into().map_err(|error| error.to_string())?;
    let ends = range.ends()?;
    if ends.at(0.0) == ends.at(1.0) {
        return Err("`from` and `to` are the same; a fixed value belongs to [set]".to_owned());
    }
    let steps = free.steps.unwrap_or(STEPS);
    if (2..=1_000).contains(&steps) {
        Ok(Values::Range { ends, steps })
    } else {
        Err(format!("steps: got {steps}; allowed: 2 to 1000"))
    }
}

fn aims(file: &File, scenario: &Scenario) -> Result<Aims, String> {
    let (key, best) = match (&file.minimize, &file.maximize) {
        (Some(_), Some(_)) => {
            return Err("got both minimize and maximize; allowed: one of them".to_owned());
        }
        (Some(best), None) => ("minimize", best.as_str()),
        (None, Some(best)) => ("maximize", best.as_str()),
        (None, None) => ("minimize", "current"),
    };
    let best = Figure::parse(best, scenario).map_err(|line| format!("{key}: {line}"))?;
    if best.more_is_better() != (key == "maximize") {
        let (better, allowed) = if best.more_is_better() {
            ("higher", "maximize")
        } else {
            ("lower", "minimize")
        };
        return Err(format!(
            "{key}: got {name}, but a {better} {name} is better; allowed: {allowed}",
            name = best.name()
        ));
    }
    let mut limits = Vec::new();
    for (name, value) in walk("", &file.limits, &|_| false) {
        let wrong = |line: String| format!("limits.{name}: {line}");
        let figure = Figure::parse(&name, scenario).map_err(wrong)?;
        let limit = figure.limit(value).map_err(wrong)?;
        limits.push((figure, limit));
    }
    // A node that sends nothing would need the least current, and is not a valid answer.
    if limits.is_empty() && !best.is_of_traffic() {
        Err(
            "limits: got none; allowed: one or more, such as latency.p95 = \"2 s\"; without \
             limits, a node that sends nothing would be the best"
                .to_owned(),
        )
    } else {
        Ok(Aims { best, limits })
    }
}

fn effort(search: &Searching) -> Result<Effort, String> {
    let within = |key: &str, value: u64, least: u64, most: u64| {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            Err(format!(
                "search.{key}: got {value}; allowed: {least} to {most}"
            ))
        }
    };
    within("points", search.points as u64, 2, 10_000)?;
    within("seeds", search.seeds, 1, 1_000)?;
    within("held_out", search.held_out, 2, 1_000)?;
    within("rounds", search.rounds as u64, 0, 100)?;
    Ok(Effort {
        points: search.points,
        seeds: search.seeds,
        rounds: search.rounds,
    })
}
