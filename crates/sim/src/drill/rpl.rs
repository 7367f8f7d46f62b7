//! Forged RPL messages of an attacker: well formed, with false content.

use redpoll_base::{Addr, Rng};
use redpoll_stack::wire::Cursor;
use redpoll_stack::wire::ipv6::addr;
use redpoll_stack::wire::rpl::{
    ALL_NODES, Configuration, Dao, Dio, MESSAGE_TYPE, Message, Options, RplOption, Sequence,
    TargetOption, Transit,
};

use super::forge::{Claim, Ends};
use super::scene::Scene;
use crate::scenario::global_address;

const BROADCAST: u16 = 0xffff;

pub(super) struct Forger<'s> {
    pub(super) scene: &'s Scene,
    pub(super) count: u32,
    /// Link-layer addresses of the frame, whose source may be forged.
    pub(super) claim: Claim,
}

impl Forger<'_> {
    fn node(&self, name: &str) -> usize {
        let node = self.scene.scenario.node(name);
        node.unwrap_or(self.scene.attacked)
    }

    fn options(list: &[RplOption<'_>]) -> Vec<u8> {
        let mut buffer = [0; 128];
        let mut out = Cursor::new(&mut buffer);
        for option in list {
            let written = option.emit(&mut out);
            debug_assert!(written.is_ok(), "the options fit into the buffer");
        }
        out.written().to_vec()
    }

    fn say(&self, to: u16, message: &Message<'_>) -> Vec<u8> {
        let mut buffer = [0; 128];
        let mut out = Cursor::new(&mut buffer);
        let written = message.emit(&mut out);
        debug_assert!(written.is_ok(), "the message fits into the buffer");
        let ends = Ends {
            src: addr::link_local_from_short(self.claim.src),
            dst: match to {
                BROADCAST => ALL_NODES,
                to => addr::link_local_from_short(to),
            },
        };
        let packet = ends.icmp(255, (MESSAGE_TYPE, message.code()), out.written());
        let dst = to;
        Claim { dst, ..self.claim }.packet(&packet)
    }

    fn root(&self) -> Addr {
        self.scene.address(self.node("border"))
    }

    fn configuration(&self) -> Configuration {
        let params = self.scene.scenario.routing.rpl();
        params.expect("the scenario uses RPL").configuration
    }

    /// Returns a DIO. The rank improves slowly from DIO to DIO, and every other DIO has an unknown
    /// DODAG version.
    pub(super) fn dio(&self) -> Vec<u8> {
        let configuration = self.configuration();
        let step = configuration.min_hop_rank_increase;
        let lower = 64_u32.saturating_sub(self.count / 4) as u16;
        let versions = match self.count % 2 {
            0 => 0,
            _ => self.count / 2,
        };
        let version = (0..versions % 200).fold(Sequence::FIRST, |it, _| it.next());
        let options = Self::options(&[RplOption::Configuration(configuration)]);
        let dio = Dio {
            instance: 0,
            version,
            rank: step * 2 + lower,
            grounded: true,
            mode: self.scene.scenario.routing.rpl().map_or(0, |it| it.mode),
            preference: 0,
            dtsn: version,
            dodag: self.root(),
            options: Options::parse(&options).expect("the options are well formed"),
        };
        self.say(BROADCAST, &Message::Dio(dio))
    }

    /// Returns a DIS to all nodes, which a router answers with DIOs.
    pub(super) fn solicitation(&self) -> Vec<u8> {
        let options = Options::default();
        self.say(BROADCAST, &Message::Dis { options })
    }

    /// Returns a DAO with unused targets; every other DAO has a No-Path for the leaf as well.
    pub(super) fn dao(&self, rng: &mut Rng) -> Vec<u8> {
        let prefix = self.scene.scenario.border.prefix;
        let leaf = self.scene.address(self.node("leaf"));
        let (first, lifetime) = match self.count % 2 {
            0 => (leaf, 0),
            _ => (
                global_address(&prefix, 0x4000 + rng.below(0x3fff) as u16),
                30,
            ),
        };
        let second = global_address(&prefix, 0x4000 + rng.below(0x3fff) as u16);
        let mut list = Vec::new();
        for (prefix, lifetime) in [(first, lifetime), (second, 30)] {
            list.push(RplOption::Target(TargetOption { prefix, len: 128 }));
            list.push(RplOption::Transit(Transit {
                external: false,
                control: 0,
                sequence: Sequence(rng.next_u32() as u8),
                lifetime,
                parent: None,
            }));
        }
        let options = Self::options(&list);
        let dao = Dao {
            instance: 0,
            acknowledge: true,
            sequence: self.count as u8,
            dodag: None,
            options: Options::parse(&options).expect("the options are well formed"),
        };
        self.say(self.claim.dst, &Message::Dao(dao))
    }

    /// Returns a DAO that makes the forged source the next hop to `target`, with infinite lifetime
    /// and a path sequence that counts as newer than all values from 0 to 127.
    pub(super) fn forged_dao(&self, target: Addr) -> Vec<u8> {
        let options = Self::options(&[
            RplOption::Target(TargetOption {
                prefix: target,
                len: 128,
            }),
            RplOption::Transit(Transit {
                external: false,
                control: 0,
                sequence: Sequence(200),
                lifetime: 255,
                parent: None,
            }),
        ]);
        let dao = Dao {
            instance: 0,
            acknowledge: self.count.is_multiple_of(2),
            sequence: self.count as u8,
            dodag: None,
            options: Options::parse(&options).expect("the options are well formed"),
        };
        self.say(self.claim.dst, &Message::Dao(dao))
    }

    /// Returns a DAO from the address `src` to the root of a non-storing DODAG.
    fn say_to_root(&self, src: Addr, targets: &[Addr], transit: Transit) -> Vec<u8> {
        let mut list = Vec::new();
        for prefix in targets {
            list.push(RplOption::Target(TargetOption {
                prefix: *prefix,
                len: 128,
            }));
        }
        list.push(RplOption::Transit(transit));
        let options = Self::options(&list);
        let dao = Message::Dao(Dao {
            instance: 0,
            acknowledge: self.count.is_multiple_of(2),
            sequence: self.count as u8,
            dodag: None,
            options: Options::parse(&options).expect("the options are well formed"),
        });
        let mut buffer = [0; 128];
        let mut out = Cursor::new(&mut buffer);
        let written = dao.emit(&mut out);
        debug_assert!(written.is_ok(), "the message fits into the buffer");
        let ends = Ends {
            src,
            dst: self.root(),
        };
        let packet = ends.icmp(64, (MESSAGE_TYPE, dao.code()), out.written());
        self.claim.packet(&packet)
    }

    fn nowhere(&self, rng: &mut Rng) -> Addr {
        let prefix = self.scene.scenario.border.prefix;
        global_address(&prefix, 0x4000 + rng.below(0x3fff) as u16)
    }

    fn global(&self, name: &str) -> Addr {
        self.scene.address(self.node(name))
    }

    /// Returns a transit with infinite lifetime and a path sequence newer than all from 0 to 127.
    fn endless(parent: Addr, external: bool) -> Transit {
        Transit {
            external,
            control: 0,
            sequence: Sequence(200),
            lifetime: 255,
            parent: Some(parent),
        }
    }

    /// Returns a DAO to the root, in turn: a No-Path from the leaf's address; a nonexistent node
    /// below the router; a nonexistent node below another nonexistent node; the leaf, from a
    /// nonexistent source address.
    pub(super) fn root_dao(&self, rng: &mut Rng) -> Vec<u8> {
        let (leaf, router) = (self.global("leaf"), self.global("router"));
        let (nobody, other) = (self.nowhere(rng), self.nowhere(rng));
        let (src, target, parent, lifetime) = match self.count % 4 {
            0 => (leaf, leaf, router, 0),
            1 => (nobody, nobody, router, 30),
            2 => (nobody, nobody, other, 30),
            _ => (nobody, leaf, router, 30),
        };
        let transit = Transit {
            sequence: Sequence(rng.next_u32() as u8),
            lifetime,
            ..Self::endless(parent, false)
        };
        self.say_to_root(src, &[target], transit)
    }

    /// Alternates DAOs that name the leaf as the router's parent and the root as the leaf's parent.
    pub(super) fn false_parent(&self) -> Vec<u8> {
        let (child, parent) = match self.count % 2 {
            0 => ("router", "leaf"),
            _ => ("leaf", "border"),
        };
        let (child, parent) = (self.global(child), self.global(parent));
        self.say_to_root(child, &[child], Self::endless(parent, false))
    }

    /// Returns a DAO from the router's address with two hosts that have not registered.
    pub(super) fn false_hosts(&self, rng: &mut Rng) -> Vec<u8> {
        let router = self.global("router");
        let hosts = [self.nowhere(rng), self.nowhere(rng)];
        self.say_to_root(router, &hosts, Self::endless(router, true))
    }

    /// Returns a DAO that makes a nonexistent node the router's child, with infinite lifetime.
    pub(super) fn endless_child(&self, rng: &mut Rng) -> Vec<u8> {
        let (nobody, router) = (self.nowhere(rng), self.global("router"));
        self.say_to_root(nobody, &[nobody], Self::endless(router, false))
    }

    /// Returns a packet with a source route back and forth between router and leaf.
    pub(super) fn source_route(&self) -> Vec<u8> {
        let to = self.claim.dst;
        let (router, leaf) = (self.node("router"), self.node("leaf"));
        let stops = [leaf, router, leaf, router, leaf].map(|node| self.scene.address(node));
        let prefix = self.scene.scenario.border.prefix;
        let ends = Ends {
            src: global_address(&prefix, self.claim.src),
            dst: global_address(&prefix, to),
        };
        self.claim.packet(&ends.source_route(64, &stops))
    }
}

#[cfg(test)]
mod tests {
    use redpoll_stack::wire::ieee802154::FrameHeader;
    use redpoll_stack::wire::ipv6::{Ipv6Header, next_header};
    use redpoll_stack::wire::rpl::SourceRoute;

    use super::super::scene::{Mesh, Target};
    use super::*;

    #[test]
    fn forged_messages_are_well_formed() {
        let scene = Scene::new(Target::Router, Mesh::Rpl).unwrap();
        let mut rng = Rng::new(1);
        for count in 0..300 {
            let claim = Claim {
                pan_id: 1,
                src: 0x0123,
                dst: scene.short(scene.attacked),
                dsn: 1,
            };
            let forger = Forger {
                scene: &scene,
                count,
                claim,
            };
            let frames = [
                forger.dio(),
                forger.solicitation(),
                forger.dao(&mut rng),
                forger.source_route(),
                forger.forged_dao(forger.root()),
                forger.root_dao(&mut rng),
                forger.false_parent(),
                forger.false_hosts(&mut rng),
                forger.endless_child(&mut rng),
            ];
            for frame in frames {
                let (_, payload) = FrameHeader::parse(&frame).unwrap();
                let (header, upper) = Ipv6Header::parse(&payload[1..]).unwrap();
                match header.next_header {
                    next_header::ICMPV6 => {
                        assert!(Message::parse(upper[1], &upper[4..]).is_ok(), "{count}");
                    }
                    _ => assert_eq!(SourceRoute::parse(upper).unwrap().segments_left, 5),
                }
            }
        }
    }
}
