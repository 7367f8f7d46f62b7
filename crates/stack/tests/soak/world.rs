//! Two nodes, the link between them, and the checks of the test.

use std::sync::atomic::{AtomicU64, Ordering};

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_stack::{ListenerId, Route, Via};
use redpoll_tcp::{Keepalive, State};
use redpoll_testkit::{Badness, Wire};

use crate::common::packets::{SYN, Tcp};
use crate::common::{TestNode, address, endpoint, node_with};
use crate::session::{End, Over, Plan};

const PORT: u16 = 80;
const BUFFER: usize = 400;
const DELAY: Duration = Duration::from_millis(20);
/// Connections that each node opens at the same time; a node has four connection slots.
const AT_ONCE: usize = 2;
/// After this number of sessions, everything must end and be free.
const REST: u64 = 500;
/// The longest time until everything is free: the last retries and keepalive probes take time.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How many ends may fail at a node because the other end's slot served another connection; one
/// more may fail per 1,000 sessions. Over links that lose 15 %, about one session in 40,000 fails
/// for this reason.
const LEFT_ALONE: u32 = 2;

#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub cycles: u64,
    well: u64,
    broken_off: u64,
    /// Sessions whose end failed because the other end aborted or released early.
    failed: u64,
    /// Sessions whose opener got no answer, because all slots of the other node were in use.
    unanswered: u64,
    floods: u64,
    packets: u64,
    virtual_s: u64,
}

pub struct World {
    seed: u64,
    rng: Rng,
    now: Instant,
    nodes: [TestNode; 2],
    listeners: [ListenerId; 2],
    /// `wires[i]` leads away from node i.
    wires: [Wire; 2],
    ends: [Vec<End>; 2],
    next: u64,
    free_slots: usize,
    /// Number of ends that failed at each node because the other end's slot was used again.
    left_alone: [u32; 2],
    tally: Tally,
}

impl World {
    pub fn new(seed: u64, badness: Badness) -> World {
        let mut nodes = [1, 2].map(make);
        World {
            seed,
            rng: Rng::named(seed, "world"),
            now: Instant::from_millis(1_000),
            listeners: [0, 1].map(|i| nodes[i].tcp_listen(PORT).expect("a listener")),
            free_slots: nodes[0].lowpan().free_slots(),
            nodes,
            wires: ["there", "back"].map(|name| Wire::new(DELAY, badness, Rng::named(seed, name))),
            ends: [Vec::new(), Vec::new()],
            next: 0,
            left_alone: [0, 0],
            tally: Tally::default(),
        }
    }

    pub fn run(mut self, cycles: u64, done: &AtomicU64, again: &str) -> Tally {
        let guard = Guard(again);
        while self.tally.cycles < cycles {
            let until = cycles.min(self.next + REST);
            let deadline = self.now + PATIENCE;
            while self.tally.cycles < until {
                let before = self.tally.cycles;
                self.open(until);
                self.turn();
                done.fetch_add(self.tally.cycles - before, Ordering::Relaxed);
                assert!(self.now < deadline, "stuck: {}", self.report());
            }
            self.rest();
        }
        self.tally.virtual_s = self.now.as_millis() / 1_000;
        self.tally.packets = self.wires.iter().map(|wire| wire.counters.packets).sum();
        std::mem::forget(guard);
        self.tally
    }

    fn open(&mut self, until: u64) {
        for from in 0..2 {
            let opened = self.ends[from].iter().filter(|end| end.role() == 0).count();
            if opened >= AT_ONCE || self.next >= until {
                continue;
            }
            let to = endpoint(2 - from as u16, PORT);
            // Opens no connection while all slots of the node are in use.
            if let Ok(conn) = self.nodes[from].tcp_connect(self.now, to) {
                let plan = Plan::new(self.seed, self.next);
                self.next += 1;
                self.ends[from].push(End::new(conn, Some(plan)));
            }
            if self.rng.below(80) == 0 {
                self.flood(1 - from);
            }
        }
    }

    /// Sends SYNs from addresses without a node.
    fn flood(&mut self, to: usize) {
        self.tally.floods += 1;
        let dst = address(to as u16 + 1);
        for _ in 0..self.rng.below(12) {
            let mut src = [0x20; 16];
            src[8..].copy_from_slice(&self.rng.next_u64().to_be_bytes());
            let segment = Tcp {
                src_port: self.rng.next_u32() as u16 | 1,
                dst_port: PORT,
                seq: self.rng.next_u32(),
                flags: SYN,
                window: 1_000,
                ..Tcp::default()
            };
            // Ignores the result: the node counts a packet for which it has no room.
            let _ = self.nodes[to].input_packet(self.now, &segment.packet(Addr(src), dst));
        }
    }

    /// Runs the events of this moment, and advances to the next.
    fn turn(&mut self) {
        for at in 0..2 {
            while let Some(packet) = self.wires[1 - at].receive(self.now) {
                let _ = self.nodes[at].input_packet(self.now, &packet);
            }
            if self.nodes[at]
                .poll_at()
                .is_some_and(|wake| wake.at <= self.now)
            {
                self.nodes[at].on_timeout(self.now);
            }
            self.applications(at);
            self.transmit(at);
        }
        let wires = self.wires.iter().filter_map(Wire::next_at);
        let timers = self.nodes.iter().filter_map(TestNode::poll_at);
        let next = timers.map(|wake| wake.at).chain(wires).min();
        let least = self.now + Duration::from_micros(1);
        // Without any event, the applications still get their turn.
        self.now = next.map_or(self.now + Duration::from_secs(1), |at| at.max(least));
    }

    fn applications(&mut self, at: usize) {
        while self.nodes[at].poll_event().is_some() {}
        while let Some(conn) = self.nodes[at].tcp_accept(self.listeners[at]) {
            self.ends[at].push(End::new(conn, None));
        }
        let (now, seed) = (self.now, self.seed);
        let mut ends = std::mem::take(&mut self.ends[at]);
        ends.retain_mut(|end| {
            let conn = self.nodes[at].tcp_connection(end.conn);
            let was_open = conn.is_some_and(|conn| conn.state() != State::SynSent);
            let over = end.step(now, &mut self.nodes[at], seed);
            if let Some(over) = over {
                self.note(at, end, over, was_open);
            }
            over.is_none()
        });
        self.ends[at] = ends;
    }

    fn note(&mut self, at: usize, end: &End, over: Over, was_open: bool) {
        let is_broken_off = end.plan.as_ref().is_none_or(Plan::is_broken_off);
        let had_answer = was_open && end.received > 0;
        if over == Over::Failed && !is_broken_off && had_answer {
            // Allowed only if the peer, released and stalled, has lost its slot to a new
            // connection. `orphans_recycled` counts the lost slots and so limits these failures.
            self.left_alone[at] += 1;
            let recycled = self.nodes[1 - at].counters().orphans_recycled;
            let most = recycled.min(LEFT_ALONE + (self.tally.cycles / 1_000) as u32);
            assert!(
                end.closed && self.left_alone[at] <= most,
                "failed by itself: {end:?}, {:?} with {recycled} recycled",
                self.left_alone
            );
        }
        if end.role() == 1 {
            return;
        }
        self.tally.cycles += 1;
        match over {
            Over::Well => self.tally.well += 1,
            Over::BrokenOff => self.tally.broken_off += 1,
            Over::Failed if is_broken_off => self.tally.failed += 1,
            Over::Failed => self.tally.unanswered += 1,
        }
    }

    fn transmit(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        while node.poll_radio(self.now).is_some() {}
        let mut packet = [0; 1_280];
        while let Some(len) = node.poll_packet(self.now, &mut packet) {
            // Drops the answers to a flood.
            if packet[24..40] == address(2 - at as u16).0 {
                self.wires[at].send(self.now, &packet[..len]);
            }
        }
    }

    /// Waits until everything has ended, and checks that everything is free.
    fn rest(&mut self) {
        let deadline = self.now + PATIENCE;
        let is_busy = |world: &World| {
            let connections = |node: &TestNode| node.tcp_connections().count();
            world.ends.iter().any(|ends| !ends.is_empty())
                || world.nodes.iter().map(connections).sum::<usize>() > 0
                || world.wires.iter().any(|wire| wire.next_at().is_some())
        };
        while is_busy(self) {
            self.turn();
            assert!(self.now < deadline, "left behind: {}", self.report());
        }
        for node in &self.nodes {
            assert_eq!(
                node.lowpan().free_slots(),
                self.free_slots,
                "datagram slots"
            );
        }
    }

    fn report(&self) -> String {
        let states: Vec<Vec<State>> = (self.nodes.iter())
            .map(|node| {
                node.tcp_connections()
                    .map(|(_, conn)| conn.state())
                    .collect()
            })
            .collect();
        format!(
            "{:?}, {states:?}, {:?}, {:?}",
            self.now, self.ends, self.tally
        )
    }
}

/// Prints how to reproduce a failure.
struct Guard<'a>(&'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        eprintln!("failed; again: {}", self.0);
    }
}

fn make(short: u16) -> TestNode {
    let mut node = node_with(short, BUFFER, |config| {
        config.forwards = false;
        config.tcp.syn_retries = 5;
        config.tcp.time_wait = Duration::from_secs(4);
        // If the peer's reset is lost, an end detects by keepalive that its connection is gone.
        config.tcp.keepalive = Some(Keepalive {
            idle: Duration::from_secs(60),
            interval: Duration::from_secs(10),
            count: 6,
        });
    });
    let everywhere = Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Host,
    };
    node.add_route(everywhere).expect("the table has room");
    node
}
