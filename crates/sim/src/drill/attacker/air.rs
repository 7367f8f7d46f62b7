//! Attacks over the air: forged frames of a node within radio range of the mesh.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use redpoll_base::Addr;
use redpoll_wire::ipv6::addr;

use super::{Attacker, Transmission};
use crate::drill::attack::AttackKind;
use crate::drill::forge::{Claim, Ends};
use crate::drill::rpl::Forger;
use crate::drill::scene::Target;
use crate::scenario::global_address;
use crate::trace::{FrameTrace, TraceError, TracedFrame};

/// Number of received frames that the attacker keeps for replays.
const HEARD: usize = 32;

#[derive(Clone, Default)]
pub(super) struct AirListener(Rc<RefCell<VecDeque<Vec<u8>>>>);

impl FrameTrace for AirListener {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        let mut heard = self.0.borrow_mut();
        if heard.len() == HEARD {
            heard.pop_front();
        }
        heard.push_back(frame.mpdu.to_vec());
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

impl Attacker {
    pub(super) fn air_shot(&mut self) -> Option<Transmission> {
        let (scene, count) = (Rc::clone(&self.scene), self.count);
        let forger = |claim| Forger {
            scene: &scene,
            count,
            claim,
        };
        let nobody = self.nobody();
        let claim = self.claim(nobody);
        let prefix = self.scene.scenario.border.prefix;
        let ends = Ends {
            src: global_address(&prefix, nobody),
            dst: self.attacked(),
        };
        Some(Transmission::Frame(match self.kind {
            AttackKind::GarbageFrames => {
                let garbage: Vec<u8> = (0..self.rng.below(100))
                    .map(|_| self.rng.next_u32() as u8)
                    .collect();
                claim.data(&garbage)
            }
            AttackKind::DataRequests => {
                let nodes = self.scene.scenario.nodes.len() as u32;
                let src = match self.count % 2 {
                    0 => self.scene.short(self.rng.below(nodes) as usize),
                    _ => nobody,
                };
                let to = claim.dst;
                let src = if src == to { nobody } else { src };
                Claim { src, ..claim }.data_request()
            }
            AttackKind::FirstFragments => {
                claim.first_fragment(&self.beginning(ends), 1_200, self.count as u16)
            }
            AttackKind::RecoverableFirsts => {
                claim.recoverable_first(&self.beginning(ends), 1_201, self.count as u8)
            }
            AttackKind::Registrations => self.registration(claim, nobody),
            AttackKind::Reports => self.report(claim, nobody),
            AttackKind::Replays | AttackKind::SealedReplays => self.replay()?,
            AttackKind::RplDios | AttackKind::NonStoringDios => forger(claim).dio(),
            AttackKind::RplSolicitations => forger(claim).solicitation(),
            AttackKind::RplDaos => forger(claim).dao(&mut self.rng),
            AttackKind::RplSourceRoutes | AttackKind::NonStoringRoutes => {
                forger(claim).source_route()
            }
            AttackKind::NonStoringDaos => forger(claim).root_dao(&mut self.rng),
            AttackKind::NonStoringParents => forger(claim).false_parent(),
            AttackKind::NonStoringHosts => forger(claim).false_hosts(&mut self.rng),
            AttackKind::NonStoringTable => forger(claim).endless_child(&mut self.rng),
            AttackKind::RplForgedDao => forger(claim).forged_dao(self.named("leaf")),
            AttackKind::RplFullTable => {
                let one = 0x0900 + (self.count % 15) as u16;
                let target = global_address(&prefix, 0x4000 + one);
                forger(Claim { src: one, ..claim }).forged_dao(target)
            }
            AttackKind::SpoofedSources => {
                let host = self.named("host");
                let src = match self.count % 4 {
                    0 => host,
                    1 => self.stranger(),
                    2 => Addr([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1]),
                    _ => self.named("leaf"),
                };
                claim.packet(&Ends { src, dst: host }.udp((7, 7), &[b'x'; 16]))
            }
            AttackKind::AirEchoFlood | AttackKind::SealedEchoFlood => {
                claim.packet(&ends.echo_request(self.count as u16, &[b'x'; 24]))
            }
            _ => {
                let (mine, theirs) = self.honest?;
                let packet = self.about_the_flow(mine, theirs);
                let router = self.scene.scenario.node("router")?;
                let src = self.scene.short(router);
                Claim { src, ..claim }.packet(&packet)
            }
        }))
    }

    /// Returns an unused short address.
    fn nobody(&mut self) -> u16 {
        0x0100 + self.rng.below(0x7000) as u16
    }

    fn claim(&mut self, src: u16) -> Claim {
        Claim {
            pan_id: self.scene.scenario.mac.pan_id,
            src,
            dst: self.scene.short(self.addressee()),
            dsn: self.rng.next_u32() as u8,
        }
    }

    /// Returns the index of the node that a frame is sent to.
    fn addressee(&self) -> usize {
        let is_for_routers = matches!(
            self.kind,
            AttackKind::DataRequests | AttackKind::Registrations | AttackKind::Reports
        );
        let router = self.scene.scenario.node("router");
        // These attacks target the routing table of the root, unless the router is the target.
        let is_for_root = matches!(
            self.kind,
            AttackKind::RplForgedDao
                | AttackKind::RplFullTable
                | AttackKind::NonStoringDaos
                | AttackKind::NonStoringParents
                | AttackKind::NonStoringHosts
                | AttackKind::NonStoringTable
        ) && self.scene.target != Target::Router
            || self.kind == AttackKind::SpoofedSources;
        if let Some(border) = self.scene.scenario.node("border").filter(|_| is_for_root) {
            return border;
        }
        match (is_for_routers, router) {
            (true, Some(router)) => router,
            _ => self.scene.attacked,
        }
    }

    /// Returns the first 80 bytes of a datagram, for the leaf and for `ends.dst` in turn.
    fn beginning(&mut self, ends: Ends) -> Vec<u8> {
        let leaf = self.scene.scenario.node("leaf");
        let dst = match leaf {
            Some(leaf) if self.count.is_multiple_of(2) => self.scene.address(leaf),
            _ => ends.dst,
        };
        let mut packet = Ends { dst, ..ends }.udp((7, 7), &[b'x'; 1_152]);
        packet.truncate(80);
        packet
    }

    /// Returns a random received frame other than an acknowledgment.
    fn replay(&mut self) -> Option<Vec<u8>> {
        let heard = self.ear.0.borrow();
        let frames: Vec<&Vec<u8>> = heard.iter().filter(|frame| frame.len() > 5).collect();
        let at = self.rng.below((frames.len() as u32).max(1)) as usize;
        frames.get(at).map(|frame| (*frame).clone())
    }

    /// Returns the address to claim: of the leaf, border router, router and no node, in turn.
    fn coveted(&mut self, nobody: u16) -> Addr {
        let scenario = &self.scene.scenario;
        let of = |name| scenario.node(name).map(|node| self.scene.address(node));
        let wanted = match self.count % 4 {
            0 => of("leaf"),
            1 => of("border"),
            2 => of("router"),
            _ => None,
        };
        wanted.unwrap_or_else(|| global_address(&scenario.border.prefix, nobody))
    }

    fn registration(&mut self, claim: Claim, nobody: u16) -> Vec<u8> {
        let ends = Ends {
            src: self.coveted(nobody),
            dst: addr::link_local_from_short(claim.dst),
        };
        let eui64 = self.rng.next_u64().to_be_bytes();
        let tid = self.rng.next_u32() as u8;
        claim.packet(&ends.registration(claim.src, eui64, tid, 0xffff))
    }

    fn report(&mut self, claim: Claim, nobody: u16) -> Vec<u8> {
        let ends = Ends {
            src: addr::link_local_from_short(claim.src),
            dst: addr::link_local_from_short(claim.dst),
        };
        let address = self.coveted(nobody);
        let eui64 = self.rng.next_u64().to_be_bytes();
        let tid = self.rng.next_u32() as u8;
        claim.packet(&ends.report(eui64, tid, 0xffff, address))
    }
}
