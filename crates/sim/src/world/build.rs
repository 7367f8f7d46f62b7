//! How a world begins.

use std::collections::VecDeque;
use std::rc::Rc;

use redpoll_base::{Duration, Instant};
use redpoll_border::Gate;

use super::stall::Calls;
use super::waiting::Waiting;
use super::{Event, Inhabitant, MTU, World};
use crate::air::{Air, Layout};
use crate::congestion::{self, Controllers};
use crate::energy::Labour;
use crate::external::{Lines, NoLines, Pace};
use crate::fault::Rule;
use crate::foreign::{Loader, NoLoader};
use crate::kernel::{Digest, Oscillator, Queue, Secrets, Seed};
use crate::medium::{RadioSpec, Site};
use crate::node;
use crate::oracle::Oracle;
use crate::radio::{Identity, Overhears};
use crate::scenario::{NodeSpec, Scenario};
use crate::topology::{self, NodeRoutes};
use crate::traffic;

/// A node that is to begin anew asks again after this whether its radio is done.
const RESTART_PAUSE: Duration = Duration::from_millis(1);

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
    /// A node's firmware could not be loaded.
    #[error("nodes.{node}.module: {problem}")]
    Module {
        /// The name of the node.
        node: String,
        /// What is wrong.
        problem: String,
    },
    /// A node that runs elsewhere could not be reached.
    #[error("nodes.{node}.line: {problem}")]
    Line {
        /// The name of the node.
        node: String,
        /// What is wrong.
        problem: String,
    },
    /// A node's congestion control is one that nobody has brought along.
    #[error("nodes.{node}.congestion: no congestion control named {name} was added to this run")]
    Congestion {
        /// The name of the node.
        node: String,
        /// What it asks for.
        name: String,
    },
    /// There is nothing to simulate.
    #[error("the scenario has no nodes")]
    Empty,
}

/// What a world has beside its scenario.
pub struct Means<'a> {
    /// What loads nodes with firmware of others.
    pub loader: &'a dyn Loader,
    /// What opens lines to nodes that run elsewhere.
    pub lines: &'a dyn Lines,
    /// How time goes on beside those.
    pub pace: Pace,
    /// Congestion control that is brought along.
    pub controllers: Option<Rc<dyn Controllers>>,
}

impl World {
    /// The world of a scenario with its applications, which start at once;
    /// `seed` replaces the scenario's own.
    ///
    /// # Errors
    /// [`BuildError`], if the scenario contradicts itself.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<World, BuildError> {
        World::with_secrets(scenario, seed, Secrets::of_seed())
    }

    /// As [`World::new`], but `seed` shapes only the air and when apps begin; what
    /// others must not guess comes from `secrets`.
    ///
    /// # Errors
    /// [`BuildError`], if the scenario contradicts itself.
    pub fn with_secrets(
        scenario: &Scenario,
        seed: u64,
        secrets: Secrets,
    ) -> Result<World, BuildError> {
        World::with_loader(scenario, seed, secrets, &NoLoader)
    }

    /// As [`World::with_secrets`], with a `loader` for the nodes whose firmware is not ours.
    ///
    /// # Errors
    /// [`BuildError`], if the scenario contradicts itself or a node cannot be loaded.
    pub fn with_loader(
        scenario: &Scenario,
        seed: u64,
        secrets: Secrets,
        loader: &dyn Loader,
    ) -> Result<World, BuildError> {
        let means = Means {
            loader,
            lines: &NoLines,
            pace: Pace::Waits,
            controllers: None,
        };
        World::with_means(scenario, seed, secrets, &means)
    }

    /// As [`World::with_secrets`], with `means` to reach nodes that are not ours or run
    /// elsewhere.
    ///
    /// # Errors
    /// [`BuildError`], if the scenario contradicts itself, or a node cannot be loaded or
    /// reached.
    pub fn with_means(
        scenario: &Scenario,
        seed: u64,
        mut secrets: Secrets,
        means: &Means<'_>,
    ) -> Result<World, BuildError> {
        let count = scenario.nodes.len();
        check(scenario)?;
        let mut bound = scenario.clone();
        let controllers = congestion::bind(&mut bound, means.controllers.as_ref());
        let controllers =
            controllers.map_err(|(node, name)| BuildError::Congestion { node, name })?;
        let scenario = &bound;
        let duplicates = scenario.faults.iter();
        let duplicates = duplicates
            .map(|fault| &fault.rule)
            .any(|rule| matches!(rule, Rule::DuplicatePackets { .. }));
        let seed = Seed(seed);
        let mut queue = Queue::default();
        let air = air_of(scenario, seed, &mut queue);
        let neighbours: Vec<Vec<_>> = (0..count).map(|node| air.neighbours(node)).collect();
        let routes = topology::plan(scenario, &neighbours);
        let mut inhabit = |index| {
            let radio_bytes = match Some(index) == scenario.host_index() {
                true => 0,
                false => air.memory_bytes(index),
            };
            inhabitant(scenario, index, &routes, radio_bytes, seed, &mut secrets)
        };
        let inhabitants = (0..scenario.places().count()).map(&mut inhabit).collect();
        let mut world = World {
            now: Instant::ZERO,
            queue,
            air,
            inhabitants,
            oracle: Oracle::new(duplicates),
            gate: Gate::new(scenario.border.prefix, 64).with_host(scenario.border.host),
            taim: super::taim::Crossing::of(scenario, seed, &mut secrets),
            spare: super::spare::of(scenario.border.spare),
            serial: (scenario.border.serial).map(|it| Box::new(super::serial::Serial::new(it))),
            border: scenario.border_router(),
            host: scenario.host_index(),
            wire: VecDeque::new(),
            from_host: Waiting::new(scenario.border.queue),
            to_host: VecDeque::new(),
            printed: Vec::new(),
            notices: Vec::new(),
            pace: means.pace,
            has_lines: scenario.nodes.iter().any(|node| node.line.is_some()),
            is_tapped: false,
            host_overflow: 0,
            digest: Digest::default(),
            events: 0,
            stall: None,
            wall: std::time::Duration::ZERO,
            packet: vec![0; MTU].into_boxed_slice(),
            scenario: bound.clone(),
            controllers,
            hops: routes.nodes.iter().map(|node| node.hops_to_root).collect(),
            unconnected: topology::unconnected(scenario, &routes),
            seed,
            root: routes.root,
            transfers: traffic::Transfers::default(),
            by_link: (0..count)
                .filter_map(|node| Some((scenario.link_address(node)?, node)))
                .collect(),
        };
        world.invite(scenario, means.loader)?;
        world.open_lines(scenario, &routes, means.lines, &mut secrets)?;
        for index in 0..scenario.places().count() {
            world.serve(index);
        }
        world.drain();
        for (index, app) in traffic::apps(scenario, seed.0, &mut secrets) {
            world.add_app(index, app);
        }
        Ok(world)
    }
}

/// The radios of the scenario and what is between them; `queue` gets their first events.
fn air_of(scenario: &Scenario, seed: Seed, queue: &mut Queue<Event>) -> Air {
    let identities = identities(scenario);
    let places = Places::of(scenario);
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
    if scenario.mac.duty.is_some_and(|duty| duty.overhears) {
        (0..scenario.nodes.len()).for_each(|node| air.overhear(node, Overhears::All));
    }
    for (at, node) in air.faults().restarts() {
        if at < Instant::FAR_FUTURE {
            let node = node as u32;
            queue.schedule(at, Event::Restart { node });
        }
    }
    air
}

/// Where the nodes of a scenario stand, and what sets their radios apart.
pub(super) struct Places {
    positions_m: Vec<(f64, f64)>,
    radios: Vec<RadioSpec>,
}

impl Places {
    pub(super) fn of(scenario: &Scenario) -> Places {
        let nodes = scenario.nodes.iter();
        Places {
            positions_m: nodes.clone().map(|node| node.position_m).collect(),
            radios: nodes.map(|node| node.radio).collect(),
        }
    }

    /// What the medium of the scenario lies between.
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
    /// Node `index` begins anew, with nothing but what the scenario has told it, and its apps
    /// with what is in flash. It waits for its radio to end what it has begun.
    pub(super) fn on_restart(&mut self, index: usize) {
        if !self.air.stations()[index].is_idle() {
            let node = index as u32;
            let later = self.now + RESTART_PAUSE;
            self.queue.schedule(later, Event::Restart { node });
            return;
        }
        let sockets = node::Sockets::of(&self.scenario, index);
        let routes = self.told_routes(index);
        let own = (self.root, &routes);
        let inhabitant = &mut self.inhabitants[index];
        let now = inhabitant.clock.local(self.now);
        let birth = node::Birth {
            at: now,
            counter_stored: inhabitant.counter_stored,
            caps: None,
        };
        let begins = (self.seed, birth);
        let secrets = &mut Secrets::of_seed();
        let built = node::build(&self.scenario, index, own, sockets, begins, secrets);
        inhabitant.node = built.node;
        inhabitant.wakes_at = Instant::FAR_FUTURE;
        inhabitant.watches.clear();
        self.with_apps(index, |apps, cx| {
            for app in apps {
                app.restart(cx);
            }
        });
        self.serve(index);
    }

    /// The routes that node `index` has been told, where nodes do not find them.
    fn told_routes(&self, index: usize) -> NodeRoutes {
        let sleeps = self.scenario.nodes.get(index).is_some_and(|it| it.sleepy);
        if self.scenario.routing.rpl().is_some() && !sleeps {
            return NodeRoutes::default();
        }
        let nodes = 0..self.scenario.nodes.len();
        let neighbours: Vec<Vec<_>> = nodes.map(|node| self.air.neighbours(node)).collect();
        let mut routes = topology::plan(&self.scenario, &neighbours);
        routes.nodes.swap_remove(index)
    }
}

/// Node `index`, or the host, whose radio takes `radio_bytes`.
fn inhabitant(
    scenario: &Scenario,
    index: usize,
    routes: &topology::Routes,
    radio_bytes: usize,
    seed: Seed,
    secrets: &mut Secrets,
) -> Inhabitant {
    let sockets = node::Sockets::of(scenario, index);
    let no_routes = NodeRoutes::default();
    let own = (routes.root, routes.nodes.get(index).unwrap_or(&no_routes));
    let begins = (seed, node::Birth::FIRST);
    let built = node::build(scenario, index, own, sockets, begins, secrets);
    Inhabitant {
        node: built.node,
        clock: clock(scenario, index, seed),
        apps: Vec::new(),
        wants_acks: false,
        watches: Vec::new(),
        wakes_at: Instant::FAR_FUTURE,
        wants_at: None,
        apps_wake_at: Instant::FAR_FUTURE,
        calls: Calls::default(),
        labour: Labour::new(scenario.energy.packet_instructions),
        memory_bytes: built.memory_bytes + radio_bytes,
        counter_stored: 0,
        outlaw: None,
        guest: None,
        external: None,
    }
}

/// Which frames the nodes' radios take for their own.
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

/// The clock of node `index`, or of the host.
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
            | Rule::DuplicateFrames { from, to, .. } => [from, to],
            Rule::NodeOff { node } | Rule::NodeRestart { node } => [Some(node), None],
            Rule::DropPackets { .. } | Rule::DuplicatePackets { .. } => [None, None],
        };
        if let Some(node) = named.into_iter().flatten().find(|node| *node >= count) {
            return Err(BuildError::UnknownNode { fault, node });
        }
    }
    Ok(())
}
