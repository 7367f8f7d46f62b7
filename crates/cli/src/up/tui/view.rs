//! The content of the view: a tree of nodes, connections and a log; and the commands of keys.

use std::collections::{BTreeMap, VecDeque};

use redpoll_base::{Addr, Instant};
use redpoll_sim::live::{Command, ConnectionSample, Sample};
use redpoll_sim::{RadioState, Role, World};
use redpoll_tcp::Endpoint;

const LOG: usize = 500;
/// Time over which goodput is measured, in microseconds.
const SPAN_US: u64 = 2_000_000;
/// Size in bytes of the transfer that a key starts.
const TRANSFER: u64 = 50 * 1024;
/// Shares of a node's frames that are lost. Each press of `l` selects the next share.
const LOSSES: [f64; 4] = [0.0, 0.1, 0.3, 0.6];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    End,
    Up,
    Down,
    Power,
    /// Selects the node's next larger loss share, or 0 after the largest.
    Lose,
    /// Starts a transfer of 50 KiB from the node to the border router.
    Transfer,
    /// Pauses or resumes the view, while the mesh continues.
    Pause,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct NodeLine {
    pub node: u32,
    pub name: String,
    /// Depth of the node in the tree of routes.
    pub depth: usize,
    pub parent: Option<String>,
    /// Number of hops to the root; `None` without a route.
    pub hops: Option<usize>,
    pub is_off: bool,
    /// Duty cycle of the radio in percent.
    pub duty_cycle: f64,
    pub queued: u16,
    pub sent: u32,
    pub retries: u32,
    pub collisions: u32,
    /// Share of the node's frames that are lost, as selected with `l`.
    pub loss: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct FlowLine {
    pub ends: String,
    pub state: String,
    pub goodput_kbps: f64,
    pub cwnd: u32,
    pub rtt_ms: f64,
    pub rto_ms: f64,
    pub retransmissions: u32,
}

#[derive(Clone, Debug, Default)]
struct Track {
    /// Times in microseconds, and bytes acknowledged or received until then, over [`SPAN_US`].
    bytes: VecDeque<(u64, u64)>,
    timeouts: u32,
}

pub(super) struct View {
    pub title: String,
    pub at: Instant,
    pub is_paused: bool,
    pub nodes: Vec<NodeLine>,
    pub flows: Vec<FlowLine>,
    pub log: VecDeque<String>,
    pub chosen: u32,
    names: Vec<String>,
    root: u32,
    addresses: BTreeMap<Addr, u32>,
    host: Addr,
    losses: Vec<usize>,
    tracks: BTreeMap<(Endpoint, Endpoint), Track>,
    /// For each node, whether it was off, and its parent, at the previous sample.
    before: Option<Vec<(bool, Option<u32>)>>,
}

impl View {
    /// Makes a view that knows only the scenario of `world`.
    pub(super) fn of(world: &World) -> View {
        let scenario = world.scenario();
        let nodes = || scenario.nodes.iter().enumerate();
        let address = |(index, _): (usize, _)| Some((scenario.address(index)?, index as u32));
        let is_border = |(_, node): &(usize, &redpoll_sim::NodeSpec)| node.role == Role::Border;
        View {
            title: scenario.name.clone(),
            at: Instant::ZERO,
            is_paused: false,
            nodes: Vec::new(),
            flows: Vec::new(),
            log: VecDeque::new(),
            chosen: 0,
            names: nodes().map(|(_, node)| node.name.clone()).collect(),
            root: nodes().position(|it| is_border(&it)).unwrap_or_default() as u32,
            addresses: nodes().filter_map(address).collect(),
            host: scenario.border.host,
            losses: vec![0; scenario.nodes.len()],
            tracks: BTreeMap::new(),
            before: None,
        }
    }

    pub(super) fn see(&mut self, sample: &Sample) {
        self.notice(sample);
        let flows = self.flow_lines(sample);
        if self.is_paused {
            return;
        }
        self.at = sample.at;
        self.flows = flows;
        self.nodes = self.node_lines(sample);
    }

    pub(super) fn log(&mut self, line: &str) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        // Text from other sources may contain anything, and must not move the cursor.
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        self.log.push_back(line);
    }

    fn log_at(&mut self, at: Instant, line: &str) {
        let s = at.as_micros() as f64 / 1e6;
        self.log(&format!("{s:.1} s: {line}"));
    }

    pub(super) fn press(&mut self, key: Key) -> Vec<Command> {
        let node = self.chosen;
        match key {
            Key::End => Vec::new(),
            Key::Up => self.choose(-1),
            Key::Down => self.choose(1),
            Key::Pause => {
                self.is_paused = !self.is_paused;
                Vec::new()
            }
            Key::Power => {
                let is_off = self.line_of(node).is_some_and(|line| line.is_off);
                vec![if is_off {
                    Command::Revive { node }
                } else {
                    Command::Kill { node }
                }]
            }
            Key::Lose => {
                let Some(at) = self.losses.get_mut(node as usize) else {
                    return Vec::new();
                };
                *at = (*at + 1) % LOSSES.len();
                let share = LOSSES[*at];
                let lose = |from, to| Command::Lose { from, to, share };
                vec![lose(Some(node), None), lose(None, Some(node))]
            }
            Key::Transfer if node == self.root => {
                self.log(
                    "refused: a transfer goes from the selected node to the border router; \
                    select a node other than the border router",
                );
                Vec::new()
            }
            Key::Transfer => vec![Command::Transfer {
                from: node,
                to: self.root,
                bytes: TRANSFER,
            }],
        }
    }

    fn line_of(&self, node: u32) -> Option<&NodeLine> {
        self.nodes.iter().find(|line| line.node == node)
    }

    fn choose(&mut self, by: isize) -> Vec<Command> {
        let at = self.nodes.iter().position(|line| line.node == self.chosen);
        let last = self.nodes.len().saturating_sub(1);
        let at = at.unwrap_or(0).saturating_add_signed(by).min(last);
        if let Some(line) = self.nodes.get(at) {
            self.chosen = line.node;
        }
        Vec::new()
    }

    fn notice(&mut self, sample: &Sample) {
        let now = sample
            .nodes
            .iter()
            .map(|node| (node.radio == RadioState::Off, node.parent));
        let now: Vec<(bool, Option<u32>)> = now.collect();
        let Some(before) = self.before.replace(now.clone()) else {
            return;
        };
        for (index, (was, is)) in before.iter().zip(&now).enumerate() {
            let name = self.name(index as u32);
            if was.0 != is.0 {
                let word = if is.0 {
                    "switched off"
                } else {
                    "switched on again"
                };
                self.log_at(sample.at, &format!("{name} is {word}"));
            }
            if was.1 != is.1 {
                let parent = is.1.map_or("none".to_owned(), |parent| self.name(parent));
                self.log_at(sample.at, &format!("the parent of {name} is now {parent}"));
            }
        }
    }

    /// Returns the lines of a node and, after it, of its descendants.
    fn node_lines(&self, sample: &Sample) -> Vec<NodeLine> {
        let count = sample.nodes.len();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut tops = Vec::new();
        for (index, node) in sample.nodes.iter().enumerate() {
            let parent = node.parent.map(|parent| parent as usize);
            match parent.filter(|parent| *parent < count && *parent != index) {
                Some(parent) => below[parent].push(index),
                None => tops.push(index),
            }
        }
        let mut lines = Vec::new();
        let mut is_told = vec![false; count];
        // Nodes whose parents form a loop are below no top node. They are shown after the tree, as
        // if they were top nodes.
        for top in tops.into_iter().chain(0..count) {
            let mut stack = vec![(top, 0)];
            while let Some((index, depth)) = stack.pop() {
                if std::mem::replace(&mut is_told[index], true) {
                    continue;
                }
                lines.push(self.node_line(sample, index, depth));
                stack.extend(below[index].iter().rev().map(|child| (*child, depth + 1)));
            }
        }
        lines
    }

    fn node_line(&self, sample: &Sample, index: usize, depth: usize) -> NodeLine {
        let node = &sample.nodes[index];
        NodeLine {
            node: index as u32,
            name: self.name(index as u32),
            depth,
            parent: node.parent.map(|parent| self.name(parent)),
            hops: self.hops(sample, index),
            is_off: node.radio == RadioState::Off,
            duty_cycle: 100.0 * node.duty_cycle,
            queued: node.queued,
            sent: node.sent,
            retries: node.retries,
            collisions: node.collisions,
            loss: LOSSES[self.losses[index]],
        }
    }

    /// Counts the hops to the border router along the parents; `None` without a route.
    fn hops(&self, sample: &Sample, index: usize) -> Option<usize> {
        let mut at = index;
        for hops in 0..=sample.nodes.len() {
            match sample.nodes.get(at)?.parent {
                None => return (at as u32 == self.root).then_some(hops),
                Some(parent) => at = parent as usize,
            }
        }
        None
    }

    fn name(&self, node: u32) -> String {
        self.names.get(node as usize).cloned().unwrap_or_default()
    }

    fn end(&self, end: &Endpoint) -> String {
        let known = self.addresses.get(&end.addr).map(|node| self.name(*node));
        let host = (end.addr == self.host).then(|| "host".to_owned());
        let name = known.or(host);
        let name = name.unwrap_or_else(|| std::net::Ipv6Addr::from(end.addr).to_string());
        format!("{name}:{}", end.port)
    }

    /// Returns a line for each connection. If both ends are in the mesh, the line is that of the
    /// end that has sent more.
    fn flow_lines(&mut self, sample: &Sample) -> Vec<FlowLine> {
        let mut chosen: BTreeMap<(Endpoint, Endpoint), &ConnectionSample> = BTreeMap::new();
        let sends = |it: &ConnectionSample| u64::from(it.acked) + u64::from(it.unacked);
        for conn in &sample.connections {
            if matches!(conn.state.as_str(), "Closed" | "Listen") {
                continue;
            }
            let ends = if conn.local <= conn.remote {
                (conn.local, conn.remote)
            } else {
                (conn.remote, conn.local)
            };
            let present = chosen.entry(ends).or_insert(conn);
            if sends(conn) > sends(present) {
                *present = conn;
            }
        }
        let mut tracks = std::mem::take(&mut self.tracks);
        tracks.retain(|ends, _| chosen.contains_key(ends));
        let mut lines = Vec::new();
        for (ends, conn) in &chosen {
            let track = tracks.entry(*ends).or_default();
            let again = &conn.retransmissions;
            if again.rto > track.timeouts {
                let ends = format!("{} to {}", self.end(&conn.local), self.end(&conn.remote));
                self.log_at(
                    sample.at,
                    &format!("a retransmission timer expired: {ends}"),
                );
            }
            track.timeouts = again.rto;
            let bytes = u64::from(conn.acked) + u64::from(conn.received);
            lines.push(FlowLine {
                ends: format!("{} > {}", self.end(&conn.local), self.end(&conn.remote)),
                state: conn.state.clone(),
                goodput_kbps: track.goodput_kbps(sample.at.as_micros(), bytes),
                cwnd: conn.cwnd,
                rtt_ms: conn.rtt_ms,
                rto_ms: conn.rto_ms,
                retransmissions: again.total(),
            });
        }
        self.tracks = tracks;
        lines
    }
}

impl Track {
    /// Returns the goodput of the last two seconds, given the number of bytes at `at_us`.
    fn goodput_kbps(&mut self, at_us: u64, bytes: u64) -> f64 {
        self.bytes.push_back((at_us, bytes));
        while self.bytes.len() > 2 && self.bytes[1].0 + SPAN_US <= at_us {
            self.bytes.pop_front();
        }
        let (from_us, from) = self.bytes[0];
        match at_us - from_us {
            0 => 0.0,
            // One bit per microsecond is 1000 kb/s.
            us => bytes.saturating_sub(from) as f64 * 8.0 * 1e3 / us as f64,
        }
    }
}

#[cfg(test)]
mod tests;
