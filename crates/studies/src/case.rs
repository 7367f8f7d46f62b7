//! What is run: a scenario with changes, and what is watched in it.

use redpoll_base::{Duration, Instant};
use redpoll_sim::scenario::{AppSpec, Scenario, ScenarioError, When};
use redpoll_sim::world::{BuildError, World};
use sha2::{Digest as _, Sha256};

use crate::run::{Run, Sample};
use crate::watch::{Found, View, Watch};

/// A scenario that cases are made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scene {
    /// Its name in messages.
    pub name: &'static str,
    /// Its TOML text.
    pub text: String,
}

/// How many seeds a case is run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// As many as asked for.
    Ordinary,
    /// Two at most: it simulates a day.
    Day,
}

/// What is sampled during a run, beside its report at the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Nothing.
    None,
    /// The congestion window of the first connection of the node with this
    /// index, in bytes, ten times a second.
    Cwnd {
        /// Index of the node.
        node: usize,
    },
    /// The share of each hour in which the radios of the nodes with this prefix
    /// in their names were on: their mean.
    Hourly {
        /// Prefix of names.
        nodes: &'static str,
    },
    /// The most bytes that the link held of the first connection of the node with
    /// this index, seen as `pinned`.
    Pinned {
        /// Index of the node.
        node: usize,
    },
    /// The frames on the air.
    Air(View),
}

/// A scenario with changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The scenario.
    pub scene: Scene,
    /// Changes of keys by dotted path, in their order.
    pub changes: Vec<(String, String)>,
    /// What is sampled.
    pub probe: Probe,
    /// For how many seeds.
    pub length: Length,
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
}

/// How much is simulated between two looks at whether to stop.
const SLICE: Duration = Duration::from_millis(1_000);
/// Between two samples of the congestion window.
const CWND_EVERY: Duration = Duration::from_millis(100);
/// Between two looks at what is pinned; a frame takes longer.
const PINNED_EVERY: Duration = Duration::from_millis(5);
const HOUR: Duration = Duration::from_secs(3_600);

impl Case {
    /// `scene` as it stands.
    pub fn new(scene: Scene) -> Case {
        Case {
            scene,
            changes: Vec::new(),
            probe: Probe::None,
            length: Length::Ordinary,
        }
    }

    /// The same with another value for the key at a dotted path.
    #[must_use]
    pub fn set(mut self, key: &str, value: impl ToString) -> Case {
        self.changes.push((key.to_owned(), value.to_string()));
        self
    }

    /// The same with several.
    #[must_use]
    pub fn with(self, changes: &[(&str, &str)]) -> Case {
        changes
            .iter()
            .fold(self, |case, (key, value)| case.set(key, value))
    }

    /// The same with a probe.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Case {
        self.probe = probe;
        self
    }

    /// The same, as one that takes long.
    #[must_use]
    pub fn day(mut self) -> Case {
        self.length = Length::Day;
        self
    }

    /// The number of seeds it is run with, if `asked` are asked for.
    pub fn seeds(&self, asked: u64) -> u64 {
        match self.length {
            Length::Ordinary => asked,
            Length::Day => asked.min(2),
        }
    }

    /// What tells this case from all others.
    pub fn key(&self) -> String {
        let text = format!("{}\0{:?}\0{:?}", self.scene.text, self.changes, self.probe);
        let digest = Sha256::digest(text.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// What the case is, for people: scene and changes.
    pub fn text(&self) -> String {
        let mut text = self.scene.name.to_owned();
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
        let mut scenario = Scenario::parse(self.scene.name, &self.scene.text, &self.changes)?;
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
        let step = match self.probe {
            Probe::Cwnd { .. } => CWND_EVERY,
            Probe::Pinned { .. } => PINNED_EVERY,
            Probe::None | Probe::Hourly { .. } | Probe::Air(_) => SLICE,
        };
        let watch = match self.probe {
            Probe::Air(view) => Some(Watch::over(&mut world, view)),
            _ => None,
        };
        let mut samples = Vec::new();
        let mut hours = Hours::default();
        let mut most_pinned = 0;
        while world.now() < end {
            let before = world.now();
            world.run_until(end.min(before + step));
            match self.probe {
                Probe::None | Probe::Air(_) => {}
                Probe::Cwnd { node } => samples.extend(cwnd(&world, node)),
                Probe::Pinned { node } => most_pinned = pinned(&world, node).max(most_pinned),
                Probe::Hourly { nodes } => samples.extend(hours.look(&mut world, nodes)),
            }
            if !advance(world.now() - before) {
                return Ok(None);
            }
        }
        let mut found = watch.map_or_else(Found::new, |watch| watch.found());
        if let Probe::Pinned { .. } = self.probe {
            found.insert("pinned".to_owned(), most_pinned as f64);
        }
        Ok(Some(Run::new(&world.report(), samples, found)))
    }
}

fn seconds(at: Instant) -> f64 {
    at.as_micros() as f64 / 1e6
}

/// The congestion window of a node's first connection.
fn cwnd(world: &World, node: usize) -> Option<Sample> {
    let (_, connection) = world.node(node)?.tcp_connections().next()?;
    Some((seconds(world.now()), f64::from(connection.cwnd())))
}

/// What the link holds of a node's first connection.
fn pinned(world: &World, node: usize) -> usize {
    let node = world.node(node);
    let first = node.and_then(|node| node.tcp_connections().next());
    first.map_or(0, |(_, connection)| connection.pinned())
}

/// The radios' time on, by the hour.
#[derive(Default)]
struct Hours {
    done: u64,
    /// On for so many seconds, all nodes together, by the last hour's end.
    on_s: f64,
}

impl Hours {
    fn look(&mut self, world: &mut World, prefix: &str) -> Option<Sample> {
        let at = world.now();
        if at < Instant::ZERO + HOUR.times(self.done + 1) {
            return None;
        }
        self.done += 1;
        let report = world.report();
        let nodes = report.nodes.iter();
        let shares: Vec<f64> = nodes
            .filter(|node| node.name.starts_with(prefix))
            .map(|node| node.radio_duty_cycle)
            .collect();
        let on_s = shares.iter().sum::<f64>() * seconds(at);
        let share = (on_s - self.on_s) / (shares.len().max(1) as f64 * 3_600.0);
        self.on_s = on_s;
        Some((self.done as f64, share))
    }
}
