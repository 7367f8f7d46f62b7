//! The attacks on RPL in a large grid whose honest nodes send readings to the border router.
//!
//! `make drill-grid` sets `REDPOLL_GRID` to 40x25 (columns, rows). `REDPOLL_SEEDS` is the number of
//! seeds, and `REDPOLL_ATTACKS` selects attacks by their names, separated by commas. A printed row
//! lists the counters that the attack increased most, summed over all nodes, and the number of
//! nodes without a path to the border router at the end. With `REDPOLL_SEALED`, the nodes have link
//! security, whose key the attacker lacks. Without `REDPOLL_GRID`, the test runs two attacks in a
//! small grid.

use std::collections::BTreeMap;

use redpoll_base::{Duration, Instant};

use super::KEEPS;
use super::attack::{ATTACKS, Attack, AttackKind};
use super::scene::{ATTACKER, Mesh, SECURITY, Scene, Target};
use super::siege::Siege;
use crate::scenario::Scenario;
use crate::world::World;

/// Beginning of the attack, when the nodes have joined and the root knows most targets.
const BEGINS: Instant = Instant::from_millis(180_000);
const ATTACK: Duration = Duration::from_secs(180);
/// Time after the attack in which late readings may arrive.
const AFTERWARDS: Duration = Duration::from_secs(20);
/// Maximum number of counters in a printed row.
const CAUSES: usize = 14;
/// Number of readings that an honest node sends during an attack.
const READINGS: u64 = 6;

#[derive(Clone, Copy, Debug)]
struct Size {
    columns: usize,
    rows: usize,
}

/// Place of the attacker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// The attacker is next to the border router and attacks the border router.
    Border,
    /// The attacker is in the middle of the grid and attacks a router next to the attacker.
    Middle,
}

impl Place {
    const ALL: [Place; 2] = [Place::Border, Place::Middle];

    const fn name(self) -> &'static str {
        match self {
            Place::Border => "next to the border router",
            Place::Middle => "in the middle",
        }
    }
}

/// Returns a grid whose nodes reach 20 neighbours, with the node names that attacks look up.
fn scene(size: Size, place: Place, mesh: Mesh, security: &str) -> Scene {
    let Size { columns, rows } = size;
    let mode = match mesh {
        Mesh::NonStoring => "non-storing",
        _ => "storing",
    };
    let interval = ATTACK.as_millis() / 1_000 / READINGS;
    let text = format!(
        "duration = \"600 s\"\nrouting = \"rpl\"\n\
         [topology]\nkind = \"grid\"\ncolumns = {columns}\nrows = {rows}\nspacing = \"20 m\"\n\
         [medium]\nmodel = \"unit-disk\"\ntransmission_range = \"50 m\"\n\
         interference_range = \"50 m\"\ncarrier_sense_range = \"50 m\"\n\
         [radio]\nmodel = \"ideal\"\n\
         [mac]\nmax_frame_retries = 15\nmin_be = 2\n\
         [lowpan]\nslots = 8\n\
         [nodes.node-1]\nrole = \"border\"\n\
         [rpl]\nmode = \"{mode}\"\n\
         [apps.readings]\ntype = \"sensor\"\non = \"every other node\"\nto = \"node-1:5000\"\n\
         transport = \"udp\"\nreading = \"50 B\"\ninterval = \"{interval} s\"\n{security}"
    );
    let mut scenario =
        Scenario::parse("drill, grid", &text, &[]).expect("the generated scenario is valid");
    let at = |column: usize, row: usize| row * columns + column;
    let (column, row) = match place {
        Place::Border => (0, 0),
        Place::Middle => (columns / 2, rows / 2),
    };
    let border = scenario
        .border_router()
        .expect("the scenario has a border router");
    let attacker = at(column + 1, row);
    // The router is the attacked node if the attacker is in the middle.
    let router = match place {
        Place::Border => at(column + 1, row + 1),
        Place::Middle => at(column, row),
    };
    let leaf = at(column + 2, row + 2);
    for (index, name) in [
        (border, "border"),
        (router, "router"),
        (leaf, "leaf"),
        (attacker, ATTACKER),
    ] {
        scenario.nodes[index].name = name.to_owned();
    }
    scenario.nodes[attacker].attacker = true;
    let (target, attacked) = match place {
        Place::Border => (Target::Border, border),
        Place::Middle => (Target::Router, router),
    };
    Scene {
        scenario,
        target,
        attacked,
        attacker,
        sender: attacked,
        visits_after: Duration::ZERO,
    }
}

/// Results of a run, from the beginning of the attack on.
struct Delivered {
    per_node: Vec<u64>,
    sent_per_s: f64,
    /// Counters, summed over all nodes.
    counters: BTreeMap<String, u64>,
    /// Number of nodes whose parents do not lead to the border router at the end.
    astray: usize,
}

impl Delivered {
    fn all(&self) -> u64 {
        self.per_node.iter().sum()
    }

    /// Lists the counters that exceed those of `alone` (the run without an attack) by the most.
    fn causes(&self, alone: &Delivered) -> String {
        let of_alone = |name: &str| alone.counters.get(name).copied().unwrap_or(0);
        let more = self.counters.iter();
        let mut more: Vec<_> = more
            .map(|(name, count)| (count.saturating_sub(of_alone(name)), name))
            .filter(|(more, _)| *more > 0)
            .collect();
        more.sort_by(|one, other| other.cmp(one));
        let listed = more.iter().take(CAUSES);
        let listed: Vec<_> = listed
            .map(|(more, name)| format!("{name} +{more}"))
            .collect();
        format!(
            "{} nodes without a path to the border router at the end; {}",
            self.astray,
            listed.join(", ")
        )
    }
}

/// Returns sums of counters over all nodes, and the number of nodes without a path to the root.
fn counters(world: &mut World) -> (BTreeMap<String, u64>, usize) {
    let mut sums = BTreeMap::new();
    let mut astray = 0;
    for node in world.report().nodes {
        for (reason, count) in node.drops {
            *sums.entry(reason).or_default() += count;
        }
        *sums.entry("frames".to_owned()).or_default() += node.frames_sent;
        let Some(rpl) = node.rpl else { continue };
        astray += usize::from(rpl.hops.is_none());
        for (name, count) in [
            ("parent changes", u64::from(rpl.parent_changes)),
            ("local repairs", u64::from(rpl.local_repairs)),
            ("new DODAG versions", u64::from(rpl.global_repairs)),
            ("detected loops", u64::from(rpl.loops)),
            ("resets of Trickle", u64::from(rpl.trickle_resets)),
            ("DIOs", u64::from(rpl.sent.dio)),
            ("DISs", u64::from(rpl.sent.dis)),
            ("DAOs", u64::from(rpl.sent.dao)),
        ] {
            *sums.entry(name.to_owned()).or_default() += count;
        }
    }
    (sums, astray)
}

/// Runs `scene` with or without an attack, and returns the results.
fn play(scene: &Scene, attack: Option<&Attack>, seed: u64) -> Delivered {
    let mut world = World::new(&scene.scenario, seed).expect("the generated scenario is valid");
    world.tap_host();
    let end = BEGINS + ATTACK;
    let mut siege = attack.map(|attack| Siege::new(scene.clone(), attack, seed, &mut world));
    world.run_until(BEGINS);
    let before = delivered(&world);
    let (counted_before, _) = counters(&mut world);
    match &mut siege {
        Some(siege) => siege.attack_until(&mut world, end),
        None => world.run_until(end),
    }
    world.run_until(end + AFTERWARDS);
    let after = delivered(&world);
    let packets = siege.map_or(0, |siege| siege.air.packets);
    let sent = packets + world.attacker_counters(scene.attacker).sent;
    let report = world.report();
    assert_eq!(report.oracle.violations, Vec::<String>::new());
    let (mut counters, astray) = counters(&mut world);
    for (name, count) in &mut counters {
        *count -= counted_before.get(name).copied().unwrap_or(0);
    }
    Delivered {
        counters,
        astray,
        per_node: after.iter().zip(&before).map(|(a, b)| a - b).collect(),
        sent_per_s: sent as f64 * 1_000.0 / ATTACK.as_millis() as f64,
    }
}

fn delivered(world: &World) -> Vec<u64> {
    let figures = world.oracle().figures(world.now());
    let readings = figures.iter().filter_map(|flow| flow.readings.as_ref());
    readings.map(|readings| readings.delivered).collect()
}

fn is_of_rpl(attack: &&Attack) -> bool {
    matches!(attack.mesh(), Mesh::Rpl | Mesh::NonStoring)
}

/// Runs the attacks from both places. Prints a row for each run and returns the failed rows.
fn drill(size: Size, seeds: u64, attacks: &[&Attack], security: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for mesh in [Mesh::Rpl, Mesh::NonStoring] {
        let attacks: Vec<_> = attacks.iter().filter(|it| it.mesh() == mesh).collect();
        for place in Place::ALL.into_iter().filter(|_| !attacks.is_empty()) {
            let scene = scene(size, place, mesh, security);
            for seed in 1..=seeds {
                let alone = play(&scene, None, seed);
                let nodes = alone.per_node.len();
                println!(
                    "{mesh:?}, {}, seed {seed}: {} readings of {nodes} nodes arrive without an \
                     attack",
                    place.name(),
                    alone.all()
                );
                for attack in &attacks {
                    let beside = play(&scene, Some(attack), seed);
                    let share = beside.all() as f64 / alone.all().max(1) as f64;
                    let pairs = beside.per_node.iter().zip(&alone.per_node);
                    let cut_off = pairs.filter(|(with, without)| **with == 0 && **without > 0);
                    let row = format!(
                        "{:<20} {:<26} seed {seed}: attacker sends {:>5.1} frames/s, {:>5.1} % of \
                         the readings that arrive without the attack, none from {} nodes; {}",
                        attack.name,
                        place.name(),
                        beside.sent_per_s,
                        100.0 * share,
                        cut_off.count(),
                        beside.causes(&alone)
                    );
                    println!("{row}");
                    assert!(beside.sent_per_s > 0.0, "{row}");
                    if share < KEEPS {
                        failures.push(row);
                    }
                }
            }
        }
    }
    failures
}

fn size(text: &str) -> Option<Size> {
    let (columns, rows) = text.split_once('x')?;
    let (columns, rows) = (columns.parse().ok()?, rows.parse().ok()?);
    (columns >= 6 && rows >= 6).then_some(Size { columns, rows })
}

/// Runs one attack on each RPL mode in a small grid, or all attacks with `REDPOLL_GRID`.
#[test]
fn a_grid_keeps_its_readings_during_attacks_on_rpl() {
    let grid = std::env::var("REDPOLL_GRID").ok();
    let seeds = std::env::var("REDPOLL_SEEDS").ok();
    let only = std::env::var("REDPOLL_ATTACKS").unwrap_or_default();
    let is_wanted = |attack: &&Attack| match (&grid, attack.kind) {
        (Some(_), _) => only.is_empty() || only.split(',').any(|name| name == attack.name),
        (None, AttackKind::RplDaos | AttackKind::NonStoringDios) => true,
        (None, _) => false,
    };
    let attacks = ATTACKS.iter().filter(is_of_rpl).filter(is_wanted);
    let attacks: Vec<_> = attacks.collect();
    assert!(
        !attacks.is_empty(),
        "REDPOLL_ATTACKS={only}: no attack on RPL has this name; `redpoll drill --list` lists the \
         names"
    );
    let text = grid.as_deref().unwrap_or("8x6");
    let size = size(text).expect("REDPOLL_GRID: allowed: COLUMNSxROWS, at least 6x6");
    let seeds = seeds.and_then(|seeds| seeds.parse().ok()).unwrap_or(1);
    let security = match std::env::var_os("REDPOLL_SEALED") {
        Some(_) => SECURITY,
        None => "",
    };
    let failures = drill(size, seeds, &attacks, security);
    assert_eq!(failures, Vec::<String>::new());
}
