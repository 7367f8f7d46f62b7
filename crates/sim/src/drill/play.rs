//! A run: a mesh with an honest flow, with or without an attacker, until the mesh is at rest.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::{Duration, Instant};
use redpoll_stack::Tables;
use redpoll_stack::transport::Endpoint;

use super::attack::Attack;
use super::scene::{Scene, WEB};
use super::siege::{ACK_US, Siege};
use super::visitor::{Visitor, Visits};
use crate::radio::State;
use crate::world::World;

/// Beginning of the attack, when the flow has reached its rate.
pub(super) const BEGINS: Instant = Instant::from_millis(10_000);
/// Time for which the flow continues after the attack.
const AFTERWARDS: Duration = Duration::from_secs(20);
/// Time from the end of the flow until a mesh without an attack is at rest.
const QUIET: Duration = Duration::from_secs(600);
/// Time in which an attacked mesh must come to rest: longest lifetime of a registration plus 1 h.
const AT_LAST: Duration = Duration::from_secs(25 * 3_600);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeTables {
    pub node: String,
    pub tables: Tables,
}

#[derive(Clone, Debug)]
pub(super) struct RunResult {
    /// Bytes of the honest flow that arrived during the attack.
    pub(super) bytes: u64,
    /// New connections of the honest client.
    pub(super) visits: Visits,
    /// Packets and frames that left the attacker.
    pub(super) sent: u64,
    /// Air time of the attack's packets and frames and of their acknowledgements, in seconds.
    pub(super) air_s: f64,
    /// Bytes that the attacker sent to the mesh, and bytes that it received from the mesh.
    pub(super) traffic: (u64, u64),
    pub(super) remains: Vec<NodeTables>,
    /// Seconds from the end of the flow until all tables had the state that they have without an
    /// attack.
    pub(super) rest_s: Option<u64>,
    /// Tables that differ at the end from a run without attack, and the oracle's violations.
    pub(super) left: Vec<String>,
}

/// Runs the scene for `duration`. `attack` includes the result of a run without an attack.
pub(super) fn play(
    scene: &Scene,
    attack: Option<(&Attack, &RunResult)>,
    seed: u64,
    duration: Duration,
) -> RunResult {
    let mut world = World::new(&scene.scenario, seed).expect("the generated scenario is valid");
    play_in(&mut world, scene, attack, seed, duration)
}

/// Works like [`play`], in the world of the scene, to which apps may have been added.
pub(super) fn play_in(
    world: &mut World,
    scene: &Scene,
    attack: Option<(&Attack, &RunResult)>,
    seed: u64,
    duration: Duration,
) -> RunResult {
    world.tap_host();
    let end = BEGINS + duration;
    let visits = Rc::new(RefCell::new(Visits::default()));
    let server = Endpoint {
        addr: scene.address(scene.attacked),
        port: WEB,
    };
    let visitor = Visitor::new(server, (BEGINS + scene.visits_after, end), visits.clone());
    world.add_app(scene.visitor(), Box::new(visitor));
    let mut siege = attack.map(|(attack, _)| Siege::new(scene.clone(), attack, seed, world));
    world.run_until(BEGINS);
    let before = delivered(world);
    match &mut siege {
        Some(siege) => siege.attack_until(world, end),
        None => world.run_until(end),
    }
    let (mut air, traffic) =
        siege.map_or_else(Default::default, |siege| (siege.air, siege.traffic()));
    let bytes = delivered(world) - before;
    let flight = world.air().stations()[scene.attacker]
        .times
        .in_state(end, State::Transmit);
    let radio = world.attacker_counters(scene.attacker);
    air.us += flight.as_micros() + radio.acknowledged * ACK_US;
    world.run_until(end + AFTERWARDS);
    world.stop_apps(scene.sender);
    let mut course = RunResult {
        bytes,
        visits: *visits.borrow(),
        sent: air.packets + radio.sent,
        air_s: air.us as f64 / 1e6,
        traffic,
        remains: Vec::new(),
        rest_s: Some(0),
        left: Vec::new(),
    };
    match attack {
        Some((_, alone)) => come_to_rest(world, &alone.remains, &mut course),
        None => {
            let until = world.now() + QUIET;
            world.run_until(until);
            course.remains = remains(world);
        }
    }
    let report = world.report();
    course.left.extend(report.oracle.violations);
    course
}

fn delivered(world: &World) -> u64 {
    let figures = world.oracle().figures(world.now());
    let honest = figures.iter().filter(|flow| flow.name == "honest");
    honest.map(|flow| flow.delivered_bytes).sum()
}

fn remains(world: &World) -> Vec<NodeTables> {
    let places = world.scenario().places().enumerate();
    let tables = places.filter_map(|(index, place)| {
        Some(NodeTables {
            node: place.name.clone(),
            tables: world.node(index)?.tables(world.now()),
        })
    });
    tables.collect()
}

/// Runs until all tables are as `expected`, for at most [`AT_LAST`]. Records the time.
fn come_to_rest(world: &mut World, expected: &[NodeTables], course: &mut RunResult) {
    let began = world.now();
    loop {
        let waited = world.now().since(began);
        while world.host_output().is_some() {}
        course.remains = remains(world);
        if course.remains == expected {
            course.rest_s = Some(waited.as_millis() / 1_000);
            return;
        }
        if waited >= AT_LAST {
            break;
        }
        let step = if waited < QUIET { 1 } else { 20 };
        world.run_until(world.now() + Duration::from_secs(step));
    }
    course.rest_s = None;
    for (have, expected) in course.remains.iter().zip(expected) {
        if have != expected {
            let (tables, node) = (have.tables, &have.node);
            course.left.push(format!("{node}: {tables:?}"));
        }
    }
}
