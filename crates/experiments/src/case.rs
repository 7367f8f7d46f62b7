//! Cases: a scenario with changes, its probe, and its number of seeds.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use redpoll_base::{Duration, Instant};
use redpoll_sim::foreign::ForeignSpec;
use redpoll_sim::guest::GuestNode;
use redpoll_sim::{BuildError, Scenario, ScenarioError, When, World, WorldOptions};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::probe::{AnyProbe, Probe, SLICE};
use crate::run::Run;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// Name of the scene in messages, and of its file next to the page.
    pub name: Cow<'static, str>,
    pub text: String,
}

/// A scenario with changes, a probe and a number of seeds.
#[derive(Clone, Debug)]
pub struct Case {
    scene: Scene,
    /// Changed keys by dotted path, in the order of the changes.
    changes: Vec<(String, String)>,
    probe: Option<Arc<dyn AnyProbe>>,
    least_seeds: u64,
    most_seeds: u64,
    guests: Option<Guests>,
}

/// A function that loads nodes with the interface of [`redpoll_sim::guest`].
#[derive(Clone)]
pub struct Guests(Arc<LoadGuest>);

type LoadGuest = dyn Fn(&ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> + Send + Sync;

impl Guests {
    /// Returns a loader; `load` returns a one-line message if it fails.
    pub fn new(
        load: impl Fn(&ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> + Send + Sync + 'static,
    ) -> Guests {
        Guests(Arc::new(load))
    }
}

impl std::fmt::Debug for Guests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guests").finish_non_exhaustive()
    }
}

/// A case with a probe, which returns a `P::Found` for each run.
pub struct Probed<P> {
    case: Case,
    probe: PhantomData<fn() -> P>,
}

/// The reason why a case cannot run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Serialisation of the run's result failed.
    #[error("the result of the run cannot be stored: {0}")]
    Found(#[from] serde_json::Error),
}

impl Case {
    pub fn new(scene: Scene) -> Case {
        Case {
            scene,
            changes: Vec::new(),
            probe: None,
            least_seeds: 1,
            most_seeds: u64::MAX,
            guests: None,
        }
    }

    /// Sets the loader of nodes that run the firmware of another stack. The loader is not part of
    /// the case's identity.
    #[must_use]
    pub fn with_guests(self, guests: Guests) -> Case {
        Case {
            guests: Some(guests),
            ..self
        }
    }

    #[must_use]
    pub fn set(mut self, key: &str, value: impl ToString) -> Case {
        self.changes.push((key.to_owned(), value.to_string()));
        self
    }

    #[must_use]
    pub fn with(self, changes: &[(&str, &str)]) -> Case {
        changes
            .iter()
            .fold(self, |case, (key, value)| case.set(key, value))
    }

    #[must_use]
    pub fn without(mut self, key: &str) -> Case {
        self.changes.retain(|(it, _)| it != key);
        self
    }

    /// Replaces the scene and keeps the changes.
    #[must_use]
    pub fn in_scene(self, scene: Scene) -> Case {
        Case { scene, ..self }
    }

    #[must_use]
    pub fn probe<P: Probe>(mut self, probe: P) -> Probed<P> {
        self.probe = Some(Arc::new(probe));
        Probed {
            case: self,
            probe: PhantomData,
        }
    }

    #[must_use]
    pub fn at_most_seeds(mut self, seeds: u64) -> Case {
        self.most_seeds = seeds;
        self
    }

    #[must_use]
    pub fn at_least_seeds(mut self, seeds: u64) -> Case {
        self.least_seeds = seeds;
        self
    }

    /// Returns the number of seeds for this case if the user requested `asked`. Seeds count from 1.
    pub fn seeds(&self, asked: u64) -> u64 {
        asked.max(self.least_seeds).min(self.most_seeds)
    }

    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Returns the changed keys by dotted path, in the order of the changes.
    pub fn changes(&self) -> &[(String, String)] {
        &self.changes
    }

    /// Returns the identity of the case: a digest of the parsed scenario and the probe. The digest
    /// does not depend on the formatting of the scenario. Fails if the study has an invalid
    /// scenario.
    pub fn key(&self) -> Result<String, ScenarioError> {
        let mut scenario = self.scenario()?;
        // Clears fields that do not affect the result: the name, the list of changed keys, and the
        // seed, which `Case::run` sets.
        scenario.name.clear();
        scenario.set.clear();
        scenario.seed = 0;
        let probe = self.probe.as_ref().map(|probe| probe.id());
        let digest = Sha256::digest(format!("{scenario:?}\0{probe:?}").as_bytes());
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub fn text(&self) -> String {
        let mut text = self.scene.name.to_string();
        for (key, value) in &self.changes {
            text.push_str(&format!(" {key}={value}"));
        }
        text
    }

    /// Returns the parsed scenario. Fails if the study makes a change that is not allowed.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::parse(&self.scene.name, &self.scene.text, &self.changes)?;
        scenario.retain_apps_of(When::Run);
        Ok(scenario)
    }

    /// Runs the case with `seed`. Calls `advance` with the virtual time since the previous call. If
    /// `advance` returns `false`, the run stops without a result.
    pub fn run(
        &self,
        seed: u64,
        advance: &dyn Fn(Duration) -> bool,
    ) -> Result<Option<Run>, CaseError> {
        let scenario = self.scenario()?;
        let end = Instant::ZERO + scenario.duration;
        let load = |spec: &ForeignSpec<'_>| match &self.guests {
            Some(Guests(load)) => load(spec),
            None => Err("this program cannot run nodes with the firmware of another stack".into()),
        };
        let options = WorldOptions {
            seed: Some(seed),
            guests: Some(&load),
            ..WorldOptions::default()
        };
        let mut world = World::with(scenario, options)?;
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
            if look.as_ref().is_some_and(|look| look.is_over()) {
                break;
            }
        }
        if let Some(failed) = world.failed_firmware().first() {
            let node = world.scenario().nodes[failed.node].name.clone();
            let problem = failed.text.clone();
            return Err(BuildError::Module { node, problem }.into());
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
