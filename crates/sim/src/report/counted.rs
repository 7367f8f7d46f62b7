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
        /// Multicast packets that this node put into the mesh.
        seeded,
        /// Multicast packets that arrived from other nodes for the first time.
        received,
        /// Multicast packets that were for a group of this node.
        delivered,
        /// Number of transmissions of multicast packets.
        sent,
        /// Number of transmissions omitted because neighbours had sent the packet.
        suppressed,
        /// Multicast packets that arrived again.
        duplicates,
    }
}

figures! {
    /// A router's cache of segments.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    CacheFigures of(it: &redpoll_assist::cache::Counters) {
        /// Forwarded segments that were copied into the cache.
        cached,
        /// Copies whose data were acknowledged.
        acknowledged,
        /// Copies that the cache sent.
        repeated,
        /// Copies that the cache sent before the timeout, because the node had heard no frame for a
        /// round-trip time; included in `repeated`.
        repeated_early,
        /// Segments that the node did not forward because they were already acknowledged.
        dropped,
        /// Acknowledgements that the cache sent in answer to the segments in `dropped`.
        regenerated,
        /// Forwarded segments that were not copied for lack of room.
        without_room,
        /// Connections evicted to make room for other connections.
        evicted,
        /// Frames that the node heard, for any destination.
        heard,
        /// With the rules of DTC or TSS: copies whose segment the node heard the next hop forward.
        reached,
        /// With the rules of DTC: duplicate acknowledgements that the cache answered with a copy of
        /// the segment and did not forward.
        duplicates,
        /// With the rules of TSS: packets that waited for earlier packets.
        waited,
        /// With the rules of TSS: packets that were dropped because the cache already had a copy of
        /// them, for lack of room, or because they had waited too long.
        refused,
        /// With the rules of TSS: acknowledgements that the cache repeated.
        again,
    }
}

figures! {
    /// TAiM at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    TaimFigures of(it: &redpoll_assist::taim::Counters, delay_ns: u64, waiting: u64) {
        /// Time between two packets that TAiM releases, at the end of the run, in milliseconds.
        /// Without meaning with `taim.policy = "lead"`.
        delay_ms: f64 = delay_ns as f64 / 1e6,
        /// Number of completed estimation periods of `taim.period` each, by default a minute.
        periods,
        /// Number of flows in which each end has acknowledged data of the other end.
        flows = it.confirmed,
        /// Packets that waited and were released.
        waited = it.released,
        /// Mean wait of the packets in `waited`, in milliseconds.
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        /// Longest wait of a packet in `waited`, in milliseconds.
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        /// Packets that passed without waiting: fragments, malformed packets, packets that are not
        /// TCP over IPv6, packets of a flow that is not confirmed yet, and packets of a flow for
        /// which the table of flows had no place.
        passed = it.foreign + it.malformed + it.on_probation + it.untracked,
        /// Packets that left before their turn, for lack of room or after `taim.max_wait` (with
        /// `taim.policy = "lead"`: `taim.max_hold`); included in `waited`.
        hurried = it.overdue + it.pushed_out,
        /// Packets that are still waiting at the end of the run.
        waiting = waiting,
    }
}

figures! {
    /// Fair queueing at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    FairQueueFigures of(it: &FairQueueCounters, waiting: u64) {
        /// Packets that waited and were released.
        released,
        /// Mean wait of the packets in `released`, in milliseconds.
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        /// Longest wait of a packet in `released`, in milliseconds.
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        /// Packets dropped by CoDel or for lack of room (`fair_queue.packets`).
        dropped,
        /// Packets that CoDel marked "congestion experienced"; included in `released`.
        marked,
        /// Packets that are still waiting at the end of the run.
        waiting = waiting,
    }
}

figures! {
    /// Border router that compensates for the small windows of nodes.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    SpareFigures of(it: &redpoll_assist::spare::Counters, waiting: u64) {
        /// Number of connections that the border router has helped.
        flows,
        /// Number of connections in `flows` that the border router no longer helps. It gives up a
        /// connection to make room for other connections, or because an end sent a segment with a
        /// TCP option or urgent data.
        given_up = it.evicted + it.given_up,
        /// Segments with data or with a FIN from the host, for the connections in `flows`.
        segments,
        /// Pieces into which the border router divided the segments in `segments`.
        pieces,
        /// Segments of nodes that the border router divided into halves.
        halved,
        /// Acknowledgements of only a first half, which the border router did not forward.
        halfway,
        /// Segments from the host that were dropped because they followed a gap or had a wrong
        /// checksum.
        dropped,
        /// Bytes that are still waiting in the border router at the end of the run.
        waiting = waiting,
    }
}

figures! {
    /// A node that routes by RPL, at the end of the run.
    #[derive(Clone, PartialEq, Debug, Serialize)]
    RplFigures of(it: &RplCounters, place: RplPlace) {
        /// Rank of the node at the end of the run; `null` without a route to the root.
        rank: Option<u16> = place.rank,
        /// Name of the preferred parent at the end of the run; `null` without a route to the root,
        /// and at the root.
        parent: Option<String> = place.parent,
        /// Hops to the root along preferred parents, at the end of the run; `null` without a route
        /// to the root.
        hops: Option<usize> = place.hops,
        /// Number of addresses to which the node has downward routes, at the end of the run.
        targets: usize = place.targets,
        /// Messages sent, by kind.
        sent: RplMessages = RplMessages {
            dio: it.dios_sent,
            dis: it.diss_sent,
            dao: it.daos_sent,
            dao_ack: it.dao_acks_sent,
        },
        /// Well-formed messages received, by kind.
        received: RplMessages = RplMessages {
            dio: it.dios_received,
            dis: it.diss_received,
            dao: it.daos_received,
            dao_ack: it.dao_acks_received,
        },
        /// Number of changes of the preferred parent.
        parent_changes: u32 = it.parent_changes,
        /// Number of local repairs: the node lost its last parent and poisoned its sub-DODAG.
        local_repairs: u32 = it.detached,
        /// Number of global repairs: new versions of the DODAG that the node joined or, as the
        /// root, began.
        global_repairs: u32 = it.versions,
        /// Number of signs of loops: packets whose direction contradicted the ranks, packets that a
        /// next hop returned, and DAOs and upward packets from the node's own preferred parent.
        loops: u32 = it.rank_errors + it.returned + it.loops,
        /// Number of resets of Trickle after an inconsistency.
        trickle_resets: u32 = it.trickle_resets,
        /// DAOs of the node that were given up or refused.
        daos_failed: u32 = it.daos_given_up + it.daos_refused,
        /// Targets and neighbours for which a table had no room, targets above the limit for a next
        /// hop that has never acknowledged a frame, and refused registrations of hosts.
        refused: u32 = it.targets_refused + it.neighbours_refused + it.registrations_refused,
        /// Messages that the node ignored: malformed, implausible, of another DODAG, outdated, or
        /// of a DODAG version that the node did not join.
        ignored: u32 = it.implausible + it.foreign + it.stale + it.versions_ignored,
    }
}

figures! {
    /// The duty-cycled MAC of a node.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    DutyFigures of(it: &DutyCounters, station: &Station) {
        /// Number of times that the node switched its receiver on to detect a sender.
        wake_ups,
        /// Wake-ups in `wake_ups` that detected energy on the channel.
        alarms,
        /// Number of channel assessments, including those before transmissions, except those
        /// between the copies of a frame.
        assessments = station.assessments,
        /// Trains: attempts in which the node repeated a frame until the receiver woke up, or sent
        /// it after the receiver's probe.
        trains,
        /// Trains in `trains` that began when the receiver was expected to be awake.
        locked_trains,
        /// Frames transmitted in all trains.
        copies = station.copies,
        /// Attempts that found the channel busy, before or during the transmission.
        collisions,
    }
}

figures! {
    /// Recovery of a node's fragments (RFC 8931 §7.2).
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    RecoveryFigures of(it: &RecoveryCounters) {
        /// Datagrams that this node sent in recoverable fragments.
        datagrams,
        /// Retransmitted fragments of this node's datagrams.
        repeated,
        /// Number of restarts of this node's datagrams.
        restarted,
        /// Acknowledgements that this node made as a receiver or forwarded as a relay.
        acknowledgments,
        /// Datagrams that this node refused as a relay or receiver: unknown, without room, expired
        /// incomplete, or aborted by their sender.
        refused,
        /// Acknowledgements of this node's datagrams that did not arrive in time.
        timeouts,
        /// Acknowledgements of this node's datagrams that reported congestion.
        congested,
        /// Recent mean time from the end of a fragment that requests an acknowledgement to that
        /// acknowledgement, in milliseconds; `null` without a measurement.
        round_trip_ms: Option<f64> = measured_ms(it.round_trip_us),
        /// Longest time of the run from the end of a fragment that requests an acknowledgement to
        /// that acknowledgement, in milliseconds; `null` without a measurement.
        longest_round_trip_ms: Option<f64> = measured_ms(it.longest_round_trip_us),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct RplMessages {
    /// DODAG Information Objects (DIO).
    pub dio: u32,
    /// DODAG Information Solicitations (DIS).
    pub dis: u32,
    /// Destination Advertisement Objects (DAO), including repeated ones and No-Paths.
    pub dao: u32,
    /// Acknowledgements of DAOs (DAO-ACK).
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
