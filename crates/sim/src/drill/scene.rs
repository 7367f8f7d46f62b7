//! The attacked meshes: a border router with a host behind it, a router and a leaf, and an attacker
//! within range of all of them.

use redpoll_base::{Addr, Duration};

use crate::scenario::{Role, Scenario, ScenarioError};
use crate::world::World;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// The border router, while the adjacent router sends data to it.
    Border,
    /// The router, while the host sends data to the leaf behind it.
    Router,
    /// The leaf, while the host sends data to it.
    Leaf,
    /// A sleepy leaf, while it sends data to the host.
    SleepyLeaf,
}

impl Target {
    pub const ALL: [Target; 4] = [
        Target::Border,
        Target::Router,
        Target::Leaf,
        Target::SleepyLeaf,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Target::Border => "border",
            Target::Router => "router",
            Target::Leaf => "leaf",
            Target::SleepyLeaf => "sleepy leaf",
        }
    }

    pub(super) const fn node(self) -> &'static str {
        match self {
            Target::Border => "border",
            Target::Router => "router",
            Target::Leaf | Target::SleepyLeaf => "leaf",
        }
    }

    pub(super) const fn hops(self) -> u64 {
        match self {
            Target::Border => 0,
            Target::Router => 1,
            Target::Leaf | Target::SleepyLeaf => 2,
        }
    }

    /// Returns sender and receiver of the honest flow.
    const fn flow(self) -> (&'static str, &'static str) {
        match self {
            Target::Border => ("router", "border"),
            Target::Router | Target::Leaf => ("host", "leaf"),
            Target::SleepyLeaf => ("leaf", "host"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mesh {
    Plain,
    /// Fragments are forwarded individually and recovered (RFC 8931).
    Recovering,
    Sealed,
    /// Routing by RPL in storing mode (RFC 6550).
    Rpl,
    NonStoring,
}

pub(super) const SINK: u16 = 5_001;
pub(super) const WEB: u16 = 80;
pub(super) const COAP: u16 = 5_683;
pub(super) const ATTACKER: &str = "foe";

/// Link security of the mesh, with a key that the attacker does not have.
pub(super) const SECURITY: &str = r#"
[security]
level = "enc-mic-32"
key = "000102030405060708090a0b0c0d0e0f"
"#;

const NON_STORING: &str = "\n[rpl]\nmode = \"non-storing\"\n";

const COMMON: &str = r#"
[topology]
kind = "links"
links = [
    "border <-> router", "router <-> leaf",
    "foe <-> border", "foe <-> router", "foe <-> leaf",
]

[radio]
model = "at86rf233"

[mac]
link_retry_delay = "40 ms"

[tcp]
mss = "5 frames"
send_buffer = "1461 B"
receive_buffer = "1461 B"

[apps.web]
type = "http-server"
on = ["border", "router", "leaf"]

[apps.coap]
type = "coap-server"
on = ["border", "router", "leaf"]
"#;

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) scenario: Scenario,
    pub(super) target: Target,
    pub(super) attacked: usize,
    pub(super) attacker: usize,
    /// Index of the honest flow's sender, which may be the host.
    pub(super) sender: usize,
    /// Time from the beginning of the attack to the first new connection.
    pub(super) visits_after: Duration,
}

impl Scene {
    pub(super) fn new(target: Target, mesh: Mesh) -> Result<Scene, ScenarioError> {
        let recovers = mesh == Mesh::Recovering;
        let routing = match mesh {
            Mesh::Rpl | Mesh::NonStoring => "rpl",
            Mesh::Plain | Mesh::Recovering | Mesh::Sealed => "fixed",
        };
        let more = match mesh {
            Mesh::Sealed => SECURITY,
            Mesh::NonStoring => NON_STORING,
            _ => "",
        };
        let (from, to) = target.flow();
        let port = SINK;
        let sleepy = target == Target::SleepyLeaf;
        let text = format!(
            "duration = \"60 s\"\nrouting = \"{routing}\"\n{COMMON}\n\
             [lowpan]\nfragment_forwarding = {recovers}\nfragment_recovery = {recovers}\n\
             [nodes]\n\
             border = {{ role = \"border\" }}\n\
             router = {{ role = \"router\" }}\n\
             leaf = {{ role = \"leaf\", sleepy = {sleepy} }}\n\
             foe = {{ kind = \"attacker\", role = \"leaf\" }}\n\
             [apps.sink]\ntype = \"bulk-sink\"\non = \"{to}\"\nport = {port}\n\
             [apps.honest]\ntype = \"bulk-sender\"\non = \"{from}\"\nto = \"{to}:{port}\"\n{more}"
        );
        let scenario = Scenario::parse(&format!("drill, {}", target.name()), &text, &[])?;
        let find = |name: &str| {
            let place = scenario.places().position(|place| place.name == name);
            place.expect("the scenario has a node of this name")
        };
        Ok(Scene {
            target,
            attacked: find(target.node()),
            attacker: find(ATTACKER),
            sender: find(from),
            visits_after: Duration::ZERO,
            scenario,
        })
    }

    /// Returns the scene of an attack on node `attacked` of any mesh. In the scenario's copy, the
    /// attacked node and its neighbours get the names by which attacks find the router and the
    /// leaf.
    pub(super) fn around(world: &World, attacked: usize) -> Scene {
        let mut scenario = world.scenario().clone();
        let neighbour = |of: usize, role: Role| {
            let near = world.air().neighbours(of).into_iter();
            let nodes = near.map(|it| (it.node, &world.scenario().nodes[it.node]));
            let mut honest = nodes.filter(|(_, node)| !node.attacker);
            let found = honest.find(|(index, node)| node.role == role && *index != attacked);
            found.map(|(index, _)| index)
        };
        let spec = &scenario.nodes[attacked];
        let target = match (spec.role, spec.sleepy) {
            (Role::Border, _) => Target::Border,
            (Role::Router, _) => Target::Router,
            (Role::Leaf, false) => Target::Leaf,
            (Role::Leaf, true) => Target::SleepyLeaf,
        };
        let router = match target {
            Target::Router => Some(attacked),
            _ => neighbour(attacked, Role::Router),
        };
        let leaf = match target {
            Target::Leaf | Target::SleepyLeaf => Some(attacked),
            Target::Border | Target::Router => router.and_then(|router| {
                neighbour(router, Role::Leaf).or_else(|| neighbour(router, Role::Router))
            }),
        };
        let attacker = scenario.nodes.iter().position(|node| node.attacker);
        let names = [
            (scenario.border_router(), "border"),
            (router, "router"),
            (leaf, "leaf"),
            (attacker, ATTACKER),
        ];
        for (at, node) in scenario.nodes.iter_mut().enumerate() {
            let name = names.iter().find(|(index, _)| *index == Some(at));
            node.name = name.map_or_else(|| format!("other-{at}"), |(_, name)| (*name).to_owned());
        }
        Scene {
            scenario,
            target,
            attacked,
            attacker: attacker.unwrap_or(attacked),
            sender: attacked,
            visits_after: Duration::ZERO,
        }
    }

    /// Returns the honest node that opens new connections to the attacked node: the host, or the
    /// router next to the border router if the border router is attacked.
    pub(super) fn visitor(&self) -> usize {
        let name = match self.target {
            Target::Border => "router",
            _ => "host",
        };
        let mut places = self.scenario.places();
        let found = places.position(|place| place.name == name);
        found.unwrap_or(self.sender)
    }

    pub(super) fn address(&self, index: usize) -> Addr {
        self.scenario.address(index).unwrap_or_default()
    }

    pub(super) fn short(&self, index: usize) -> u16 {
        self.scenario.nodes[index].short
    }
}
