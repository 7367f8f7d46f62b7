//! A checked scenario as plain data, for the simulator and for `redpoll up`.

mod apps;
mod link;
mod network;
mod nodes;
mod oracle;
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
    BorderParams, CacheParams, ExternalParams, ModuleParams, MulticastParams, SerialParams,
    SpareParams, TaimParams,
};
pub use nodes::{CONNECTIONS_MAX, ConsoleLine, EUI64_PREFIX, Interface, NodeSpec, Role, ThreadTcp};
pub(crate) use oracle::OracleParams;
pub use transport::{
    CongestionSpec, HEADER_MAX_INSIDE, HEADER_MAX_OUTSIDE, Keepalive, LossRepair, Mss, TcpParams,
    TransportSpec,
};

/// A mesh, its radio conditions, its traffic and the duration of its run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name, as in results; the file's stem unless `name` is set.
    pub name: String,
    /// Overrides of keys of the file, without the seed and secrets: the last value for each key.
    pub set: BTreeMap<String, String>,
    /// Virtual time to simulate; `redpoll up` ignores it.
    pub duration: Duration,
    pub seed: u64,
    pub medium: medium::Config,
    pub radio: radio::Config,
    /// IEEE 802.15.4 MAC parameters.
    pub mac: MacParams,
    pub sleepy: SleepyParams,
    pub energy: energy::Params,
    pub lowpan: LowpanParams,
    pub tcp: TcpParams,
    pub routing: Routing,
    /// Whether routers drop packets that they have already forwarded, as uIP does.
    pub uip_forwarding: bool,
    /// Routers that keep copies of segments.
    pub cache: Option<CacheParams>,
    /// Forwarding of packets to multicast groups; `None`: nodes do not forward them.
    pub multicast: Option<MulticastParams>,
    /// Parameters of nodes with the firmware of other stacks.
    pub modules: ModuleParams,
    /// Link-layer security, if frames are secured.
    pub security: Option<SecurityParams>,
    pub external: ExternalParams,
    pub border: BorderParams,
    /// The nodes, in the order of the scenario.
    pub nodes: Vec<NodeSpec>,
    /// Simulated host behind the border router, if it has apps. Its index is `nodes.len()`.
    pub host: Option<NodeSpec>,
    /// Source of links: positions and the medium, a list, or measurements.
    pub links: LinkSource,
    /// Source of the SINR medium's noise; `None`: constant noise.
    pub noise: Option<NoiseSource>,
    /// Largest clock drift in millionths. Each node's drift is uniform between ± this value.
    pub clock_drift_ppm: f64,
    pub interferers: Vec<medium::Interferer>,
    pub faults: Vec<fault::Spec>,
    /// Demands on the run.
    pub(crate) oracle: OracleParams,
    /// Files on disk from which the scenario was read, the scenario file first.
    pub files: Vec<PathBuf>,
}

impl Scenario {
    /// Returns the global address of node `index`: the prefix and the interface identifier of its
    /// link-layer address (RFC 4944 §6). For the simulated host, returns the host's address.
    pub fn address(&self, index: usize) -> Option<Addr> {
        if Some(index) == self.host_index() {
            return Some(self.border.host);
        }
        let iid = addr::iid_of(self.link_address(index)?)?;
        Some(addr::from_prefix_and_iid(&self.border.prefix, iid))
    }

    pub(crate) fn link_address(&self, index: usize) -> Option<Address> {
        let node = self.nodes.get(index)?;
        Some(match self.mac.extended {
            true => Address::Extended(node.eui64),
            false => Address::Short(node.short),
        })
    }

    pub(crate) fn host_index(&self) -> Option<usize> {
        self.host.as_ref().map(|_| self.nodes.len())
    }

    /// Returns all nodes, followed by the simulated host.
    pub fn places(&self) -> impl Iterator<Item = &NodeSpec> {
        self.nodes.iter().chain(&self.host)
    }

    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut NodeSpec> {
        self.nodes.iter_mut().chain(&mut self.host)
    }

    pub(crate) fn place(&self, index: usize) -> Option<&NodeSpec> {
        self.places().nth(index)
    }

    /// Returns the index of the node or host at `target`, if it is simulated.
    pub(crate) fn index_of(&self, target: &Target) -> Option<usize> {
        match target.host {
            TargetHost::Node(index) => Some(index),
            TargetHost::Outside if target.addr == self.border.host => self.host_index(),
            TargetHost::Outside => None,
        }
    }

    /// Returns whether the destination of `app` is simulated and accepts its data.
    pub(crate) fn is_served(&self, app: &AppSpec) -> bool {
        let Some(target) = app.kind.target() else {
            return true;
        };
        let far = self.index_of(target).and_then(|index| self.place(index));
        far.is_some_and(|far| {
            if far.module.is_some() || far.line.is_some() {
                // The simulator does not know the ports of other firmware.
                return true;
            }
            let counts_by_itself = matches!(app.kind, AppKind::Sensor(sensor)
                if sensor.transport.is_udp() && !sensor.transport.is_coap());
            counts_by_itself || far.apps.iter().any(|other| other.kind.serves(&app.kind))
        })
    }

    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Returns whether node `index` uses RPL. A sleepy node gets its parents from the scenario.
    pub(crate) fn finds_routes(&self, index: usize) -> bool {
        let node = self.nodes.get(index);
        self.routing.rpl().is_some() && node.is_some_and(|node| !node.sleepy)
    }

    pub fn border_router(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.role == Role::Border)
    }
}

/// Combines the first 64 bits of `prefix` with the interface identifier `0000:00ff:fe00:SSSS` of a
/// short address (RFC 4944 §6, RFC 6282 §3.2.2).
pub fn global_address(prefix: &Addr, short: u16) -> Addr {
    let [high, low] = short.to_be_bytes();
    let [p0, p1, p2, p3, p4, p5, p6, p7, ..] = prefix.0;
    Addr([
        p0, p1, p2, p3, p4, p5, p6, p7, 0, 0, 0, 0xff, 0xfe, 0, high, low,
    ])
}
