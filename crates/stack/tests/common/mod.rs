//! Nodes on heap memory, and a line of them over a radio without delay: a frame reaches its
//! neighbour, or is lost by the test, as soon as it is sent.

#[cfg(feature = "rpl")]
#[allow(dead_code)]
pub mod dodag;
#[allow(dead_code)]
pub mod lone;
#[allow(dead_code)]
pub mod packets;
#[allow(dead_code)]
pub mod peer;
#[allow(dead_code)]
pub mod rules;

use std::marker::PhantomData;

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_mac::{CsmaCa, MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_stack::assist::{Assist, NoAssist};
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, NoStreams, Node, NodeConfig, NodeEvent, NodeMemory, Parts,
    Profile, Pull, Route, UdpSlot, Via,
};
use redpoll_tcp::{Endpoint, Standard};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6;
use redpoll_wire::sixlowpan::Contexts;

use rules::TestRules;

pub enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
    const JOINS_FRAGMENTS: bool = true;
}

pub struct Assisted<A>(PhantomData<A>);

impl<A: Assist> Profile for Assisted<A> {
    type Memory = HeapMemory;
    type Access = CsmaCa;
    type Algorithms = Standard;
    type Assist = A;
    type Streams = NoStreams;
    type Rules = TestRules;
    type Handover = Pull;
}

fn with_assistant<A: Assist>(assist: A) -> Parts<Assisted<A>> {
    Parts {
        access: CsmaCa,
        assist,
        streams: NoStreams,
        handover: Pull,
    }
}

pub type TestNode = Node<Assisted<NoAssist>>;

pub fn prefix() -> Addr {
    let mut prefix = [0; 16];
    prefix[..8].copy_from_slice(&[0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c]);
    Addr(prefix)
}

pub fn address(short: u16) -> Addr {
    ipv6::addr::from_prefix_and_short(&prefix(), short)
}

pub fn endpoint(short: u16, port: u16) -> Endpoint {
    Endpoint {
        addr: address(short),
        port,
    }
}

fn buffer(len: usize) -> Box<[u8]> {
    vec![0; len].into()
}

pub fn node(short: u16, buffers: usize) -> TestNode {
    node_with(short, buffers, |_| {})
}

pub fn node_with(short: u16, buffers: usize, adapt: impl FnOnce(&mut NodeConfig)) -> TestNode {
    assisted_node(short, buffers, adapt, NoAssist)
}

pub fn assisted_node<A: Assist>(
    short: u16,
    buffers: usize,
    adapt: impl FnOnce(&mut NodeConfig),
    assist: A,
) -> Node<Assisted<A>> {
    let (config, memory) = parts(short, buffers, adapt);
    let rng = Rng::stream(42, short.into());
    Node::with_parts(config, memory, rng, with_assistant(assist))
}

/// Returns a node of another profile, with short address 1.
#[allow(dead_code)]
pub fn node_of<P>(with: Parts<P>) -> Node<P>
where
    P: Profile<Memory = HeapMemory, Algorithms = Standard>,
{
    let (config, memory) = parts(1, 600, |_| {});
    Node::with_parts(config, memory, Rng::stream(42, 1), with)
}

#[allow(dead_code)]
pub fn node_with_memory(adapt: impl FnOnce(&mut NodeMemory<HeapMemory>)) -> TestNode {
    let (config, mut memory) = parts(1, 600, |_| {});
    adapt(&mut memory);
    TestNode::with_parts(config, memory, Rng::stream(42, 1), with_assistant(NoAssist))
}

fn parts(
    short: u16,
    buffers: usize,
    adapt: impl FnOnce(&mut NodeConfig),
) -> (NodeConfig, NodeMemory<HeapMemory>) {
    let mut contexts = Contexts::default();
    assert!(contexts.set(0, prefix(), 64));
    let mut config = NodeConfig::over_ip(address(short), [short as u8; 16]).with(|it| {
        it.mac = MacConfig::default().with(|it| {
            it.short = short;
            it.extended = [2, 0, 0, 0, 0, 0, 0, short as u8];
            it.caps = RadioCaps {
                auto_ack: true,
                ..RadioCaps::default()
            };
        });
        it.contexts = contexts;
        it.tcp = redpoll_tcp::Config {
            mss: 474,
            ..redpoll_tcp::Config::default()
        };
        it.forwards = true;
    });
    adapt(&mut config);
    let memory = NodeMemory {
        connections: (0..4)
            .map(|_| ConnectionSlot::new(buffer(buffers), buffer(buffers)))
            .collect(),
        listeners: (0..2).map(|_| ListenerSlot::default()).collect(),
        half_open: [HalfOpen::default(); 3].into(),
        servers: [FastOpenServer::default(); 2].into(),
        udp: (0..2).map(|_| UdpSlot::new(buffer(512))).collect(),
        routes: vec![None; 8].into(),
        neighbours: vec![None; 4].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 6].into(),
            bytes: buffer(6 * 1280),
        },
    };
    (config, memory)
}

type FateOf = Box<dyn FnMut(&[u8]) -> Fate>;
type Rewrite = Box<dyn FnMut(usize, &mut [u8])>;

/// Nodes 1, 2, … n; each hears only its neighbours in the line.
pub struct Line {
    pub now: Instant,
    pub nodes: Vec<TestNode>,
    pub events: Vec<(usize, NodeEvent)>,
    /// Decides the fate of each unicast frame.
    pub fate: FateOf,
    /// May change the frames of the node with this index.
    pub rewrite: Rewrite,
    pub frames: usize,
    loaded: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Arrives,
    Lost,
    /// The frame arrives but its acknowledgement does not.
    AckLost,
}

impl Line {
    pub fn new(count: u16, buffers: usize) -> Self {
        let mut nodes: Vec<_> = (1..=count).map(|short| node(short, buffers)).collect();
        for here in 1..=count {
            for there in (1..=count).filter(|&there| there != here) {
                let hop = if there > here { here + 1 } else { here - 1 };
                nodes[usize::from(here) - 1]
                    .add_route(Route {
                        prefix: address(there),
                        len: 128,
                        via: Via::Neighbour(Address::Short(hop)),
                    })
                    .unwrap();
            }
        }
        Line {
            loaded: vec![Vec::new(); nodes.len()],
            now: Instant::from_millis(1_000),
            nodes,
            events: Vec::new(),
            fate: Box::new(|_| Fate::Arrives),
            rewrite: Box::new(|_, _| ()),
            frames: 0,
        }
    }

    /// Lets every node do its due work.
    pub fn settle(&mut self) {
        loop {
            let mut busy = false;
            for i in 0..self.nodes.len() {
                while let Some(event) = self.nodes[i].poll_event() {
                    self.events.push((i, event));
                    busy = true;
                }
                let Some(work) = self.nodes[i].poll_radio(self.now) else {
                    continue;
                };
                busy = true;
                match work {
                    RadioWork::Load => {
                        self.loaded[i] = self.nodes[i].frame().to_vec();
                        self.nodes[i].on_radio_done(self.now, RadioResult::Loaded);
                    }
                    RadioWork::Transmit { .. } => {
                        let mut frame = self.loaded[i].clone();
                        (self.rewrite)(i, &mut frame);
                        self.transmit(i, &frame);
                    }
                    _ => {}
                }
            }
            if !busy {
                return;
            }
        }
    }

    fn transmit(&mut self, from: usize, frame: &[u8]) {
        self.frames += 1;
        // About the time of a whole frame.
        self.now += Duration::from_millis(4);
        let to = u16::from_le_bytes([frame[5], frame[6]]);
        let ack_request = frame[0] & 0x20 != 0;
        let info = RxInfo::default();
        if !ack_request {
            for i in [from.wrapping_sub(1), from + 1] {
                if let Some(node) = self.nodes.get_mut(i) {
                    node.input_frame(self.now, frame, info);
                }
            }
            self.nodes[from].on_radio_done(self.now, RadioResult::Sent);
            return;
        }
        let to = usize::from(to) - 1;
        assert_eq!(to.abs_diff(from), 1, "only neighbours hear each other");
        let fate = (self.fate)(frame);
        if fate != Fate::Lost {
            self.nodes[to].input_frame(self.now, frame, info);
        }
        let result = match fate {
            Fate::Arrives => RadioResult::Acked {
                frame_pending: false,
            },
            _ => RadioResult::NoAck,
        };
        self.nodes[from].on_radio_done(self.now, result);
    }

    /// Runs until no work is left or until `until`.
    pub fn run_until(&mut self, until: Instant) {
        loop {
            self.settle();
            let next = self.nodes.iter().filter_map(|n| n.poll_at()).map(|w| w.at);
            match next.min() {
                Some(at) if at <= until => {
                    self.now = self.now.max(at);
                    for node in &mut self.nodes {
                        node.on_timeout(self.now);
                    }
                }
                _ => break,
            }
        }
        self.now = self.now.max(until);
    }

    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    pub fn take_events(&mut self, node: usize) -> Vec<NodeEvent> {
        let (mine, others) = self.events.drain(..).partition(|(i, _)| *i == node);
        self.events = others;
        let mine: Vec<(usize, NodeEvent)> = mine;
        mine.into_iter().map(|(_, event)| event).collect()
    }
}
