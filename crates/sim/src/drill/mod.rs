//! The standing drill: each kind of attacker at its bounded rate against small meshes,
//! and what is left of one honest flow's goodput beside it.
//!
//! - `attack.rs`: what attackers do, and at which rate;
//! - `scene.rs`: the meshes;
//! - `foe.rs`, `forge.rs`, `rpl.rs`: the attacker, and how its packets are made;
//! - `play.rs`: one run, with or without an attacker;
//! - `visitor.rs`: new honest connections beside the one that is open.
//!
//! The attacker's own frames take air that nobody else can have meanwhile. That share
//! is the *floor*: no protocol gives the honest flow more than what is left. Behind the
//! attack every table of every node must come back to what it is without one.

mod attack;
mod foe;
mod forge;
mod play;
mod reasons;
mod rpl;
mod scene;
mod visitor;

use redpoll_base::Duration;
use serde::Serialize;

pub use attack::ATTACKS;
use attack::{Attack, Side};
use scene::Target;

use play::Course;
use scene::{Mesh, Scene};

/// The share of its goodput that an honest flow is to keep.
pub const KEEPS: f64 = 0.8;

/// What is drilled, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Only attacks with one of these names; all if there are none.
    pub only: Vec<String>,
    /// Runs of each row, with seeds from 1 on.
    pub seeds: u64,
    /// How long an attack goes on.
    pub duration: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            only: Vec::new(),
            seeds: 3,
            duration: Duration::from_secs(120),
        }
    }
}

/// How a row is to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The flow keeps [`KEEPS`] of its goodput, and as many new connections are served.
    Kept,
    /// It keeps less, for a reason that is written down.
    Explained,
    /// It keeps less, and nobody has said why.
    Lost,
    /// A table of some node is not what it was without the attack, or the oracle has
    /// found something.
    LeftBehind,
}

/// One attack on one node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The attack.
    pub attack: &'static str,
    /// Whom it is tried on.
    pub target: &'static str,
    /// From where it comes.
    pub side: Side,
    /// Packets or frames in a second.
    pub per_s: u32,
    /// What really left the attacker in a second, answers to answers counted.
    pub sent_per_s: f64,
    /// The honest flow's goodput without the attacker, the mean of the seeds.
    pub alone_kbps: f64,
    /// Beside the attacker.
    pub beside_kbps: f64,
    /// The second as a share of the first.
    pub share: f64,
    /// The worst seed's share.
    pub worst: f64,
    /// New honest connections that were served without the attacker, of all that began.
    pub new_alone: f64,
    /// Beside the attacker.
    pub new_beside: f64,
    /// The second as a share of the first.
    pub new_share: f64,
    /// What the air leaves: one less the share of the time that the attacker's frames,
    /// or the frames that carry its packets to whom they are for, are on it.
    pub floor: f64,
    /// Bytes that packets from the mesh had, by byte that was sent there: what a
    /// forged source address earns. `None` without packets from the host side.
    pub answered: Option<f64>,
    /// Seconds behind the attack and the flow until all tables were as they are
    /// without an attack, in the worst seed; `None` if they never were.
    pub rest_s: Option<u64>,
    /// What was left behind, and what the oracle has found.
    pub left: Vec<String>,
    /// How the row is to be read.
    pub outcome: Outcome,
    /// Why the flow keeps no more.
    pub reason: Option<&'static str>,
}

impl Plan {
    /// The rows that there are to be measured.
    fn rows(&self) -> Vec<(&'static Attack, Target)> {
        let wanted = |attack: &&Attack| {
            self.only.is_empty() || self.only.iter().any(|name| *name == attack.name)
        };
        let attacks = ATTACKS.iter().filter(wanted);
        attacks
            .flat_map(|attack| attack.targets.iter().map(move |target| (attack, *target)))
            .collect()
    }

    /// Measures every row. Before each row, calls `progress` with the number of all rows, the
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
        let scene = Scene::new(target, attack.mesh()).expect("the scenes are well formed");
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
        judge(attack, target, self.duration, &without, &with)
    }
}

/// Runs without an attacker: several rows share them.
#[derive(Default)]
struct Alone(Vec<((Target, Mesh, u64), Course)>);

impl Alone {
    fn course(&mut self, scene: &Scene, mesh: Mesh, seed: u64, duration: Duration) -> Course {
        let key = (scene.target, mesh, seed);
        if let Some((_, course)) = self.0.iter().find(|(known, _)| *known == key) {
            return course.clone();
        }
        let course = play::play(scene, None, seed, duration);
        self.0.push((key, course.clone()));
        course
    }
}

fn judge(
    attack: &'static Attack,
    target: Target,
    duration: Duration,
    without: &[Course],
    with: &[Course],
) -> Row {
    let seconds = duration.as_micros() as f64 / 1e6;
    let kbps = |courses: &[Course]| {
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
    let served = |courses: &[Course]| {
        let sum = |of: fn(&Course) -> u64| courses.iter().map(of).sum::<u64>();
        sum(|it| it.visits.done) as f64 / sum(|it| it.visits.begun).max(1) as f64
    };
    let (new_alone, new_beside) = (served(without), served(with));
    let new_share = new_beside / new_alone.max(f64::MIN_POSITIVE);
    let keeps = share.min(new_share) >= KEEPS;
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
        answered: (attack.side == Side::Host).then(|| traffic.1 as f64 / traffic.0.max(1) as f64),
        rest_s: rests
            .collect::<Option<Vec<u64>>>()
            .and_then(|all| all.into_iter().max()),
        left,
        outcome,
        reason: reason.filter(|_| !keeps),
    }
}
