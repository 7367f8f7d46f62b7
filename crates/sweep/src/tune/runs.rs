//! Runs of a goal: the missing ones, and the results of stored ones.

use redpoll_experiments::{Case, Job, Results, StoredRun, StudyError};

use super::goal::Goal;
use super::search::{Found, Stage, search};
use super::space::Point;
use super::standing::Sample;
use super::verdict::{Verdicts, to_judge};

/// A goal, and the file that stores its runs.
pub struct Runs<'a> {
    goal: &'a Goal,
    kept: &'a Results,
    objections: usize,
}

/// Runs jobs that have no stored result, and stores their results. The text names the jobs.
pub type Conduct<'a, E> = dyn FnMut(&str, &[Job]) -> Result<(), E> + 'a;

pub struct Tuned {
    pub found: Found,
    pub verdicts: Verdicts,
    /// Number of runs in which the oracle found a violation.
    pub objections: usize,
}

impl<'a> Runs<'a> {
    pub fn new(goal: &'a Goal, kept: &'a Results) -> Runs<'a> {
        Runs {
            goal,
            kept,
            objections: 0,
        }
    }

    /// Searches, and judges the result with the held-out seeds. Returns `None` without a valid
    /// point.
    pub fn tune<E: From<StudyError>>(
        mut self,
        conduct: &mut Conduct<'_, E>,
    ) -> Result<Option<Tuned>, E> {
        let goal = self.goal;
        let found = search(
            &goal.space,
            &goal.aims,
            &goal.effort,
            &|point| goal.is_valid(point),
            &mut |stage, points| self.of_stage(stage, points, conduct),
        )?;
        let verdicts = self.judge(&found, conduct)?;
        Ok(verdicts.map(|verdicts| Tuned {
            found,
            verdicts,
            objections: self.objections,
        }))
    }

    /// Runs points with the seeds from 1 up.
    fn of_stage<E: From<StudyError>>(
        &mut self,
        stage: &Stage,
        points: &[Point],
        conduct: &mut Conduct<'_, E>,
    ) -> Result<Vec<Vec<Sample>>, E> {
        let (name, seeds) = (&stage.name, stage.seeds as usize);
        let points_told = many(stage.points, "point");
        let line = format!("{name}: {points_told}, {}", many(seeds, "seed"));
        let cases: Vec<Case> = points.iter().map(|point| self.goal.case(point)).collect();
        let seeds: Vec<u64> = (1..=stage.seeds).collect();
        self.ensure(&line, &cases, &seeds, conduct)?;
        let samples = cases.iter().map(|case| self.samples(case, &seeds));
        Ok(samples.collect::<Result<Vec<_>, _>>()?)
    }

    fn judge<E: From<StudyError>>(
        &mut self,
        found: &Found,
        conduct: &mut Conduct<'_, E>,
    ) -> Result<Option<Verdicts>, E> {
        let goal = self.goal;
        let points = to_judge(goal, found);
        let case = |point: Option<&Point>| match point {
            Some(point) => goal.case(point),
            None => goal.case.clone(),
        };
        let cases: Vec<Case> = points.iter().map(|point| case(point.as_ref())).collect();
        let line = format!(
            "judging: {} with {} that the search did not use",
            many(cases.len(), "point"),
            many(goal.held_out.len(), "seed")
        );
        self.ensure(&line, &cases, &goal.held_out, conduct)?;
        let mut known = Vec::new();
        for (point, case) in points.iter().zip(&cases) {
            known.push((point.as_ref(), self.samples(case, &goal.held_out)?));
        }
        Ok(Verdicts::of(goal, found, &|point| {
            let found = known.iter().find(|(it, _)| *it == point);
            found
                .map(|(_, samples)| samples.clone())
                .unwrap_or_default()
        }))
    }

    fn ensure<E: From<StudyError>>(
        &self,
        line: &str,
        cases: &[Case],
        seeds: &[u64],
        conduct: &mut Conduct<'_, E>,
    ) -> Result<(), E> {
        let mut jobs = Vec::new();
        for case in cases {
            let scenario = case.scenario().map_err(StudyError::from)?;
            let has = self.kept.seeds(case)?;
            let missing = seeds.iter().filter(|seed| !has.contains(seed));
            jobs.extend(missing.map(|&seed| Job {
                case: case.clone(),
                seed,
                virtual_ms: scenario.duration.as_millis(),
            }));
        }
        conduct(&format!("{line}; {} left", many(jobs.len(), "run")), &jobs)
    }

    fn samples(&mut self, case: &Case, seeds: &[u64]) -> Result<Vec<Sample>, StudyError> {
        let least = seeds.first().copied().unwrap_or_default();
        let most = seeds.last().copied().unwrap_or_default();
        let kept = self.kept.within(case, least, most)?;
        let sample = |kept: &StoredRun| {
            let figures = self.goal.aims.figures();
            figures.map(|figure| figure.read(&kept.run)).collect()
        };
        let objections = kept.iter().filter(|kept| kept.run.violation().is_some());
        self.objections += objections.count();
        Ok(kept.iter().map(sample).collect())
    }
}

/// Formats a count as `1 point` or `2 points`.
fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
