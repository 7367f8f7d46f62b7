//! The drill: attacks of each kind with a limited rate on small meshes, and the remaining goodput
//! of an honest flow.
//!
//! - `attack.rs`: the attacks and their rates;
//! - `scene.rs`: the meshes;
//! - `attacker.rs`, `forge.rs`, `rpl.rs`: the attacker and its packets;
//! - `siege.rs`: an attack on a running world;
//! - `play.rs`: one run, with or without an attacker;
//! - `grid.rs`: the attacks on RPL in a large grid, as a test;
//! - `device.rs`: the attacks of slow readers on the web server for devices, as a test;
//! - `shipped.rs`: all attacks on the program of the firmware's leaf, as a test;
//! - `visitor.rs`: new honest connections in addition to the open one.
//!
//! The attacker's own frames occupy the air. The share of air time that remains is the *floor*: no
//! protocol can keep a greater share of its goodput. After the attack, every table of every node
//! must return to its state without an attack.

mod attack;
mod attacker;
#[cfg(test)]
mod device;
mod forge;
#[cfg(test)]
mod grid;
mod play;
mod reasons;
mod rpl;
mod scene;
#[cfg(test)]
mod shipped;
mod siege;
mod visitor;

use redpoll_base::Duration;
use serde::Serialize;

pub use attack::ATTACKS;
use attack::Attack;
pub(crate) use attack::Side;
use scene::Target;
pub(crate) use siege::Siege;

use play::RunResult;
use scene::{Mesh, Scene};

/// Default of [`Plan::keeps`].
const KEEPS: f64 = 0.8;

#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of the attacks to run; empty for all.
    pub only: Vec<String>,
    /// Number of runs of each row, with the seeds from 1.
    pub seeds: u64,
    pub duration: Duration,
    /// Share of goodput, and of new connections, that an honest flow must keep.
    pub keeps: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            only: Vec::new(),
            seeds: 3,
            duration: Duration::from_secs(120),
            keeps: KEEPS,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The flow keeps the share [`Plan::keeps`] of its goodput and of new connections.
    Kept,
    /// The flow keeps less goodput or fewer new connections than required, for a documented reason.
    Explained,
    /// The flow keeps less goodput or fewer new connections than required, without a documented
    /// reason.
    Lost,
    /// A node's table differs from its state without the attack, or the oracle found a violation.
    LeftBehind,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    pub attack: &'static str,
    pub target: &'static str,
    pub side: Side,
    /// Configured packets or frames per second.
    pub per_s: u32,
    /// Packets or frames that left the attacker per second, including the attacker's answers.
    pub sent_per_s: f64,
    /// Goodput of the honest flow without the attack, as the mean of the seeds.
    pub alone_kbps: f64,
    /// Goodput of the honest flow during the attack.
    pub beside_kbps: f64,
    /// Goodput during the attack, divided by the goodput without it.
    pub share: f64,
    pub worst: f64,
    /// Share of new honest connections that were served without the attack.
    pub new_alone: f64,
    /// Share of new honest connections that were served during the attack.
    pub new_beside: f64,
    /// `new_beside` as a share of `new_alone`.
    pub new_share: f64,
    /// Share of air time not occupied by the attacker's frames, or, in an attack from the host
    /// side, by the frames that forward the attacker's packets.
    pub floor: f64,
    /// Bytes that the mesh sends to the attacker for each byte of the attacker: the amplification
    /// with a forged source address. `None` for an attack over the air.
    pub answered: Option<f64>,
    /// Seconds from the end of the honest flow until all tables had the state that they have
    /// without an attack, in the worst seed; `None` if a table still differs at the end of a run.
    pub rest_s: Option<u64>,
    /// Differences in tables, and violations that the oracle found.
    pub left: Vec<String>,
    pub outcome: Outcome,
    /// Documented reason why the flow keeps less than required.
    pub reason: Option<&'static str>,
}

impl Plan {
    fn rows(&self) -> Vec<(&'static Attack, Target)> {
        let wanted = |attack: &&Attack| {
            self.only.is_empty() || self.only.iter().any(|name| *name == attack.name)
        };
        let attacks = ATTACKS.iter().filter(wanted);
        attacks
            .flat_map(|attack| attack.targets.iter().map(move |target| (attack, *target)))
            .collect()
    }

    /// Measures every row. Before each row, calls `progress` with the total number of rows, the
    /// name of the attack and the name of the target.
    pub fn run(&self, mut progress: impl FnMut(usize, &str, &str)) -> Vec<Row> {
        let mut alone = Alone::default();
        let rows = self.rows();
        let count = rows.len();
        let measured = rows.into_iter().map(|(attack, target)| {
            progress(count, attack.name, target.name());
            self.row(attack, target, &mut alone)
        });
        measured.collect()
    }

    fn row(&self, attack: &'static Attack, target: Target, alone: &mut Alone) -> Row {
        let scene = Scene::new(target, attack.mesh()).expect("the generated scenario is valid");
        let mut without = Vec::new();
        let mut with = Vec::new();
        for seed in 1..=self.seeds {
            let course = alone.course(&scene, attack.mesh(), seed, self.duration);
            with.push(play::play(
                &scene,
                Some((attack, &course)),
                seed,
                self.duration,
            ));
            without.push(course);
        }
        self.judge(attack, target, &without, &with)
    }

    fn judge(
        &self,
        attack: &'static Attack,
        target: Target,
        without: &[RunResult],
        with: &[RunResult],
    ) -> Row {
        let seconds = self.duration.as_micros() as f64 / 1e6;
        let kbps = |courses: &[RunResult]| {
            let bytes: u64 = courses.iter().map(|course| course.bytes).sum();
            bytes as f64 * 8.0 / 1_000.0 / seconds / courses.len().max(1) as f64
        };
        let (alone_kbps, beside_kbps) = (kbps(without), kbps(with));
        let pairs = without.iter().zip(with);
        let shares = pairs.map(|(alone, beside)| beside.bytes as f64 / alone.bytes.max(1) as f64);
        let air: f64 = with.iter().map(|course| course.air_s).sum();
        let sent: u64 = with.iter().map(|course| course.sent).sum();
        let runs = with.len().max(1) as f64;
        let traffic = with.iter().fold((0, 0), |sum: (u64, u64), course| {
            (sum.0 + course.traffic.0, sum.1 + course.traffic.1)
        });
        let mut left: Vec<String> = with.iter().flat_map(|course| course.left.clone()).collect();
        left.dedup();
        let rests = with.iter().map(|course| course.rest_s);
        let share = beside_kbps / alone_kbps.max(f64::MIN_POSITIVE);
        let served = |courses: &[RunResult]| {
            let sum = |of: fn(&RunResult) -> u64| courses.iter().map(of).sum::<u64>();
            sum(|it| it.visits.done) as f64 / sum(|it| it.visits.begun).max(1) as f64
        };
        let (new_alone, new_beside) = (served(without), served(with));
        let new_share = new_beside / new_alone.max(f64::MIN_POSITIVE);
        let keeps = share.min(new_share) >= self.keeps;
        let reason = reasons::reason(attack.name, target);
        let outcome = if !left.is_empty() {
            Outcome::LeftBehind
        } else if keeps {
            Outcome::Kept
        } else if reason.is_some() {
            Outcome::Explained
        } else {
            Outcome::Lost
        };
        Row {
            attack: attack.name,
            target: target.name(),
            side: attack.side,
            per_s: attack.per_s,
            sent_per_s: sent as f64 / seconds / runs,
            alone_kbps,
            beside_kbps,
            share,
            worst: shares.fold(f64::INFINITY, f64::min),
            new_alone,
            new_beside,
            new_share,
            floor: 1.0 - air / seconds / runs,
            answered: (attack.side == Side::Host)
                .then(|| traffic.1 as f64 / traffic.0.max(1) as f64),
            rest_s: rests
                .collect::<Option<Vec<u64>>>()
                .and_then(|all| all.into_iter().max()),
            left,
            outcome,
            reason: reason.filter(|_| !keeps),
        }
    }
}

/// Results of runs without an attacker; several rows use the same run.
#[derive(Default)]
struct Alone(Vec<((Target, Mesh, u64), RunResult)>);

impl Alone {
    fn course(&mut self, scene: &Scene, mesh: Mesh, seed: u64, duration: Duration) -> RunResult {
        let key = (scene.target, mesh, seed);
        if let Some((_, course)) = self.0.iter().find(|(known, _)| *known == key) {
            return course.clone();
        }
        let course = play::play(scene, None, seed, duration);
        self.0.push((key, course.clone()));
        course
    }
}
