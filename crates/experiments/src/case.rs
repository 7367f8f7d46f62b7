//! What is run: a scenario with changes, what is looked at in it, and how many
//! seeds it is run with.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use redpoll_base::{Duration, Instant};
use redpoll_sim::{AppSpec, BuildError, Scenario, ScenarioError, When, World};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::probe::{AnyProbe, Probe, SLICE};
use crate::run::Run;

/// A scenario that cases are made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// Its name in messages, and that of its file on the page.
    pub name: Cow<'static, str>,
    /// Its TOML text.
    pub text: String,
}

/// A scenario with changes.
#[derive(Clone, Debug)]
pub struct Case {
    scene: Scene,
    /// Changes of keys by dotted path, in their order.
    changes: Vec<(String, String)>,
    probe: Option<Arc<dyn AnyProbe>>,
    least_seeds: u64,
    most_seeds: u64,
}

/// A case with a probe, which finds a `P::Found` in each run.
pub struct Probed<P> {
    case: Case,
    probe: PhantomData<fn() -> P>,
}

/// A case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// It cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What the run gave has no JSON form.
    #[error("its result cannot be kept: {0}")]
    Found(#[from] serde_json::Error),
}

impl Case {
    /// `scene` as it stands.
    pub fn new(scene: Scene) -> Case {
        Case {
            scene,
            changes: Vec::new(),
            probe: None,
            least_seeds: 1,
            most_seeds: u64::MAX,
        }
    }

    /// The case with another value for the key at a dotted path.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl ToString) -> Case {
        self.changes.push((key.to_owned(), value.to_string()));
        self
    }

    /// The case with other values for several keys.
    #[must_use]
    pub fn with(self, changes: &[(&str, &str)]) -> Case {
        changes
            .iter()
            .fold(self, |case, (key, value)| case.set(key, value))
    }

    /// The case with no change of that key.
    #[must_use]
    pub fn without(mut self, key: &str) -> Case {
        self.changes.retain(|(it, _)| it != key);
        self
    }

    /// The same changes of another scene.
    #[must_use]
    pub fn in_scene(self, scene: Scene) -> Case {
        Case { scene, ..self }
    }

    /// The case with something to look at.
    #[must_use]
    pub fn probe<P: Probe>(mut self, probe: P) -> Probed<P> {
        self.probe = Some(Arc::new(probe));
        Probed {
            case: self,
            probe: PhantomData,
        }
    }

    /// The case with no more seeds than that, however many are asked for: it takes
    /// long.
    #[must_use]
    pub fn at_most_seeds(mut self, seeds: u64) -> Case {
        self.most_seeds = seeds;
        self
    }

    /// The case with no fewer seeds than that, however few are asked for.
    #[must_use]
    pub fn at_least_seeds(mut self, seeds: u64) -> Case {
        self.least_seeds = seeds;
        self
    }

    /// The number of seeds it is run with, from 1 up, if `asked` are asked for.
    pub fn seeds(&self, asked: u64) -> u64 {
        asked.max(self.least_seeds).min(self.most_seeds)
    }

    /// The scene that it changes.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Its changes of keys by dotted path, in their order.
    pub fn changes(&self) -> &[(String, String)] {
        &self.changes
    }

    /// What tells the case from all others: what the scenario means, not how it is
    /// written, and what is looked at.
    ///
    /// # Errors
    ///
    /// If the scenario is not valid; a mistake of the study's.
    pub fn key(&self) -> Result<String, ScenarioError> {
        let mut scenario = self.scenario()?;
        // None of them decides what a run gives: the seed is the run's.
        scenario.name.clear();
        scenario.set.clear();
        scenario.seed = 0;
        let probe = self.probe.as_ref().map(|probe| probe.id());
        let digest = Sha256::digest(format!("{scenario:?}\0{probe:?}").as_bytes());
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// What the case is, for people: scene and changes.
    pub fn text(&self) -> String {
        let mut text = self.scene.name.to_string();
        for (key, value) in &self.changes {
            text.push_str(&format!(" {key}={value}"));
        }
        text
    }

    /// The scenario.
    ///
    /// # Errors
    ///
    /// If a change is not allowed; a mistake of the study's.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::parse(&self.scene.name, &self.scene.text, &self.changes)?;
        let whole = scenario.clone();
        scenario.retain_apps(|app: &AppSpec| {
            matches!(app.when, When::Always | When::Run) && whole.is_served(app)
        });
        Ok(scenario)
    }

    /// Runs it with `seed`, calling `advance` with the virtual time that has
    /// passed since the last call, until that says false; then there is no
    /// result.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be used.
    pub fn run(
        &self,
        seed: u64,
        advance: &dyn Fn(Duration) -> bool,
    ) -> Result<Option<Run>, CaseError> {
        let scenario = self.scenario()?;
        let mut world = World::new(&scenario, seed)?;
        let end = Instant::ZERO + scenario.duration;
        let step = self.probe.as_ref().map_or(SLICE, |probe| probe.every());
        let mut look = self.probe.as_ref().map(|probe| probe.begin(&mut world));
        while world.now() < end {
            let before = world.now();
            world.run_until(end.min(before + step));
            if let Some(look) = &mut look {
                look.look(&mut world);
            }
            if !advance(world.now() - before) {
                return Ok(None);
            }
        }
        let found = look.map_or(Ok(Value::Null), |look| look.end(&mut world))?;
        Ok(Some(Run::new(&world.report(), found)?))
    }
}

impl<P> Deref for Probed<P> {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

impl<P> Clone for Probed<P> {
    fn clone(&self) -> Self {
        Probed {
            case: self.case.clone(),
            probe: PhantomData,
        }
    }
}
