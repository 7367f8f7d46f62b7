//! A node on a direct link without radio that loses, duplicates and reorders packets.

use std::net::Ipv6Addr;

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_border::Gate;
use redpoll_linux::forward::Forwarder;
use redpoll_linux::gateway::{Gateway, Mesh};
use redpoll_linux::tun::Tun;
use redpoll_rivals::Rival;
use redpoll_stack::transport;
use redpoll_testkit::{Badness, Wire};

use crate::common;
use crate::node::{HeapMemory, HeapNode, make_with};

const DELAY: Duration = Duration::from_millis(2);
/// A packet of 1280 bytes without the IPv6 and TCP headers (RFC 6691 §2).
const MSS: u16 = 1280 - 40 - 20;
/// Shorter than a mesh needs, and than RFC 6298 recommends: with a lower bound
/// of 1 s this test would spend minutes waiting for a link of some milliseconds.
const MIN_RTO: Duration = Duration::from_millis(250);

/// The node with its bad link, as the gateway sees it.
pub struct DirectNode {
    pub node: HeapNode,
    pub gate: Gate,
    pub to_node: Wire,
    pub to_host: Wire,
    now: Instant,
}

impl DirectNode {
    fn settle(&mut self) {
        while let Some(packet) = self.to_node.receive(self.now) {
            // If the node refuses a packet, the gate's counters have the reason.
            let _ = self.gate.input_packet(self.now, &mut self.node, &packet);
        }
        if self.node.poll_at().is_some_and(|wake| wake.at <= self.now) {
            self.node.on_timeout(self.now);
        }
        while self.node.poll_radio(self.now).is_some() {}
        let mut packet = [0; 2048];
        while let Some(len) = self.gate.poll_packet(self.now, &mut self.node, &mut packet) {
            self.to_host.send(self.now, &packet[..len]);
        }
    }
}

impl Mesh for DirectNode {
    type Border = HeapNode;

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

/// A node with its own TUN interface, and the loop that drives it.
pub struct Bench {
    pub mesh: DirectNode,
    gateway: Gateway,
}

impl Bench {
    pub fn new(prefix: u16, badness: Badness, seed: u64) -> Self {
        Bench::with(prefix, badness, seed, Rival::default())
    }

    pub fn with(prefix: u16, badness: Badness, seed: u64, rival: Rival<HeapMemory>) -> Self {
        let tun = Tun::create(&common::config(prefix)).expect("a TUN interface");
        let address = common::node_address(prefix);
        let tcp = transport::Config {
            mss: MSS,
            min_rto: MIN_RTO,
            ..transport::Config::default()
        };
        let wire = |name| Wire::new(DELAY, badness, Rng::named(seed, name));
        Bench {
            mesh: DirectNode {
                node: make_with(address.into(), seed, tcp, rival),
                gate: Gate::new(prefix_of(address), 64),
                to_node: wire("to the node"),
                to_host: wire("to the host"),
                now: Instant::ZERO,
            },
            gateway: Gateway::new(Some(tun), Forwarder::new()),
        }
    }

    /// Runs the loop, with `step` in every turn, until it has an answer or the time is up.
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
                .wait(&self.mesh, &[], Some(now + Duration::from_millis(10)))
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
