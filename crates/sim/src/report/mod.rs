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
    /// Version of the format, 1.
    pub version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the run. The same scenario and seed give the same run on every machine.
    pub seed: u64,
    /// Keys set in addition to the scenario's file (`--set`, `--duration`), each with its value as
    /// given. Never contains the seed or a secret key (`security.key`, `nodes.NAME.key`,
    /// `thread.network_key`). Left out if empty.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Medium of the run: its model and its parameters.
    pub medium: Medium,
    /// Simulated time in seconds.
    pub simulated_s: f64,
    /// Real time of the run in seconds.
    pub wall_s: f64,
    /// Number of simulated events.
    pub events: u64,
    /// Peak memory of the process in bytes, as the kernel counts it; 0 if the kernel does not
    /// report it.
    pub peak_memory_bytes: u64,
    /// Verdict of the oracle, which checks the run.
    pub oracle: OracleReport,
    /// All flows: an array with one object for each flow.
    pub flows: Vec<FlowFigures>,
    /// Statistics of TAiM at the border router. Left out unless the scenario uses TAiM
    /// (`border.taim`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taim: Option<TaimFigures>,
    /// Statistics of fair queueing at the border router. Left out unless the scenario uses fair
    /// queueing (`border.fair_queue`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_queue: Option<FairQueueFigures>,
    /// Statistics of the help for small windows at the border router. Left out unless the scenario
    /// uses it (`border.spare_one_segment`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<SpareFigures>,
    /// Air time of all nodes, by type of message.
    pub air_time: AirTimeFigures,
    /// All nodes: an array with one object for each node, in the order of the scenario.
    pub nodes: Vec<NodeFigures>,
    /// All interferers: an array with one object for each interferer, in the order of the scenario.
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
    /// Verdict of the oracle: true if no rule was violated.
    pub ok: bool,
    /// Violations as text, at most the first hundred.
    pub violations: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeFigures {
    /// Name of the node.
    pub name: String,
    /// Role of the node in the mesh: `border`, `router` or `leaf`.
    pub role: &'static str,
    /// Position of the node at the end of the run, in metres.
    pub position_m: (f64, f64),
    /// Name of the neighbour to which the node sends packets for the root, at the end of the run;
    /// `null` without one.
    pub parent: Option<String>,
    /// Hops to the root on the least-cost paths at the start of the run, which fixed routes use;
    /// `null` without a path. `rpl.hops` has the hops of RPL's routes.
    pub hops: Option<usize>,
    /// Frames sent by the MAC. Retries are included, and link acknowledgements are excluded.
    pub frames_sent: u64,
    /// Link retries: attempts to send a frame after the first attempt. An attempt without channel
    /// access counts here, but not in `frames_sent`.
    pub frame_retries: u64,
    /// Losses at this node: a number for each reason. Each reason starts with its layer, as in
    /// `radio.collision`. Reasons that did not occur are left out.
    pub drops: BTreeMap<String, u64>,
    /// Share of the time in which the radio was neither asleep nor switched off, 0 to 1. With a
    /// duty-cycled MAC: share of the time in which the radio received, was ready to receive, or
    /// sent.
    pub radio_duty_cycle: f64,
    /// Times in each state of radio and processor, and the charges consumed.
    pub energy: energy::Figures,
    /// Number of data requests of the MAC, retries not counted. Only sleepy nodes send data
    /// requests.
    pub data_requests: u64,
    /// Number of times that a sleepy node changed its parent. `rpl.parent_changes` counts the
    /// changes of RPL's preferred parent.
    pub parent_changes: u64,
    /// Number of times that a router refused the node's address because another node has it
    /// (RFC 6775 §8.2.4). `redpoll run` also reports this, in a line below the table of flows.
    pub addresses_refused: u64,
    /// Datagrams that the node marked "congestion experienced", by random early detection, and then
    /// sent.
    pub ecn_marks: u64,
    /// Statistics of fragment recovery (RFC 8931). Left out without `lowpan.fragment_recovery`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryFigures>,
    /// Counters of the node's cache of TCP segments. Left out at a node without a cache
    /// (`cache.on`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFigures>,
    /// Counters of the node's packets to multicast groups. Left out without `multicast.forwarding`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multicast: Option<MulticastFigures>,
    /// Position of the node in the DODAG, and statistics of RPL. Left out without
    /// `routing = "rpl"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpl: Option<RplFigures>,
    /// Counters of the node's duty-cycled MAC. Left out without a duty-cycled MAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyFigures>,
    /// Memory of the node in the simulator, in bytes: protocol state, tables, buffers, the model of
    /// the radio, and the links to other nodes. Protocols that the scenario does not use are not
    /// included.
    pub memory_bytes: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InterfererFigures {
    /// Name of the interferer.
    pub name: String,
    /// Position of the interferer, in metres.
    pub position_m: (f64, f64),
    /// Number of nodes that the interferer reaches.
    pub nodes: usize,
    /// Number of bursts that the interferer began.
    pub bursts: u64,
    /// Time in which the interferer transmitted, in seconds.
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
