//! The attacker: generates the traffic of its attack, and replies where the attack needs it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use redpoll_base::{Addr, Rng};
use redpoll_tcp::Endpoint;
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::tcp::{Flags, HeaderView};

use super::attack::{Attack, AttackKind};
use super::forge::{Claim, Ends, Tcp, flag};
use super::rpl::Forger;
use super::scene::{COAP, SINK, Scene, Target, WEB};
use crate::node::SimNode;
use crate::scenario::global_address;
use crate::trace::{FrameTrace, TraceError, TracedFrame};
use crate::world::World;

#[derive(Clone, Debug)]
pub(super) enum Transmission {
    Frame(Vec<u8>),
    /// A packet of a host beyond the border router.
    Packet(Vec<u8>),
}

const HELD: usize = 32;
const READERS: usize = 4;
const HEARD: usize = 32;

#[derive(Clone, Default)]
struct AirListener(Rc<RefCell<VecDeque<Vec<u8>>>>);

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

#[derive(Clone, Copy, Debug)]
struct AttackerConnection {
    ends: Ends,
    port: u16,
    seq: u32,
    ack: u32,
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
    /// Bytes sent to the mesh, and bytes received from it.
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

    fn ends_of(&self, sender: &SimNode) -> Option<(Endpoint, Endpoint)> {
        let mut all = sender.tcp_connections();
        let known = all.find(|(_, connection)| connection.remote().port == SINK);
        let (_, connection) = known.or_else(|| sender.tcp_connections().next())?;
        let (local, remote) = (connection.local(), connection.remote());
        let attacked = self.scene.address(self.scene.attacked);
        Some(if local.addr == attacked {
            (local, remote)
        } else {
            (remote, local)
        })
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

    fn outside_shot(&mut self) -> Transmission {
        let ends = Ends {
            src: self.stranger(),
            dst: self.attacked(),
        };
        let port = self.port();
        let packet = match self.kind {
            AttackKind::SynFlood | AttackKind::SilentHandshakes | AttackKind::SlowReaders => {
                self.syn(ends, port)
            }
            // Every other time, the attacker sends another byte on an existing connection.
            AttackKind::Slowloris if self.count.is_multiple_of(2) => match self.drip() {
                Some(packet) => packet,
                None => self.syn(ends, port),
            },
            AttackKind::Slowloris => self.syn(ends, port),
            AttackKind::AddressScan => self.scan(ends.src, port),
            AttackKind::TrickleReaders
                if self.held.len() >= READERS || self.count.is_multiple_of(2) =>
            {
                match self.take_some() {
                    Some(packet) => packet,
                    None => self.syn(ends, port),
                }
            }
            AttackKind::TrickleReaders => self.syn(ends, port),
            AttackKind::OutsideRoutes => {
                let stops = ["leaf", "router", "leaf"].map(|name| self.named(name));
                ends.source_route(64, &stops)
            }
            AttackKind::OutsideTunnels => {
                let src = self.named("border");
                let inner = Ends {
                    src,
                    dst: self.named("leaf"),
                };
                ends.raw(next_header::IPV6, 64, &inner.echo_request(1, &[b'x'; 16]))
            }
            AttackKind::CoapAmplification => {
                // Confirmable GET /file: the path is option 11.
                let [high, low] = (self.count as u16).to_be_bytes();
                ends.udp(
                    (port, COAP),
                    &[0x40, 1, high, low, 0xb4, b'f', b'i', b'l', b'e'],
                )
            }
            AttackKind::UnfinishedUploads => {
                // PUT /store with Block1 (option 27): block 0 of 64 bytes, more blocks follow.
                let [high, low] = (self.count as u16).to_be_bytes();
                let head = [
                    0x40, 3, high, low, 0xb5, b's', b't', b'o', b'r', b'e', 0xd1, 3, 0x0a, 0xff,
                ];
                ends.udp((port, COAP), &[&head[..], &[b'x'; 64]].concat())
            }
            AttackKind::ClosedPorts => ends.udp((port, 33_434), &[b'x'; 16]),
            _ => ends.echo_request(self.count as u16, &[b'x'; 64]),
        };
        Transmission::Packet(packet)
    }

    fn syn(&mut self, ends: Ends, src_port: u16) -> Vec<u8> {
        let dst_port = match self.kind {
            AttackKind::Slowloris | AttackKind::SlowReaders | AttackKind::TrickleReaders => WEB,
            // Attack both ports in turn: every node has a web server, but only some have the sink.
            _ if self.count.is_multiple_of(2) => SINK,
            _ => WEB,
        };
        ends.tcp(&Tcp {
            src_port,
            dst_port,
            seq: self.rng.next_u32(),
            flags: flag::SYN,
            window: self.window(),
            ..Tcp::default()
        })
    }

    fn window(&self) -> u16 {
        match self.kind {
            AttackKind::SlowReaders => 64,
            AttackKind::TrickleReaders => 600,
            _ => 4_096,
        }
    }

    fn named(&self, name: &str) -> Addr {
        let mut places = self.scene.scenario.places();
        let found = places.position(|place| place.name == name);
        self.scene.address(found.unwrap_or(self.scene.attacked))
    }

    /// Returns an acknowledgment of all data on the next open connection, with a small window.
    fn take_some(&mut self) -> Option<Vec<u8>> {
        let held = self.held.pop_front()?;
        self.held.push_back(held);
        Some(held.ends.tcp(&Tcp {
            src_port: held.port,
            dst_port: WEB,
            seq: held.seq,
            ack: held.ack,
            flags: flag::ACK,
            window: self.window(),
            data: b"",
        }))
    }

    /// Updates a reader's connection after received data, and removes it after a reset.
    fn note(&mut self, packet: &[u8]) {
        let Some((_, tcp)) = segment(packet) else {
            return;
        };
        let (port, seq) = (tcp.dst_port(), tcp.seq().0);
        if tcp.flags().rst() {
            return self.held.retain(|held| held.port != port);
        }
        let len = tcp.payload_len() as u32;
        for held in self
            .held
            .iter_mut()
            .filter(|held| held.port == port && held.ack == seq)
        {
            held.ack = seq.wrapping_add(len);
        }
    }

    /// Returns a segment with another byte of the request on the next open connection.
    fn drip(&mut self) -> Option<Vec<u8>> {
        let mut held = self.held.pop_front()?;
        let tcp = Tcp {
            src_port: held.port,
            dst_port: WEB,
            seq: held.seq,
            ack: held.ack,
            flags: flag::ACK,
            window: 4_096,
            data: b"x",
        };
        held.seq = held.seq.wrapping_add(1);
        self.held.push_back(held);
        Some(held.ends.tcp(&tcp))
    }

    fn scan(&mut self, src: Addr, port: u16) -> Vec<u8> {
        // Addresses from 0x4000 on are unused in the scene.
        let nobody = 0x4000 + self.rng.below(0x4000) as u16;
        let dst = global_address(&self.scene.scenario.border.prefix, nobody);
        let ends = Ends { src, dst };
        match self.count % 3 {
            0 => ends.echo_request(self.count as u16, &[b'x'; 16]),
            1 => ends.udp((port, 53), &[b'x'; 16]),
            _ => ends.tcp(&Tcp {
                src_port: port,
                dst_port: 22,
                seq: self.rng.next_u32(),
                flags: flag::SYN,
                window: 1_024,
                ..Tcp::default()
            }),
        }
    }

    /// Returns a segment of the honest flow, or an ICMPv6 error about one, with random numbers.
    fn about_the_flow(&mut self, mine: Endpoint, theirs: Endpoint) -> Vec<u8> {
        let ends = Ends {
            src: theirs.addr,
            dst: mine.addr,
        };
        let mut tcp = Tcp {
            src_port: theirs.port,
            dst_port: mine.port,
            seq: self.rng.next_u32(),
            ack: self.rng.next_u32(),
            flags: flag::RST,
            window: 0,
            data: &[],
        };
        match self.kind {
            AttackKind::ForgedIcmp => {
                let quoted = Ends {
                    src: mine.addr,
                    dst: theirs.addr,
                };
                let quoted = quoted.tcp(&Tcp {
                    src_port: mine.port,
                    dst_port: theirs.port,
                    flags: flag::ACK,
                    ..tcp
                });
                let (message, word) = match self.count % 3 {
                    0 => ((1, (self.count / 3 % 5) as u8), [0; 4]),
                    1 => ((2, 0), [0, 0, 0x05, 0x00]),
                    _ => ((3, 0), [0; 4]),
                };
                ends.icmp(64, message, &[&word, &quoted[..]].concat())
            }
            AttackKind::ForgedResets => ends.tcp(&tcp),
            _ => {
                tcp.flags = flag::ACK;
                if self.count.is_multiple_of(2) {
                    tcp.data = &[b'x'; 16];
                }
                if self.kind == AttackKind::AirResets && self.count.is_multiple_of(3) {
                    tcp.flags = flag::RST;
                }
                ends.tcp(&tcp)
            }
        }
    }

    // Attacks over the air.

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

    fn air_shot(&mut self) -> Option<Transmission> {
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

    // Replies.

    pub(super) fn hear(&mut self, packet: &[u8]) -> Option<Transmission> {
        self.traffic.1 += packet.len() as u64;
        if self.kind == AttackKind::TrickleReaders {
            self.note(packet);
        }
        let completes = matches!(
            self.kind,
            AttackKind::SilentHandshakes
                | AttackKind::Slowloris
                | AttackKind::SlowReaders
                | AttackKind::TrickleReaders
        );
        let (ip, heard) = segment(packet).filter(|_| completes)?;
        if heard.flags() != Flags::SYN.with(Flags::ACK) {
            return None;
        }
        let ends = Ends {
            src: ip.dst,
            dst: ip.src,
        };
        let data: &[u8] = match self.kind {
            AttackKind::Slowloris => b"GET / HTTP/1.1\r\nHost: ",
            AttackKind::TrickleReaders => b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n",
            AttackKind::SlowReaders => b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            _ => b"",
        };
        let tcp = Tcp {
            src_port: heard.dst_port(),
            dst_port: heard.src_port(),
            seq: heard.ack_field().0,
            ack: (heard.seq() + 1).0,
            flags: flag::ACK,
            window: self.window(),
            data,
        };
        if self.held.len() == HELD {
            self.held.pop_front();
        }
        self.held.push_back(AttackerConnection {
            ends,
            port: tcp.src_port,
            seq: tcp.seq.wrapping_add(data.len() as u32),
            ack: tcp.ack,
        });
        let packet = ends.tcp(&tcp);
        self.traffic.0 += packet.len() as u64;
        Some(Transmission::Packet(packet))
    }
}

/// Returns the IPv6 header and the TCP segment of a packet; `None` without a valid TCP header.
fn segment(packet: &[u8]) -> Option<(Ipv6Header, HeaderView<'_>)> {
    let (ip, bytes) = Ipv6Header::parse(packet).ok()?;
    let tcp = HeaderView::parse(bytes).ok()?;
    (ip.next_header == next_header::TCP).then_some((ip, tcp))
}
