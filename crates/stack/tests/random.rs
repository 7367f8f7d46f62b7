//! Arbitrary frames, packets and calls, in any order: the node never panics, and afterwards every
//! slot is free and the node works as before.

use crate::common;

use common::address;
use common::lone::{Lone, SLOTS};
use common::packets::{ACK, FIN, RST, SYN, Tcp, echo_request, icmp, packet, read_tcp, udp};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Duration};
use redpoll_mac::RxInfo;
use redpoll_stack::{Advertised, ConnId, ListenerId, NdConfig, NodeEvent, Route, UdpId, Via};
use redpoll_tcp::Endpoint;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

const HOST: Addr = Addr([0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);

/// The TCP header of an answer; `seq` and `ack` are offsets from the correct numbers.
#[derive(Clone, Copy, Debug)]
struct Reply {
    flags: u8,
    seq: i8,
    ack: i8,
    window: u16,
}

#[derive(Clone, Debug)]
enum Op {
    RawFrame(Vec<u8>),
    RawPacket(Vec<u8>),
    Made {
        kind: u8,
        src: Index,
        dst: Index,
        changes: Changes,
        way: Way,
    },
    Answer {
        which: Index,
        reply: Reply,
        data: u16,
    },
    Connect(Index),
    Send(Index, u16),
    Recv(Index),
    Close(Index),
    Abort(Index),
    Release(Index),
    Accept,
    Udp(Index, u16),
    Ping(Index, u16),
    Routes(bool),
    Deaf(bool),
    Frames(u8),
    Run(u32),
    ReadHost,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Host,
    Link,
    Broadcast,
    /// A packet arrives by radio, with one of its frames missing or duplicated.
    Damaged(Index, bool),
}

#[derive(Clone, Debug)]
struct Changes {
    bytes: Vec<(Index, u8)>,
    cut: Option<Index>,
    mend: bool,
}

fn changes() -> impl Strategy<Value = Changes> {
    (
        vec((any::<Index>(), any::<u8>()), 0..3),
        prop::option::weighted(0.1, any::<Index>()),
        prop::bool::weighted(0.8),
    )
        .prop_map(|(bytes, cut, mend)| Changes { bytes, cut, mend })
}

fn way() -> impl Strategy<Value = Way> {
    prop_oneof![
        3 => Just(Way::Host),
        4 => Just(Way::Link),
        1 => Just(Way::Broadcast),
        1 => (any::<Index>(), any::<bool>()).prop_map(|(i, twice)| Way::Damaged(i, twice)),
    ]
}

fn flags() -> impl Strategy<Value = u8> {
    prop_oneof![
        6 => Just(ACK),
        3 => Just(SYN | ACK),
        2 => Just(FIN | ACK),
        1 => Just(RST),
        1 => Just(SYN),
        1 => any::<u8>(),
    ]
}

/// Returns an offset that is mostly zero, so that connections make progress.
fn shift() -> impl Strategy<Value = i8> {
    prop_oneof![8 => Just(0), 1 => any::<i8>()]
}

fn op() -> impl Strategy<Value = Op> {
    let index = any::<Index>;
    prop_oneof![
        2 => vec(any::<u8>(), 0..127).prop_map(Op::RawFrame),
        1 => vec(any::<u8>(), 0..200).prop_map(Op::RawPacket),
        8 => (0u8..14, index(), index(), changes(), way()).prop_map(
            |(kind, src, dst, changes, way)| Op::Made { kind, src, dst, changes, way }
        ),
        10 => (index(), flags(), shift(), shift(), any::<u16>(), 0u16..600).prop_map(
            |(which, flags, seq, ack, window, data)| {
                let reply = Reply { flags, seq, ack, window };
                Op::Answer { which, reply, data }
            }
        ),
        3 => index().prop_map(Op::Connect),
        3 => (index(), 0u16..2_000).prop_map(|(i, len)| Op::Send(i, len)),
        2 => index().prop_map(Op::Recv),
        1 => index().prop_map(Op::Close),
        1 => index().prop_map(Op::Abort),
        1 => index().prop_map(Op::Release),
        2 => Just(Op::Accept),
        2 => (index(), 0u16..1_300).prop_map(|(i, len)| Op::Udp(i, len)),
        1 => (index(), 0u16..1_300).prop_map(|(i, len)| Op::Ping(i, len)),
        1 => any::<bool>().prop_map(Op::Routes),
        1 => any::<bool>().prop_map(Op::Deaf),
        4 => (0u8..8).prop_map(Op::Frames),
        3 => (0u32..5_000).prop_map(Op::Run),
        2 => Just(Op::ReadHost),
    ]
}

fn addresses() -> [Addr; 14] {
    [
        address(1),
        address(1),
        address(5),
        address(6),
        HOST,
        HOST,
        addr::link_local_from_short(1),
        addr::link_local_from_short(5),
        addr::link_local_from_eui64([2, 3, 4, 5, 6, 7, 8, 9]),
        addr::LINK_LOCAL_ALL_NODES,
        addr::LINK_LOCAL_ALL_ROUTERS,
        addr::solicited_node(&address(1)),
        address(0xffff),
        Addr::UNSPECIFIED,
    ]
}

struct Scene {
    lone: Lone,
    listener: ListenerId,
    socket: UdpId,
    conns: Vec<ConnId>,
    seen: Vec<Vec<u8>>,
}

impl Scene {
    fn new() -> Scene {
        let mut lone = Lone::border(|config| {
            config.tcp.max_retries = 4;
            config.tcp.syn_retries = 3;
            config.nd = NdConfig::default().with(|it| {
                it.solicit = true;
                it.advertise = Some(
                    Advertised::new(common::prefix(), address(1))
                        .with(|it| it.router_lifetime_s = 600),
                );
            });
        });
        Scene {
            listener: lone.node.tcp_listen(80).unwrap(),
            socket: lone.node.udp_bind(9).unwrap(),
            lone,
            conns: Vec::new(),
            seen: Vec::new(),
        }
    }

    fn conn(&self, which: Index) -> Option<ConnId> {
        (!self.conns.is_empty()).then(|| *which.get(&self.conns))
    }

    fn look(&mut self) {
        let sent = self.lone.link_packets();
        self.seen.extend(sent.into_iter().map(|(_, packet)| packet));
        let to_host = self.lone.host_packets();
        self.seen.extend(to_host);
        let excess = self.seen.len().saturating_sub(8);
        self.seen.drain(..excess);
    }

    fn give(&mut self, packet: &[u8], way: Way) {
        let lone = &mut self.lone;
        match way {
            Way::Host => drop(lone.host_sends(packet)),
            _ if packet.len() > 1_280 || packet.len() < 40 => {}
            Way::Link => lone.link_sends(5, packet),
            Way::Broadcast => lone.link_sends_to(5, Address::BROADCAST, packet),
            Way::Damaged(which, twice) => {
                let mut frames = lone.frames_of(Address::Short(6), Address::Short(1), packet);
                if frames.is_empty() {
                    return;
                }
                let at = which.index(frames.len());
                let frame = frames.remove(at);
                if twice {
                    frames.insert(at, frame.clone());
                    frames.push(frame);
                }
                for frame in frames {
                    lone.node.input_frame(lone.now, &frame, RxInfo::default());
                }
            }
        }
    }

    fn act(&mut self, op: &Op) {
        let now = self.lone.now;
        let remote = |i: &Index| Endpoint {
            addr: *i.get(&addresses()),
            port: 7,
        };
        let node = &mut self.lone.node;
        match op {
            Op::RawFrame(bytes) => node.input_frame(now, bytes, RxInfo::default()),
            Op::RawPacket(bytes) => drop(node.input_packet(now, bytes)),
            Op::Made {
                kind,
                src,
                dst,
                changes,
                way,
            } => {
                let all = addresses();
                let mut packet = made(*kind, *src.get(&all), *dst.get(&all), &self.seen);
                change(&mut packet, changes);
                self.give(&packet, *way);
            }
            Op::Answer { which, reply, data } => self.answer(which, *reply, *data),
            Op::Connect(to) => self.conns.extend(node.tcp_connect(now, remote(to))),
            Op::Send(i, len) => {
                if let Some(conn) = self.conn(*i) {
                    let data = vec![5; usize::from(*len)];
                    let _ = self.lone.node.tcp_send(now, conn, &data);
                }
            }
            Op::Recv(i) => {
                if let Some(conn) = self.conn(*i) {
                    let _ = self.lone.node.tcp_recv(now, conn, &mut [0; 300]);
                }
            }
            Op::Close(i) => {
                if let Some(conn) = self.conn(*i) {
                    self.lone.node.tcp_close(now, conn);
                }
            }
            Op::Abort(i) => {
                if let Some(conn) = self.conn(*i) {
                    self.lone.node.tcp_abort(now, conn);
                }
            }
            Op::Release(i) => {
                if let Some(conn) = self.conn(*i) {
                    self.lone.node.tcp_release(self.lone.now, conn);
                    self.conns.retain(|c| *c != conn);
                }
            }
            Op::Accept => self.conns.extend(node.tcp_accept(self.listener)),
            Op::Udp(to, len) => {
                let data = vec![5; usize::from(*len)];
                let _ = node.udp_send(now, self.socket, remote(to), &data);
            }
            Op::Ping(to, len) => drop(node.ping(now, remote(to).addr, 1, 2, (*len).into())),
            Op::Routes(there) => routes(&mut self.lone, *there),
            Op::Deaf(deaf) => self.lone.deaf = *deaf,
            Op::Frames(count) => self.lone.run_frames((*count).into()),
            Op::Run(ms) => self.lone.run_for(Duration::from_millis((*ms).into())),
            Op::ReadHost => self.look(),
        }
    }

    /// A peer answers a segment of the node, more or less correctly.
    fn answer(&mut self, which: &Index, reply: Reply, data: u16) {
        self.look();
        if self.seen.is_empty() {
            return;
        }
        let asked = which.get(&self.seen).clone();
        let Some((their_flags, s, a, _, payload)) = read_tcp(&asked) else {
            return;
        };
        let controls = (their_flags & SYN != 0) as u32 + (their_flags & FIN != 0) as u32;
        let end = s.wrapping_add(payload.len() as u32 + controls);
        let data = vec![3; usize::from(data)];
        let address = |at: usize| Addr(asked[at..at + 16].try_into().unwrap());
        let port = |at: usize| u16::from_be_bytes([asked[at], asked[at + 1]]);
        let answer = Tcp {
            src_port: port(42),
            dst_port: port(40),
            seq: a.wrapping_add_signed(i32::from(reply.seq)),
            ack: end.wrapping_add_signed(i32::from(reply.ack)),
            flags: reply.flags,
            window: reply.window,
            data: &data,
        };
        let (from, to) = (address(24), address(8));
        let way = if from == HOST { Way::Host } else { Way::Link };
        self.give(&answer.packet(from, to), way);
    }

    /// Runs without faults until everything has ended.
    fn quiesce(&mut self) {
        self.lone.deaf = false;
        routes(&mut self.lone, true);
        for _ in 0..3 {
            while let Some(event) = self.lone.node.poll_event() {
                if let NodeEvent::Tcp(conn, _) = event {
                    assert!(self.conns.contains(&conn), "{event:?}");
                }
            }
            while let Some(conn) = self.lone.node.tcp_accept(self.listener) {
                self.conns.push(conn);
            }
            for conn in self.conns.drain(..) {
                self.lone.node.tcp_close(self.lone.now, conn);
                self.lone.node.tcp_release(self.lone.now, conn);
            }
            for _ in 0..400 {
                self.lone.run_for(Duration::from_secs(3));
                self.lone.host_packets();
                self.lone.frames.clear();
            }
        }
        assert_eq!(self.lone.node.tcp_connections().count(), 0);
        // Allow a second for a router solicitation in flight, which occupies a slot.
        if self.lone.node.lowpan().free_slots() < SLOTS {
            self.lone.run_for(Duration::from_secs(1));
        }
        assert_eq!(self.lone.node.lowpan().free_slots(), SLOTS);
    }

    /// Checks that the node answers, and accepts and opens connections.
    fn serve(&mut self) {
        let host_packets = |lone: &mut Lone| lone.host_packets().len();
        // Ignores router solicitations.
        let to_one = |lone: &mut Lone| {
            let sent = lone.link_packets();
            sent.iter()
                .filter(|(dst, _)| *dst != Address::BROADCAST)
                .count()
        };
        let lone = &mut self.lone;
        lone.host_sends(&echo_request(HOST, address(1))).unwrap();
        assert_eq!(host_packets(lone), 1, "an echo");
        lone.host_sends(&echo_request(HOST, address(7))).unwrap();
        assert_eq!(to_one(lone), 1, "forwarded");
        let syn = Tcp {
            src_port: 1,
            dst_port: 80,
            flags: SYN,
            ..Tcp::default()
        };
        lone.host_sends(&syn.packet(HOST, address(1))).unwrap();
        assert_eq!(host_packets(lone), 1, "a connection taken");
        let remote = Endpoint {
            addr: address(7),
            port: 7,
        };
        lone.node.tcp_connect(lone.now, remote).unwrap();
        assert!(to_one(lone) >= 1, "a connection made");
    }
}

fn routes(lone: &mut Lone, there: bool) {
    lone.node.clear_routes();
    if there {
        for (prefix, len, via) in [
            (common::prefix(), 64, Via::OnLink),
            (Addr::UNSPECIFIED, 0, Via::Host),
        ] {
            lone.node.add_route(Route { prefix, len, via }).unwrap();
        }
    }
}

fn made(kind: u8, src: Addr, dst: Addr, seen: &[Vec<u8>]) -> Vec<u8> {
    let me = addr::link_local_from_short(1);
    let tcp = Tcp {
        src_port: 7,
        dst_port: 80,
        seq: 1,
        window: 3_000,
        flags: SYN,
        ..Tcp::default()
    };
    let target = [&[0; 4][..], &me.0].concat();
    match kind {
        0 => echo_request(src, dst),
        1 => udp(src, dst, (1, 9), &[4; 300]),
        2 => udp(src, dst, (1, 10), b"nobody"),
        3 | 4 => tcp.packet(src, dst),
        5 => icmp(src, dst, 255, 133, 0, &[0, 0, 0, 0, 1, 1, 0, 5, 0, 0, 0, 0]),
        6 => {
            let mut rest = vec![64, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            rest.extend([3, 4, 64, 0x40, 0, 0, 9, 9, 0, 0, 9, 9, 0, 0, 0, 0]);
            rest.extend(common::prefix().0);
            icmp(src, dst, 255, 134, 0, &rest)
        }
        7 => {
            // Registers without a transaction ID, or with an ID that seems outdated or new.
            let tid = [0, 239, 240, 255, 5][seen.len() % 5];
            let flags = if tid == 0 { 0 } else { 3 };
            let registration = [33, 2, 0, 0, flags, tid, 0, 5, 2, 0, 0, 0, 0, 0, 0, 9];
            let rest = [&target[..], &[1, 1, 0, 5, 0, 0, 0, 0], &registration].concat();
            icmp(src, dst, 255, 135, 0, &rest)
        }
        8 => icmp(src, dst, 255, 136, 0, &target),
        11 | 12 => {
            // A duplicate address request (type 157) or confirmation (type 158).
            let (code, tid) = [(0, 0), (1, 240), (1, 255), (1, 5)][seen.len() % 4];
            let status = [0, 3][seen.len() % 2];
            let head = [status, tid, 0, 5, 2, 0, 0, 0, 0, 0, 0, 9];
            let rest = [&head[..], &address(9).0].concat();
            icmp(src, dst, 255, 146 + kind, code, &rest)
        }
        9 => packet(src, dst, 60, 64, &[58, 0, 1, 4, 0, 0, 0, 0, 128, 0, 1, 1]),
        10 => packet(src, dst, 44, 64, &[17, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4]),
        _ => {
            let quoted = seen.last().map_or(&[0; 60][..], |packet| packet);
            let quoted = &quoted[..quoted.len().min(1_000)];
            let rest = [&[0, 0, 4, 0][..], quoted].concat();
            icmp(src, dst, 64, 1 + (quoted.len() % 4) as u8, 4, &rest)
        }
    }
}

fn change(packet: &mut Vec<u8>, changes: &Changes) {
    for (at, xor) in &changes.bytes {
        *at.get_mut(packet) ^= xor;
    }
    if let Some(len) = &changes.cut {
        packet.truncate(len.index(packet.len()));
    }
    if !changes.mend || packet.len() < 60 {
        return;
    }
    let payload_len = packet.len() as u16 - 40;
    packet[0] = 0x60 | packet[0] & 0xf;
    packet[4..6].copy_from_slice(&payload_len.to_be_bytes());
    let field = match packet[6] {
        6 => 56,
        17 => 46,
        58 => 42,
        _ => return,
    };
    packet[field..field + 2].fill(0);
    let address = |at: usize| Addr(packet[at..at + 16].try_into().unwrap());
    let len = u32::from(payload_len);
    let mut sum = Checksum::pseudo_header(&address(8), &address(24), packet[6], len);
    sum.add(&packet[40..]);
    packet[field..field + 2].copy_from_slice(&sum.finish().to_be_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn the_node_survives_and_comes_to_rest(ops in vec(op(), 0..60)) {
        let mut scene = Scene::new();
        for op in &ops {
            scene.act(op);
        }
        scene.quiesce();
        scene.serve();
    }
}
