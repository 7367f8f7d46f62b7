use std::boxed::Box;
use std::vec;
use std::vec::Vec;

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_lowpan::{LowpanConfig, LowpanMemory, Slot};
use redpoll_mac::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_tcp::{Endpoint, FastOpenServer, HalfOpen};
use redpoll_wire::ipv6::addr;
use redpoll_wire::sixlowpan::Contexts;

use crate::{
    ConnectionSlot, ListenerSlot, NdConfig, Node, NodeConfig, NodeEvent, NodeMemory, UdpSlot,
};

enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

fn address(short: u16) -> Addr {
    let mut prefix = [0; 16];
    prefix[0] = 0xfd;
    addr::from_prefix_and_short(&Addr(prefix), short)
}

fn node(short: u16) -> Node<HeapMemory> {
    let buffer = |len: usize| vec![0; len].into_boxed_slice();
    let config = NodeConfig {
        mac: MacConfig::default().with(|it| {
            it.short = short;
            it.caps = RadioCaps {
                auto_ack: true,
                ..RadioCaps::default()
            };
        }),
        lowpan: LowpanConfig::default(),
        contexts: Contexts::default(),
        tcp: redpoll_tcp::Config::default(),
        address: address(short),
        hop_limit: 64,
        forwards: true,
        sleepy: None,
        preempts: true,
        nd: NdConfig::default(),
        isn_secret: [7; 16],
    };
    let memory = NodeMemory {
        connections: vec![ConnectionSlot::new(buffer(1200), buffer(1200))].into(),
        listeners: vec![ListenerSlot::default()].into(),
        half_open: vec![HalfOpen::default()].into(),
        servers: vec![FastOpenServer::default()].into(),
        udp: vec![UdpSlot::new(buffer(300))].into(),
        routes: vec![].into(),
        neighbours: vec![].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 6].into(),
            bytes: buffer(6 * 1280),
        },
    };
    let mut node = Node::new(config, memory, Rng::stream(1, short.into()));
    node.net.routing.begin_flooding();
    node
}

/// Nodes 1 to 4. Each hears only its neighbours in the line.
struct Line {
    now: Instant,
    nodes: Vec<Node<HeapMemory>>,
    frames: usize,
}

impl Line {
    fn new() -> Self {
        let nodes = (1..=4).map(node).collect();
        let now = Instant::from_millis(1_000);
        let frames = 0;
        Line { now, nodes, frames }
    }

    fn settle(&mut self) {
        let mut busy = true;
        while busy {
            busy = false;
            for at in 0..self.nodes.len() {
                let work = self.nodes[at].poll_radio(self.now);
                busy |= work.is_some();
                let result = match work {
                    Some(RadioWork::Load) => RadioResult::Loaded,
                    Some(RadioWork::Transmit { .. }) => {
                        self.transmit(at);
                        RadioResult::Sent
                    }
                    _ => continue,
                };
                self.nodes[at].on_radio_done(self.now, result);
            }
        }
    }

    fn transmit(&mut self, at: usize) {
        let frame = self.nodes[at].frame().to_vec();
        assert_eq!(frame[0] & 0x20, 0, "a flood asks for no acknowledgements");
        self.frames += 1;
        self.now += Duration::from_millis(4);
        for near in [at.wrapping_sub(1), at + 1] {
            if let Some(node) = self.nodes.get_mut(near) {
                node.input_frame(self.now, &frame, RxInfo::default());
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.settle();
            self.now += Duration::from_millis(5);
            for node in &mut self.nodes {
                node.on_timeout(self.now);
            }
        }
    }
}

#[test]
fn an_echo_reaches_the_end_of_the_line_and_returns() {
    let mut line = Line::new();
    line.nodes[0].ping(line.now, address(4), 7, 1, 8).unwrap();
    line.run_for(Duration::from_secs(1));
    let reply = NodeEvent::EchoReply { ident: 7, seq: 1 };
    assert_eq!(line.nodes[0].poll_event(), Some(reply));
    // Three nodes send the request, and three the reply.
    assert_eq!(line.frames, 6);
    let forwarded = [0, 1, 2, 3].map(|at| line.nodes[at].counters().forwarded);
    assert_eq!(forwarded, [0, 2, 2, 0]);
}

#[test]
fn every_node_reaches_every_other_one() {
    let mut line = Line::new();
    for from in 0..4_u16 {
        for to in (0..4).filter(|to| *to != from) {
            let node = &mut line.nodes[usize::from(from)];
            node.ping(line.now, address(to + 1), from, to, 8).unwrap();
            line.run_for(Duration::from_secs(1));
            let reply = NodeEvent::EchoReply {
                ident: from,
                seq: to,
            };
            let event = line.nodes[usize::from(from)].poll_event();
            assert_eq!(event, Some(reply), "{from} to {to}");
        }
    }
}

#[test]
fn a_connection_crosses_the_line() {
    let mut line = Line::new();
    let listener = line.nodes[3].tcp_listen(80).unwrap();
    let addr = address(4);
    let client = line.nodes[0].tcp_connect(line.now, Endpoint { addr, port: 80 });
    let client = client.unwrap();
    line.run_for(Duration::from_secs(2));
    let server = line.nodes[3].tcp_accept(listener).unwrap();
    let data: Vec<u8> = (0..1000).map(|at| (at % 251) as u8).collect();
    let sent = line.nodes[0].tcp_send(line.now, client, &data);
    assert_eq!(sent.unwrap(), data.len());
    line.run_for(Duration::from_secs(20));
    let mut received = vec![0; 2000];
    let len = line.nodes[3].tcp_recv(line.now, server, &mut received);
    assert_eq!(received[..len.unwrap()], data);
}
