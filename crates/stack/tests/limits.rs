//! Tables with more entries than a handle can index: a node uses 255 entries of each table.

use crate::common;

use common::{HeapMemory, TestNode, address, endpoint, node_with_memory};
use redpoll_base::Instant;
use redpoll_stack::{
    ConnectionSlot, Error, ListenerSlot, NodeConfig, NodeMemory, Route, UdpSlot, Via,
};
use redpoll_wire::ieee802154::Address;

fn node(places: usize) -> TestNode {
    let mut node = node_with_memory(|memory: &mut NodeMemory<HeapMemory>| {
        let buffer = || vec![0; 16].into_boxed_slice();
        let slots = 0..places;
        memory.connections = slots
            .clone()
            .map(|_| ConnectionSlot::new(buffer(), buffer()))
            .collect();
        memory.listeners = slots.clone().map(|_| ListenerSlot::default()).collect();
        memory.udp = slots.map(|_| UdpSlot::new(buffer())).collect();
    });
    let via = Via::Neighbour(Address::Short(2));
    let route = Route {
        prefix: address(2),
        len: 128,
        via,
    };
    node.add_route(route).unwrap();
    node
}

/// Datagram tags are visible on the air; they must not reveal which packets RED will mark.
#[test]
fn datagram_tags_do_not_reveal_the_red_seed() {
    let seed = |tag, secret| {
        let mac = redpoll_mac::MacConfig::default();
        let config: NodeConfig = NodeConfig::leaf(mac, common::prefix(), tag, [secret; 16]);
        config.lowpan.red_seed
    };
    assert_eq!(seed(0, 7), seed(9, 7));
    assert_ne!(seed(0, 7), seed(0, 8));
}

#[test]
fn as_many_sockets_as_a_handle_can_name() {
    let now = Instant::from_millis(5);
    for (places, usable) in [(254, 254), (255, 255), (256, 255), (300, 255)] {
        let mut node = node(places);
        let mut connections = 0;
        let refusal = loop {
            match node.tcp_connect(now, endpoint(2, 7)) {
                Ok(_) => connections += 1,
                Err(error) => break error,
            }
        };
        assert_eq!((connections, refusal), (usable, Error::NoSlot));
        assert_eq!(node.tcp_connections().count(), usable);
        let listeners = (1..400).take_while(|port| node.tcp_listen(*port).is_ok());
        assert_eq!(listeners.count(), usable);
        let sockets = (1..400).take_while(|port| node.udp_bind(*port).is_ok());
        assert_eq!(sockets.count(), usable);
        while node.poll_event().is_some() {}
        node.on_timeout(now);
        while node.poll_radio(now).is_some() {}
    }
}
