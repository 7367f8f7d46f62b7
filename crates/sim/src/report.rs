//! What a run has to report: the object that `redpoll run --json` writes,
//! described in `docs/report.md`.

use std::collections::BTreeMap;

use redpoll_base::Instant;
use redpoll_border::Gate;
use redpoll_replay::DutyCounters;
use redpoll_stack::RplCounters;
use redpoll_stack::lowpan::RecoveryCounters;
use serde::Serialize;

use crate::air::{Counts, Outcome};
use crate::fair_queue::FairQueueCounters;
use crate::node::{SimNode, refusals};
use crate::oracle::FlowFigures;
use crate::radio::Station;
use crate::scenario::Scenario;
use crate::{energy, medium};

/// Version of the object's shape. Fields may be added without a new one.
pub const VERSION: u32 = 1;

/// Everything that is known after a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Version of the shape of this object.
    pub version: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Keys that were set beside the scenario's file, with their values as given; the key of
    /// the link's security is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The medium, with its ranges or powers and thresholds.
    pub medium: Medium,
    /// Simulated seconds.
    pub simulated_s: f64,
    /// Seconds that it took.
    pub wall_s: f64,
    /// Events simulated.
    pub events: u64,
    /// The most memory that the process has had; 0 where that is not known.
    pub peak_memory_bytes: u64,
    /// The oracle's verdict.
    pub oracle: OracleReport,
    /// All flows, in the order of the scenario.
    pub flows: Vec<FlowFigures>,
    /// What TAiM has done at the border router; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taim: Option<TaimFigures>,
    /// What fair queueing has done there; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_queue: Option<FairQueueFigures>,
    /// What standing in for small windows has done there; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare: Option<SpareFigures>,
    /// All nodes, in the order of the scenario.
    pub nodes: Vec<NodeFigures>,
    /// All interferers, in the order of the scenario.
    pub interferers: Vec<InterfererFigures>,
}

/// The medium of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Medium {
    /// Links are listed by the scenario; positions and ranges do not count.
    pub listed_links: bool,
    /// Links are as they were measured; positions and ranges do not count.
    pub measured_links: bool,
    /// The medium's parameters.
    #[serde(flatten)]
    pub config: medium::Config,
}

/// The oracle's verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OracleReport {
    /// Nothing has happened that must not happen.
    pub ok: bool,
    /// What has, the first hundred.
    pub violations: Vec<String>,
}

/// The figures of a node.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NodeFigures {
    /// Its name.
    pub name: String,
    /// What it is to the mesh: `border`, `router` or `leaf`.
    pub role: &'static str,
    /// Where it stands at the end, in metres.
    pub position_m: (f64, f64),
    /// Name of the neighbour that its packets to the root go through at the end.
    pub parent: Option<String>,
    /// Hops to the root of the routes by the paths of least cost when the run began;
    /// `None` without a path. `rpl.hops` counts those of RPL.
    pub hops: Option<usize>,
    /// Frames that its MAC sent, link acknowledgements not counted.
    pub frames_sent: u64,
    /// Of those, how many were repetitions.
    pub frame_retries: u64,
    /// What was lost at this node, by reason. Reasons that do not occur are
    /// left out.
    pub drops: BTreeMap<String, u64>,
    /// Share of the time in which its radio was neither asleep nor off; with a duty-cycled
    /// MAC, in which it received, was ready to receive, or sent.
    pub radio_duty_cycle: f64,
    /// Times and charges.
    pub energy: energy::Figures,
    /// Data requests that it sent.
    pub data_requests: u64,
    /// How often it has turned to another parent.
    pub parent_changes: u64,
    /// How often a router has refused its address as somebody else's (RFC 6775 §8.2.4).
    pub addresses_refused: u64,
    /// Datagrams that it marked "congestion experienced".
    pub ecn_marks: u64,
    /// What recovery of its fragments (RFC 8931) has done; `None` without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryFigures>,
    /// What its cache of segments has done; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheFigures>,
    /// Its place in the DODAG and what its RPL has done; `None` where routes are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rpl: Option<RplFigures>,
    /// What its duty-cycled MAC has done; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duty: Option<DutyFigures>,
    /// Memory of the node: protocol state, tables, buffers and radio.
    pub memory_bytes: u64,
}

/// A router's cache of segments.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CacheFigures {
    /// Segments of which a copy was kept.
    pub cached: u64,
    /// Copies that were acknowledged.
    pub acknowledged: u64,
    /// Copies sent.
    pub repeated: u64,
    /// Of those, how many early, because nothing was heard.
    pub repeated_early: u64,
    /// Segments that were acknowledged already, and not passed on.
    pub dropped: u64,
    /// Acknowledgments made for those.
    pub regenerated: u64,
    /// Segments for whose copy there was no room.
    pub without_room: u64,
    /// Connections forgotten for others.
    pub evicted: u64,
    /// Frames heard, for whomever.
    pub heard: u64,
    /// Copies that the next hop was heard passing on; of rules that heed it.
    pub reached: u64,
    /// Duplicate acknowledgments answered by a copy.
    pub duplicates: u64,
    /// Packets that have waited for those before them.
    pub waited: u64,
    /// Packets that were not passed on because they waited already, for want of room to
    /// wait, or after having waited for too long.
    pub refused: u64,
    /// Acknowledgments repeated.
    pub again: u64,
}

impl CacheFigures {
    /// Of a cache that counts so.
    pub(crate) fn of(counters: &redpoll_assist::cache::Counters) -> CacheFigures {
        CacheFigures {
            cached: counters.cached.into(),
            acknowledged: counters.acknowledged.into(),
            repeated: counters.repeated.into(),
            repeated_early: counters.repeated_early.into(),
            dropped: counters.dropped.into(),
            regenerated: counters.regenerated.into(),
            without_room: counters.without_room.into(),
            evicted: counters.evicted.into(),
            heard: counters.heard.into(),
            reached: counters.reached.into(),
            duplicates: counters.duplicates.into(),
            waited: counters.waited.into(),
            refused: counters.refused.into(),
            again: counters.again.into(),
        }
    }
}

/// TAiM at the border router.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TaimFigures {
    /// The time between two packets that leave, at the end.
    pub delay_ms: f64,
    /// Periods over.
    pub periods: u64,
    /// Flows of which both ends were heard.
    pub flows: u64,
    /// Packets that waited and have left.
    pub waited: u64,
    /// How long those waited on average.
    pub wait_ms: f64,
    /// The longest that one of them waited.
    pub longest_wait_ms: f64,
    /// Packets that passed at once.
    pub passed: u64,
    /// Packets that left before their turn, for want of room or by the limit of waiting.
    pub hurried: u64,
    /// Packets that still wait.
    pub waiting: u64,
}

impl TaimFigures {
    pub(crate) fn of<M: redpoll_base::Memory, H>(taim: &redpoll_assist::taim::Taim<M, H>) -> Self {
        let counters = taim.counters();
        TaimFigures {
            delay_ms: taim.delay_ns() as f64 / 1e6,
            periods: counters.periods,
            flows: counters.confirmed,
            waited: counters.released,
            wait_ms: counters.waited_us as f64 / 1e3 / f64::max(counters.released as f64, 1.0),
            longest_wait_ms: counters.longest_wait_us as f64 / 1e3,
            passed: counters.foreign
                + counters.malformed
                + counters.on_probation
                + counters.untracked,
            hurried: counters.overdue + counters.pushed_out,
            waiting: taim.waiting_packets().into(),
        }
    }
}

/// Fair queueing at the border router.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct FairQueueFigures {
    /// Packets that have left.
    pub released: u64,
    /// How long those waited on average.
    pub wait_ms: f64,
    /// The longest that one of them waited.
    pub longest_wait_ms: f64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets that still wait.
    pub waiting: u64,
}

impl FairQueueFigures {
    pub(crate) fn of(counters: &FairQueueCounters, waiting: usize) -> Self {
        let waited_ms = counters.waited_us as f64 / 1e3;
        FairQueueFigures {
            released: counters.released,
            wait_ms: waited_ms / f64::max(counters.released as f64, 1.0),
            longest_wait_ms: counters.longest_wait_us as f64 / 1e3,
            dropped: counters.dropped,
            marked: counters.marked,
            waiting: waiting as u64,
        }
    }
}

/// A border router that stands in for the small windows of nodes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SpareFigures {
    /// Connections spared.
    pub flows: u64,
    /// Of those, how many went for others, or ended for what is not understood.
    pub given_up: u64,
    /// Segments with data that came from the host for them.
    pub segments: u64,
    /// Pieces that went on into the mesh.
    pub pieces: u64,
    /// Segments from the mesh that went on in halves.
    pub halved: u64,
    /// Acknowledgments of a first half alone, which went no further.
    pub halfway: u64,
    /// Segments from the host that went no further.
    pub dropped: u64,
    /// Bytes that still wait.
    pub waiting: u64,
}

impl SpareFigures {
    pub(crate) fn of<M: redpoll_base::Memory>(spare: &redpoll_assist::spare::Spare<M>) -> Self {
        let counters = spare.counters();
        SpareFigures {
            flows: counters.flows,
            given_up: counters.evicted + counters.given_up,
            segments: counters.segments,
            pieces: counters.pieces,
            halved: counters.halved,
            halfway: counters.halfway,
            dropped: counters.dropped,
            waiting: spare.waiting(),
        }
    }
}

/// A node that routes by RPL, at the end of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RplFigures {
    /// Its rank; `None` without a way to the root.
    pub rank: Option<u16>,
    /// Name of its preferred parent.
    pub parent: Option<String>,
    /// Hops to the root, from preferred parent to preferred parent; `None` without a way.
    pub hops: Option<usize>,
    /// Targets that it knows a way down to.
    pub targets: usize,
    /// Messages sent.
    pub sent: RplMessages,
    /// Messages received, malformed ones not counted.
    pub received: RplMessages,
    /// Another preferred parent than before.
    pub parent_changes: u32,
    /// The last parent was lost, and the sub-DODAG poisoned: local repairs.
    pub local_repairs: u32,
    /// New versions of the DODAG that were joined; a root's: begun. Global repairs.
    pub global_repairs: u32,
    /// Loops that were detected: packets whose direction contradicted the ranks, packets
    /// that came back from a route that was removed, and DAOs of the node's own parent.
    pub loops: u32,
    /// Trickle has begun anew for an inconsistency.
    pub trickle_resets: u32,
    /// DAOs that were given up, or refused.
    pub daos_failed: u32,
    /// Targets and neighbours for which a table had no room, and registrations of hosts
    /// that were refused.
    pub refused: u32,
    /// Messages that cannot be, are of another DODAG or out of date.
    pub ignored: u32,
}

/// RPL's messages by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RplMessages {
    /// DODAG Information Objects.
    pub dio: u32,
    /// DODAG Information Solicitations.
    pub dis: u32,
    /// Destination Advertisement Objects, repeated ones and No-Paths included.
    pub dao: u32,
    /// Their acknowledgements.
    pub dao_ack: u32,
}

impl RplFigures {
    /// Of a node with these counters, in this place.
    pub(crate) fn of(it: &RplCounters, place: RplPlace) -> RplFigures {
        RplFigures {
            rank: place.rank,
            parent: place.parent,
            hops: place.hops,
            targets: place.targets,
            sent: RplMessages {
                dio: it.dios_sent,
                dis: it.diss_sent,
                dao: it.daos_sent,
                dao_ack: it.dao_acks_sent,
            },
            received: RplMessages {
                dio: it.dios_received,
                dis: it.diss_received,
                dao: it.daos_received,
                dao_ack: it.dao_acks_received,
            },
            parent_changes: it.parent_changes,
            local_repairs: it.detached,
            global_repairs: it.versions,
            loops: it.rank_errors + it.returned + it.loops,
            trickle_resets: it.trickle_resets,
            daos_failed: it.daos_given_up + it.daos_refused,
            refused: it.targets_refused + it.neighbours_refused + it.registrations_refused,
            ignored: it.implausible + it.foreign + it.stale + it.versions_ignored,
        }
    }
}

/// Where a node is in its DODAG.
pub(crate) struct RplPlace {
    pub(crate) rank: Option<u16>,
    pub(crate) parent: Option<String>,
    pub(crate) hops: Option<usize>,
    pub(crate) targets: usize,
}

/// The duty-cycled MAC of a node.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct DutyFigures {
    /// Times that the receiver was switched on to see whether somebody sends.
    pub wake_ups: u64,
    /// Of those, how many found something in the channel.
    pub alarms: u64,
    /// Channel assessments, those before sending included, those between the copies of a
    /// frame not.
    pub assessments: u64,
    /// Frames that were repeated until their receiver had woken up, each attempt counted.
    pub trains: u64,
    /// Of those, how many began when the receiver was expected to wake up, or was awake.
    pub locked_trains: u64,
    /// Copies of frames sent.
    pub copies: u64,
    /// Attempts that found the channel busy before or while they were made.
    pub collisions: u64,
}

impl DutyFigures {
    /// Of a MAC that counts so, and its radio.
    pub(crate) fn of(counters: &DutyCounters, station: &Station) -> DutyFigures {
        DutyFigures {
            wake_ups: counters.wake_ups.into(),
            alarms: counters.alarms.into(),
            assessments: station.assessments,
            trains: counters.trains.into(),
            locked_trains: counters.locked_trains.into(),
            copies: station.copies,
            collisions: counters.collisions.into(),
        }
    }
}

/// Recovery of a node's fragments (RFC 8931 §7.2).
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RecoveryFigures {
    /// Datagrams that left in recoverable fragments.
    pub datagrams: u64,
    /// Fragments sent again.
    pub repeated: u64,
    /// Datagrams begun anew.
    pub restarted: u64,
    /// Acknowledgments made or passed on.
    pub acknowledgments: u64,
    /// Fragments of datagrams that nothing was known of.
    pub refused: u64,
    /// Acknowledgments that did not come in time.
    pub timeouts: u64,
    /// Acknowledgments that told of congestion.
    pub congested: u64,
    /// The mean round trip at the end of the run; `None` without one.
    pub round_trip_ms: Option<f64>,
    /// The longest.
    pub longest_round_trip_ms: Option<f64>,
}

impl RecoveryFigures {
    /// Of a node that counts so.
    pub(crate) fn of(counters: &RecoveryCounters) -> RecoveryFigures {
        let ms = |us: u32| (us > 0).then(|| f64::from(us) / 1_000.0);
        RecoveryFigures {
            datagrams: counters.datagrams.into(),
            repeated: counters.repeated.into(),
            restarted: counters.restarted.into(),
            acknowledgments: counters.acknowledgments.into(),
            refused: counters.refused.into(),
            timeouts: counters.timeouts.into(),
            congested: counters.congested.into(),
            round_trip_ms: ms(counters.round_trip_us),
            longest_round_trip_ms: ms(counters.longest_round_trip_us),
        }
    }
}

/// The figures of an interferer.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InterfererFigures {
    /// Its name.
    pub name: String,
    /// Where it stands, in metres.
    pub position_m: (f64, f64),
    /// Nodes that it reaches.
    pub nodes: usize,
    /// Bursts begun.
    pub bursts: u64,
    /// Seconds for which it was on the air.
    pub on_air_s: f64,
}

/// The interferers of a medium.
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

/// The medium of a scenario.
pub(crate) fn medium(scenario: &Scenario) -> Medium {
    Medium {
        listed_links: matches!(scenario.links, medium::LinkSource::Listed(_)),
        measured_links: matches!(scenario.links, medium::LinkSource::Measured(_)),
        config: scenario.medium,
    }
}

/// What was lost at the border router's host side.
pub(crate) struct HostSide<'a> {
    pub(crate) gate: &'a Gate,
    /// Packets for the mesh that too many others waited with.
    pub(crate) to_mesh: u64,
    /// Packets that the host did not take in time.
    pub(crate) to_host: u64,
    /// Packets that its serial line has lost: for the mesh, and for the host.
    pub(crate) serial: (u64, u64),
}

/// All that was lost at a node, by layer and reason; `node` is its node of Redpoll's stack.
pub(crate) fn drops(
    node: Option<&SimNode>,
    lost: &Counts,
    host: Option<&HostSide<'_>>,
    losses: &[(&'static str, u64)],
) -> BTreeMap<String, u64> {
    let mut drops = BTreeMap::new();
    let mut add = |layer: &str, reason: &str, count: u64| {
        if count > 0 {
            *drops.entry(format!("{layer}.{reason}")).or_insert(0) += count;
        }
    };
    for (outcome, count) in Outcome::ALL.into_iter().zip(lost) {
        if outcome != Outcome::Delivered {
            add("radio", outcome.name(), u64::from(*count));
        }
    }
    if let Some(node) = node {
        let mac = node.mac_counters();
        for (reason, count) in [
            ("no_ack", mac.dropped_no_ack),
            ("channel_access_failure", mac.dropped_channel_access),
            ("duplicate", mac.rx_duplicates),
            ("malformed", mac.rx_malformed),
            ("other_pan", mac.rx_other_pan),
            ("not_for_us", mac.rx_not_for_us),
            ("version", mac.rx_version),
            ("secured", mac.rx_secured),
            ("unsealed", mac.dropped_unsealed),
            ("unsupported_type", mac.rx_unsupported_type),
            ("no_source", mac.rx_no_source),
        ] {
            add("mac", reason, count.into());
        }
        if let Some(security) = node.security() {
            for (reason, count) in refusals(security.counters()) {
                add("security", reason, count.into());
            }
        }
        for (reason, count) in node.lowpan_counters().drops() {
            add("lowpan", reason, count.into());
        }
        for (reason, count) in node.counters().drops() {
            add("ip", reason.name(), count.into());
        }
    }
    if let Some(host) = host {
        let counters = host.gate.counters();
        for (reason, count) in [
            ("malformed", counters.malformed),
            ("spoofed_source", counters.spoofed_source),
            ("not_for_mesh", counters.not_for_mesh),
            ("foreign_destination", counters.foreign_destination),
            ("withheld_malformed", counters.withheld_malformed),
            ("unroutable_source", counters.unroutable_source),
            ("foreign_source", counters.foreign_source),
        ] {
            add("host", reason, count.into());
        }
        add("host", "to_mesh_full", host.to_mesh);
        add("host", "queue_full", host.to_host);
        let (busy, full) = host.serial;
        add("host", "serial_busy", busy);
        add("host", "serial_full", full);
    }
    for (reason, count) in losses {
        add("app", reason, *count);
    }
    drops
}

/// The most memory that this process has had, as the kernel counts it; 0 where
/// it does not tell.
pub(crate) fn peak_memory_bytes() -> u64 {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return 0;
    };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1_024)
}
