//! The report of a run: the object that `redpoll run --json` writes, described in `docs/report.md`.

mod air_time;
mod counted;
mod drops;

pub use air_time::AirTimeFigures;
pub(crate) use counted::RplPlace;
pub use counted::{
    CacheFigures, DutyFigures, FairQueueFigures, MulticastFigures, RecoveryFigures, RplFigures,
    SpareFigures, TaimFigures,
};
pub(crate) use drops::{HostSide, drops};

use std::collections::BTreeMap;

use redpoll_base::Instant;
use serde::Serialize;

use crate::oracle::FlowFigures;
use crate::scenario::Scenario;
use crate::{energy, medium};

/// Version of the object's format. New fields do not change it.
pub const VERSION: u32 = 1;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    pub version: u32,
    pub scenario: String,
    pub seed: u64,
    /// Overrides of the scenario's keys as given, without the seed and secret keys.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The medium, with its ranges or powers and thresholds.
    pub medium: Medium,
    pub simulated_s: f64,
    /// Real time of the run in seconds.
    pub wall_s: f64,
    pub events: u64,
    /// Peak memory of the process in bytes; 0 if unknown.
    pub peak_memory_bytes: u64,
    /// The oracle's verdict.
    pub oracle: OracleReport,
    pub flows: Vec<FlowFigures>,
    /// TAiM at the border router; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taim: Option<TaimFigures>,
    /// Fair queueing at the border router; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_queue: Option<FairQueueFigures>,
    /// Help for small windows at the border router; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<SpareFigures>,
    /// Air time of all nodes by type of message.
    pub air_time: AirTimeFigures,
    /// All nodes, in the order of the scenario.
    pub nodes: Vec<NodeFigures>,
    /// All interferers, in the order of the scenario.
    pub interferers: Vec<InterfererFigures>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Medium {
    /// Whether the scenario lists the links; positions and ranges are then unused.
    pub listed_links: bool,
    /// Whether links are measured; positions and ranges are then unused.
    pub measured_links: bool,
    #[serde(flatten)]
    pub config: medium::Config,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OracleReport {
    pub ok: bool,
    pub violations: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeFigures {
    pub name: String,
    /// Role of the node in the mesh: `border`, `router` or `leaf`.
    pub role: &'static str,
    /// Position of the node at the end, in metres.
    pub position_m: (f64, f64),
    /// Name of the node's next hop towards the root, at the end.
    pub parent: Option<String>,
    /// Hops to the root along the paths of least cost at the beginning of the run; `None` without a
    /// path. `rpl.hops` counts the hops along RPL's parents.
    pub hops: Option<usize>,
    /// Frames that the node's MAC sent; link acknowledgments are not counted.
    pub frames_sent: u64,
    /// Link retries among `frames_sent`.
    pub frame_retries: u64,
    /// Losses at this node, by reason. Reasons without losses are omitted.
    pub drops: BTreeMap<String, u64>,
    /// Share of the time in which the radio was neither asleep nor off. With a duty-cycled MAC,
    /// share of the time in which it received, was ready to receive, or sent.
    pub radio_duty_cycle: f64,
    /// Time in each state of radio and processor, and the charge consumed.
    pub energy: energy::Figures,
    pub data_requests: u64,
    pub parent_changes: u64,
    /// Number of times that a router refused the node's address as a duplicate (RFC 6775 §8.2.4).
    pub addresses_refused: u64,
    /// Datagrams that the node marked "congestion experienced".
    pub ecn_marks: u64,
    /// Recovery of the node's fragments (RFC 8931); `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryFigures>,
    /// The node's cache of segments; `None` without a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFigures>,
    /// The node's packets to multicast groups; `None` without multicast forwarding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastFigures>,
    /// The node's rank and parents in the DODAG, and its RPL counters; `None` with fixed routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpl: Option<RplFigures>,
    /// The node's duty-cycled MAC; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyFigures>,
    /// Memory of the node: protocol state, tables, buffers and radio.
    pub memory_bytes: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InterfererFigures {
    pub name: String,
    pub position_m: (f64, f64),
    pub nodes: usize,
    pub bursts: u64,
    pub on_air_s: f64,
}

pub(crate) fn interferers(medium: &medium::Medium, now: Instant) -> Vec<InterfererFigures> {
    let figures = medium
        .interferers()
        .map(|(course, nodes)| InterfererFigures {
            name: course.spec().name.clone(),
            position_m: course.spec().position_m,
            nodes,
            bursts: course.bursts(),
            on_air_s: course.on_air(now).as_micros() as f64 / 1e6,
        });
    figures.collect()
}

pub(crate) fn medium(scenario: &Scenario) -> Medium {
    Medium {
        listed_links: matches!(scenario.links, medium::LinkSource::Listed(_)),
        measured_links: matches!(scenario.links, medium::LinkSource::Measured(_)),
        config: scenario.medium,
    }
}

/// Returns the peak memory of this process as the kernel counts it, in bytes; 0 if unknown.
pub(crate) fn peak_memory_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1_024)
}
