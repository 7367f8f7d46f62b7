//! Nodes whose links form a graph. A frame takes 4 ms, and is acknowledged if its destination is a
//! neighbour.

use redpoll_base::{Addr, Duration, Instant, Memory, Rng};
use redpoll_lowpan::{LowpanMemory, Slot};
use redpoll_mac::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};
use redpoll_stack::{
    Node, NodeConfig, NodeMemory, RplConfig, RplMemory, RplRole, RplRoot, UdpId, UdpSlot,
};
use redpoll_tcp::Endpoint;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;
use redpoll_wire::rpl::{Configuration, config_flag, mode, objective};
use redpoll_wire::sixlowpan::Contexts;

use super::{Change, Graph, Trial};

const PREFIX: Addr = Addr([0xfd, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
const PORT: u16 = 9;
/// Virtual time from the end of a check of the mesh to the start of the next check.
const CHECK: Duration = Duration::from_secs(1);

const CONFIGURATION: Configuration = Configuration {
    flags: config_flag::RPI_0X23,
    interval_doublings: 8,
    interval_min: 10,
    redundancy: 10,
    max_rank_increase: 1024,
    min_hop_rank_increase: 128,
    objective: objective::MRHOF,
    lifetime: 30,
    lifetime_unit_s: 60,
};

/// A defect of the mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// After the first change, no multicast frame arrives.
    NoMulticast,
    /// After the first change, frames to the root are acknowledged but do not arrive.
    RootForgets,
    /// After the first change, broken links still acknowledge frames, so their ends notice nothing.
    FalseAcks,
}

enum Heap {}

impl Memory for Heap {
    type Buffer = Box<[u8]>;
    type Table<T: 'static> = Box<[T]>;
    type Forwards = bool;
    const JOINS_FRAGMENTS: bool = true;
}

struct Inhabitant {
    node: Node<Heap>,
    socket: UdpId,
    loaded: Vec<u8>,
}

/// The nodes and the links between them.
pub struct Mesh {
    now: Instant,
    graph: Graph,
    trial: Trial,
    inhabitants: Vec<Inhabitant>,
    /// Losses of the next multicast frames, one bit each; the lowest bit is for the next frame.
    lost: u32,
    changed: bool,
    boots: u64,
    loops_since: Option<Instant>,
    longest_loop: Duration,
}

fn short(index: usize) -> u16 {
    index as u16 + 1
}

fn address(index: usize) -> Addr {
    addr::from_prefix_and_short(&PREFIX, short(index))
}

fn inhabitant(index: usize, now: Instant, trial: &Trial, boots: u64) -> Inhabitant {
    let mut contexts = Contexts::default();
    contexts.set(0, PREFIX, 64);
    let config = NodeConfig::over_ip(address(index), [index as u8 + 1; 16]).with(|it| {
        it.mac = MacConfig::default().with(|it| {
            it.short = short(index);
            it.extended = [2, 0, 0, 0, 0, 0, 0, short(index) as u8];
            it.caps = RadioCaps {
                auto_ack: true,
                ..RadioCaps::default()
            };
        });
        it.contexts = contexts;
        it.forwards = true;
    });
    let buffer = |len: usize| vec![0; len].into();
    let memory = NodeMemory {
        connections: Box::default(),
        listeners: Box::default(),
        half_open: Box::default(),
        servers: Box::default(),
        udp: vec![UdpSlot::new(buffer(512))].into(),
        routes: vec![None; 8].into(),
        neighbours: vec![None; 4].into(),
        lowpan: LowpanMemory {
            slots: vec![Slot::EMPTY; 8].into(),
            bytes: buffer(8 * 1280),
        },
    };
    let seed = trial.seed * 1_000 + boots * 10 + index as u64;
    let mut node = Node::<Heap>::new(config, memory, Rng::stream(seed, 1));
    let role = match index {
        0 => {
            let mode = match trial.storing {
                true => mode::STORING,
                false => mode::NON_STORING,
            };
            RplRole::Root(RplRoot::new(PREFIX, mode, CONFIGURATION))
        }
        _ => RplRole::Router,
    };
    let memory = RplMemory {
        neighbours: vec![None; 6].into(),
    };
    node.route_by_rpl(now, role, RplConfig::new(seed), memory);
    let socket = node.udp_bind(PORT).expect("the slot is free");
    Inhabitant {
        node,
        socket,
        loaded: Vec::new(),
    }
}

impl Mesh {
    /// Starts all nodes.
    #[must_use]
    pub fn new(trial: &Trial) -> Mesh {
        let now = Instant::from_millis(1_000);
        let nodes = 0..trial.graph.nodes();
        Mesh {
            now,
            graph: trial.graph,
            trial: *trial,
            inhabitants: nodes.map(|it| inhabitant(it, now, trial, 0)).collect(),
            lost: 0,
            changed: false,
            boots: 0,
            loops_since: None,
            longest_loop: Duration::ZERO,
        }
    }

    pub(super) fn longest_loop(&self) -> Duration {
        self.longest_loop
    }

    pub(super) fn lose(&mut self, lost: u32) {
        self.lost = lost;
    }

    pub(super) fn change(&mut self, change: Change) {
        self.changed = true;
        match change {
            Change::Toggle(a, b) => self.graph.toggle(a, b),
            Change::Restart(index) => {
                self.boots += 1;
                self.inhabitants[index] = inhabitant(index, self.now, &self.trial, self.boots);
            }
        }
    }

    /// Runs until all nodes have correct routes, for at most `limit`, and returns the elapsed time.
    pub(super) fn converge(&mut self, limit: Duration) -> Result<Duration, String> {
        let begun = self.now;
        let mut why = String::new();
        while self.now < begun + limit {
            self.run_until(self.now + CHECK);
            // A node detects a broken link only by sending. Without datagrams, its next DAO would
            // detect the broken link, up to 16 minutes later.
            for index in 1..self.inhabitants.len() {
                self.delivers(index, 0);
            }
            match self.judge() {
                Ok(()) => return Ok(self.now - begun),
                Err(text) => why = text,
            }
        }
        Err(format!(
            "{why}, {limit:?} after a change; ranks and parents: {:?}",
            self.places()
        ))
    }

    /// Returns the rank and the parent of each node.
    fn places(&self) -> Vec<Option<(u16, Option<Address>)>> {
        let nodes = self.inhabitants.iter();
        nodes.map(|it| it.node.rpl_place()).collect()
    }

    fn parent(&self, index: usize) -> Option<usize> {
        let (_, parent) = self.inhabitants[index].node.rpl_place()?;
        match parent? {
            Address::Short(short) => Some(usize::from(short) - 1),
            _ => None,
        }
    }

    fn has_loop(&self) -> bool {
        (1..self.inhabitants.len()).any(|start| {
            let mut at = Some(start);
            for _ in 0..self.inhabitants.len() {
                at = at.and_then(|it| self.parent(it));
            }
            at.is_some_and(|it| it != 0)
        })
    }

    /// Checks parents, and checks routes by datagrams in both directions.
    fn judge(&mut self) -> Result<(), String> {
        let reached = self.graph.reached();
        for index in 1..self.inhabitants.len() {
            let parent = self.parent(index);
            let has_way = reached.contains(&index);
            if has_way && !parent.is_some_and(|parent| self.graph.has(index, parent)) {
                return Err(format!("node {index} has no parent that it hears"));
            }
            if !has_way && parent.is_some() {
                return Err(format!(
                    "node {index} has a parent, but no path to the root"
                ));
            }
        }
        if self.has_loop() {
            return Err("the parents form a loop".to_owned());
        }
        for index in reached.into_iter().filter(|index| *index != 0) {
            for (from, to) in [(index, 0), (0, index)] {
                if !self.delivers(from, to) {
                    return Err(format!("a datagram from {from} does not reach {to}"));
                }
            }
        }
        Ok(())
    }

    fn delivers(&mut self, from: usize, to: usize) -> bool {
        let mut out = [0; 16];
        while self.recv(to, &mut out).is_some() {}
        let dst = Endpoint {
            addr: address(to),
            port: PORT,
        };
        let Inhabitant { node, socket, .. } = &mut self.inhabitants[from];
        if node.udp_send(self.now, *socket, dst, b"proof").is_err() {
            return false;
        }
        self.run_until(self.now + Duration::from_millis(300));
        self.recv(to, &mut out) == Some(5)
    }

    fn recv(&mut self, at: usize, out: &mut [u8]) -> Option<usize> {
        let Inhabitant { node, socket, .. } = &mut self.inhabitants[at];
        node.udp_recv(*socket, out).map(|(len, _)| len)
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            self.settle();
            self.watch();
            let timers = self.inhabitants.iter().filter_map(|it| it.node.poll_at());
            match timers.map(|wake| wake.at).min() {
                Some(at) if at <= until => {
                    self.now = self.now.max(at);
                    for it in &mut self.inhabitants {
                        it.node.on_timeout(self.now);
                    }
                }
                _ => break,
            }
        }
        self.now = self.now.max(until);
    }

    /// Updates the longest time for which parents form a loop.
    fn watch(&mut self) {
        if !self.has_loop() {
            self.loops_since = None;
            return;
        }
        let since = *self.loops_since.get_or_insert(self.now);
        self.longest_loop = self.longest_loop.max(self.now - since);
    }

    /// Lets every node do all work that is due now.
    fn settle(&mut self) {
        let mut is_busy = true;
        while is_busy {
            is_busy = false;
            for index in 0..self.inhabitants.len() {
                let Inhabitant { node, loaded, .. } = &mut self.inhabitants[index];
                while node.poll_event().is_some() {}
                let Some(work) = node.poll_radio(self.now) else {
                    continue;
                };
                is_busy = true;
                match work {
                    RadioWork::Load => {
                        *loaded = node.frame().to_vec();
                        node.on_radio_done(self.now, RadioResult::Loaded);
                    }
                    RadioWork::Transmit { .. } => {
                        let frame = loaded.clone();
                        self.transmit(index, &frame);
                    }
                    _ => {}
                }
            }
        }
    }

    fn transmit(&mut self, from: usize, frame: &[u8]) {
        // Time on air of a frame.
        self.now += Duration::from_millis(4);
        let asks_ack = frame[0] & 0x20 != 0;
        let to = usize::from(u16::from_le_bytes([frame[5], frame[6]])).wrapping_sub(1);
        let defect = self.trial.defect.filter(|_| self.changed);
        if !asks_ack {
            let is_lost = self.lost & 1 == 1 || defect == Some(Defect::NoMulticast);
            self.lost >>= 1;
            for index in (0..self.inhabitants.len()).filter(|_| !is_lost) {
                if self.graph.has(from, index) {
                    self.hear(index, frame);
                }
            }
            let node = &mut self.inhabitants[from].node;
            return node.on_radio_done(self.now, RadioResult::Sent);
        }
        let is_forgotten = to == 0 && defect == Some(Defect::RootForgets);
        let is_heard = to < self.inhabitants.len() && self.graph.has(from, to);
        if is_heard && !is_forgotten {
            self.hear(to, frame);
        }
        let result = match is_heard || defect == Some(Defect::FalseAcks) {
            true => RadioResult::Acked {
                frame_pending: false,
            },
            false => RadioResult::NoAck,
        };
        self.inhabitants[from].node.on_radio_done(self.now, result);
    }

    fn hear(&mut self, index: usize, frame: &[u8]) {
        let node = &mut self.inhabitants[index].node;
        node.input_frame(self.now, frame, RxInfo::default());
    }
}
