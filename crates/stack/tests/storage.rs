//! The memory of nodes from a static: the numbers of sockets, routes and packets of each storage.

use redpoll_base::{Addr, Instant, LeafMemory, Rng, StaticMemory};
use redpoll_mac::MacConfig;
use redpoll_stack::{
    BorderStorage, Error, LeafStorage, Node, NodeConfig, Profile, Route, RouterStorage, Via,
};
use redpoll_tcp::Standard;
use redpoll_wire::ieee802154::Address;

use crate::common::packets::udp;
use crate::common::{address, endpoint, prefix};

const SECRET: [u8; 16] = [7; 16];

fn mac() -> MacConfig {
    MacConfig::default().with(|it| it.short = 1)
}

fn lent<T>(storage: T) -> &'static mut T {
    Box::leak(Box::new(storage))
}

fn route(short: u16) -> Route {
    Route {
        prefix: address(short),
        len: 128,
        via: Via::Neighbour(Address::Short(2)),
    }
}

/// Returns how many of each the node can have: routes, connections, listeners, UDP sockets,
/// packets. Also returns the size of a packet.
fn sizes<P: Profile<Algorithms = Standard>>(mut node: Node<P>) -> ([usize; 5], usize) {
    let now = Instant::from_millis(5);
    let routes = (2..999).take_while(|short| node.add_route(route(*short)).is_ok());
    let routes = routes.count();
    let mut connections = 0;
    while node.tcp_connect(now, endpoint(2, 80)).is_ok() {
        connections += 1;
    }
    let listeners = (1..99).take_while(|port| node.tcp_listen(*port).is_ok());
    let listeners = listeners.count();
    let sockets = (1..99).take_while(|port| node.udp_bind(*port).is_ok());
    let sockets = sockets.count();
    let packets = node.lowpan().free_slots();
    let packet = node.lowpan().slot_size();
    ([routes, connections, listeners, sockets, packets], packet)
}

fn leaf() -> Node<LeafMemory> {
    let config = NodeConfig::leaf(mac(), prefix(), 1, SECRET);
    Node::new(config, lent(LeafStorage::NEW).memory(), Rng::new(1))
}

fn border() -> Node<StaticMemory> {
    let config = NodeConfig::border(mac(), prefix(), 1, SECRET);
    Node::new(config, lent(BorderStorage::NEW).memory(), Rng::new(1))
}

#[test]
fn a_storage_lends_every_table_and_every_packet() {
    let config = NodeConfig::router(mac(), prefix(), address(2), 1, SECRET);
    let router: Node<StaticMemory> =
        Node::new(config, lent(RouterStorage::NEW).memory(), Rng::new(1));
    assert_eq!(sizes(leaf()), ([1, 1, 2, 1, 3], 544));
    assert_eq!(sizes(router), ([32, 1, 2, 1, 8], 1_280));
    assert_eq!(sizes(border()), ([128, 2, 2, 2, 16], 1_280));
}

#[test]
fn a_connection_has_the_send_buffer_of_its_storage() {
    let (mut node, now) = (leaf(), Instant::from_millis(5));
    node.add_route(route(2)).unwrap();
    let conn = node.tcp_connect(now, endpoint(2, 80)).unwrap();
    assert_eq!(node.tcp_send(now, conn, &[7; 2_000]), Ok(1_848));
    let full = node.tcp_send(now, conn, &[7]);
    assert_eq!(full, Err(Error::WouldBlock));
}

/// Each socket has a buffer of its own.
#[test]
fn sockets_do_not_share_their_buffers() {
    let (mut node, now) = (border(), Instant::from_millis(5));
    let from = Addr([0x20; 16]);
    let ports = [7, 8];
    let sockets = ports.map(|port| node.udp_bind(port).unwrap());
    for port in ports {
        let datagram = udp(from, address(1), (9, port), &[port as u8; 400]);
        node.input_packet(now, &datagram).unwrap();
    }
    for (socket, port) in sockets.into_iter().zip(ports) {
        let mut data = [0; 500];
        let (len, _) = node.udp_recv(socket, &mut data).unwrap();
        assert_eq!(data[..len], [port as u8; 400]);
    }
}
