//! The world: nodes, their applications, the air between them, and time.
//!
//! A world coordinates three independent parts: the occupants of its places (a node of Redpoll's
//! stack, an attacker, a node with the firmware of another stack, or an external node), the [`Air`]
//! between them, and the crossing between mesh and hosts.
//!
//! Before the next event, the world carries out all requests of a node: its events go to its
//! applications, its radio work to the [`Air`], and its packets for the host to the queue behind
//! [`World::host_output`].

mod build;
mod command;
mod crossing;
mod demands;
mod drive;
mod environment;
mod figures;
mod obey;
mod occupant;
mod stall;
#[cfg(test)]
mod tests;

pub use build::{BuildError, WorldOptions};
pub use command::{Command, Refusal};
use occupant::AttackerCounters;
pub(crate) use occupant::Native;
pub use occupant::PrintedLine;

use std::collections::BTreeMap;

use redpoll_assist::spare::Side;
use redpoll_base::Instant;
use redpoll_border::Gate;
use redpoll_stack::wire::ieee802154::Address;

use crate::air::{self, Air};
use crate::congestion::Places;
use crate::external::ExternalFigures;
use crate::kernel::Stopwatch;
use crate::node::SimNode;
use crate::oracle::Oracle;
use crate::scenario::Scenario;
use crate::trace::{FrameTrace, TraceError};
use crate::traffic::{App, Traffic, Transfers};
use crossing::Crossing;
use demands::Demands;
use environment::Environment;
use occupant::{Attacker, Occupant, Place};

#[derive(Clone, Copy, Debug)]
enum Event {
    Air(air::Event),
    Wake {
        node: u32,
    },
    App {
        node: u32,
    },
    Restart {
        node: u32,
    },
    /// The clock of a node is set forward.
    ClockStep {
        fault: u32,
    },
    /// The oldest packet between border router and simulated host arrives.
    Wire,
    /// A packet that waits in TAiM or in a fair queue may leave.
    Shaper,
    /// A packet has arrived through the border router's serial line.
    Serial {
        to: Side,
    },
    /// The scenario's demands are checked.
    Check,
}

impl From<air::Event> for Event {
    fn from(event: air::Event) -> Self {
        Event::Air(event)
    }
}

/// A part of the crate that acts on a running world. It calls [`World::run_until`] for its steps.
pub(crate) trait Driver {
    fn run(&mut self, world: &mut World, until: Instant);
}

/// Nodes, their applications, the air between them, and time. A world runs in virtual time as fast
/// as possible. For real time, a driver calls [`World::run_until`] with the clock's time and sleeps
/// until [`World::next_event_at`].
pub struct World {
    env: Environment,
    /// The nodes of the scenario, then the simulated host if there is one.
    places: Vec<Place>,
    crossing: Crossing,
    plan: Plan,
    traffic: Traffic,
    transfers: Transfers,
    demands: Demands,
    has_lines: bool,
    driver: Option<Box<dyn Driver>>,
    events: u64,
    wall: std::time::Duration,
    /// Congestion control of the caller, which lives as long as the nodes.
    #[expect(
        dead_code,
        reason = "it is never read, but must be dropped with the nodes"
    )]
    controllers: Places,
}

struct Plan {
    root: usize,
    hops: Vec<Option<usize>>,
    unconnected: Vec<(usize, usize)>,
    by_link: BTreeMap<Address, usize>,
}

impl World {
    /// Adds an application to node `index` and starts it; drops it if the node has another stack.
    pub fn add_app(&mut self, index: usize, app: Box<dyn App>) {
        if let (Occupant::Native(native), mut seat) = self.at(index) {
            native.add_app(&mut seat, app);
        }
        self.serve(index);
        self.drain();
    }

    /// Ends the applications of node `index`, and closes and releases their connections.
    pub(crate) fn stop_apps(&mut self, index: usize) {
        if let (Occupant::Native(native), mut seat) = self.at(index) {
            native.stop_apps(&mut seat);
        }
        self.serve(index);
        self.drain();
    }

    /// Replaces node `index` by an attacker. Its protocols and applications end, and its radio
    /// sends only [injected](World::inject) frames.
    pub fn put_attacker(&mut self, index: usize) {
        let (occupant, mut seat) = self.at(index);
        *occupant = Occupant::Attacker(Box::new(Attacker::new(&mut seat)));
    }

    /// Sends an arbitrary frame, given without its check sequence, from the attacker `index`.
    /// Frames that find no room are counted as withheld.
    pub fn inject(&mut self, index: usize, frame: &[u8]) {
        if let (Occupant::Attacker(attacker), mut seat) = self.at(index) {
            attacker.inject(&mut seat, frame);
            self.drain();
        }
    }

    pub(crate) fn attacker_counters(&self, index: usize) -> AttackerCounters {
        match &self.places[index].occupant {
            Occupant::Attacker(attacker) => attacker.counters(),
            _ => AttackerCounters::default(),
        }
    }

    pub fn external_figures(&self, index: usize) -> Option<ExternalFigures> {
        match &self.places.get(index)?.occupant {
            Occupant::External(external) => Some(external.figures()),
            _ => None,
        }
    }

    /// Returns the lines printed since the last call by nodes with the firmware of other stacks,
    /// and by external nodes.
    pub fn take_printed(&mut self) -> Vec<PrintedLine> {
        std::mem::take(&mut self.env.printed)
    }

    /// Returns the notices since the last call: external nodes that connected, left or fell silent.
    pub fn take_notices(&mut self) -> Vec<PrintedLine> {
        std::mem::take(&mut self.env.notices)
    }

    /// Returns the failures of firmware so far. A node whose firmware failed is silent.
    pub fn failed_firmware(&self) -> &[PrintedLine] {
        &self.env.failed
    }

    /// Handles the bytes that have arrived over the lines, without waiting.
    fn hear_lines(&mut self) {
        for index in 0..self.places.len() {
            if let (Occupant::External(external), mut seat) = self.at(index) {
                external.hear_all(&mut seat);
                self.drain();
            }
        }
    }

    /// Passes a packet from the host to the border router's host side, which counts the packets
    /// that it rejects. A driver in real time first runs the world until the clock's time.
    pub fn host_input(&mut self, packet: &[u8]) {
        let (crossing, mut mesh) = self.crossing();
        crossing.host_input(&mut mesh, packet);
        self.drain();
    }

    /// Sends packets from the mesh, except those for the simulated host, to [`World::host_output`].
    pub(crate) fn tap_host(&mut self) {
        self.crossing.tap_host();
    }

    pub fn host_output(&mut self) -> Option<Vec<u8>> {
        self.crossing.host_output()
    }

    /// Returns the border router's host side.
    pub fn gate(&self) -> &Gate {
        self.crossing.gate()
    }

    /// Returns the pairs of nodes, sender first, between which an app sends without a path.
    pub fn unconnected(&self) -> &[(usize, usize)] {
        &self.plan.unconnected
    }

    pub fn now(&self) -> Instant {
        self.env.now
    }

    /// Returns the time of the next event, if any; `None` after a [`stall`](Self::stall).
    pub fn next_event_at(&self) -> Option<Instant> {
        match self.env.stall {
            None => self.env.queue.next_at(),
            Some(_) => None,
        }
    }

    /// Handles all events up to `until`. After a [`stall`](Self::stall), only the clock advances.
    pub fn run_until(&mut self, until: Instant) {
        match self.driver.take() {
            Some(mut driver) => {
                driver.run(self, until);
                self.driver = Some(driver);
            }
            None => self.advance(until),
        }
    }

    /// Lets `driver` act on the world from now on, in place of the previous one.
    pub(crate) fn set_driver(&mut self, driver: Option<Box<dyn Driver>>) {
        self.driver = driver;
    }

    fn advance(&mut self, until: Instant) {
        let started = Stopwatch::start();
        while self.env.stall.is_none()
            && let Some(next) = self.env.queue.pop_until(until)
        {
            self.env.now = next.at;
            self.events += 1;
            self.on_event(next.event);
        }
        self.env.now = self.env.now.max(until);
        if self.has_lines {
            self.hear_lines();
        }
        self.wall += started.elapsed();
    }

    /// Passes every frame from now on to `trace`.
    pub fn add_trace(&mut self, trace: Box<dyn FrameTrace>) {
        self.env.air.traces_mut().add(trace);
    }

    /// Flushes all traces.
    ///
    /// # Errors
    /// The first failure of a trace since the last call. A trace that failed gets no more frames.
    pub fn flush_traces(&mut self) -> Result<(), TraceError> {
        let traces = self.env.air.traces_mut();
        traces.flush();
        traces.take_error().map_or(Ok(()), Err)
    }

    /// Calls `act` with the local time and the node called `name`, and then carries out the node's
    /// requests. Returns `None` if the node does not exist or does not run Redpoll's stack.
    pub fn with_node<R>(
        &mut self,
        name: &str,
        act: impl FnOnce(Instant, &mut SimNode) -> R,
    ) -> Option<R> {
        let index = self.env.scenario.node(name)?;
        let (Occupant::Native(native), seat) = self.at(index) else {
            return None;
        };
        let result = act(seat.local_now(), &mut native.node);
        self.serve(index);
        self.drain();
        Some(result)
    }

    /// Returns node `index`; `None` if it does not run Redpoll's stack.
    pub fn node(&self, index: usize) -> Option<&SimNode> {
        self.native(index).map(|native| &native.node)
    }

    pub fn scenario(&self) -> &Scenario {
        &self.env.scenario
    }

    pub fn oracle(&self) -> &Oracle {
        &self.env.oracle
    }

    /// Returns the radios, the medium and the frame ledger.
    pub fn air(&self) -> &Air {
        &self.env.air
    }

    pub(crate) fn air_mut(&mut self) -> &mut Air {
        &mut self.env.air
    }

    /// Returns the places that have a node of Redpoll's stack, by index.
    pub(crate) fn natives(&self) -> impl Iterator<Item = (usize, &Native)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(index, place)| Some((index, place.occupant.native()?)))
    }

    pub(crate) fn native(&self, index: usize) -> Option<&Native> {
        self.places.get(index)?.occupant.native()
    }

    pub(crate) fn parent_of(&self, index: usize) -> Option<usize> {
        let place = self.places.get(index).filter(|_| index != self.plan.root)?;
        let native = match &place.occupant {
            Occupant::Native(native) => native,
            Occupant::External(external) => return external.parent(),
            Occupant::Attacker(_) | Occupant::Foreign(_) | Occupant::Guest(_) => return None,
        };
        let now = place.timing.clock.local(self.env.now);
        let root = self.env.scenario.address(self.plan.root)?;
        let next = native.node.neighbour_towards(now, &root)?;
        self.plan.by_link.get(&next).copied()
    }

    /// Returns a digest of all events, equal on every machine for the same scenario and seed.
    pub fn digest(&self) -> u64 {
        let mut digest = self.env.digest;
        digest.add(self.env.air.digest());
        digest.value()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("scenario", &self.env.scenario.name)
            .field("now", &self.env.now)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
