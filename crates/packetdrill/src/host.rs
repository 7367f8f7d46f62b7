//! A node at the far end of a direct link, its virtual clock, and the packets that it sent.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZero;

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_mac::{CsmaCa, MacConfig};
use redpoll_stack::assist::NoAssist;
use redpoll_stack::transport::{FastOpenServer, HalfOpen};
use redpoll_stack::{
    ConnectionSlot, ListenerSlot, NoStreams, Node, NodeConfig, NodeMemory, Parts, Profile, Pull,
    Route, StandardRules, Via,
};
use redpoll_tcp::{Algorithms, Endpoint, NewReno, Standard};
use redpoll_wire::ipv6::Ipv6Header;

use crate::{Settings, v4};

#[derive(Debug)]
pub(crate) enum HeapMemory {}

impl Memory for HeapMemory {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
}

#[derive(Debug)]
pub(crate) enum HostProfile {}

impl Profile for HostProfile {
    type Memory = HeapMemory;
    type Access = CsmaCa;
    type Algorithms = InitialWindow;
    type Assist = NoAssist;
    type Streams = NoStreams;
    type Rules = StandardRules;
    type Handover = Pull;
}

/// The standard algorithms of a TCP connection, with a configurable initial window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct InitialWindow(Option<NonZero<u8>>);

impl Algorithms for InitialWindow {
    type Congestion = NewReno;

    fn congestion(&self, mss: u32) -> NewReno {
        Standard.congestion(mss)
    }

    fn initial_window(&self, mss: u32) -> u32 {
        match self.0 {
            Some(segments) => mss * u32::from(segments.get()),
            None => Standard.initial_window(mss),
        }
    }
}

/// A packet that the node sent: IPv4 to an IPv4 destination, otherwise IPv6.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentPacket {
    pub at: Instant,
    pub bytes: Vec<u8>,
}

/// Start of virtual time, large enough that no subtraction underflows.
const BEGINNING: Instant = Instant::from_micros(1_000_000_000_000);
/// Default local address, as in Google's packetdrill.
const DEFAULT_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1);
const CONNECTIONS: usize = 32;
const LISTENERS: usize = 8;
const HALF_OPEN: usize = 8;
/// Number of servers whose cookies are stored (RFC 7413 §4.1.3).
const SERVERS: usize = 8;
/// Number of packet slots: more than the node queues for its host side.
const SLOTS: usize = 40;
/// Number of consecutive timeouts at the same virtual time that counts as an endless loop.
const RUNAWAY: u32 = 10_000;

/// A node, a virtual clock and the packets that the node sent.
///
/// The first `listen`, `connect` or packet starts the node. Before the start, each change of the
/// [`Settings`] replaces the node. Only [`step`](Self::step) and [`advance`](Self::advance) advance
/// the time.
pub struct Host {
    settings: Settings,
    node: Node<HostProfile>,
    begun: bool,
    now: Instant,
    sent: VecDeque<SentPacket>,
}

impl Host {
    pub fn new(settings: Settings) -> Host {
        Host {
            node: make_node(&settings),
            settings,
            begun: false,
            now: BEGINNING,
            sent: VecDeque::new(),
        }
    }

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Removes and returns the oldest sent packet.
    pub fn next_packet(&mut self) -> Option<SentPacket> {
        self.sent.pop_front()
    }

    pub fn has_packet(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Returns the expiry time of the node's next timer.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.node.poll_at()?.at.max(self.now))
    }

    /// Advances the time to the next timer, at most to `limit`. Returns whether a timer fired.
    pub fn step(&mut self, limit: Instant) -> bool {
        let Some(due) = self.deadline().filter(|due| *due <= limit) else {
            self.now = self.now.max(limit);
            return false;
        };
        self.now = due;
        let now = self.now;
        self.with_node(|node| node.on_timeout(now));
        true
    }

    /// Advances the time to `target`; timers fire in order. Panics if a timer does not advance
    /// after it fires.
    pub fn advance(&mut self, target: Instant) {
        let (mut last, mut times) = (self.now, 0);
        while self.step(target) {
            times = if self.now == last { times + 1 } else { 0 };
            last = self.now;
            assert!(
                times < RUNAWAY,
                "a timer of the node is still due after it fired"
            );
        }
    }

    /// Passes an IPv6 or IPv4 packet to the node, and queues the node's responses. The node
    /// silently drops invalid packets.
    pub fn input(&mut self, packet: &[u8]) {
        let translated;
        let packet = match packet.first().map(|first| first >> 4) {
            Some(4) => match v4::to_v6(packet) {
                Some(bytes) => {
                    translated = bytes;
                    &translated
                }
                None => return,
            },
            _ => packet,
        };
        if let Ok((header, _)) = Ipv6Header::parse_partial(packet) {
            self.learn_address(v4::extract(&header.dst));
        }
        self.begin();
        let now = self.now;
        // Ignore the error: the node counts the packets that it drops.
        self.with_node(|node| node.input_packet(now, packet).ok());
    }

    /// Sets the host's address, unless it is already set.
    pub(crate) fn learn_address(&mut self, addr: IpAddr) {
        if !addr.is_unspecified() && !addr.is_multicast() && self.settings.local.is_none() {
            self.adapt(|settings| settings.local = Some(addr));
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Changes the settings. Returns `false` without a change if the node has started.
    pub(crate) fn adapt(&mut self, change: impl FnOnce(&mut Settings)) -> bool {
        let mut changed = self.settings.clone();
        change(&mut changed);
        if changed == self.settings {
            return true;
        }
        if !self.begun {
            self.node = make_node(&changed);
            self.settings = changed;
        }
        !self.begun
    }

    pub(crate) fn begin(&mut self) {
        self.begun = true;
    }

    pub(crate) fn with_node<T>(&mut self, call: impl FnOnce(&mut Node<HostProfile>) -> T) -> T {
        let result = call(&mut self.node);
        let mut packet = vec![0; self.settings.mtu.into()];
        let mut made = Vec::new();
        while let Some(len) = self.node.poll_packet(self.now, &mut packet) {
            made.push(packet[..len].to_vec());
        }
        // The sockets read the node's state, so its events are discarded.
        while self.node.poll_event().is_some() {}
        for packet in &made {
            self.queue(packet);
        }
        result
    }

    fn queue(&mut self, packet: &[u8]) {
        let bytes = if v4::is_for_v4(packet) {
            v4::to_v4(packet)
        } else {
            Some(packet.to_vec())
        };
        let bytes = bytes.filter(|bytes| !bytes.is_empty());
        self.sent.extend(bytes.map(|bytes| SentPacket {
            at: self.now,
            bytes,
        }));
    }

    pub fn after(&self, span: Duration) -> Instant {
        self.now + span
    }
}

pub(crate) fn endpoint(addr: std::net::SocketAddr) -> Endpoint {
    Endpoint::new(v4::embed(addr.ip()), addr.port())
}

fn make_node(settings: &Settings) -> Node<HostProfile> {
    let address = v4::embed(settings.local.unwrap_or(DEFAULT_LOCAL.into()));
    let buffer = |len: usize| vec![0; len].into_boxed_slice();
    let config = NodeConfig::over_ip(address, *b"packetdrill test").with(|it| {
        it.mac = MacConfig::default().with(|it| it.short = 1);
        it.tcp = settings.tcp.clone();
    });
    let config = config.with_algorithms(InitialWindow(settings.initial_window));
    let memory = NodeMemory {
        connections: (0..CONNECTIONS)
            .map(|_| ConnectionSlot::new(buffer(settings.sndbuf), buffer(settings.rcvbuf)))
            .collect(),
        listeners: (0..LISTENERS).map(|_| ListenerSlot::default()).collect(),
        half_open: [HalfOpen::default(); HALF_OPEN].into(),
        servers: [FastOpenServer::default(); SERVERS].into(),
        udp: Box::default(),
        routes: vec![None; 1].into(),
        neighbours: Box::default(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; SLOTS].into(),
            bytes: buffer(SLOTS * usize::from(settings.mtu)),
        },
    };
    let parts = Parts {
        access: CsmaCa,
        assist: NoAssist,
        streams: NoStreams,
        handover: Pull,
    };
    let mut node = Node::with_parts(config, memory, Rng::new(0x7270), parts);
    let everywhere = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    // The table has room for one route.
    node.add_route(everywhere)
        .expect("the table has room for a route");
    node
}
