//! One run: a mesh with an honest flow, with or without an attacker, until all is
//! quiet again.

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::{Duration, Instant};
use redpoll_stack::Tables;
use redpoll_stack::transport::Endpoint;

use super::attack::{Attack, Side};
use super::foe::{Foe, Shot};
use super::scene::{Scene, WEB};
use super::visitor::{Visitor, Visits};
use crate::radio::State;
use crate::world::World;

/// The attack begins when the flow has found its pace.
const BEGINS: Instant = Instant::from_millis(10_000);
/// Answers reach an attacker beyond the border router so often.
const STEP: Duration = Duration::from_millis(20);
/// Behind the attack the flow goes on for so long, then ends.
const AFTERWARDS: Duration = Duration::from_secs(20);
/// Without an attack all is quiet so long after the flow's end.
const QUIET: Duration = Duration::from_secs(600);
/// With one it has to be after this: the longest that a registration is believed, and
/// an hour.
const AT_LAST: Duration = Duration::from_secs(25 * 3_600);

/// What a node's tables hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remains {
    /// The node.
    pub node: String,
    /// Its tables.
    pub tables: Tables,
}

/// How a run went.
#[derive(Clone, Debug)]
pub(super) struct Course {
    /// Bytes of the honest flow that arrived during the attack.
    pub(super) bytes: u64,
    /// New connections of an honest client.
    pub(super) visits: Visits,
    /// Packets and frames that left the attacker.
    pub(super) sent: u64,
    /// Seconds for which the attacker's frames were on the air.
    pub(super) air_s: f64,
    /// Bytes of packets to the mesh, and from it.
    pub(super) traffic: (u64, u64),
    /// What is in all tables at the end.
    pub(super) remains: Vec<Remains>,
    /// Seconds until they were as they are without an attack.
    pub(super) rest_s: Option<u64>,
    /// What differs at the end, and what the oracle has found.
    pub(super) left: Vec<String>,
}

/// Plays the scene for `duration`, beside an attacker if there is one; then the course
/// without one is known.
pub(super) fn play(
    scene: &Scene,
    attack: Option<(&Attack, &Course)>,
    seed: u64,
    duration: Duration,
) -> Course {
    let mut world = World::new(&scene.scenario, seed).expect("the scenes are well formed");
    world.put_attacker(scene.foe);
    world.tap_host();
    let end = BEGINS + duration;
    let visits = Rc::new(RefCell::new(Visits::default()));
    let server = Endpoint {
        addr: scene.address(scene.attacked),
        port: WEB,
    };
    let visitor = Visitor::new(server, (BEGINS, end), visits.clone());
    world.add_app(scene.visitor(), Box::new(visitor));
    let mut foe = attack.map(|(attack, _)| Foe::new(scene, attack, seed, &mut world));
    world.run_until(BEGINS);
    let before = delivered(&world);
    let mut air = Air::default();
    match (&mut foe, attack) {
        (Some(foe), Some((attack, _))) => assail(&mut world, scene, (foe, attack), end, &mut air),
        _ => world.run_until(end),
    }
    let bytes = delivered(&world) - before;
    let flight = world.air().stations()[scene.foe]
        .times
        .in_state(end, State::Transmit);
    let radio = world.attacker_counters(scene.foe);
    air.us += flight.as_micros() + radio.acknowledged * ACK_US;
    world.run_until(end + AFTERWARDS);
    world.stop_apps(scene.sender);
    let mut course = Course {
        bytes,
        visits: *visits.borrow(),
        sent: air.packets + radio.sent,
        air_s: air.us as f64 / 1e6,
        traffic: foe.map_or((0, 0), |foe| foe.traffic),
        remains: Vec::new(),
        rest_s: Some(0),
        left: Vec::new(),
    };
    match attack {
        Some((_, alone)) => come_to_rest(&mut world, &alone.remains, &mut course),
        None => {
            let until = world.now() + QUIET;
            world.run_until(until);
            course.remains = remains(&world);
        }
    }
    let report = world.report();
    course.left.extend(report.oracle.violations);
    course
}

/// An attacker's packets, and the air that carries them.
#[derive(Clone, Copy, Default, Debug)]
struct Air {
    packets: u64,
    us: u64,
}

/// Turnaround and Imm-ACK (IEEE 802.15.4-2015, O-QPSK at 2.4 GHz).
const ACK_US: u64 = 192 + 352;
/// A byte on that air.
const BYTE_US: u64 = 32;
/// Bytes in front of a frame's header: preamble, start of frame, length.
const PHY: u64 = 6;
/// Header and check sequence of a frame between short addresses.
const MAC: u64 = 11;
/// Bytes of a fragment that a frame carries.
const FRAGMENT: u64 = 96;
/// What a packet from outside the mesh has for its IPv6 header: of 40 bytes the source
/// and about ten others stay.
const HEADER: u64 = 26;

impl Air {
    /// A packet of `len` bytes goes over so many hops, each frame of it once.
    fn carry(&mut self, len: usize, hops: u64) {
        self.packets += 1;
        let bytes = (len as u64).saturating_sub(40) + HEADER;
        let frames = bytes.div_ceil(FRAGMENT);
        let overhead = (PHY + MAC + 5) * BYTE_US + ACK_US;
        self.us += hops * (bytes * BYTE_US + frames * overhead);
    }
}

fn delivered(world: &World) -> u64 {
    let figures = world.oracle().figures(world.now());
    let honest = figures.iter().filter(|flow| flow.name == "honest");
    honest.map(|flow| flow.delivered_bytes).sum()
}

/// Lets the attacker work until `end`.
fn assail(
    world: &mut World,
    scene: &Scene,
    (foe, attack): (&mut Foe<'_>, &Attack),
    end: Instant,
    air: &mut Air,
) {
    let each = Duration::from_micros(1_000_000 / u64::from(attack.per_s.max(1)));
    let mut next = world.now() + each;
    while world.now() < end {
        let until = (world.now() + STEP).min(next).min(end);
        world.run_until(until);
        let mut shots = Vec::new();
        while let Some(packet) = world.host_output() {
            shots.extend(foe.hear(&packet));
        }
        if world.now() >= next {
            next += each;
            shots.extend(foe.fire(world));
        }
        for shot in shots {
            match shot {
                Shot::Frame(frame) => world.inject(scene.foe, &frame),
                Shot::Packet(packet) => {
                    let is_lost = attack.side == Side::Host && is_for_nobody(scene, &packet);
                    air.carry(packet.len(), if is_lost { 0 } else { scene.target.hops() });
                    world.host_input(&packet);
                }
            }
        }
    }
}

/// Whether a packet is for an address that no node has.
fn is_for_nobody(scene: &Scene, packet: &[u8]) -> bool {
    let nodes = 0..scene.scenario.nodes.len();
    let mut addresses = nodes.map(|index| scene.address(index));
    !addresses.any(|address| packet.get(24..40) == Some(&address.0[..]))
}

fn remains(world: &World) -> Vec<Remains> {
    let places = world.scenario().places().enumerate();
    let tables = places.filter_map(|(index, place)| {
        Some(Remains {
            node: place.name.clone(),
            tables: world.node(index)?.tables(world.now()),
        })
    });
    tables.collect()
}

/// Waits until all tables are as `expected`, and notes how long that took.
fn come_to_rest(world: &mut World, expected: &[Remains], course: &mut Course) {
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
