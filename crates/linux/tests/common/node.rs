//! A node without a radio: a border router without a mesh, whose peer is the kernel's TCP.

use redpoll_base::{Addr, Memory, Rng};
use redpoll_rivals::Rival;
use redpoll_stack::assist::NoAssist;
use redpoll_stack::lowpan::{LowpanMemory, Slot};
use redpoll_stack::mac::{CsmaCa, MacConfig};
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, Node, NodeConfig, NodeMemory, Parts, Profile, Pull, Route,
    StandardRules, UdpSlot, Via, transport,
};

/// Memory of a node's buffers and tables, allocated on the heap.
pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

/// A node on the heap that may have another TCP than Redpoll's.
pub enum WithRival {}

impl Profile for WithRival {
    type Memory = HeapMemory;
    type Access = CsmaCa;
    type Algorithms = transport::Standard;
    type Assist = NoAssist;
    type Streams = Rival<HeapMemory>;
    type Rules = StandardRules;
    type Handover = Pull;
}

pub type HeapNode = Node<WithRival>;

/// Bytes of a connection's send buffer and of its receive buffer.
const BUFFER: usize = 16 * 1024;
fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into_boxed_slice()
}

/// Returns a node whose packets all come from the host side or are for the host side.
#[allow(
    dead_code,
    reason = "each test binary uses its own part of this module"
)]
pub fn make(address: Addr, seed: u64, tcp: transport::Config) -> HeapNode {
    make_with(address, seed, tcp, Rival::default())
}

/// Returns the node of [`make`], with another TCP.
pub fn make_with(
    address: Addr,
    seed: u64,
    tcp: transport::Config,
    rival: Rival<HeapMemory>,
) -> HeapNode {
    let config = NodeConfig::over_ip(address, [seed as u8; 16]).with(|it| {
        it.mac = MacConfig::default().with(|it| it.short = 2);
        it.tcp = tcp;
    });
    const SLOTS: usize = 16;
    let memory = NodeMemory {
        connections: (0..4)
            .map(|_| ConnectionSlot::new(buffer(BUFFER), buffer(BUFFER)))
            .collect(),
        listeners: (0..2).map(|_| ListenerSlot::default()).collect(),
        half_open: [HalfOpen::default(); 4].into(),
        servers: [FastOpenServer::default(); 2].into(),
        udp: (0..1).map(|_| UdpSlot::new(buffer(2048))).collect(),
        routes: vec![None; 2].into_boxed_slice(),
        neighbours: Box::default(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; SLOTS].into_boxed_slice(),
            bytes: buffer(SLOTS * 1280),
        },
    };
    let rng = Rng::named(seed, "node");
    let parts = Parts {
        access: CsmaCa,
        assist: NoAssist,
        streams: rival,
        handover: Pull,
    };
    let mut node = HeapNode::with_parts(config, memory, rng, parts);
    let everywhere = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(everywhere).expect("the table has room");
    node
}
