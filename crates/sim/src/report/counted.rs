//! Figures that a report takes from the counters of other crates.
//!
//! The names in the JSON object are a contract with its readers and differ from the counters' names
//! in the device crates. Each figure is declared here with its source: `NAME` takes the counter of
//! that name, `NAME = SOURCE` the expression `SOURCE`.

use redpoll_replay::DutyCounters;
use redpoll_stack::RplCounters;
use redpoll_stack::lowpan::RecoveryCounters;
use serde::Serialize;

use crate::fair_queue::FairQueueCounters;
use crate::radio::Station;

/// Declares a part of the report, and the function that builds it from its sources. The first
/// source contains the counters. A figure without a type is a `u64`.
macro_rules! figures {
    (
        $(#[$meta:meta])*
        $name:ident of($it:ident: $from:ty $(, $more:ident: $type:ty)*) {
            $($(#[$doc:meta])* $field:ident $(: $of:ty)? $(= $value:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: figures!(@type $($of)?),)*
        }

        impl $name {
            pub(crate) fn of($it: $from $(, $more: $type)*) -> Self {
                Self {
                    $($field: figures!(@value $it $field $($value)?),)*
                }
            }
        }
    };
    (@type) => { u64 };
    (@type $of:ty) => { $of };
    (@value $it:ident $field:ident) => { u64::from($it.$field) };
    (@value $it:ident $field:ident $value:expr) => { $value };
}

figures! {
    /// A node's packets to multicast groups.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    MulticastFigures of(it: &redpoll_assist::multicast::Counters) {
        /// Packets that this node put into the mesh.
        seeded,
        /// Packets of other nodes, without duplicates.
        received,
        /// Packets to a group of which this node is a member.
        delivered,
        /// Transmissions of packets to groups.
        sent,
        /// Transmissions omitted because neighbours had sent the packet.
        suppressed,
        /// Duplicates received.
        duplicates,
    }
}

figures! {
    /// A router's cache of segments.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    CacheFigures of(it: &redpoll_assist::cache::Counters) {
        /// Segments that were copied into the cache.
        cached,
        /// Copies of segments that the receiver has acknowledged.
        acknowledged,
        /// Copies of segments that the router has retransmitted.
        repeated,
        /// Copies sent before the timeout, because the router heard no frame for a round-trip time.
        repeated_early,
        /// Segments that were already acknowledged, and therefore not forwarded.
        dropped,
        /// Acknowledgments generated for `dropped` segments.
        regenerated,
        /// Segments that found no room for a copy.
        without_room,
        /// Connections evicted in favour of others.
        evicted,
        /// Overheard frames, whatever their destination.
        heard,
        /// Copies that the next hop was overheard forwarding; 0 unless the cache's rules lock
        /// copies or hold packets back.
        reached,
        /// Duplicate acknowledgments dropped, because the router retransmits the requested copy.
        duplicates,
        /// Packets that waited for earlier ones.
        waited,
        /// Packets that were not forwarded, because a copy was waiting already, for lack of room to
        /// wait, or because they had waited too long.
        refused,
        /// Acknowledgments that the cache retransmitted.
        again,
    }
}

figures! {
    /// TAiM at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    TaimFigures of(it: &redpoll_assist::taim::Counters, delay_ns: u64, waiting: u64) {
        /// Time between two departures of packets, at the end of the run.
        delay_ms: f64 = delay_ns as f64 / 1e6,
        periods,
        /// Flows whose ends have acknowledged data of each other.
        flows = it.confirmed,
        /// Packets that waited and have left.
        waited = it.released,
        /// Mean waiting time of the packets in `waited`.
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        /// Longest waiting time of the packets in `waited`.
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        passed = it.foreign + it.malformed + it.on_probation + it.untracked,
        /// Packets that left before their turn, for lack of room or by the limit of waiting.
        hurried = it.overdue + it.pushed_out,
        waiting = waiting,
    }
}

figures! {
    /// Fair queueing at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    FairQueueFigures of(it: &FairQueueCounters, waiting: u64) {
        /// Packets that waited and have left.
        released,
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        dropped,
        marked,
        waiting = waiting,
    }
}

figures! {
    /// Border router that compensates for the small windows of nodes.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    SpareFigures of(it: &redpoll_assist::spare::Counters, waiting: u64) {
        /// Connections that the border router has helped, including those in `given_up`.
        flows,
        /// Connections abandoned in favour of others, or because of an unsupported segment.
        given_up = it.evicted + it.given_up,
        /// Segments with data from the host for the connections in `flows`.
        segments,
        /// Pieces of segments forwarded into the mesh.
        pieces,
        /// Segments from the mesh forwarded in halves.
        halved,
        /// Acknowledgments that cover only a first half, which were not forwarded.
        halfway,
        /// Segments from the host that were not forwarded.
        dropped,
        /// Bytes in the border router's buffers at the end of the run.
        waiting = waiting,
    }
}

figures! {
    /// A node that routes by RPL, at the end of the run.
    #[derive(Clone, PartialEq, Debug, Serialize)]
    RplFigures of(it: &RplCounters, place: RplPlace) {
        /// Rank; `None` without a path to the root.
        rank: Option<u16> = place.rank,
        parent: Option<String> = place.parent,
        /// Hops to the root along preferred parents; `None` without a path.
        hops: Option<usize> = place.hops,
        targets: usize = place.targets,
        sent: RplMessages = RplMessages {
            dio: it.dios_sent,
            dis: it.diss_sent,
            dao: it.daos_sent,
            dao_ack: it.dao_acks_sent,
        },
        /// Messages received, without malformed ones.
        received: RplMessages = RplMessages {
            dio: it.dios_received,
            dis: it.diss_received,
            dao: it.daos_received,
            dao_ack: it.dao_acks_received,
        },
        parent_changes: u32 = it.parent_changes,
        /// Local repairs: the last parent was lost, and the sub-DODAG poisoned.
        local_repairs: u32 = it.detached,
        /// Global repairs: new versions of the DODAG that the node joined, or that the root began.
        global_repairs: u32 = it.versions,
        /// Detected loops: packets whose direction contradicted the ranks, packets that a next hop
        /// returned, and DAOs and upward packets from the node's own preferred parent.
        loops: u32 = it.rank_errors + it.returned + it.loops,
        trickle_resets: u32 = it.trickle_resets,
        /// DAOs that were abandoned or refused.
        daos_failed: u32 = it.daos_given_up + it.daos_refused,
        /// Targets and neighbours that did not fit into a table, and refused host registrations.
        refused: u32 = it.targets_refused + it.neighbours_refused + it.registrations_refused,
        /// Messages that were implausible, of another DODAG, outdated, or of a DODAG version that
        /// the node did not join.
        ignored: u32 = it.implausible + it.foreign + it.stale + it.versions_ignored,
    }
}

figures! {
    /// The duty-cycled MAC of a node.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    DutyFigures of(it: &DutyCounters, station: &Station) {
        /// Wake-ups of the receiver to detect a transmission.
        wake_ups,
        /// Wake-ups that detected energy in the channel.
        alarms,
        /// Channel assessments, including those before transmissions, but not those between copies
        /// of a frame.
        assessments = station.assessments,
        /// Trains: frames repeated until their receiver has woken up, or sent after its probe.
        trains,
        /// Trains that began at the expected wake-up of the receiver.
        locked_trains,
        /// Copies of frames sent.
        copies = station.copies,
        /// Attempts that found the channel busy before or during their transmission.
        collisions,
    }
}

figures! {
    /// Recovery of a node's fragments (RFC 8931 §7.2).
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    RecoveryFigures of(it: &RecoveryCounters) {
        datagrams,
        repeated,
        restarted,
        acknowledgments,
        /// Refusals of datagrams that were unknown, found no room, expired incomplete, or were
        /// aborted by their sender.
        refused,
        /// Acknowledgments that did not arrive in time.
        timeouts,
        /// Acknowledgments that reported congestion.
        congested,
        /// Smoothed round-trip time at the end of the run; `None` without a measurement.
        round_trip_ms: Option<f64> = measured_ms(it.round_trip_us),
        longest_round_trip_ms: Option<f64> = measured_ms(it.longest_round_trip_us),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RplMessages {
    /// DODAG Information Objects.
    pub dio: u32,
    /// DODAG Information Solicitations.
    pub dis: u32,
    /// Destination Advertisement Objects, including repeated ones and No-Paths.
    pub dao: u32,
    pub dao_ack: u32,
}

/// Position of a node in its DODAG.
pub(crate) struct RplPlace {
    pub(crate) rank: Option<u16>,
    pub(crate) parent: Option<String>,
    pub(crate) hops: Option<usize>,
    pub(crate) targets: usize,
}

/// Converts microseconds into milliseconds; 0 means that no time was measured.
fn measured_ms(us: u32) -> Option<f64> {
    (us > 0).then(|| f64::from(us) / 1_000.0)
}

/// Returns the mean in milliseconds of `count` times with the sum `total_us`.
fn mean_ms(total_us: u64, count: u64) -> f64 {
    total_us as f64 / 1e3 / f64::max(count as f64, 1.0)
}
