//! A node on a direct, radio-less link: a border router without a mesh, whose
//! own TCP the kernel talks to.

use std::net::Ipv6Addr;

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_border::Gate;
use redpoll_linux::forward::Forwarder;
use redpoll_linux::gateway::{Gateway, Mesh};
use redpoll_linux::tun::Tun;
use redpoll_stack::lowpan::{LowpanConfig, LowpanMemory, Slot};
use redpoll_stack::mac::{FrameBuf, MacConfig};
use redpoll_stack::wire::sixlowpan::Contexts;
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, NdConfig, Node, NodeConfig, NodeMemory, Route, UdpSlot, Via,
    transport,
};

use crate::common;
use crate::impair::{Badness, Direction};

/// Memory on the heap.
pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
}

pub type HeapNode = Node<HeapMemory>;

/// Bytes of a connection's send buffer and of its receive buffer.
const BUFFER: usize = 16 * 1024;
/// A packet of 1280 bytes without the IPv6 and TCP headers (RFC 6691 §2).
const MSS: u16 = 1280 - 40 - 20;
/// Shorter than a mesh needs, and than RFC 6298 recommends: with a lower bound
/// of 1 s this test would spend minutes waiting for a link of some milliseconds.
const MIN_RTO: Duration = Duration::from_millis(250);

fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into_boxed_slice()
}

fn make(address: Addr, seed: u64) -> HeapNode {
    let config = NodeConfig {
        mac: MacConfig {
            short: 2,
            ..MacConfig::default()
        },
        lowpan: LowpanConfig::default(),
        contexts: Contexts::default(),
        tcp: transport::Config {
            mss: MSS,
            min_rto: MIN_RTO,
            ..transport::Config::default()
        },
        address,
        hop_limit: 64,
        forwards: false,
        nd: NdConfig::default(),
        isn_secret: [seed as u8; 16],
    };
    const SLOTS: usize = 16;
    let memory = NodeMemory {
        connections: (0..4)
            .map(|_| ConnectionSlot::new(buffer(BUFFER), buffer(BUFFER)))
            .collect(),
        listeners: (0..2).map(|_| ListenerSlot::default()).collect(),
        udp: (0..1).map(|_| UdpSlot::new(buffer(2048))).collect(),
        routes: vec![None; 2].into_boxed_slice(),
        neighbours: Box::default(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; SLOTS].into_boxed_slice(),
            bytes: buffer(SLOTS * 1280),
        },
    };
    let mut node = Node::new(config, memory, Rng::named(seed, "node"));
    let everywhere = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(everywhere).expect("the table has room");
    node
}

/// The node with its bad link, as the gateway sees it.
pub struct DirectNode {
    pub node: HeapNode,
    pub gate: Gate,
    pub to_node: Direction,
    pub to_host: Direction,
    now: Instant,
}

impl DirectNode {
    fn settle(&mut self) {
        while let Some(packet) = self.to_node.receive(self.now) {
            // Its counters say why one is refused.
            let _ = self.gate.input_packet(self.now, &mut self.node, &packet);
        }
        if self.node.poll_at().is_some_and(|wake| wake.at <= self.now) {
            self.node.on_timeout(self.now);
        }
        let mut frame = FrameBuf::new();
        while self.node.poll_radio(self.now, &mut frame).is_some() {}
        let mut packet = [0; 2048];
        while let Some(len) = self.gate.poll_packet(self.now, &mut self.node, &mut packet) {
            self.to_host.send(self.now, &packet[..len]);
        }
    }
}

impl Mesh for DirectNode {
    type Memory = HeapMemory;

    fn advance(&mut self, now: Instant) {
        self.now = now;
        self.settle();
    }

    fn next_at(&self) -> Option<Instant> {
        let timer = self.node.poll_at().map(|wake| wake.at);
        [timer, self.to_node.next_at(), self.to_host.next_at()]
            .into_iter()
            .flatten()
            .min()
    }

    fn input_packet(&mut self, packet: &[u8]) {
        self.to_node.send(self.now, packet);
    }

    fn poll_packet(&mut self, out: &mut [u8]) -> Option<usize> {
        let packet = self.to_host.receive(self.now)?;
        out[..packet.len()].copy_from_slice(&packet);
        Some(packet.len())
    }

    fn border<R>(&mut self, act: impl FnOnce(Instant, &mut HeapNode) -> R) -> R {
        let result = act(self.now, &mut self.node);
        self.settle();
        result
    }
}

/// A node behind a TUN interface of its own, and the loop that drives it.
pub struct Bench {
    pub mesh: DirectNode,
    gateway: Gateway,
}

impl Bench {
    pub fn new(prefix: u16, badness: Badness, seed: u64) -> Self {
        let tun = Tun::create(&common::config(prefix)).expect("a TUN interface");
        let address = common::node_address(prefix);
        let direction = |name| Direction::new(badness, Rng::named(seed, name));
        Bench {
            mesh: DirectNode {
                node: make(address.into(), seed),
                gate: Gate::new(prefix_of(address), 64),
                to_node: direction("to the node"),
                to_host: direction("to the host"),
                now: Instant::ZERO,
            },
            gateway: Gateway::new(Some(tun), Forwarder::new()),
        }
    }

    /// Runs the loop, with `step` in every turn, until it has an answer or the
    /// time is up.
    pub fn run<R>(
        &mut self,
        patience: Duration,
        mut step: impl FnMut(Instant, &mut HeapNode) -> Option<R>,
    ) -> R {
        let deadline = self.gateway.clock().now() + patience;
        loop {
            self.gateway
                .turn(&mut self.mesh)
                .expect("the interface stays");
            if let Some(answer) = self.mesh.border(&mut step) {
                return answer;
            }
            let now = self.gateway.clock().now();
            assert!(now < deadline, "time is up: {}", self.report());
            self.gateway
                .wait(&self.mesh, None, Some(now + Duration::from_millis(10)))
                .expect("poll(2) works");
        }
    }

    fn report(&self) -> String {
        let mesh = &self.mesh;
        let connections: Vec<String> = mesh
            .node
            .tcp_connections()
            .map(|(_, c)| format!("{:?} {:?}", c.state(), c.stats()))
            .collect();
        format!(
            "to node {:?}, to host {:?}, {:?}, {:?}, connections {connections:?}",
            mesh.to_node.counters,
            mesh.to_host.counters,
            mesh.gate.counters(),
            mesh.node.counters()
        )
    }
}

fn prefix_of(address: Ipv6Addr) -> Addr {
    let mut octets = address.octets();
    octets[8..].fill(0);
    Addr(octets)
}
