//! What a scenario says, checked and resolved: plain data for the simulator
//! and for `redpoll up`. How it is written in TOML is the business of
//! the modules beside this one and documented in `docs/scenario.md`.

mod apps;
mod link;
mod network;
mod nodes;
mod transport;

use std::collections::BTreeMap;
use std::path::PathBuf;

use redpoll_base::{Addr, Duration};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::medium::{LinkSource, NoiseSource};
use crate::scenario::routing::Routing;
use crate::{energy, fault, medium, radio};

pub use apps::{
    AppKind, AppSpec, ClientProtocol, ClientSpec, CocoaReading, ImageLeafSpec, ImageProtocol,
    ImageSourceSpec, QuickSpec, SensorSpec, SensorTransport, Target, TargetHost, When,
};
pub use link::{
    DutyParams, LowpanParams, MacParams, NodeKey, RecoveryParams, SecurityParams, SleepyParams,
};
pub use network::{
    BorderParams, CacheParams, ExternalParams, ModuleParams, SerialParams, SpareParams, TaimParams,
};
pub use nodes::{CONNECTIONS_MAX, EUI64_PREFIX, NodeSpec, Role};
pub use transport::{
    CongestionSpec, HEADER_MAX_INSIDE, HEADER_MAX_OUTSIDE, Keepalive, LossRepair, Mss, TcpParams,
    TransportSpec,
};

/// A mesh, its radio conditions, its traffic and how long to run it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name, as in results; the file's stem unless `name` is set.
    pub name: String,
    /// What was set beside the file, the last value of each key; neither the seed, which is
    /// `seed`, nor what is secret.
    pub set: BTreeMap<String, String>,
    /// Virtual time to simulate; `redpoll up` ignores it.
    pub duration: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// How radio waves travel.
    pub medium: medium::Config,
    /// The radio chip, the same in every node.
    pub radio: radio::Config,
    /// IEEE 802.15.4 MAC parameters.
    pub mac: MacParams,
    /// How sleepy nodes and their parents go about it.
    pub sleepy: SleepyParams,
    /// What processors and batteries are like.
    pub energy: energy::Params,
    /// 6LoWPAN parameters.
    pub lowpan: LowpanParams,
    /// Transport parameters.
    pub tcp: TcpParams,
    /// Where routes come from.
    pub routing: Routing,
    /// Routers drop what they have passed on already, as uIP's.
    pub uip_forwarding: bool,
    /// Routers that keep copies of segments.
    pub cache: Option<CacheParams>,
    /// Nodes with firmware of others.
    pub modules: ModuleParams,
    /// How frames are protected, if they are.
    pub security: Option<SecurityParams>,
    /// Nodes that run elsewhere.
    pub external: ExternalParams,
    /// Where the mesh meets the rest of the world.
    pub border: BorderParams,
    /// The nodes, in the order of their short addresses.
    pub nodes: Vec<NodeSpec>,
    /// The host behind the border router, where the run simulates it: it has
    /// apps. Its index is that after the last node's.
    pub host: Option<NodeSpec>,
    /// Where the links come from: positions and the medium, a list, or
    /// measurements.
    pub links: LinkSource,
    /// What noise is taken from, in the SINR medium; `None`: it is constant.
    pub noise: Option<NoiseSource>,
    /// Each node's clock is wrong by a share drawn evenly between minus and plus
    /// this, in millionths.
    pub clock_drift_ppm: f64,
    /// Who else is on the air.
    pub interferers: Vec<medium::Interferer>,
    /// What is to go wrong, and when.
    pub faults: Vec<fault::Spec>,
    /// The files on disk that all this was read from, the scenario's own first.
    pub files: Vec<PathBuf>,
}

impl Scenario {
    /// The global address of node `index`: the prefix and the interface
    /// identifier made of its link-layer address (RFC 4944 §6).
    ///
    /// Of the simulated host, its own.
    pub fn address(&self, index: usize) -> Option<Addr> {
        if Some(index) == self.host_index() {
            return Some(self.border.host);
        }
        let iid = addr::iid_of(self.link_address(index)?)?;
        Some(addr::from_prefix_and_iid(&self.border.prefix, iid))
    }

    /// The link-layer address of node `index`.
    pub(crate) fn link_address(&self, index: usize) -> Option<Address> {
        let node = self.nodes.get(index)?;
        Some(match self.mac.extended {
            true => Address::Extended(node.eui64),
            false => Address::Short(node.short),
        })
    }

    /// The index of the simulated host, if there is one.
    pub(crate) fn host_index(&self) -> Option<usize> {
        self.host.as_ref().map(|_| self.nodes.len())
    }

    /// All nodes and behind them the simulated host: whatever has apps.
    pub fn places(&self) -> impl Iterator<Item = &NodeSpec> {
        self.nodes.iter().chain(&self.host)
    }

    /// All nodes and the simulated host, to be changed.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut NodeSpec> {
        self.nodes.iter_mut().chain(&mut self.host)
    }

    /// The node, or the simulated host, with this index.
    pub(crate) fn place(&self, index: usize) -> Option<&NodeSpec> {
        self.places().nth(index)
    }

    /// The index of what stands at `target`'s end, if it is simulated.
    pub(crate) fn index_of(&self, target: &Target) -> Option<usize> {
        match target.host {
            TargetHost::Node(index) => Some(index),
            TargetHost::Outside if target.addr == self.border.host => self.host_index(),
            TargetHost::Outside => None,
        }
    }

    /// Whether an app that sends has somebody at the far end in virtual time.
    pub fn is_served(&self, app: &AppSpec) -> bool {
        let Some(target) = app.kind.target() else {
            return true;
        };
        let far = self.index_of(target).and_then(|index| self.place(index));
        far.is_some_and(|far| {
            if far.module.is_some() || far.line.is_some() {
                // What its firmware takes is not for us to say.
                return true;
            }
            let counts_by_itself = matches!(app.kind, AppKind::Sensor(sensor)
                if sensor.transport.is_udp() && !sensor.transport.is_coap());
            counts_by_itself || far.apps.iter().any(|other| other.kind.serves(&app.kind))
        })
    }

    /// The index of the node called `name`.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Whether node `index` finds its routes itself. One that sleeps is told its parents.
    pub(crate) fn finds_routes(&self, index: usize) -> bool {
        let node = self.nodes.get(index);
        self.routing.rpl().is_some() && node.is_some_and(|node| !node.sleepy)
    }

    /// The border router, if the scenario has one.
    pub fn border_router(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.role == Role::Border)
    }
}

/// `prefix` (its first 64 bits) with the interface identifier
/// `0000:00ff:fe00:SSSS` of a short address (RFC 4944 §6, RFC 6282 §3.2.2).
pub fn global_address(prefix: &Addr, short: u16) -> Addr {
    let [high, low] = short.to_be_bytes();
    let [p0, p1, p2, p3, p4, p5, p6, p7, ..] = prefix.0;
    Addr([
        p0, p1, p2, p3, p4, p5, p6, p7, 0, 0, 0, 0xff, 0xfe, 0, high, low,
    ])
}
