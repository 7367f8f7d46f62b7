//! Released connections (orphans) lose their slots to new connections; a leaf runs over an existing
//! IPv6 layer.

use crate::common;

use common::lone::Lone;
use common::packets::{ACK, FIN, RST, SYN, Tcp, read_tcp};
use common::peer::{HOST, Peer};
use common::{HeapMemory, address};
use redpoll_base::{Duration, Instant, Memory, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_stack::{
    ConnId, ConnectionSlot, DropReason, Error, ListenerSlot, Node, NodeConfig, NodeMemory, Route,
    UdpSlot, Via,
};
use redpoll_tcp::{Endpoint, FastOpenServer, HalfOpen};

const SLOTS_TCP: usize = 4;
/// The time after which an orphan with a silent peer loses its slot: timeouts of 1 s, 2 s and 4 s.
const PATIENCE: Duration = Duration::from_secs(8);

const FAR: Endpoint = Endpoint {
    addr: HOST,
    port: 9,
};

/// The behaviour of an orphan's peer before it vanishes.
#[derive(Clone, Copy, Debug)]
enum Peers {
    /// The peer never acknowledges data.
    TakeNothing,
    /// The peer keeps its window closed, and answers window probes.
    KeepTheirWindowClosed,
    /// The peer acknowledges everything and never closes.
    NeverEnd,
    /// The peer has closed, and does not acknowledge the node's FIN.
    HaveEnded,
}

/// Returns a node with an orphaned connection in each slot; all their peers behave as `peers`.
fn full_of(peers: Peers) -> (Lone, Vec<Peer>) {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    let mut all = Vec::new();
    for n in 0..SLOTS_TCP as u16 {
        let mut peer = Peer::open(&mut lone, 5_000 + n);
        let conn = lone.node.tcp_accept(listener).unwrap();
        if let Peers::HaveEnded = peers {
            peer.give(&mut lone, FIN | ACK, b"");
        }
        if let Peers::KeepTheirWindowClosed = peers {
            let shut = Tcp {
                window: 0,
                ..peer.segment(ACK, b"")
            };
            lone.host_sends(&shut.packet(HOST, address(1))).unwrap();
        }
        lone.node.tcp_send(lone.now, conn, b"answer").unwrap();
        lone.node.tcp_close(lone.now, conn);
        lone.node.tcp_release(lone.now, conn);
        if let Peers::NeverEnd = peers {
            peer.acknowledge(&mut lone);
        }
        all.push(peer);
    }
    while lone.node.poll_event().is_some() {}
    (lone, all)
}

fn connects(lone: &mut Lone) -> Result<ConnId, Error> {
    lone.node.tcp_connect(lone.now, FAR)
}

/// A vanished peer, in any state, does not keep the last slot from a connection of the application
/// or of a client.
#[test]
fn stalled_orphans_make_room() {
    for peers in [
        Peers::TakeNothing,
        Peers::KeepTheirWindowClosed,
        Peers::NeverEnd,
        Peers::HaveEnded,
    ] {
        let (mut lone, mut all) = full_of(peers);
        let end = lone.now + PATIENCE;
        while lone.now < end {
            lone.run_for(Duration::from_millis(500));
            for packet in lone.host_packets() {
                let Some((_, _, _, _, data)) = read_tcp(&packet) else {
                    continue;
                };
                let probed = !data.is_empty() || matches!(peers, Peers::KeepTheirWindowClosed);
                if matches!(peers, Peers::KeepTheirWindowClosed) && probed {
                    for peer in &mut all {
                        let shut = Tcp {
                            window: 0,
                            ..peer.segment(ACK, b"")
                        };
                        let _ = lone.host_sends(&shut.packet(HOST, address(1)));
                    }
                }
            }
        }
        assert!(connects(&mut lone).is_ok(), "{peers:?}");
        assert_eq!(lone.node.counters().orphans_recycled, 1, "{peers:?}");
        Peer::open(&mut lone, 6_000);
        assert_eq!(lone.node.counters().orphans_recycled, 2, "{peers:?}");
        // The oldest orphan has lost its slot first: its peer gets a reset.
        all[0].give(&mut lone, ACK, b"x");
        let answers = lone.host_packets();
        let is_reset = |packet: &Vec<u8>| read_tcp(packet).is_some_and(|it| it.0 & RST != 0);
        assert!(answers.iter().any(is_reset), "{peers:?}");
    }
}

/// An orphan that makes progress stays, so that its peer gets the queued data.
#[test]
fn orphans_that_move_stay() {
    let (mut lone, _) = full_of(Peers::TakeNothing);
    lone.run_for(Duration::from_millis(100));
    assert_eq!(connects(&mut lone), Err(Error::NoSlot));
    assert_eq!(lone.node.counters().orphans_recycled, 0);
}

#[test]
fn connections_that_are_held_stay() {
    let mut lone = Lone::border(|_| {});
    let listener = lone.node.tcp_listen(80).unwrap();
    for n in 0..SLOTS_TCP as u16 {
        Peer::open(&mut lone, 5_000 + n);
        let conn = lone.node.tcp_accept(listener).unwrap();
        lone.node.tcp_send(lone.now, conn, b"answer").unwrap();
    }
    lone.run_for(Duration::from_secs(30));
    assert_eq!(connects(&mut lone), Err(Error::NoSlot));
}

#[test]
fn a_cancelled_connect_leaves_its_slot() {
    let mut lone = Lone::border(|_| {});
    for n in 0..20 {
        let conn = connects(&mut lone).unwrap_or_else(|error| panic!("{n}: {error:?}"));
        lone.run_for(Duration::from_millis(n * 100));
        match n % 3 {
            0 => lone.node.tcp_close(lone.now, conn),
            1 => lone.node.tcp_abort(lone.now, conn),
            _ => {}
        }
        lone.node.tcp_release(lone.now, conn);
    }
}

enum HeapLeaf {}

impl Memory for HeapLeaf {
    type Buffer = <HeapMemory as Memory>::Buffer;
    type Table<T: 'static> = <HeapMemory as Memory>::Table<T>;
    type Forwards = redpoll_base::NeverForwards;
}

#[test]
fn a_leafs_server_over_ip_answers() {
    let memory: NodeMemory<HeapLeaf> = NodeMemory {
        connections: vec![ConnectionSlot::new(
            vec![0; 600].into(),
            vec![0; 600].into(),
        )]
        .into(),
        listeners: vec![ListenerSlot::default()].into(),
        half_open: [HalfOpen::default(); 2].into(),
        servers: [FastOpenServer::default(); 1].into(),
        udp: vec![UdpSlot::new(vec![0; 512].into())].into(),
        routes: vec![None; 1].into(),
        neighbours: vec![].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 2].into(),
            bytes: vec![0; 2 * 1280].into(),
        },
    };
    let own = address(1);
    let mut node: Node<HeapLeaf> =
        Node::new(NodeConfig::over_ip(own, [7; 16]), memory, Rng::new(1));
    let prefix = redpoll_base::Addr::UNSPECIFIED;
    let via = Via::Host;
    node.add_route(Route {
        prefix,
        len: 0,
        via,
    })
    .unwrap();
    let listener = node.tcp_listen(80).unwrap();
    let now = Instant::from_millis(1_000);
    let syn = Tcp {
        src_port: 5_000,
        dst_port: 80,
        seq: 1_000,
        ack: 0,
        flags: SYN,
        window: 4_000,
        data: b"",
    };
    node.input_packet(now, &syn.packet(HOST, own)).unwrap();
    let mut out = [0; 1_280];
    let len = node.poll_packet(now, &mut out).expect("an answer");
    let (flags, seq, ..) = read_tcp(&out[..len]).unwrap();
    assert_eq!(flags, SYN | ACK);
    let ack = Tcp {
        seq: 1_001,
        ack: seq.wrapping_add(1),
        flags: ACK,
        data: b"hello",
        ..syn
    };
    node.input_packet(now, &ack.packet(HOST, own)).unwrap();
    let conn = node.tcp_accept(listener).expect("a connection");
    let mut read = [0; 9];
    assert_eq!(node.tcp_recv(now, conn, &mut read), Ok(5));
    // A segment to a port without a listener is answered by a reset.
    let shut = Tcp {
        dst_port: 81,
        ..syn
    };
    node.input_packet(now, &shut.packet(HOST, own)).unwrap();
    let mut is_reset = false;
    while let Some(len) = node.poll_packet(now, &mut out) {
        is_reset |= read_tcp(&out[..len]).is_some_and(|it| it.0 & RST != 0);
    }
    assert!(is_reset);
    assert_eq!(node.counters().dropped(DropReason::NoRoute), 0);
}
