//! Builds a world.

use std::rc::Rc;
use std::sync::Arc;

use redpoll_base::{Duration, Instant};

use super::crossing::Crossing;
use super::demands::Demands;
use super::environment::{Environment, Seat, Timing};
use super::occupant::{External, Foreign, Guest, LOOK, Native, Occupant, Place, Presence};
use super::{Event, Plan, World};
use crate::air::{Air, Layout};
use crate::congestion::{self, Controllers};
use crate::energy::Labour;
use crate::external::{Lines, Pace};
use crate::fault::Rule;
use crate::foreign::Loader;
use crate::guest::GuestLoader;
use crate::kernel::{Digest, Oscillator, Queue, Secrets, Seed, Stopwatch};
use crate::medium::{RadioSpec, Site};
use crate::node;
use crate::oracle::Oracle;
use crate::radio::{Identity, Overhears};
use crate::scenario::{NodeSpec, Scenario};
use crate::topology::{self, NodeRoutes, Routes};
use crate::traffic;

/// Time after which a restarting node checks again whether its radio is idle.
const RESTART_PAUSE: Duration = Duration::from_millis(1);

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BuildError {
    #[error("fault {fault}: there is no node number {node}")]
    UnknownNode {
        fault: usize,
        /// Index of the node that the fault names.
        node: usize,
    },
    /// A node's firmware could not be loaded.
    #[error("nodes.{node}.module: {problem}")]
    Module { node: String, problem: String },
    /// A node that runs outside the simulator could not be reached.
    #[error("nodes.{node}.line: {problem}")]
    Line { node: String, problem: String },
    /// A node's congestion control was not added to the run.
    #[error("nodes.{node}.congestion: no congestion control named {name} was added to this run")]
    Congestion { node: String, name: String },
    #[error("the scenario has no nodes")]
    Empty,
}

/// Options of a world in addition to its scenario, for [`World::with`].
///
/// ```
/// use redpoll_sim::{Scenario, World, WorldOptions};
///
/// let scenario = Scenario::load("line-1", &[])?;
/// let options = WorldOptions { seed: Some(7), ..WorldOptions::default() };
/// let world = World::with(scenario, options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WorldOptions<'a> {
    /// A seed that replaces the scenario's own.
    pub seed: Option<u64>,
    /// Source of secrets, such as keys. By default the seed determines them: runs are repeatable.
    pub secrets: Secrets,
    /// Loads the firmware of a node with another stack, or returns a one-line message. By default a
    /// scenario with such nodes is an error.
    pub loader: Option<&'a Loader<'a>>,
    /// Loads the firmware of a node with the interface `redpoll`, like `loader`.
    pub guests: Option<&'a GuestLoader<'a>>,
    /// Opens the connection to a node that runs outside the simulator, from the node and its
    /// address, or returns a one-line message. By default a scenario with external nodes is an
    /// error.
    pub lines: Option<&'a Lines<'a>>,
    /// Relation of virtual time to the external nodes; by default [`Pace::Waits`].
    pub pace: Pace,
    /// Returns the congestion control of a new connection, from the name of the control in the
    /// scenario and the name of the node. `None` selects the engine's default for the connection.
    pub controllers: Option<Rc<Controllers>>,
}

impl Default for WorldOptions<'_> {
    fn default() -> Self {
        WorldOptions {
            seed: None,
            secrets: Secrets::of_seed(),
            loader: None,
            guests: None,
            lines: None,
            pace: Pace::Waits,
            controllers: None,
        }
    }
}

struct Builder<'a> {
    scenario: Arc<Scenario>,
    options: WorldOptions<'a>,
}

impl Builder<'_> {
    fn build(mut self) -> Result<World, BuildError> {
        check(&self.scenario)?;
        let controllers = congestion::bind(&mut self.scenario, self.options.controllers.as_ref());
        let controllers =
            controllers.map_err(|(node, name)| BuildError::Congestion { node, name })?;
        let shared = Arc::clone(&self.scenario);
        let scenario = &*shared;
        let seed = Seed(self.options.seed.unwrap_or(scenario.seed));
        let mut queue = Queue::default();
        let air = air_of(scenario, seed, &mut queue);
        let routes = routes(scenario, &air);
        let mut env = Environment {
            now: Instant::ZERO,
            queue,
            air,
            oracle: Oracle::new(duplicates_packets(scenario))
                .with_fast_open(scenario.tcp.fast_open),
            digest: Digest::default(),
            scenario: Arc::clone(&shared),
            seed,
            pace: self.options.pace,
            stall: None,
            printed: Vec::new(),
            notices: Vec::new(),
            failed: Vec::new(),
        };
        let mut places = Vec::new();
        for (index, ports) in node::datagram_ports(scenario).iter().enumerate() {
            places.push(self.place(scenario, &mut env, (index, ports), &routes)?);
        }
        let mut world = World {
            env,
            places,
            crossing: Crossing::new(scenario, seed, &mut self.options.secrets),
            plan: plan(scenario, &routes),
            traffic: traffic::Traffic::new(seed.0),
            transfers: traffic::Transfers::default(),
            demands: Demands::of(scenario),
            driver: None,
            has_lines: scenario.nodes.iter().any(|node| node.line.is_some()),
            events: 0,
            wall: std::time::Duration::ZERO,
            controllers,
        };
        if let Some(at) = world.demands.first_check() {
            world.env.queue.schedule(at, Event::Check);
        }
        world.await_externals()?;
        for index in 0..world.places.len() {
            world.serve(index);
        }
        world.drain();
        for (index, app) in world.traffic.apps(scenario, &mut self.options.secrets) {
            world.add_app(index, app);
        }
        for index in (0..scenario.nodes.len()).filter(|index| scenario.nodes[*index].attacker) {
            world.put_attacker(index);
        }
        Ok(world)
    }

    fn place(
        &mut self,
        scenario: &Scenario,
        env: &mut Environment,
        (index, ports): (usize, &[u16]),
        routes: &Routes,
    ) -> Result<Place, BuildError> {
        let mut timing = Timing::new(clock(scenario, index, env.seed));
        let is_host = Some(index) == scenario.host_index();
        let radio_bytes = match is_host {
            true => 0,
            false => env.air.memory_bytes(index),
        };
        let mut seat = Seat {
            index,
            timing: &mut timing,
            env,
        };
        let others = match is_host {
            true => None,
            false => self.other(scenario, &mut seat, routes)?,
        };
        let (occupant, node_bytes) = match others {
            Some(occupant) => (occupant, 0),
            None => {
                let sockets = node::Sockets::of(scenario, index, ports);
                let no_routes = NodeRoutes::default();
                let own = (routes.root, routes.nodes.get(index).unwrap_or(&no_routes));
                let begins = (env.seed, node::Birth::FIRST);
                let built = node::build(
                    scenario,
                    index,
                    own,
                    sockets,
                    begins,
                    &mut self.options.secrets,
                );
                let labour = Labour::new(scenario.energy.packet_instructions);
                let native = Native::new(built.node, !is_host, labour);
                (Occupant::Native(Box::new(native)), built.memory_bytes)
            }
        };
        Ok(Place {
            occupant,
            timing,
            memory_bytes: node_bytes + radio_bytes,
        })
    }

    /// Builds the occupant of a place; `None` for a node of Redpoll's stack in this process.
    fn other(
        &mut self,
        scenario: &Scenario,
        seat: &mut Seat<'_>,
        routes: &Routes,
    ) -> Result<Option<Occupant>, BuildError> {
        if let Some(guest) = Guest::load(scenario, seat, self.options.guests)? {
            return Ok(Some(Occupant::Guest(Box::new(guest))));
        }
        if let Some(foreign) = Foreign::load(scenario, seat, self.options.loader)? {
            return Ok(Some(Occupant::Foreign(Box::new(foreign))));
        }
        let external = External::open(scenario, seat, routes, &mut self.options)?;
        Ok(external.map(|external| Occupant::External(Box::new(external))))
    }
}

fn routes(scenario: &Scenario, air: &Air) -> Routes {
    let nodes = 0..scenario.nodes.len();
    let neighbours: Vec<Vec<_>> = nodes.map(|node| air.neighbours(node)).collect();
    topology::plan(scenario, &neighbours)
}

impl World {
    /// Plans the routes of the scenario over the present links. Without RPL, the nodes have these
    /// routes at the beginning of the run.
    pub fn routes(&self) -> Routes {
        routes(self.scenario(), self.air())
    }

    /// Builds the world of a scenario with its applications; `seed` replaces the scenario's own.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<World, BuildError> {
        let seed = Some(seed);
        World::with(
            scenario.clone(),
            WorldOptions {
                seed,
                ..WorldOptions::default()
            },
        )
    }

    /// Builds the world of a scenario like [`World::new`], with `options`. Several worlds can share
    /// a scenario in an [`Arc`].
    pub fn with(
        scenario: impl Into<Arc<Scenario>>,
        options: WorldOptions<'_>,
    ) -> Result<World, BuildError> {
        let scenario = scenario.into();
        Builder { scenario, options }.build()
    }

    /// Waits until all external nodes have started, in a world that waits for them.
    fn await_externals(&mut self) -> Result<(), BuildError> {
        if self.env.pace == Pace::Goes {
            return Ok(());
        }
        let started = Stopwatch::start();
        let patience = self.env.scenario.external.patience;
        for index in 0..self.places.len() {
            while let (Occupant::External(external), mut seat) = self.at(index)
                && external.presence() != Presence::Here
            {
                if started.elapsed() > patience {
                    let spec = &seat.env.scenario.nodes[index];
                    let problem = format!(
                        "nothing answered at {} within {} s; start the firmware first, or \
                         increase external.patience",
                        spec.line.as_deref().unwrap_or_default(),
                        patience.as_secs_f64()
                    );
                    let node = spec.name.clone();
                    return Err(BuildError::Line { node, problem });
                }
                external.hear(&mut seat, LOOK);
                self.drain();
            }
        }
        Ok(())
    }
}

fn duplicates_packets(scenario: &Scenario) -> bool {
    let mut rules = scenario.faults.iter().map(|fault| &fault.rule);
    rules.any(|rule| matches!(rule, Rule::DuplicatePackets { .. }))
}

fn plan(scenario: &Scenario, routes: &Routes) -> Plan {
    let nodes = 0..scenario.nodes.len();
    Plan {
        root: routes.root,
        hops: routes.nodes.iter().map(|node| node.hops_to_root).collect(),
        unconnected: topology::unconnected(scenario, routes),
        by_link: nodes
            .filter_map(|node| Some((scenario.link_address(node)?, node)))
            .collect(),
    }
}

/// Builds the radios and the medium of the scenario, and puts their first events into `queue`.
fn air_of(scenario: &Scenario, seed: Seed, queue: &mut Queue<Event>) -> Air {
    let identities = identities(scenario);
    let places = Positions::of(scenario);
    let layout = Layout {
        site: places.site(scenario),
        radio: &scenario.radio,
        identities: &identities,
        faults: &scenario.faults,
    };
    let mut air = Air::new(&layout, seed, queue);
    if let Some(cache) = &scenario.cache {
        for node in &cache.on {
            air.overhear(*node, cache.overhears);
        }
    }
    if let Some(duty) = scenario.mac.duty {
        air.set_duty(duty.config);
    }
    if scenario.mac.duty.is_some_and(|duty| duty.overhears) {
        (0..scenario.nodes.len()).for_each(|node| air.overhear(node, Overhears::All));
    }
    for (at, node) in air.faults().restarts() {
        if at < Instant::FAR_FUTURE {
            let node = node as u32;
            queue.schedule(at, Event::Restart { node });
        }
    }
    for (fault, spec) in scenario.faults.iter().enumerate() {
        if matches!(spec.rule, Rule::ClockStep { .. }) {
            let fault = fault as u32;
            queue.schedule(spec.from, Event::ClockStep { fault });
        }
    }
    air
}

pub(super) struct Positions {
    positions_m: Vec<(f64, f64)>,
    radios: Vec<RadioSpec>,
}

impl Positions {
    pub(super) fn of(scenario: &Scenario) -> Positions {
        let nodes = scenario.nodes.iter();
        Positions {
            positions_m: nodes.clone().map(|node| node.position_m).collect(),
            radios: nodes.map(|node| node.radio).collect(),
        }
    }

    pub(super) fn site<'a>(&'a self, scenario: &'a Scenario) -> Site<'a> {
        Site {
            config: &scenario.medium,
            positions_m: &self.positions_m,
            links: &scenario.links,
            radios: &self.radios,
            interferers: &scenario.interferers,
            noise: scenario.noise.as_ref(),
        }
    }
}

impl World {
    /// Restarts node `index` with the state from the scenario, and its apps with the state in
    /// flash. The restart waits until the radio has finished its work.
    pub(super) fn on_restart(&mut self, index: usize) {
        let Some(native) = self.places[index].occupant.native() else {
            return;
        };
        if !self.env.air.stations()[index].is_idle() {
            let node = index as u32;
            let later = self.env.now + RESTART_PAUSE;
            self.env.queue.schedule(later, Event::Restart { node });
            return;
        }
        let birth = node::Birth {
            at: self.places[index].timing.clock.local(self.env.now),
            counter_stored: native.counter_stored,
            caps: None,
        };
        let scenario = &self.env.scenario;
        let routes = self.assigned_routes(index);
        let own = (self.plan.root, &routes);
        let ports = node::datagram_ports(scenario);
        let sockets = node::Sockets::of(scenario, index, &ports[index]);
        let begins = (self.env.seed, birth);
        let secrets = &mut Secrets::of_seed();
        let built = node::build(scenario, index, own, sockets, begins, secrets);
        let (name, now) = (scenario.nodes[index].name.clone(), self.env.now);
        self.env.oracle.node_restarted(&name, now);
        if let (Occupant::Native(native), mut seat) = self.at(index) {
            native.restart(&mut seat, built.node);
        }
        let shared = Arc::clone(&self.env.scenario);
        for app in self.traffic.restarted(&shared, index, now) {
            self.add_app(index, app);
        }
        self.serve(index);
    }

    fn assigned_routes(&self, index: usize) -> NodeRoutes {
        let sleeps = self
            .env
            .scenario
            .nodes
            .get(index)
            .is_some_and(|it| it.sleepy);
        if self.env.scenario.routing.rpl().is_some() && !sleeps {
            return NodeRoutes::default();
        }
        let nodes = 0..self.env.scenario.nodes.len();
        let neighbours: Vec<Vec<_>> = nodes.map(|node| self.env.air.neighbours(node)).collect();
        let mut routes = topology::plan(&self.env.scenario, &neighbours);
        routes.nodes.swap_remove(index)
    }
}

fn identities(scenario: &Scenario) -> Vec<Identity> {
    let identity = |node: &NodeSpec| Identity {
        pan_id: scenario.mac.pan_id,
        short: match scenario.mac.extended {
            true => 0xfffe,
            false => node.short,
        },
        extended: node.eui64,
    };
    scenario.nodes.iter().map(identity).collect()
}

fn clock(scenario: &Scenario, index: usize, seed: Seed) -> Oscillator {
    let given = scenario.place(index).and_then(|place| place.drift_ppm);
    given.map_or_else(
        || Oscillator::draw(scenario.clock_drift_ppm, seed, index),
        Oscillator::new,
    )
}

fn check(scenario: &Scenario) -> Result<(), BuildError> {
    let count = scenario.nodes.len();
    if count == 0 {
        return Err(BuildError::Empty);
    }
    for (fault, spec) in scenario.faults.iter().enumerate() {
        let named = match spec.rule {
            Rule::DropFrames { from, to, .. }
            | Rule::LoseFrames { from, to, .. }
            | Rule::DuplicateFrames { from, to, .. }
            | Rule::CorruptFrames { from, to, .. } => [from, to],
            Rule::NodeOff { node } | Rule::NodeRestart { node } | Rule::ClockStep { node, .. } => {
                [Some(node), None]
            }
            Rule::DropPackets { .. }
            | Rule::DuplicatePackets { .. }
            | Rule::ReorderPackets { .. } => [None, None],
        };
        if let Some(node) = named.into_iter().flatten().find(|node| *node >= count) {
            return Err(BuildError::UnknownNode { fault, node });
        }
    }
    Ok(())
}
