//! Nodes without a radio, with the kind of memory that omits the link.

use redpoll_base::{Addr, HostMemory, Instant, Memory, Rng, StaticKind};
use redpoll_stack::transport::Endpoint;
use redpoll_stack::{DropReason, Error, LeafStorage, Node, NodeConfig, NodeEvent};

use crate::common::packets::{icmp, udp};

type Host = Node<HostMemory>;

fn address(last: u8) -> Addr {
    Addr([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last])
}

fn host(last: u8) -> Host {
    let storage: &'static mut LeafStorage = Box::leak(Box::new(LeafStorage::NEW));
    let config = NodeConfig::over_ip(address(last), [last; 16]).with(|it| it.tcp.mss = 462);
    Node::new(config, storage.memory(), Rng::new(last.into()))
}

/// Carries packets until no node has any.
fn settle(now: Instant, nodes: &mut [Host; 2]) {
    let mut packet = [0; 1_280];
    for from in [0, 1].into_iter().cycle().take(64) {
        while let Some(len) = nodes[from].poll_packet(now, &mut packet) {
            nodes[1 - from].input_packet(now, &packet[..len]).unwrap();
        }
        nodes[from].on_timeout(now);
    }
}

#[test]
fn they_transfer_data_without_routes() {
    let (mut nodes, now) = ([host(1), host(2)], Instant::ZERO);
    let listener = nodes[1].tcp_listen(80).unwrap();
    let client = nodes[0]
        .tcp_connect(now, Endpoint::new(address(2), 80))
        .unwrap();
    settle(now, &mut nodes);
    let server = nodes[1].tcp_accept(listener).unwrap();
    assert_eq!(nodes[0].tcp_send(now, client, &[7; 1_500]), Ok(1_500));
    settle(now, &mut nodes);
    let mut data = [0; 2_000];
    assert_eq!(nodes[1].tcp_recv(now, server, &mut data), Ok(1_500));
    assert!(data[..1_500].iter().all(|byte| *byte == 7));
}

#[test]
fn a_closed_port_resets_and_a_closed_udp_port_is_reported() {
    let (mut nodes, now) = ([host(1), host(2)], Instant::ZERO);
    let client = nodes[0]
        .tcp_connect(now, Endpoint::new(address(2), 81))
        .unwrap();
    let socket = nodes[0].udp_bind(9).unwrap();
    nodes[0]
        .udp_send(now, socket, Endpoint::new(address(2), 9), b"hello")
        .unwrap();
    settle(now, &mut nodes);
    assert!(nodes[0].tcp_connection(client).unwrap().error().is_some());
    assert_eq!(nodes[1].counters().icmp_errors_sent, 1);
}

#[test]
fn they_answer_echo_requests_and_ignore_neighbour_discovery() {
    let (mut nodes, now) = ([host(1), host(2)], Instant::ZERO);
    nodes[0].ping(now, address(2), 5, 6, 32).unwrap();
    settle(now, &mut nodes);
    let reply = NodeEvent::EchoReply { ident: 5, seq: 6 };
    assert_eq!(nodes[0].poll_event(), Some(reply));
    // RFC 4861 §4.3: a solicitation for the address of the node.
    let mut solicitation = vec![0; 4];
    solicitation.extend(address(2).0);
    let packet = icmp(address(1), address(2), 255, 135, 0, &solicitation);
    nodes[1].input_packet(now, &packet).unwrap();
    assert_eq!(nodes[1].poll_packet(now, &mut [0; 1_280]), None);
    assert_eq!(nodes[1].poll_at(), None);
}

#[test]
fn addresses_of_a_link_are_unreachable() {
    let mut node = host(1);
    let mut near = address(2);
    near.0[..2].copy_from_slice(&[0xfe, 0x80]);
    let refused = node.tcp_connect(Instant::ZERO, Endpoint::new(near, 80));
    assert_eq!(refused, Err(Error::NoRoute));
}

/// As [`HostMemory`], without UDP.
enum StreamMemory {}

impl Memory for StreamMemory {
    type Buffer = <HostMemory as Memory>::Buffer;
    type Table<T: 'static> = <HostMemory as Memory>::Table<T>;
    type Forwards = <HostMemory as Memory>::Forwards;

    const HAS_RADIO: bool = false;
    const HAS_UDP: bool = false;
}

impl StaticKind for StreamMemory {
    fn table<T: 'static>(table: &'static mut [T]) -> Self::Table<T> {
        table
    }
}

#[test]
fn a_node_without_udp_reports_datagrams_as_an_unknown_protocol() {
    let storage: &'static mut LeafStorage = Box::leak(Box::new(LeafStorage::NEW));
    let config = NodeConfig::over_ip(address(1), [1; 16]);
    let mut node: Node<StreamMemory> = Node::new(config, storage.memory(), Rng::new(1));
    assert_eq!(node.udp_bind(9), Err(Error::NoSlot));
    let datagram = udp(address(2), address(1), (9, 9), b"hello");
    node.input_packet(Instant::ZERO, &datagram).unwrap();
    assert_eq!(node.counters().dropped(DropReason::UnknownProtocol), 1);
    let mut answer = [0; 1_280];
    let len = node.poll_packet(Instant::ZERO, &mut answer).unwrap();
    // RFC 8200 §4: an ICMPv6 Parameter Problem, code 1.
    assert_eq!((&answer[40..42], len), (&[4, 1][..], 48 + datagram.len()));
}
