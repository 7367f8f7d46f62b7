//! Two border routers joined by their host sides: the first splices a stream of a host to a TCP
//! connection, the second is the server.

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_border::{Gate, Rejected, Splice, ToHost};
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::mac::MacConfig;
use redpoll_stack::transport::HalfOpen;
use redpoll_stack::transport::{self, Endpoint, State};
use redpoll_stack::wire::ipv6::{Ipv6Header, addr};
use redpoll_stack::wire::sixlowpan::Contexts;
use redpoll_stack::{
    ConnId, ConnectionSlot, DropReason, Error, ListenerId, ListenerSlot, Node, NodeConfig,
    NodeMemory, Route, Via,
};

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into()
}

fn prefix(mesh: u8) -> Addr {
    let mut prefix = [0; 16];
    prefix[..2].copy_from_slice(&[0xfd, mesh]);
    Addr(prefix)
}

/// Returns the border router of a mesh, which reaches all other addresses on its host side.
fn border(mesh: u8) -> Node<Heap> {
    let config = NodeConfig::over_ip(addr::from_prefix_and_short(&prefix(mesh), 1), [mesh; 16])
        .with(|it| {
            it.mac = MacConfig::default().with(|it| it.short = 1);
            it.contexts = Contexts::with_prefix(prefix(mesh));
            it.tcp = transport::Config::default();
            it.forwards = true;
        });
    let memory = NodeMemory {
        connections: (0..2)
            .map(|_| ConnectionSlot::new(buffer(600), buffer(600)))
            .collect(),
        listeners: vec![ListenerSlot::default()].into(),
        half_open: [HalfOpen::default(); 2].into(),
        servers: Box::default(),
        udp: Vec::new().into(),
        routes: vec![None; 2].into(),
        neighbours: Vec::new().into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 4].into(),
            bytes: buffer(4 * 1280),
        },
    };
    let mut node = Node::new(config, memory, Rng::new(mesh.into()));
    for (prefix, len, via) in [
        (prefix(mesh), 64, Via::OnLink),
        (Addr::UNSPECIFIED, 0, Via::Host),
    ] {
        node.add_route(Route { prefix, len, via }).unwrap();
    }
    node
}

struct Pair {
    now: Instant,
    here: Node<Heap>,
    there: Node<Heap>,
    gates: [Gate; 2],
    listener: ListenerId,
    cut: bool,
}

impl Pair {
    fn new() -> Pair {
        let mut there = border(2);
        Pair {
            now: Instant::from_millis(1),
            here: border(1),
            listener: there.tcp_listen(80).unwrap(),
            there,
            gates: [Gate::new(prefix(1), 64), Gate::new(prefix(2), 64)],
            cut: false,
        }
    }

    fn open(&mut self) -> Splice {
        let target = Endpoint {
            addr: self.there.address(),
            port: 80,
        };
        Splice::open(self.now, &mut self.here, target).unwrap()
    }

    fn opened(&mut self) -> (Splice, ConnId) {
        let splice = self.open();
        self.run_for(10);
        let conn = self.there.tcp_accept(self.listener).unwrap();
        (splice, conn)
    }

    fn run_for(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        loop {
            self.settle();
            let nodes = [&mut self.here, &mut self.there];
            let next = nodes.iter().filter_map(|n| n.poll_at()).map(|w| w.at).min();
            match next {
                Some(at) if at <= end => {
                    self.now = self.now.max(at);
                    for node in nodes {
                        node.on_timeout(self.now);
                    }
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn settle(&mut self) {
        let mut bytes = [0; 1280];
        loop {
            let mut busy = false;
            for direction in [true, false] {
                let [a, b] = &mut self.gates;
                let (here, there) = (&mut self.here, &mut self.there);
                let (from, to, out, into) = if direction {
                    (here, there, a, b)
                } else {
                    (there, here, b, a)
                };
                while from.poll_event().is_some() {}
                while from.poll_radio(self.now).is_some() {}
                while let Some(len) = out.poll_packet(self.now, from, &mut bytes) {
                    busy = true;
                    if !self.cut {
                        into.input_packet(self.now, to, &bytes[..len]).unwrap();
                    }
                }
            }
            if !busy {
                return;
            }
        }
    }

    /// Reads like the host, up to the end of the stream if the end has arrived.
    fn read(&mut self, splice: &mut Splice) -> (Vec<u8>, ToHost) {
        let mut all = Vec::new();
        let mut out = [0; 100];
        loop {
            match splice.to_host(self.now, &mut self.here, &mut out) {
                ToHost::Data(len) => all.extend(&out[..len]),
                ToHost::Nothing => {
                    self.run_for(300);
                    match splice.to_host(self.now, &mut self.here, &mut out) {
                        ToHost::Data(len) => all.extend(&out[..len]),
                        last => return (all, last),
                    }
                }
                last => return (all, last),
            }
        }
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn the_host_ends_first_and_still_gets_the_answer() {
    let mut pair = Pair::new();
    let (mut splice, conn) = pair.opened();
    assert_eq!(splice.from_host(pair.now, &mut pair.here, b"question"), 8);
    splice.on_host_end(pair.now, &mut pair.here);
    assert_eq!(splice.room(&pair.here), 0);
    // The end of the stream is not a failure, but no byte is accepted after it.
    assert_eq!(splice.from_host(pair.now, &mut pair.here, b"more"), 0);
    assert!(!splice.is_done());
    pair.run_for(300);
    let (now, mut out) = (pair.now, [0; 99]);
    assert_eq!(pair.there.tcp_recv(now, conn, &mut out), Ok(8));
    assert_eq!(pair.there.tcp_recv(now, conn, &mut out), Ok(0));
    assert_eq!(pair.there.tcp_send(now, conn, b"the answer"), Ok(10));
    pair.there.tcp_close(now, conn);
    pair.there.tcp_release(pair.now, conn);
    let (answer, last) = pair.read(&mut splice);
    assert_eq!((&answer[..], last), (&b"the answer"[..], ToHost::End));
    assert!(splice.is_done());
    splice.release(pair.now, &mut pair.here);
    pair.run_for(300_000);
    assert_eq!(pair.here.tcp_connections().count(), 0);
    assert_eq!(pair.there.tcp_connections().count(), 0);
}

/// Like `printf question | nc -N`, the host sends everything before the mesh answers the SYN.
#[test]
fn a_host_that_ends_during_the_handshake_loses_nothing() {
    let mut pair = Pair::new();
    let mut splice = pair.open();
    assert_eq!(splice.from_host(pair.now, &mut pair.here, b"question"), 8);
    splice.on_host_end(pair.now, &mut pair.here);
    assert!(!splice.is_done());
    let (nothing, last) = pair.read(&mut splice);
    assert_eq!((nothing.len(), last), (0, ToHost::Nothing));
    let conn = pair
        .there
        .tcp_accept(pair.listener)
        .expect("the connection to the node is open");
    let (now, mut out) = (pair.now, [0; 99]);
    assert_eq!(pair.there.tcp_recv(now, conn, &mut out), Ok(8));
    pair.run_for(300);
    assert_eq!(pair.there.tcp_recv(pair.now, conn, &mut out), Ok(0));
    assert_eq!(pair.there.tcp_send(pair.now, conn, b"the answer"), Ok(10));
    pair.there.tcp_close(pair.now, conn);
    let (answer, last) = pair.read(&mut splice);
    assert_eq!((&answer[..], last), (&b"the answer"[..], ToHost::End));
    assert!(splice.is_done());
}

#[test]
fn the_mesh_ends_first_and_still_gets_all() {
    let mut pair = Pair::new();
    let (mut splice, conn) = pair.opened();
    pair.there.tcp_close(pair.now, conn);
    let (nothing, last) = pair.read(&mut splice);
    assert_eq!((nothing.len(), last), (0, ToHost::End));
    assert!(!splice.is_done());
    let (data, mut offered, mut got) = (pattern(5_000), 0, Vec::<u8>::new());
    while got.len() < data.len() {
        offered += splice.from_host(pair.now, &mut pair.here, &data[offered..]);
        pair.run_for(10);
        let mut out = [0; 99];
        while let Ok(len @ 1..) = pair.there.tcp_recv(pair.now, conn, &mut out) {
            got.extend(&out[..len]);
        }
    }
    assert_eq!(got, data);
    splice.on_host_end(pair.now, &mut pair.here);
    assert!(splice.is_done());
    splice.release(pair.now, &mut pair.here);
    pair.run_for(300);
    assert_eq!(pair.there.tcp_recv(pair.now, conn, &mut [0; 9]), Ok(0));
}

/// Checks that no more bytes are read from a side than the other side accepts.
#[test]
fn a_side_that_does_not_read_stops_the_other() {
    let mut pair = Pair::new();
    let (mut splice, conn) = pair.opened();
    let data = pattern(9_000);
    let (mut down, mut up) = (0, 0);
    for _ in 0..100 {
        down += splice.from_host(pair.now, &mut pair.here, &data[down..]);
        up += pair
            .there
            .tcp_send(pair.now, conn, &data[up..])
            .unwrap_or(0);
        pair.run_for(100);
    }
    // In each direction, a full send buffer and a full receive buffer wait, and no byte more.
    assert_eq!((down, up), (1_200, 1_200));
    assert_eq!(splice.room(&pair.here), 0);
    assert_eq!(
        splice.to_host(pair.now, &mut pair.here, &mut []),
        ToHost::Nothing
    );
    let (first, last) = pair.read(&mut splice);
    assert_eq!((&first[..], last), (&data[..1_200], ToHost::Nothing));
    let mut out = [0; 600];
    assert_eq!(pair.there.tcp_recv(pair.now, conn, &mut out), Ok(600));
    assert_eq!(out, data[..600]);
    pair.run_for(100_000);
    assert!(splice.room(&pair.here) > 0, "there is room again");
}

#[test]
fn a_refused_connection_fails() {
    let mut pair = Pair::new();
    let target = Endpoint {
        addr: pair.there.address(),
        port: 81,
    };
    let mut splice = Splice::open(pair.now, &mut pair.here, target).unwrap();
    let (_, last) = pair.read(&mut splice);
    assert_eq!(last, ToHost::Failed);
    assert!(splice.is_done());
    assert_eq!(splice.from_host(pair.now, &mut pair.here, b"x"), 0);
    splice.release(pair.now, &mut pair.here);
    assert_eq!(pair.here.tcp_connections().count(), 0);
}

#[test]
fn a_mesh_that_resets_or_is_silent_ends_the_splice() {
    for dead in [false, true] {
        let mut pair = Pair::new();
        let (mut splice, conn) = pair.opened();
        assert_eq!(splice.from_host(pair.now, &mut pair.here, b"x"), 1);
        if dead {
            pair.cut = true;
            pair.run_for(3_600_000);
        } else {
            pair.there.tcp_abort(pair.now, conn);
            pair.run_for(300);
        }
        assert_eq!(splice.from_host(pair.now, &mut pair.here, b"y"), 0);
        assert!(splice.is_done());
        assert_eq!(
            splice.to_host(pair.now, &mut pair.here, &mut [0; 9]),
            ToHost::Failed
        );
        splice.release(pair.now, &mut pair.here);
        pair.run_for(1);
        assert_eq!(pair.here.tcp_connections().count(), 0);
    }
}

/// If the host's stream breaks, the mesh connection is reset and its slot is free.
#[test]
fn releasing_a_splice_resets_the_mesh_side() {
    for host_ended in [false, true] {
        let mut pair = Pair::new();
        let (mut splice, conn) = pair.opened();
        if host_ended {
            splice.on_host_end(pair.now, &mut pair.here);
            pair.run_for(10);
        }
        splice.release(pair.now, &mut pair.here);
        pair.run_for(300);
        let state = pair.there.tcp_connection(conn).unwrap().state();
        assert_eq!(state, State::Closed);
        assert_eq!(pair.here.tcp_connections().count(), 0);
    }
}

#[test]
fn no_more_splices_than_connections() {
    let mut pair = Pair::new();
    let target = Endpoint {
        addr: pair.there.address(),
        port: 80,
    };
    let splices: Vec<_> = (0..2).map(|_| pair.open()).collect();
    let third = Splice::open(pair.now, &mut pair.here, target);
    assert!(matches!(third, Err(Error::NoSlot)));
    for splice in splices {
        splice.release(pair.now, &mut pair.here);
    }
    pair.run_for(10);
    pair.opened();
}

#[test]
fn the_gate_counts_accepted_and_rejected_packets() {
    let mut node = border(1);
    let mut gate = Gate::new(prefix(1), 64);
    let now = Instant::from_millis(1);
    let foreign = addr::from_prefix_and_short(&prefix(9), 9);
    let inside = |short| addr::from_prefix_and_short(&prefix(1), short);
    let packet = |src, dst, hop_limit, payload_len| {
        let header = Ipv6Header {
            payload_len,
            next_header: 59,
            hop_limit,
            src,
            dst,
            ..Ipv6Header::default()
        };
        let mut bytes = header.to_bytes().to_vec();
        bytes.resize(40 + usize::from(payload_len), 0);
        bytes
    };
    let mut give = |bytes: &[u8]| gate.input_packet(now, &mut node, bytes);
    assert_eq!(give(&packet(foreign, inside(1), 64, 0)), Ok(()));
    assert_eq!(give(&packet(foreign, inside(5), 64, 0)), Ok(()));
    assert_eq!(give(&[]), Err(Rejected::Malformed));
    assert_eq!(give(&[0x45; 40]), Err(Rejected::Malformed));
    let spoofed = packet(inside(5), inside(6), 64, 0);
    assert_eq!(give(&spoofed), Err(Rejected::SpoofedSource));
    let chatter = packet(foreign, addr::LINK_LOCAL_ALL_NODES, 64, 0);
    assert_eq!(give(&chatter), Err(Rejected::NotForMesh));
    let near = packet(foreign, addr::link_local_from_short(1), 64, 0);
    assert_eq!(give(&near), Err(Rejected::NotForMesh));
    let astray = packet(foreign, foreign, 64, 0);
    assert_eq!(give(&astray), Err(Rejected::ForeignDestination));
    let big = packet(foreign, inside(5), 64, 1_300);
    assert_eq!(give(&big), Err(Rejected::Node(DropReason::TooBig)));
    let mut out = [0; 1280];
    let len = gate.poll_packet(now, &mut node, &mut out).unwrap();
    assert_eq!((len, out[40]), (1280, 2), "packet too big");
    assert_eq!(gate.poll_packet(now, &mut node, &mut out), None);
    let counters = *gate.counters();
    assert_eq!(
        (counters.to_mesh, counters.to_host, counters.node),
        (2, 1, 1)
    );
    assert_eq!((counters.malformed, counters.spoofed_source), (2, 1));
    assert_eq!(
        (counters.not_for_mesh, counters.foreign_destination),
        (2, 1)
    );
}

/// Requests to a node pass up to the limit, however they are wrapped: bare, behind a destination
/// options header, or as a fragment. Requests to the border router have no limit, nor have other
/// packets to the node.
#[test]
fn echo_requests_beyond_the_limit_do_not_enter_the_mesh() {
    let foreign = addr::from_prefix_and_short(&prefix(9), 9);
    let inside = |short| addr::from_prefix_and_short(&prefix(1), short);
    let request = [&[128, 0, 0, 0, 0, 7, 0, 1][..], &[0x5a; 64]].concat();
    let options = [&[58, 0, 1, 4, 0, 0, 0, 0][..], &request].concat();
    let fragment = [&[58, 0, 0, 64, 0, 0, 0, 1][..], &request].concat();
    let reply = [&[129][..], &request[1..]].concat();
    let offered = 60;
    for (next_header, message, short, is_limited) in [
        (58, &request, 5, true),
        (60, &options, 6, true),
        (44, &fragment, 7, true),
        (58, &request, 1, false),
        (58, &reply, 8, false),
        (17, &request, 9, false),
    ] {
        let (mut node, mut gate) = (border(1), Gate::new(prefix(1), 64));
        let header = Ipv6Header {
            payload_len: message.len() as u16,
            next_header,
            hop_limit: 64,
            src: foreign,
            dst: inside(short),
            ..Ipv6Header::default()
        };
        let packet = [&header.to_bytes()[..], message].concat();
        let results = (0..offered).map(|n| {
            let now = Instant::from_millis(1 + 10 * n);
            gate.input_packet(now, &mut node, &packet)
        });
        let refused = results.filter(|it| *it == Err(Rejected::EchoLimit)).count();
        let within = 4_096 / packet.len();
        let expected = if is_limited {
            offered as usize - within
        } else {
            0
        };
        // In the 0.6 s of the test, one or two more requests may pass.
        let tolerance = expected.saturating_sub(2)..=expected;
        assert!(
            tolerance.contains(&refused),
            "{next_header}, {short}: {refused}"
        );
        assert_eq!(gate.counters().echo_limit as usize, refused);
    }
}
