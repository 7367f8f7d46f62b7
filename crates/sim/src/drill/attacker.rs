//! The attacker: generates the traffic of its attack, and replies where the attack needs it.
//!
//! - `outside.rs`: attacks from a host beyond the border router;
//! - `held.rs`: the connections that these attacks keep open;
//! - `flow.rs`: forged messages about the honest flow;
//! - `air.rs`: attacks over the air.

mod air;
mod flow;
mod held;
mod outside;

use std::collections::VecDeque;
use std::rc::Rc;

use redpoll_base::{Addr, Rng};
use redpoll_tcp::Endpoint;

use super::attack::{Attack, AttackKind};
use super::scene::Scene;
use crate::world::World;
use air::AirListener;
use held::AttackerConnection;

#[derive(Clone, Debug)]
pub(super) enum Transmission {
    Frame(Vec<u8>),
    /// A packet of a host beyond the border router.
    Packet(Vec<u8>),
}

pub(super) struct Attacker {
    scene: Rc<Scene>,
    kind: AttackKind,
    rng: Rng,
    count: u32,
    held: VecDeque<AttackerConnection>,
    ear: AirListener,
    /// Endpoints of the honest flow, that of the attacked node first.
    honest: Option<(Endpoint, Endpoint)>,
    /// Bytes that the attacker sent to the mesh, and bytes that it received from the mesh.
    pub(super) traffic: (u64, u64),
}

impl Attacker {
    /// Returns an attacker. It receives all frames on the air if `attack` replays frames.
    pub(super) fn new(scene: Rc<Scene>, attack: &Attack, seed: u64, world: &mut World) -> Attacker {
        let ear = AirListener::default();
        if matches!(attack.kind, AttackKind::Replays | AttackKind::SealedReplays) {
            world.add_trace(Box::new(ear.clone()));
        }
        Attacker {
            scene,
            kind: attack.kind,
            rng: Rng::named(seed, "drill"),
            count: 0,
            held: VecDeque::new(),
            ear,
            honest: None,
            traffic: (0, 0),
        }
    }

    pub(super) fn fire(&mut self, world: &World) -> Option<Transmission> {
        self.count += 1;
        if self.honest.is_none() {
            self.honest = world
                .node(self.scene.sender)
                .and_then(|node| self.ends_of(node));
        }
        let shot = match self.kind {
            AttackKind::SynFlood
            | AttackKind::SilentHandshakes
            | AttackKind::Slowloris
            | AttackKind::SlowReaders
            | AttackKind::AddressScan
            | AttackKind::CoapAmplification
            | AttackKind::UnfinishedUploads
            | AttackKind::EchoFlood
            | AttackKind::ClosedPorts
            | AttackKind::OutsideRoutes
            | AttackKind::OutsideTunnels
            | AttackKind::TrickleReaders => self.outside_shot(),
            AttackKind::ForgedResets | AttackKind::ForgedAcks | AttackKind::ForgedIcmp => {
                let (mine, theirs) = self.honest?;
                Transmission::Packet(self.about_the_flow(mine, theirs))
            }
            _ => self.air_shot()?,
        };
        if let Transmission::Packet(packet) = &shot {
            self.traffic.0 += packet.len() as u64;
        }
        Some(shot)
    }

    /// Returns an unused address beyond the border router.
    fn stranger(&mut self) -> Addr {
        let mut address = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        address[8..].copy_from_slice(&self.rng.next_u64().to_be_bytes());
        Addr(address)
    }

    fn attacked(&self) -> Addr {
        self.scene.address(self.scene.attacked)
    }

    fn port(&mut self) -> u16 {
        1_024 + self.rng.below(60_000) as u16
    }

    fn named(&self, name: &str) -> Addr {
        let mut places = self.scene.scenario.places();
        let found = places.position(|place| place.name == name);
        self.scene.address(found.unwrap_or(self.scene.attacked))
    }
}
