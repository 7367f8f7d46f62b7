//! The attacks on the web server of the firmware's leaf, `redpoll-leaf`, which has one connection.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use redpoll_base::{Duration, Instant};
use redpoll_leaf::{Device, ECHO_PORT, Services, Status, Storage};
use redpoll_stack::mac::Radio;
use redpoll_stack::transport::{Endpoint, Event};
use redpoll_stack::{ConnId, NodeEvent, Tables};
use redpoll_uart::{LineRadio, Port};

use super::KEEPS;
use super::attack::{ATTACKS, Attack};
use super::play::{self, BEGINS, RunResult};
use super::reasons;
use super::scene::{Mesh, Scene, Target};
use crate::external::{Arrival, Line};
use crate::traffic::{App, Context as Cx};
use crate::world::{World, WorldOptions};

const ATTACK: Duration = Duration::from_secs(120);
/// Time at which the honest client of [`Clients::Open`] connects.
const OPENS: Instant = Instant::from_millis(5_000);

/// The leaf's end of the byte stream between the leaf and the simulator.
#[derive(Default)]
struct Wire {
    comes: VecDeque<u8>,
    said: Vec<u8>,
}

impl Port for Wire {
    fn read(&mut self) -> Option<u8> {
        self.comes.pop_front()
    }

    fn write(&mut self, byte: u8) {
        self.said.push(byte);
    }

    fn restart(&mut self) {
        panic!("the leaf is started once");
    }
}

/// The program of the firmware's leaf.
struct Firmware {
    radio: LineRadio<Wire>,
    leaf: Option<(Device, Services)>,
    is_connected: bool,
}

impl Default for Firmware {
    fn default() -> Self {
        Firmware {
            radio: LineRadio::new(Wire::default()),
            leaf: None,
            is_connected: false,
        }
    }
}

/// The simulator's end of the byte stream between the leaf and the simulator.
struct End(Arc<Mutex<Firmware>>);

impl Firmware {
    fn input(&mut self, bytes: &[u8]) {
        self.radio.port_mut().comes.extend(bytes);
        if self.leaf.is_none() {
            let Some(begin) = self.radio.poll_begin() else {
                return;
            };
            let storage = Box::leak(Box::new(Storage::NEW));
            let mut node = redpoll_leaf::node(&begin, storage.memory());
            let services = Services::start(&mut node, &begin);
            self.leaf = Some((node, services));
        }
        let (node, services) = self.leaf.as_mut().expect("the node has begun");
        let mut cx = Context::from_waker(Waker::noop());
        while (node.drive(&mut self.radio, &mut cx, services.wakes_at())).is_ready() {
            services.serve(self.radio.now(), node, Status::default());
        }
    }
}

impl Line for End {
    fn send(&mut self, bytes: &[u8]) {
        self.0.lock().unwrap().input(bytes);
    }

    fn receive(&mut self, _: std::time::Duration, bytes: &mut Vec<u8>) -> Arrival {
        let mut firmware = self.0.lock().unwrap();
        if !std::mem::replace(&mut firmware.is_connected, true) {
            return Arrival::Peer;
        }
        bytes.append(&mut firmware.radio.port_mut().said);
        match bytes.is_empty() {
            true => Arrival::Nothing,
            false => Arrival::Bytes,
        }
    }
}

/// Returns the scene of an attack on a leaf that runs the firmware's program.
fn scene() -> Scene {
    let mut scene = Scene::new(Target::Leaf, Mesh::Plain).expect("the generated scenario is valid");
    let leaf = &mut scene.scenario.nodes[scene.attacked];
    leaf.line = Some("memory".to_owned());
    leaf.apps.clear();
    // The leaf has no sink for the drill's honest flow.
    for place in scene.scenario.places_mut() {
        place.apps.retain(|app| app.name != "honest");
    }
    scene
}

fn world(scene: &Scene, seed: u64) -> (World, Arc<Mutex<Firmware>>) {
    let firmware = Arc::new(Mutex::new(Firmware::default()));
    let options = WorldOptions {
        seed: Some(seed),
        lines: Some(&|_, _| Ok(Box::new(End(firmware.clone())))),
        ..WorldOptions::default()
    };
    let world = World::with(scene.scenario.clone(), options);
    (world.expect("the generated scenario is valid"), firmware)
}

/// An honest client whose one connection is open before the attack begins. It sends data to the
/// echo service and counts the echoed bytes that arrive during the attack.
struct Echoed {
    server: Endpoint,
    conn: Option<ConnId>,
    has_begun: bool,
    bytes: Rc<Cell<u64>>,
}

impl Echoed {
    fn pump(&mut self, cx: &mut Cx<'_>) {
        let Some(conn) = self.conn else { return };
        while matches!(cx.node.tcp_send(cx.now, conn, &[b'x'; 128]), Ok(1..)) {}
        let mut chunk = [0; 256];
        while let Ok(len @ 1..) = cx.node.tcp_recv(cx.now, conn, &mut chunk) {
            if (BEGINS..BEGINS + ATTACK).contains(&cx.now) {
                self.bytes.set(self.bytes.get() + len as u64);
            }
        }
    }
}

impl App for Echoed {
    fn start(&mut self, _: &mut Cx<'_>) {}

    fn on_event(&mut self, cx: &mut Cx<'_>, event: &NodeEvent) {
        match event {
            NodeEvent::Tcp(id, Event::Failed(_) | Event::Closed) if Some(*id) == self.conn => {
                cx.node.tcp_release(cx.now, *id);
                self.conn = None;
            }
            NodeEvent::Tcp(id, _) if Some(*id) == self.conn => self.pump(cx),
            _ => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_>) {
        if !self.has_begun && cx.now >= OPENS {
            self.has_begun = true;
            self.conn = cx.node.tcp_connect(cx.now, self.server).ok();
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        (!self.has_begun).then_some(OPENS)
    }
}

/// An honest client's traffic to the leaf.
#[derive(Clone, Copy, PartialEq)]
enum Clients {
    /// New connections, one every 5 s. In each seed they begin at another time relative to the
    /// attack's packets, which are periodic too.
    New,
    /// The client keeps one connection to the echo service open during the attack.
    Open,
}

/// Plays `attack` with `seed`. Returns the result, and the answered requests or echoed bytes.
fn run(clients: Clients, seed: u64, attack: Option<(&Attack, &RunResult)>) -> (RunResult, u64) {
    let mut scene = scene();
    scene.visits_after = match clients {
        Clients::New => Duration::from_millis((seed - 1) * 200),
        Clients::Open => ATTACK,
    };
    let (mut world, firmware) = world(&scene, seed);
    let bytes = Rc::new(Cell::new(0));
    if clients == Clients::Open {
        let client = Echoed {
            server: Endpoint {
                addr: scene.address(scene.attacked),
                port: ECHO_PORT,
            },
            conn: None,
            has_begun: false,
            bytes: bytes.clone(),
        };
        world.add_app(scene.visitor(), Box::new(client));
    }
    let result = play::play_in(&mut world, &scene, attack, seed, ATTACK);
    // The leaf may wait for its last client for a minute, and then for TIME-WAIT.
    world.run_until(world.now() + Duration::from_secs(120));
    let name = attack.map_or("no attack", |(attack, _)| attack.name);
    assert_eq!(result.left, [""; 0], "{name}, seed {seed}");
    let firmware = firmware.lock().unwrap();
    let (node, _) = firmware.leaf.as_ref().expect("the leaf has started");
    let tables = node.tables(firmware.radio.now());
    assert_eq!(tables, Tables::default(), "{name}, seed {seed}");
    let served = match clients {
        Clients::New => result.visits.done,
        Clients::Open => bytes.get(),
    };
    (result, served)
}

/// Runs every attack on a leaf, and checks that `clients` keep their share.
fn each_attack_leaves_a_share_to(clients: Clients, seeds: u64) {
    let alone: Vec<_> = (1..=seeds).map(|seed| run(clients, seed, None)).collect();
    let sum: u64 = alone.iter().map(|(_, served)| served).sum();
    assert!(sum > 0);
    let mut bad = Vec::new();
    let on_leaf = |it: &&Attack| it.mesh() == Mesh::Plain && it.targets.contains(&Target::Leaf);
    for attack in ATTACKS.iter().filter(on_leaf) {
        let runs = (1..=seeds).zip(&alone);
        let beside: u64 = runs
            .map(|(seed, (alone, _))| run(clients, seed, Some((attack, alone))).1)
            .sum();
        let share = beside as f64 / sum as f64;
        let unit = if clients == Clients::New {
            "visits"
        } else {
            "bytes"
        };
        println!(
            "{:<20} {unit} served: {beside} with the attack, {sum} without it: {:.1} %",
            attack.name,
            share * 100.0
        );
        // The documented reasons for a smaller share concern the lack of air time. A new connection
        // needs little air time, so no reason applies to `Clients::New`.
        let is_explained =
            clients == Clients::Open && reasons::reason(attack.name, Target::Leaf).is_some();
        if share < KEEPS && !is_explained {
            bad.push((attack.name, share));
        }
    }
    assert_eq!(bad, []);
}

#[test]
fn a_leaf_with_one_connection_serves_new_clients_beside_each_attack() {
    each_attack_leaves_a_share_to(Clients::New, 5);
}

#[test]
fn a_leaf_with_one_connection_keeps_an_open_one_beside_each_attack() {
    each_attack_leaves_a_share_to(Clients::Open, 3);
}

/// Runs, at twice its rate, each attack that opens connections, and checks that the leaf still
/// serves new clients. Also prints the number of served clients at higher rates, at which slow
/// clients occupy the leaf's only connection most of the time.
#[test]
fn a_leaf_with_one_connection_serves_new_clients_beside_two_slow_ones_a_second() {
    let begun: u64 = (1..=3).map(|seed| run(Clients::New, seed, None).1).sum();
    for name in ["slow-readers", "silent-handshakes", "syn-flood"] {
        let attack = ATTACKS.iter().find(|it| it.name == name);
        let attack = attack.expect("the drill has this attack");
        for factor in [2, 3, 4, 6] {
            let attack = Attack {
                per_s: attack.per_s * factor,
                ..*attack
            };
            let runs = (1..=3).map(|seed| {
                let (alone, _) = run(Clients::New, seed, None);
                run(Clients::New, seed, Some((&attack, &alone))).1
            });
            let beside: u64 = runs.sum();
            println!(
                "{name:<20} at {}/s: visits served: {beside} with the attack, {begun} without it",
                attack.per_s
            );
            let share = beside as f64 / begun as f64;
            assert!(factor > 2 || share >= KEEPS, "{name}: {share}");
        }
    }
}
