//! Figures that a report takes from the counters of other crates.
//!
//! The names in the JSON object are a contract with its readers. They differ from the names of
//! the counters, which belong to the device crates, so each figure is declared here with its
//! source: `NAME` is the counter of that name, `NAME = SOURCE` anything else.

use redpoll_replay::DutyCounters;
use redpoll_stack::RplCounters;
use redpoll_stack::lowpan::RecoveryCounters;
use serde::Serialize;

use crate::fair_queue::FairQueueCounters;
use crate::radio::Station;

/// Declares a part of the report, and the function that makes it of its sources. The first
/// source has the counters. A figure without a type is an `u64`.
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
    /// A router's cache of segments.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    CacheFigures of(it: &redpoll_assist::cache::Counters) {
        /// Segments of which a copy was kept.
        cached,
        /// Copies that were acknowledged.
        acknowledged,
        /// Copies sent.
        repeated,
        /// Copies sent early, because nothing was heard.
        repeated_early,
        /// Segments that were acknowledged already, and not forwarded.
        dropped,
        /// Acknowledgments made for those.
        regenerated,
        /// Segments for whose copy there was no room.
        without_room,
        /// Connections forgotten for others.
        evicted,
        /// Frames heard, whatever their destination.
        heard,
        /// Copies that the next hop was heard forwarding, under rules that consider this.
        reached,
        /// Duplicate acknowledgments answered by a copy.
        duplicates,
        /// Packets that have waited for those before them.
        waited,
        /// Packets that were not forwarded, because they waited already, for lack of room to
        /// wait, or because they had waited for too long.
        refused,
        /// Acknowledgments repeated.
        again,
    }
}

figures! {
    /// TAiM at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    TaimFigures of(it: &redpoll_assist::taim::Counters, delay_ns: u64, waiting: u64) {
        /// The time between two packets that leave, at the end.
        delay_ms: f64 = delay_ns as f64 / 1e6,
        /// Periods over.
        periods,
        /// Flows of which both ends were heard.
        flows = it.confirmed,
        /// Packets that waited and have left.
        waited = it.released,
        /// How long those waited on average.
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        /// The longest that one of them waited.
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        /// Packets that passed at once.
        passed = it.foreign + it.malformed + it.on_probation + it.untracked,
        /// Packets that left before their turn, for lack of room or by the limit of waiting.
        hurried = it.overdue + it.pushed_out,
        /// Packets that still wait.
        waiting = waiting,
    }
}

figures! {
    /// Fair queueing at the border router.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    FairQueueFigures of(it: &FairQueueCounters, waiting: u64) {
        /// Packets that have left.
        released,
        /// How long those waited on average.
        wait_ms: f64 = mean_ms(it.waited_us, it.released),
        /// The longest that one of them waited.
        longest_wait_ms: f64 = it.longest_wait_us as f64 / 1e3,
        /// Packets dropped.
        dropped,
        /// Packets marked.
        marked,
        /// Packets that still wait.
        waiting = waiting,
    }
}

figures! {
    /// A border router that compensates for the small windows of nodes.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    SpareFigures of(it: &redpoll_assist::spare::Counters, waiting: u64) {
        /// Connections spared.
        flows,
        /// Connections given up for others, or because of a segment that is not understood.
        given_up = it.evicted + it.given_up,
        /// Segments with data that came from the host for them.
        segments,
        /// Pieces that went on into the mesh.
        pieces,
        /// Segments from the mesh that went on in halves.
        halved,
        /// Acknowledgments of a first half alone, which went no further.
        halfway,
        /// Segments from the host that went no further.
        dropped,
        /// Bytes that still wait.
        waiting = waiting,
    }
}

figures! {
    /// A node that routes by RPL, at the end of the run.
    #[derive(Clone, PartialEq, Debug, Serialize)]
    RplFigures of(it: &RplCounters, place: RplPlace) {
        /// Its rank; `None` without a way to the root.
        rank: Option<u16> = place.rank,
        /// Name of its preferred parent.
        parent: Option<String> = place.parent,
        /// Hops to the root, from preferred parent to preferred parent; `None` without a way.
        hops: Option<usize> = place.hops,
        /// Targets that it knows a way down to.
        targets: usize = place.targets,
        /// Messages sent.
        sent: RplMessages = RplMessages {
            dio: it.dios_sent,
            dis: it.diss_sent,
            dao: it.daos_sent,
            dao_ack: it.dao_acks_sent,
        },
        /// Messages received, malformed ones not counted.
        received: RplMessages = RplMessages {
            dio: it.dios_received,
            dis: it.diss_received,
            dao: it.daos_received,
            dao_ack: it.dao_acks_received,
        },
        /// Another preferred parent than before.
        parent_changes: u32 = it.parent_changes,
        /// The last parent was lost, and the sub-DODAG poisoned: local repairs.
        local_repairs: u32 = it.detached,
        /// New versions of the DODAG that were joined; a root's: begun. Global repairs.
        global_repairs: u32 = it.versions,
        /// Loops that were detected: packets whose direction contradicted the ranks, packets
        /// that came back from a route that was removed, and DAOs of the node's own parent.
        loops: u32 = it.rank_errors + it.returned + it.loops,
        /// Resets of Trickle for an inconsistency.
        trickle_resets: u32 = it.trickle_resets,
        /// DAOs that were given up, or refused.
        daos_failed: u32 = it.daos_given_up + it.daos_refused,
        /// Targets and neighbours for which a table had no room, and registrations of hosts
        /// that were refused.
        refused: u32 = it.targets_refused + it.neighbours_refused + it.registrations_refused,
        /// Messages that cannot be, are of another DODAG or out of date.
        ignored: u32 = it.implausible + it.foreign + it.stale + it.versions_ignored,
    }
}

figures! {
    /// The duty-cycled MAC of a node.
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    DutyFigures of(it: &DutyCounters, station: &Station) {
        /// Times that the receiver was switched on to detect a transmission.
        wake_ups,
        /// Wake-ups that detected energy in the channel.
        alarms,
        /// Channel assessments, those before sending included, those between the copies of a
        /// frame not.
        assessments = station.assessments,
        /// Frames that were repeated until their receiver had woken up, each attempt counted.
        trains,
        /// Trains that began when the receiver was expected to wake up, or was awake.
        locked_trains,
        /// Copies of frames sent.
        copies = station.copies,
        /// Attempts that found the channel busy before or while they were made.
        collisions,
    }
}

figures! {
    /// Recovery of a node's fragments (RFC 8931 §7.2).
    #[derive(Clone, Copy, PartialEq, Debug, Serialize)]
    RecoveryFigures of(it: &RecoveryCounters) {
        /// Datagrams that left in recoverable fragments.
        datagrams,
        /// Fragments retransmitted.
        repeated,
        /// Datagrams restarted.
        restarted,
        /// Acknowledgments made or forwarded.
        acknowledgments,
        /// Fragments of datagrams that nothing was known of.
        refused,
        /// Acknowledgments that did not come in time.
        timeouts,
        /// Acknowledgments that reported congestion.
        congested,
        /// The mean round trip at the end of the run; `None` without one.
        round_trip_ms: Option<f64> = measured_ms(it.round_trip_us),
        /// The longest.
        longest_round_trip_ms: Option<f64> = measured_ms(it.longest_round_trip_us),
    }
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

/// Where a node is in its DODAG.
pub(crate) struct RplPlace {
    pub(crate) rank: Option<u16>,
    pub(crate) parent: Option<String>,
    pub(crate) hops: Option<usize>,
    pub(crate) targets: usize,
}

/// Milliseconds of a time in microseconds that is 0 if none was measured.
fn measured_ms(us: u32) -> Option<f64> {
    (us > 0).then(|| f64::from(us) / 1_000.0)
}

/// Mean in milliseconds of `count` times that are `total_us` together.
fn mean_ms(total_us: u64, count: u64) -> f64 {
    total_us as f64 / 1e3 / f64::max(count as f64, 1.0)
}
