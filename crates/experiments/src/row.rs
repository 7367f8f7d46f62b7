//! Rows of a figure: the number of each run, the mean over the seeds, and the verdict.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::case::Case;
use crate::criteria::{Band, Judgement, Purpose};
use crate::error::StudyError;
use crate::figure::{Declared, Figure, Origin, X};
use crate::results::{Results, StoredRun};
use crate::run::{Gap, Run, mean};

/// One number of a figure, with the corresponding number of the paper.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    pub study: &'static str,
    pub figure: &'static str,
    /// Name in `criteria.toml`, if present.
    pub id: Option<String>,
    pub kind: Purpose,
    /// Series: rows that are drawn as one line, or as bars of one colour.
    pub series: String,
    /// Position on the x axis.
    pub x: X,
    pub metric: &'static str,
    /// Mean over the seeds. For a computed row, the value computed from the other rows' means.
    /// `null` if no run gave a number.
    pub value: Option<f64>,
    /// Unit; empty for pure numbers.
    pub unit: &'static str,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Number of seeds that gave a value; 0 for a number that needs no run.
    pub n: usize,
    pub paper: Option<f64>,
    pub least: Option<f64>,
    pub most: Option<f64>,
    /// Whether the value is in the band; `null` if the row is not judged.
    pub ok: Option<bool>,
    pub violation: Option<String>,
    /// Remarks, and the cause if the criterion does not hold.
    pub note: String,
    #[serde(skip)]
    pub told: RowDetails,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowDetails {
    /// The paper's statement, and its section.
    pub says: Option<(String, String)>,
    pub why: String,
    /// Reason why the criterion does not hold, and the rows of the figure that show this reason.
    pub cause: Option<(String, Vec<usize>)>,
    pub is_aside: bool,
    /// Index of the row's case among the figure's cases.
    pub case: Option<usize>,
    /// Ends of the error bar; `None` if the bar shows the spread of the seeds.
    pub bar: Option<(f64, f64)>,
    /// Whether the row is an end of another row's error bar.
    pub is_bar: bool,
}

impl Row {
    pub fn band(&self) -> Option<Band> {
        self.ok.map(|_| Band {
            least: self.least,
            most: self.most,
        })
    }
}

#[derive(Clone, Debug, Default)]
struct Numbers {
    known: Option<f64>,
    by_seed: BTreeMap<u64, f64>,
    value: Option<f64>,
    violation: Option<String>,
}

/// Returns the number; `None` if it is not finite, such as a quotient by zero.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Figure {
    /// Returns the figure's rows for `seeds` seeds, from the stored runs in `results`.
    pub fn rows(
        &self,
        study: &'static str,
        results: &Results,
        seeds: u64,
    ) -> Result<Vec<Row>, StudyError> {
        let mut kept: BTreeMap<String, Vec<StoredRun>> = BTreeMap::new();
        let mut places = BTreeMap::new();
        let mut all: Vec<Numbers> = Vec::new();
        let mut rows = Vec::new();
        for declared in &self.rows {
            let mut place = None;
            let numbers = match &declared.origin {
                Origin::Known(value) => Numbers {
                    known: Some(*value),
                    value: Some(*value),
                    ..Numbers::default()
                },
                Origin::Runs(case, read) => {
                    let key = case.key()?;
                    let next = places.len();
                    place = Some(*places.entry(key.clone()).or_insert(next));
                    let runs = match kept.entry(key) {
                        Entry::Occupied(runs) => runs.into_mut(),
                        Entry::Vacant(free) => free.insert(results.runs(case, case.seeds(seeds))?),
                    };
                    let numbers = Numbers::of_runs(runs, |kept| read(&kept.run));
                    numbers.map_err(|what| StudyError::Unknown {
                        figure: self.name,
                        row: self.place_of(declared),
                        what,
                    })?
                }
                Origin::Rows(of, make) => {
                    let of: Vec<&Numbers> = of.iter().map(|index| &all[*index]).collect();
                    Numbers::made(&of, make)
                }
            };
            rows.push(self.row_of(study, declared, &numbers, place));
            all.push(numbers);
        }
        for (row, declared) in rows.iter_mut().zip(&self.rows) {
            let ends = declared
                .bar
                .map(|(low, high)| (all[low].value, all[high].value));
            row.told.bar = ends.and_then(|(low, high)| low.zip(high));
        }
        Ok(rows)
    }

    /// Runs each case with seed 1, shortened by `shorten`, and reads the values of all rows. `runs`
    /// caches runs for the other figures of the study. Fails if a case cannot run, or a row reads a
    /// value that the run does not have.
    pub fn check_names(
        &self,
        shorten: impl Fn(Case) -> Case,
        runs: &mut BTreeMap<String, Run>,
    ) -> Result<(), String> {
        for declared in &self.rows {
            let Origin::Runs(case, read) = &declared.origin else {
                continue;
            };
            let short = shorten(Case::clone(case));
            let place = |error: &dyn fmt::Display| {
                format!("{}: {}: {error}", self.name, self.place_of(declared))
            };
            let key = short.key().map_err(|error| place(&error))?;
            let run = match runs.entry(key) {
                Entry::Occupied(run) => run.into_mut(),
                Entry::Vacant(free) => {
                    let run = short.run(1, &|_| true).map_err(|error| place(&error))?;
                    free.insert(run.ok_or_else(|| place(&"the run was stopped"))?)
                }
            };
            if let Err(Gap::Unknown(what)) = read(run) {
                return Err(place(&what));
            }
        }
        Ok(())
    }

    fn place_of(&self, row: &Declared) -> String {
        format!("{} {} {}", row.series, row.x, row.metric.name)
    }

    fn row_of(
        &self,
        study: &'static str,
        declared: &Declared,
        numbers: &Numbers,
        case: Option<usize>,
    ) -> Row {
        let judgement = declared.judgement.as_ref();
        let band = judgement.and_then(Judgement::band);
        let is_sound = numbers.violation.is_none();
        let holds = |band: Band| is_sound && numbers.value.is_some_and(|value| band.holds(value));
        let ok = band.map(holds);
        let mut note = declared.note.clone();
        if let (Some(false), Some((cause, _))) = (ok, &declared.cause) {
            let gap = if note.is_empty() { "" } else { "; " };
            note = format!("{note}{gap}{cause}");
        }
        let of_seeds = numbers.by_seed.values().copied();
        Row {
            study,
            figure: self.name,
            id: declared.id.as_ref().map(|id| format!("{}/{id}", self.name)),
            kind: judgement.map_or(Purpose::Explains, |it| it.kind),
            series: declared.series.clone(),
            x: declared.x.clone(),
            metric: declared.metric.name,
            value: numbers.value,
            unit: declared.metric.unit,
            low: of_seeds.clone().reduce(f64::min),
            high: of_seeds.reduce(f64::max),
            n: numbers.by_seed.len(),
            paper: declared.paper,
            least: band.and_then(|band| band.least),
            most: band.and_then(|band| band.most),
            ok,
            violation: numbers.violation.clone(),
            note,
            told: RowDetails {
                says: judgement.and_then(|it| it.says.clone().zip(it.section.clone())),
                why: judgement.map(|it| it.why.clone()).unwrap_or_default(),
                cause: declared.cause.clone(),
                is_aside: declared.is_aside,
                case,
                bar: None,
                is_bar: declared.is_bar,
            },
        }
    }
}

impl Numbers {
    /// Reads the number of each run. If `read` fails with [`Gap::Unknown`], returns its text.
    fn of_runs(
        runs: &[StoredRun],
        read: impl Fn(&StoredRun) -> Result<f64, Gap>,
    ) -> Result<Numbers, String> {
        let mut numbers = Numbers::default();
        for kept in runs {
            if let (None, Some(violation)) = (&numbers.violation, kept.run.violation()) {
                numbers.violation = Some(format!("seed {}: {violation}", kept.seed));
            }
            match read(kept).map(finite) {
                Ok(Some(value)) => {
                    numbers.by_seed.insert(kept.seed, value);
                }
                Ok(None) | Err(Gap::Nothing) => {}
                Err(Gap::Unknown(what)) => return Err(what),
            }
        }
        let values: Vec<f64> = numbers.by_seed.values().copied().collect();
        numbers.value = mean(&values).ok();
        Ok(numbers)
    }

    /// Computes a row from other rows with `make`: for each seed that all of them have, and for
    /// their means over these seeds.
    fn made(of: &[&Numbers], make: &dyn Fn(&[f64]) -> f64) -> Numbers {
        let mut numbers = Numbers {
            violation: of.iter().find_map(|it| it.violation.clone()),
            ..Numbers::default()
        };
        let of_runs: Vec<&&Numbers> = of.iter().filter(|it| it.known.is_none()).collect();
        let Some(first) = of_runs.first() else {
            let known: Option<Vec<f64>> = of.iter().map(|it| it.known).collect();
            numbers.known = known.and_then(|values| finite(make(&values)));
            numbers.value = numbers.known;
            return numbers;
        };
        let mut seeds: BTreeSet<u64> = first.by_seed.keys().copied().collect();
        seeds.retain(|seed| of_runs.iter().all(|it| it.by_seed.contains_key(seed)));
        for seed in &seeds {
            let values = of
                .iter()
                .map(|it| it.known.unwrap_or_else(|| it.by_seed[seed]));
            let values: Vec<f64> = values.collect();
            numbers
                .by_seed
                .extend(finite(make(&values)).map(|value| (*seed, value)));
        }
        // The means leave out a seed for which any row has no number.
        let seeds: Vec<u64> = numbers.by_seed.keys().copied().collect();
        let mean_of = |it: &&Numbers| match it.known {
            Some(known) => Ok(known),
            None => mean(
                &seeds
                    .iter()
                    .map(|seed| it.by_seed[seed])
                    .collect::<Vec<_>>(),
            ),
        };
        let means: Result<Vec<f64>, Gap> = of.iter().map(mean_of).collect();
        numbers.value = means.ok().and_then(|means| finite(make(&means)));
        numbers
    }
}
