//! An attack on a running world: sends packets or frames at the configured rate, and replies.

use std::rc::Rc;

use redpoll_base::{Duration, Instant};

use super::attack::{ATTACKS, Attack, Side};
use super::attacker::{Attacker, Transmission};
use super::scene::Scene;
use crate::world::{Driver, World};

/// Interval at which an attacker beyond the border router handles replies of the mesh.
const STEP: Duration = Duration::from_millis(20);

pub(crate) struct Siege {
    scene: Rc<Scene>,
    attack: Attack,
    attacker: Attacker,
    /// Time of the next packet or frame; `None` until the attack begins.
    next: Option<Instant>,
    pub(super) air: Air,
}

impl Siege {
    pub(super) fn new(scene: Scene, attack: &Attack, seed: u64, world: &mut World) -> Siege {
        let scene = Rc::new(scene);
        Siege {
            attacker: Attacker::new(scene.clone(), attack, seed, world),
            scene,
            attack: *attack,
            next: None,
            air: Air::default(),
        }
    }

    /// Returns an attack on `node`, from beyond the border router or from the first attacker's radio.
    /// `None` if no attack has this name, or if the attack does not fit the world's scenario.
    pub(crate) fn on(world: &mut World, name: &str, node: usize) -> Option<Siege> {
        let mut attacks = ATTACKS.iter();
        let attack = attacks.find(|it| it.name == name && it.fits(world.scenario()))?;
        let scene = Scene::around(world, node);
        let seed = scene.scenario.seed;
        world.tap_host();
        Some(Siege::new(scene, attack, seed, world))
    }

    /// Returns how many bytes were sent to the mesh, and how many were received from it.
    pub(super) fn traffic(&self) -> (u64, u64) {
        self.attacker.traffic
    }

    /// Runs the world until `end`, and attacks the world meanwhile.
    pub(super) fn attack_until(&mut self, world: &mut World, end: Instant) {
        let each = Duration::from_micros(1_000_000 / u64::from(self.attack.per_s.max(1)));
        let mut next = self.next.unwrap_or(world.now() + each);
        while world.now() < end {
            let until = (world.now() + STEP).min(next).min(end);
            world.run_until(until);
            let mut shots = Vec::new();
            while let Some(packet) = world.host_output() {
                shots.extend(self.attacker.hear(&packet));
            }
            if world.now() >= next {
                next += each;
                shots.extend(self.attacker.fire(world));
            }
            for shot in shots {
                self.shoot(world, &shot);
            }
        }
        self.next = Some(next);
    }

    fn shoot(&mut self, world: &mut World, shot: &Transmission) {
        let scene = &self.scene;
        match shot {
            Transmission::Frame(frame) => world.inject(scene.attacker, frame),
            Transmission::Packet(packet) => {
                let is_lost = self.attack.side == Side::Host && is_for_nobody(scene, packet);
                let hops = if is_lost { 0 } else { scene.target.hops() };
                self.air.carry(packet.len(), hops);
                world.host_input(packet);
            }
        }
    }
}

impl Driver for Siege {
    fn run(&mut self, world: &mut World, until: Instant) {
        self.attack_until(world, until);
    }
}

fn is_for_nobody(scene: &Scene, packet: &[u8]) -> bool {
    let nodes = 0..scene.scenario.nodes.len();
    let mut addresses = nodes.map(|index| scene.address(index));
    !addresses.any(|address| packet.get(24..40) == Some(&address.0[..]))
}

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Air {
    pub(super) packets: u64,
    pub(super) us: u64,
}

/// Duration of turnaround and Imm-ACK in µs (IEEE 802.15.4-2015, O-QPSK at 2.4 GHz).
pub(super) const ACK_US: u64 = 192 + 352;
/// Air time of a byte, in µs.
const BYTE_US: u64 = 32;
/// Bytes before the MAC header: preamble, start of frame delimiter, and length.
const PHY: u64 = 6;
/// Bytes of the MAC header and FCS of a frame between short addresses.
const MAC: u64 = 11;
const FRAGMENT: u64 = 96;
/// Bytes of a compressed IPv6 header with a source outside the mesh: the 16 bytes of the source
/// address, and about ten bytes for the other 24.
const HEADER: u64 = 26;

impl Air {
    /// Adds the air time of a packet of `len` bytes over `hops` hops without retransmissions.
    fn carry(&mut self, len: usize, hops: u64) {
        self.packets += 1;
        let bytes = (len as u64).saturating_sub(40) + HEADER;
        let frames = bytes.div_ceil(FRAGMENT);
        let overhead = (PHY + MAC + 5) * BYTE_US + ACK_US;
        self.us += hops * (bytes * BYTE_US + frames * overhead);
    }
}
