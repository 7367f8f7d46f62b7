//! The world: nodes, their applications, the air between them, and time.
//!
//! A world runs in virtual time as fast as it goes, or in real time by a
//! driver that calls [`World::run_until`] with the clock and sleeps until
//! [`World::next_event_at`].
//!
//! Everything that a node wants is carried out before the next event: its
//! events go to its applications, its radio work to the [`Air`], its packets
//! for the host to the queue behind [`World::host_output`].

mod build;
mod command;
mod drive;
mod external;
mod figures;
mod foreign;
mod host;
mod obey;
mod outlaw;
mod serial;
mod spare;
mod stall;
mod taim;
#[cfg(test)]
mod tests;
mod waiting;

pub use build::{BuildError, Means};
pub use command::{Command, Commanded, Refusal};
pub use foreign::PrintedLine;
pub use outlaw::OutlawFigures;
use stall::Calls;
use waiting::Waiting;

use std::collections::{BTreeMap, VecDeque};

use redpoll_base::{Duration, Instant};
use redpoll_border::Gate;
use redpoll_stack::wire::ieee802154::Address;

use crate::air::{self, Air};
use crate::congestion::Places;
use crate::energy::Labour;
use crate::external::Pace;
use crate::kernel::{Digest, Oscillator, Queue, Seed};
use crate::node::SimNode;
use crate::oracle::{Oracle, Watch};
use crate::scenario::Scenario;
use crate::trace::{FrameTrace, TraceError};
use crate::traffic::{App, Transfers};

use crate::MTU;

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
    /// A node begins anew.
    Restart {
        node: u32,
    },
    /// The packet that has been longest on the way between border router and
    /// simulated host arrives.
    Wire,
    /// A packet that waits at the border router may leave.
    Taim,
    /// A packet has come through the border router's serial line.
    Serial {
        into_mesh: bool,
    },
}

impl From<air::Event> for Event {
    fn from(event: air::Event) -> Self {
        Event::Air(event)
    }
}

/// A node, what runs on it, and when it wants to be called.
pub(crate) struct Inhabitant {
    pub(crate) node: SimNode,
    /// What the node and its applications take for the time.
    clock: Oscillator,
    apps: Vec<Box<dyn App>>,
    /// One of them wants to know of acknowledgments.
    wants_acks: bool,
    /// Connections whose statistics belong to flows.
    pub(crate) watches: Vec<Watch>,
    /// The earliest wake-up in the queue. The node may meanwhile want a later
    /// one; it is asked again then.
    wakes_at: Instant,
    /// When the node itself wanted to be called, by its clock, after whatever was done
    /// with it last.
    wants_at: Option<Instant>,
    /// When the node's applications want to be called.
    apps_wake_at: Instant,
    /// How often it was called at the latest instant.
    calls: Calls,
    /// What its processor had to do.
    pub(crate) labour: Labour,
    memory_bytes: usize,
    /// What it has stored of its frame counter, which outlives a restart.
    counter_stored: u32,
    /// Somebody else has its radio.
    outlaw: Option<Box<outlaw::Outlaw>>,
    /// It has firmware of others, and its own node is silent.
    guest: Option<Box<foreign::Guest>>,
    /// It runs elsewhere, and its own node is silent.
    external: Option<Box<external::External>>,
}

/// See the [module](self).
pub struct World {
    now: Instant,
    queue: Queue<Event>,
    air: Air,
    inhabitants: Vec<Inhabitant>,
    oracle: Oracle,
    gate: Gate,
    /// What waits between mesh and host, if anything does.
    taim: Option<Box<taim::Crossing>>,
    /// What stands in for the small windows of nodes, if it does.
    spare: Option<Box<redpoll_assist::spare::Spare<crate::memory::HeapMemory>>>,
    /// The serial line between the border router's radio and its host side, if there is
    /// one.
    serial: Option<Box<serial::Serial>>,
    border: Option<usize>,
    /// Index of the simulated host, behind the nodes.
    host: Option<usize>,
    /// Packets between border router and simulated host, in the order of their
    /// arrival, and whether they are for the mesh.
    wire: VecDeque<(bool, Vec<u8>)>,
    /// Packets from the host for which the border router has no room yet.
    from_host: Waiting,
    to_host: VecDeque<Vec<u8>>,
    /// What nodes with firmware of others have printed.
    printed: Vec<PrintedLine>,
    /// What has happened to nodes that run elsewhere.
    notices: Vec<PrintedLine>,
    /// How time goes on beside those.
    pace: Pace,
    has_lines: bool,
    /// What is not for the simulated host goes to the queue, too.
    is_tapped: bool,
    /// Packets that the host did not take in time.
    host_overflow: u64,
    digest: Digest,
    events: u64,
    /// When and why the run ended early.
    stall: Option<(Instant, String)>,
    wall: std::time::Duration,
    packet: Box<[u8]>,
    scenario: Scenario,
    /// Kept as long as its nodes may ask.
    #[expect(dead_code, reason = "only its drop has an effect")]
    controllers: Places,
    /// By node: to the root of the routes.
    hops: Vec<Option<usize>>,
    /// See [`World::unconnected`].
    unconnected: Vec<(usize, usize)>,
    seed: Seed,
    /// Where the routes lead to, when the run begins.
    root: usize,
    /// The nodes by their link-layer addresses.
    by_link: BTreeMap<Address, usize>,
    /// What viewers have started.
    transfers: Transfers,
}

impl World {
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

    /// Ends the applications of node `index`; their connections are closed and
    /// released.
    pub fn stop_apps(&mut self, index: usize) {
        let inhabitant = &mut self.inhabitants[index];
        inhabitant.apps.clear();
        let now = inhabitant.clock.local(self.now);
        let open = inhabitant.node.tcp_connections();
        let open: Vec<_> = open.map(|(conn, _)| conn).collect();
        for conn in open {
            inhabitant.node.tcp_close(now, conn);
            inhabitant.node.tcp_release(now, conn);
        }
        self.serve(index);
        self.drain();
    }

    /// The pairs of nodes, sender first, between which an app of the scenario
    /// sends although there is no path.
    pub fn unconnected(&self) -> &[(usize, usize)] {
        &self.unconnected
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// When something happens next; `None` if nothing ever will, or after a
    /// [`stall`](Self::stall).
    pub fn next_event_at(&self) -> Option<Instant> {
        match self.stall {
            None => self.queue.next_at(),
            Some(_) => None,
        }
    }

    /// Lets everything happen up to and including `until`. After a [`stall`](Self::stall)
    /// nothing happens any more; only the clock goes on.
    pub fn run_until(&mut self, until: Instant) {
        let started = std::time::Instant::now();
        while self.stall.is_none()
            && let Some(next) = self.queue.pop_until(until)
        {
            self.now = next.at;
            self.events += 1;
            self.on_event(next.event);
        }
        self.now = self.now.max(until);
        if self.has_lines {
            self.hear_lines();
        }
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

    /// Has `act` work with the node called `name`, at the time that its clock
    /// shows, then does what the node wants. `None` if there is no such node.
    pub fn with_node<R>(
        &mut self,
        name: &str,
        act: impl FnOnce(Instant, &mut SimNode) -> R,
    ) -> Option<R> {
        let index = self.scenario.node(name)?;
        let inhabitant = &mut self.inhabitants[index];
        let result = act(inhabitant.clock.local(self.now), &mut inhabitant.node);
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

    pub(crate) fn air_mut(&mut self) -> &mut Air {
        &mut self.air
    }

    pub(crate) fn inhabitants(&self) -> &[Inhabitant] {
        &self.inhabitants
    }

    /// Index of the neighbour that node `index` sends its packets to the root through.
    pub fn parent_of(&self, index: usize) -> Option<usize> {
        let inhabitant = self.inhabitants.get(index).filter(|_| index != self.root)?;
        let now = inhabitant.clock.local(self.now);
        let root = self.scenario.address(self.root)?;
        let next = inhabitant.node.neighbour_towards(now, &root)?;
        self.by_link.get(&next).copied()
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

    /// How long the world has been running on the clock on the wall.
    pub fn wall_time(&self) -> std::time::Duration {
        self.wall
    }

    /// How long the scenario is to run.
    pub fn duration(&self) -> Duration {
        self.scenario.duration
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World")
            .field("scenario", &self.scenario.name)
            .field("now", &self.now)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
