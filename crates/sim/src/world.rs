//! The world: nodes, their applications, the air between them, and time.
//!
//! A world runs in virtual time as fast as it goes, or in real time by a
//! driver that calls [`World::run_until`] with the clock and sleeps until
//! [`World::next_event_at`].
//!
//! Everything that a node wants is carried out before the next event: its
//! events go to its applications, its radio work to the [`Air`], its packets
//! for the host to the queue behind [`World::host_output`].

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant};
use redpoll_border::Gate;
use redpoll_mac::FrameBuf;

use crate::air::{self, Air, Indication, Kind, Layout};
use crate::fault::{Rule, Verdict};
use crate::kernel::{Digest, Queue, Seed};
use crate::node::{self, SimNode};
use crate::oracle::{Oracle, Watch};
use crate::radio::Identity;
use crate::report::{self, Report};
use crate::scenario::Scenario;
use crate::topology;
use crate::trace::{FrameTrace, TraceError};
use crate::traffic::{self, App, Context};

/// Packets that may wait for the host.
const HOST_QUEUE: usize = 256;
/// No packet is longer: the MTU of 6LoWPAN (RFC 4944 §4).
const MTU: usize = 1_280;

/// Why a world could not be made.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    /// A fault names a node that there is not.
    #[error("fault {fault}: there is no node number {node}")]
    UnknownNode {
        /// Index of the fault.
        fault: usize,
        /// What it names.
        node: usize,
    },
    /// There is nothing to simulate.
    #[error("the scenario has no nodes")]
    Empty,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Air(air::Event),
    /// A node's timer.
    Wake {
        node: u32,
    },
    /// A timer of an application.
    App {
        node: u32,
    },
}

impl From<air::Event> for Event {
    fn from(event: air::Event) -> Self {
        Event::Air(event)
    }
}

/// A node, what runs on it, and when it wants to be called.
struct Inhabitant {
    node: SimNode,
    apps: Vec<Box<dyn App>>,
    watches: Vec<Watch>,
    /// The earliest wake-up in the queue. The node may meanwhile want a later
    /// one; it is asked again then.
    wakes_at: Instant,
    /// The same for the applications.
    apps_wake_at: Instant,
    memory_bytes: usize,
}

/// See the [module](self).
pub struct World {
    now: Instant,
    queue: Queue<Event>,
    air: Air,
    inhabitants: Vec<Inhabitant>,
    oracle: Oracle,
    gate: Gate,
    border: Option<usize>,
    to_host: VecDeque<Vec<u8>>,
    /// Packets that the host did not take in time.
    host_overflow: u64,
    digest: Digest,
    events: u64,
    wall: std::time::Duration,
    /// Room for a frame and for a packet on their way.
    frame: FrameBuf,
    packet: Box<[u8]>,
    scenario: Scenario,
    seed: Seed,
}

impl World {
    /// The world of a scenario with its applications, which start at once;
    /// `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// [`BuildError`], if the scenario contradicts itself.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<World, BuildError> {
        let count = scenario.nodes.len();
        check(scenario)?;
        let seed = Seed(seed);
        let identities: Vec<Identity> = scenario
            .nodes
            .iter()
            .map(|node| Identity {
                pan_id: scenario.mac.pan_id,
                short: node.short,
                extended: node.eui64,
            })
            .collect();
        let positions_m: Vec<_> = scenario.nodes.iter().map(|node| node.position_m).collect();
        let layout = Layout {
            medium: &scenario.medium,
            radio: &scenario.radio,
            identities: &identities,
            positions_m: &positions_m,
            listed: scenario.links.as_deref(),
            faults: &scenario.faults,
        };
        let mut queue = Queue::default();
        let air = Air::new(&layout, seed, &mut queue);
        let neighbours: Vec<Vec<usize>> = (0..count).map(|node| air.neighbours(node)).collect();
        let routes = topology::plan(scenario, &neighbours);
        let inhabitants = (0..count)
            .map(|index| {
                let sockets = traffic::sockets(scenario, index);
                let built = node::build(scenario, index, &routes.nodes[index], sockets, seed);
                Inhabitant {
                    node: built.node,
                    apps: Vec::new(),
                    watches: Vec::new(),
                    wakes_at: Instant::FAR_FUTURE,
                    apps_wake_at: Instant::FAR_FUTURE,
                    memory_bytes: built.memory_bytes + air.memory_bytes(index),
                }
            })
            .collect();
        let mut world = World {
            now: Instant::ZERO,
            queue,
            air,
            inhabitants,
            oracle: Oracle::default(),
            gate: Gate::new(scenario.border.prefix, 64),
            border: scenario.border_router(),
            to_host: VecDeque::new(),
            host_overflow: 0,
            digest: Digest::default(),
            events: 0,
            wall: std::time::Duration::ZERO,
            frame: FrameBuf::new(),
            packet: vec![0; MTU].into_boxed_slice(),
            scenario: scenario.clone(),
            seed,
        };
        for index in 0..count {
            world.serve(index);
        }
        world.drain();
        for (index, app) in traffic::apps(scenario, seed.0) {
            world.add_app(index, app);
        }
        Ok(world)
    }

    /// Puts an application on node `index` and starts it.
    pub fn add_app(&mut self, index: usize, app: Box<dyn App>) {
        self.inhabitants[index].apps.push(app);
        self.with_apps(index, |apps, cx| {
            if let Some(app) = apps.last_mut() {
                app.start(cx);
            }
        });
        self.serve(index);
        self.drain();
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When something happens next; `None` if nothing ever will.
    pub fn next_event_at(&self) -> Option<Instant> {
        self.queue.next_at()
    }

    /// Lets everything happen up to and including `until`.
    pub fn run_until(&mut self, until: Instant) {
        let started = std::time::Instant::now();
        while let Some(next) = self.queue.pop_until(until) {
            self.now = next.at;
            self.events += 1;
            self.on_event(next.event);
        }
        self.now = self.now.max(until);
        self.wall += started.elapsed();
    }

    /// Shows every frame from now on to `trace`.
    pub fn add_trace(&mut self, trace: Box<dyn FrameTrace>) {
        self.air.traces_mut().add(trace);
    }

    /// Brings traces where others can see them, and reports what went wrong
    /// with them since the last call.
    ///
    /// # Errors
    /// The first trace that failed. It gets no more frames; the others do.
    pub fn flush_traces(&mut self) -> Result<(), TraceError> {
        let traces = self.air.traces_mut();
        traces.flush();
        traces.take_error().map_or(Ok(()), Err)
    }

    /// A packet from the host, at the border router's host side. Whatever is
    /// wrong with it is counted there.
    pub fn host_input(&mut self, packet: &[u8]) {
        let copies = match self.air.faults_mut().on_packet(self.now) {
            Verdict::Drop => 0,
            Verdict::Pass => 1,
            Verdict::Duplicate => 2,
        };
        let Some(border) = self.border else { return };
        for _ in 0..copies {
            let node = &mut self.inhabitants[border].node;
            // Rejected packets are counted by the gate.
            let _ = self.gate.input_packet(self.now, node, packet);
            self.serve(border);
        }
        self.drain();
    }

    /// The next packet for the host.
    pub fn host_output(&mut self) -> Option<Vec<u8>> {
        self.to_host.pop_front()
    }

    /// The border router's host side.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Has `act` work with the node called `name`, then does what the node
    /// wants. `None` if there is no such node.
    pub fn with_node<R>(
        &mut self,
        name: &str,
        act: impl FnOnce(Instant, &mut SimNode) -> R,
    ) -> Option<R> {
        let index = self.scenario.node(name)?;
        let result = act(self.now, &mut self.inhabitants[index].node);
        self.serve(index);
        self.drain();
        Some(result)
    }

    /// Node `index`, to look at.
    pub fn node(&self, index: usize) -> Option<&SimNode> {
        self.inhabitants
            .get(index)
            .map(|inhabitant| &inhabitant.node)
    }

    /// The scenario that this is the world of.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The oracle.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The oracle, to tell it about flows.
    pub fn oracle_mut(&mut self) -> &mut Oracle {
        &mut self.oracle
    }

    /// Radios, medium and the frame ledger.
    pub fn air(&self) -> &Air {
        &self.air
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Digest of all events so far: the same for the same scenario and seed,
    /// on every machine.
    pub fn digest(&self) -> u64 {
        let mut digest = self.digest;
        digest.add(self.air.digest());
        digest.value()
    }

    /// What there is to report by now. Checks the frame ledger first.
    pub fn report(&mut self) -> Report {
        self.check_ledger();
        let nodes = self
            .inhabitants
            .iter()
            .enumerate()
            .map(|(index, inhabitant)| {
                let name = &self.scenario.nodes[index].name;
                let gate = (Some(index) == self.border).then_some(&self.gate);
                let overflow = gate.map_or(0, |_| self.host_overflow);
                let losses: Vec<_> = inhabitant
                    .apps
                    .iter()
                    .flat_map(|app| app.losses())
                    .collect();
                let duty_cycle = self.air.stations()[index].times.duty_cycle(self.now);
                report::NodeFigures {
                    name: name.clone(),
                    frames_sent: inhabitant.node.mac_counters().frames_sent.into(),
                    frame_retries: inhabitant.node.mac_counters().frame_retries.into(),
                    drops: report::drops(
                        &inhabitant.node,
                        self.air.ledger().lost_at(index),
                        gate,
                        overflow,
                        &losses,
                    ),
                    radio_duty_cycle: duty_cycle,
                    memory_bytes: inhabitant.memory_bytes as u64,
                }
            })
            .collect();
        Report {
            version: report::VERSION,
            scenario: self.scenario.name.clone(),
            seed: self.seed.0,
            medium: report::medium(&self.scenario),
            simulated_s: self.now.as_micros() as f64 / 1e6,
            wall_s: self.wall.as_secs_f64(),
            events: self.events,
            peak_memory_bytes: report::peak_memory_bytes(),
            oracle: report::Verdict {
                ok: self.oracle.is_satisfied(),
                violations: self.oracle.violations().to_vec(),
            },
            flows: self.oracle.figures(),
            nodes,
        }
    }

    fn check_ledger(&mut self) {
        let under_way = self.air.entries_under_way();
        for kind in Kind::ALL {
            let outstanding = self.air.ledger().outstanding(kind);
            if outstanding != under_way[kind as usize] as i64 {
                let open = under_way[kind as usize];
                self.oracle.violated(format!(
                    "frame ledger, {kind:?}: {outstanding} entries open, {open} on the air"
                ));
            }
        }
    }

    fn on_event(&mut self, event: Event) {
        self.oracle.at(self.now);
        match event {
            Event::Air(event) => self.air.on_event(self.now, event, &mut self.queue),
            Event::Wake { node } => self.on_wake(node as usize),
            Event::App { node } => self.on_app_timer(node as usize),
        }
        self.drain();
    }

    fn on_wake(&mut self, index: usize) {
        let inhabitant = &mut self.inhabitants[index];
        if inhabitant.wakes_at > self.now {
            // An earlier wake-up has taken this one's place.
            return;
        }
        inhabitant.wakes_at = Instant::FAR_FUTURE;
        if inhabitant
            .node
            .poll_at()
            .is_some_and(|wake| wake.at <= self.now)
        {
            self.digest.add(self.now.as_micros() << 16 ^ index as u64);
            inhabitant.node.on_timeout(self.now);
        }
        self.serve(index);
    }

    fn on_app_timer(&mut self, index: usize) {
        if self.inhabitants[index].apps_wake_at > self.now {
            return;
        }
        self.inhabitants[index].apps_wake_at = Instant::FAR_FUTURE;
        self.with_apps(index, |apps, cx| {
            for app in apps {
                if app.next_timer().is_some_and(|at| at <= cx.now) {
                    app.on_timer(cx);
                }
            }
        });
        self.serve(index);
    }

    /// Tells nodes what their radios have to say, until none has anything.
    fn drain(&mut self) {
        while let Some(indication) = self.air.poll_indication() {
            let index = match indication {
                Indication::Frame { node } => {
                    let received = self.air.received(node as usize);
                    let inhabitant = &mut self.inhabitants[node as usize];
                    let copies = if received.twice { 2 } else { 1 };
                    for _ in 0..copies {
                        let frame = received.frame.as_slice();
                        inhabitant.node.input_frame(self.now, frame, received.info);
                    }
                    node
                }
                Indication::Done { node, result } => {
                    let inhabitant = &mut self.inhabitants[node as usize];
                    inhabitant.node.on_radio_done(self.now, result);
                    node
                }
            };
            self.serve(index as usize);
        }
    }

    /// Does everything that a node wants, and notes when it wants to be called
    /// again.
    fn serve(&mut self, index: usize) {
        loop {
            while let Some(event) = self.inhabitants[index].node.poll_event() {
                self.with_apps(index, |apps, cx| {
                    for app in apps {
                        app.on_event(cx, &event);
                    }
                });
            }
            let inhabitant = &mut self.inhabitants[index];
            let Some(work) = inhabitant.node.poll_radio(self.now, &mut self.frame) else {
                break;
            };
            self.air
                .start_work(self.now, index, work, &self.frame, &mut self.queue);
        }
        if self.border == Some(index) {
            self.collect_packets(index);
        }
        let inhabitant = &mut self.inhabitants[index];
        for watch in &inhabitant.watches {
            if let Some(connection) = inhabitant.node.tcp_connection(watch.conn) {
                self.oracle
                    .observe(watch.flow, watch.end, connection.stats());
            }
        }
        if let Some(wake) = inhabitant.node.poll_at()
            && wake.at < inhabitant.wakes_at
        {
            // A node that asks for the past is called once more now.
            let at = wake.at.max(self.now);
            inhabitant.wakes_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::Wake { node });
        }
    }

    /// Has `act` work with the applications of a node.
    fn with_apps(&mut self, index: usize, act: impl FnOnce(&mut [Box<dyn App>], &mut Context<'_>)) {
        let inhabitant = &mut self.inhabitants[index];
        self.oracle.set_node(index as u32);
        let mut context = Context {
            now: self.now,
            node: &mut inhabitant.node,
            oracle: &mut self.oracle,
        };
        act(&mut inhabitant.apps, &mut context);
        if self.oracle.has_new_watches() {
            for watch in self.oracle.take_watches() {
                let watches = &mut self.inhabitants[watch.node as usize].watches;
                watches.retain(|old| (old.flow, old.end) != (watch.flow, watch.end));
                watches.push(watch);
            }
        }
        let inhabitant = &mut self.inhabitants[index];
        let next = inhabitant
            .apps
            .iter()
            .filter_map(|app| app.next_timer())
            .min();
        if let Some(at) = next
            && at < inhabitant.apps_wake_at
        {
            let at = at.max(self.now);
            inhabitant.apps_wake_at = at;
            let node = index as u32;
            self.queue.schedule(at, Event::App { node });
        }
    }

    /// Moves a border router's packets for the host to the queue.
    fn collect_packets(&mut self, index: usize) {
        let node = &mut self.inhabitants[index].node;
        while let Some(len) = self.gate.poll_packet(self.now, node, &mut self.packet) {
            let copies = match self.air.faults_mut().on_packet(self.now) {
                Verdict::Drop => 0,
                Verdict::Pass => 1,
                Verdict::Duplicate => 2,
            };
            for _ in 0..copies {
                if self.to_host.len() >= HOST_QUEUE {
                    self.host_overflow += 1;
                } else {
                    self.to_host.push_back(self.packet[..len].to_vec());
                }
            }
        }
    }

    /// How long the world has been running on the clock on the wall.
    pub fn wall_time(&self) -> std::time::Duration {
        self.wall
    }

    /// How long the scenario is to run.
    pub fn duration(&self) -> Duration {
        self.scenario.duration
    }
}

fn check(scenario: &Scenario) -> Result<(), BuildError> {
    let count = scenario.nodes.len();
    if count == 0 {
        return Err(BuildError::Empty);
    }
    for (fault, spec) in scenario.faults.iter().enumerate() {
        let named = match spec.rule {
            Rule::DropFrames { from, to, .. } | Rule::DuplicateFrames { from, to, .. } => {
                [from, to]
            }
            Rule::NodeOff { node } => [Some(node), None],
            Rule::DropPackets { .. } | Rule::DuplicatePackets { .. } => [None, None],
        };
        if let Some(node) = named.into_iter().flatten().find(|node| *node >= count) {
            return Err(BuildError::UnknownNode { fault, node });
        }
    }
    Ok(())
}
