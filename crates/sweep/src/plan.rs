//! The plan of a sweep: its points and seeds.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use redpoll_base::Rng;
use redpoll_experiments::{Case, Job, Results, Scene, StudyError};
use redpoll_sim::{BUILT_IN, ScenarioError};
use serde::Deserialize;

use crate::draw::Range;

/// Greatest number of runs of a sweep; a larger number is assumed to be a mistake.
const RUNS_MAX: usize = 1_000_000;

#[derive(Debug, thiserror::Error)]
#[error("{file}{problem}")]
pub struct PlanError {
    /// Path of the sweep's or goal's file, followed by `: `; empty if there is no file.
    pub(crate) file: String,
    pub(crate) problem: Problem,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Any mistake of a sweep or goal other than a mistake in its scenario.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem::Other(text)
    }
}

impl PlanError {
    /// Returns the dotted path of the wrong key of the scenario; empty if no key is wrong.
    pub fn key(&self) -> &str {
        match &self.problem {
            Problem::Scenario(problem) => problem.key(),
            Problem::Other(_) => "",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Point {
    /// The varied keys in the order of the file, with their values at this point.
    pub values: Vec<(String, String)>,
    pub case: Case,
}

#[derive(Clone, Debug)]
pub struct Plan {
    /// Every combination; the values of the last key vary fastest.
    pub points: Vec<Point>,
    pub seeds: Vec<u64>,
}

/// The error for a file that names no scenario.
pub(crate) const NO_SCENARIO: &str = "scenario: missing; add the path of a TOML file, or a name \
    from `redpoll list`, such as scenario = \"office\"";
/// The error for a text that names a scenario although the caller passes a scenario.
pub(crate) const SECOND_SCENARIO: &str = "scenario: got a scenario in the text, but the caller \
    already passes a scenario; remove this key from the text";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Option<String>,
    #[serde(default)]
    seeds: Seeds,
    #[serde(default)]
    set: toml::Table,
    #[serde(default)]
    grid: toml::Table,
    random: Option<Random>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "seeds: got neither a number nor a list of numbers; allowed: a number of seeds, \
                 such as 5, or a list of seeds, such as [3, 7]"
)]
enum Seeds {
    Count(u64),
    List(Vec<u64>),
}

impl Default for Seeds {
    fn default() -> Self {
        Seeds::Count(1)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Random {
    points: usize,
    #[serde(default = "one")]
    seed: u64,
    keys: toml::Table,
}

fn one() -> u64 {
    1
}

impl Plan {
    /// Reads the sweep at `path`, and checks every point, so that a wrong key or value is an error
    /// now instead of during the sweep.
    pub fn load(path: &Path) -> Result<Plan, PlanError> {
        let read = || {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| format!("cannot be read: {error}"))?;
            let file: File = toml::from_str(&text).map_err(|error| error.to_string())?;
            let name = file.scenario.as_ref();
            let name = name.ok_or_else(|| NO_SCENARIO.to_owned())?;
            let scene = scene(name, path.parent().unwrap_or(Path::new("")))?;
            Plan::of(file, Case::new(scene))
        };
        read().map_err(|problem: Problem| PlanError {
            file: format!("{}: ", path.display()),
            problem,
        })
    }

    /// Parses the sweep of `case` in `text`, which does not name a scenario.
    pub fn parse(text: &str, case: Case) -> Result<Plan, PlanError> {
        let file = toml::from_str(text).map_err(|error| Problem::Other(error.to_string()));
        let plan = file.and_then(|file: File| match file.scenario {
            None => Plan::of(file, case),
            Some(_) => Err(SECOND_SCENARIO.to_owned().into()),
        });
        plan.map_err(|problem| PlanError {
            file: String::new(),
            problem,
        })
    }

    fn of(file: File, mut case: Case) -> Result<Plan, Problem> {
        let mut fixed = Vec::new();
        for (key, value) in leaves("", &file.set) {
            case = case.set(&key, written(value));
            fixed.push(key);
        }
        let seeds = seeds(file.seeds)?;
        let mut combinations = vec![Vec::new()];
        for (key, values) in leaves("", &file.grid) {
            let list = values.as_array().filter(|list| !list.is_empty());
            let list = list.ok_or_else(|| {
                let got = if values.is_array() {
                    "an empty list".to_owned()
                } else {
                    written(values)
                };
                format!("grid.{key}: got {got}; allowed: a list of values, such as [1, 2]")
            })?;
            let room = RUNS_MAX / seeds.len() / list.len();
            if combinations.len() > room {
                return Err(format!(
                    "the sweep has more runs than allowed; allowed: at most {RUNS_MAX}; remove \
                     values from the grid, or seeds"
                )
                .into());
            }
            combinations = combinations
                .iter()
                .flat_map(|point| {
                    list.iter().map(|value| {
                        let mut longer: Vec<(String, String)> = point.clone();
                        longer.push((key.clone(), written(value)));
                        longer
                    })
                })
                .collect();
        }
        if let Some(random) = &file.random {
            combinations = drawn(combinations, random, seeds.len())?;
        }
        if combinations[0].iter().any(|(key, _)| key == "seed") {
            let allowed =
                "seed: cannot be varied as a key; allowed: `seeds`, at the top of the file";
            return Err(allowed.to_owned().into());
        }
        if let Some((key, _)) = combinations[0].iter().find(|(key, _)| fixed.contains(key)) {
            let line = format!(
                "set.{key}: got a key that grid or random also varies; remove it from set, or from \
                 the other table"
            );
            return Err(line.into());
        }
        let mut points = Vec::with_capacity(combinations.len());
        for values in combinations {
            let set = |case: Case, (key, value): &(String, String)| case.set(key, value);
            let case = values.iter().fold(case.clone(), set);
            case.scenario()?;
            points.push(Point { values, case });
        }
        Ok(Plan { points, seeds })
    }

    pub fn runs(&self) -> usize {
        self.points.len() * self.seeds.len()
    }

    /// Returns the runs that `results` lacks. All seeds of a point precede the next point, so that
    /// an interrupted sweep has complete points.
    pub fn jobs(&self, results: &Results) -> Result<Vec<Job>, StudyError> {
        let mut jobs = Vec::new();
        for point in &self.points {
            let virtual_ms = point.case.scenario()?.duration.as_millis();
            let kept = results.seeds(&point.case)?;
            for &seed in &self.seeds {
                if !kept.contains(&seed) {
                    jobs.push(Job {
                        case: point.case.clone(),
                        seed,
                        virtual_ms,
                    });
                }
            }
        }
        Ok(jobs)
    }
}

/// Returns the scenario: a file next to the sweep's file, or a built-in one.
pub(crate) fn scene(name: &str, folder: &Path) -> Result<Scene, String> {
    let beside: PathBuf = folder.join(name);
    let built_in = BUILT_IN.iter().find(|scenario| scenario.name == name);
    match (std::fs::read_to_string(&beside), built_in) {
        (Ok(text), _) => Ok(Scene {
            name: Cow::Owned(beside.display().to_string()),
            text,
        }),
        (Err(_), Some(built_in)) => Ok(Scene {
            name: Cow::Borrowed(built_in.name),
            text: built_in.text.to_owned(),
        }),
        (Err(error), None) => Err(format!(
            "scenario: {}: {error}; allowed: a TOML file, or a name from `redpoll list`",
            beside.display()
        )),
    }
}

fn seeds(seeds: Seeds) -> Result<Vec<u64>, String> {
    let allowed = format!(
        "allowed: a number from 1 to {RUNS_MAX}, or a list of different seeds, such as [3, 7]"
    );
    let all = match seeds {
        Seeds::Count(count @ 1..) if count <= RUNS_MAX as u64 => (1..=count).collect(),
        Seeds::Count(count) => return Err(format!("seeds: got {count}; {allowed}")),
        Seeds::List(list) => list,
    };
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == all.len() && !all.is_empty() {
        Ok(all)
    } else {
        let problem = if all.is_empty() {
            "no seed"
        } else {
            "a seed twice"
        };
        Err(format!("seeds: got {problem}; {allowed}"))
    }
}

/// Returns each combination of the grid with each of the random points.
fn drawn(
    grid: Vec<Vec<(String, String)>>,
    random: &Random,
    seeds: usize,
) -> Result<Vec<Vec<(String, String)>>, String> {
    let room = RUNS_MAX / seeds / grid.len();
    if random.points == 0 || random.points > room {
        return Err(format!(
            "random.points: got {}; allowed: 1 to {room}, because a sweep has at most {RUNS_MAX} \
             runs",
            random.points
        ));
    }
    let mut ranges: Vec<(String, Range)> = Vec::new();
    for (key, value) in ranges_of("", &random.keys) {
        let range = value.clone().try_into();
        let range = range.map_err(|error| format!("random.keys.{key}: {error}"))?;
        ranges.push((key, range));
    }
    if ranges.is_empty() {
        return Err(
            "random.keys: got no key; allowed: one or more keys, each with { from = …, to = … }"
                .to_owned(),
        );
    }
    let mut rng = Rng::named(random.seed, "sweep");
    let mut points = Vec::new();
    for _ in 0..random.points {
        let mut point = Vec::new();
        for (key, range) in &ranges {
            let value = range.draw(&mut rng);
            let value = value.map_err(|error| format!("random.keys.{key}: {error}"))?;
            point.push((key.clone(), value));
        }
        points.push(point);
    }
    let each = grid.into_iter().flat_map(|fixed| {
        points
            .iter()
            .map(move |point| fixed.iter().chain(point).cloned().collect())
            .collect::<Vec<_>>()
    });
    Ok(each.collect())
}

/// Returns the values of a table of keys by dotted path. Keys may be written `"mac.min_be" = …` or
/// in nested tables.
fn leaves<'a>(path: &str, table: &'a toml::Table) -> Vec<(String, &'a toml::Value)> {
    walk(path, table, &|_| false)
}

/// Returns the values of a table of keys, in which a table with `from` is also a value.
fn ranges_of<'a>(path: &str, table: &'a toml::Table) -> Vec<(String, &'a toml::Value)> {
    walk(path, table, &|table| table.contains_key("from"))
}

pub(crate) fn walk<'a>(
    path: &str,
    table: &'a toml::Table,
    is_value: &dyn Fn(&toml::Table) -> bool,
) -> Vec<(String, &'a toml::Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        let path = match path {
            "" => key.clone(),
            _ => format!("{path}.{key}"),
        };
        match value {
            toml::Value::Table(inner) if !is_value(inner) => {
                found.extend(walk(&path, inner, is_value));
            }
            value => found.push((path, value)),
        }
    }
    found
}

/// Formats a value as `--set` expects it.
pub(crate) fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
