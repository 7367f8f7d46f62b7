//! Common parts of the examples: a node on heap memory, whose packets go to the other end of a
//! direct link. A mote has a radio instead, and memory in `static` arrays.

use redpoll_base::{Addr, Memory, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_mac::MacConfig;
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{ConnectionSlot, ListenerSlot, NodeConfig, NodeMemory, Route, UdpSlot, Via};
use redpoll_tcp::Endpoint;

pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

pub type Node = redpoll_stack::Node<HeapMemory>;

/// Greatest length of a packet in bytes (RFC 8200 §5).
pub const MTU: usize = 1280;

pub fn address(number: u8) -> Addr {
    let mut address = [0; 16];
    (address[0], address[15]) = (0xfd, number);
    Addr(address)
}

pub fn endpoint(number: u8, port: u16) -> Endpoint {
    Endpoint::new(address(number), port)
}

/// Returns node `number` with memory for four connections, two listeners and two UDP sockets, and
/// with a default route over the direct link.
pub fn node(number: u8) -> Node {
    node_with(number, redpoll_tcp::Config::default().mss, 2048)
}

/// Returns [`node`] with another MSS and buffer length, in bytes.
pub fn node_with(number: u8, mss: u16, room: usize) -> Node {
    let buffer = |len| vec![0; len].into_boxed_slice();
    let config = NodeConfig::over_ip(address(number), [number; 16]).with(|it| {
        it.mac = MacConfig::default();
        it.tcp = redpoll_tcp::Config {
            mss,
            ..redpoll_tcp::Config::default()
        };
    });
    let memory = NodeMemory {
        connections: (0..4)
            .map(|_| ConnectionSlot::new(buffer(room), buffer(room)))
            .collect(),
        listeners: (0..2).map(|_| ListenerSlot::default()).collect(),
        half_open: [HalfOpen::default(); 2].into(),
        servers: [FastOpenServer::default()].into(),
        udp: (0..2).map(|_| UdpSlot::new(buffer(512))).collect(),
        routes: vec![None; 1].into(),
        neighbours: Box::default(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 8].into(),
            bytes: buffer(8 * MTU),
        },
    };
    let mut node = Node::new(config, memory, Rng::new(number.into()));
    let everything = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(everything)
        .expect("the table of routes has room for one route");
    node
}
