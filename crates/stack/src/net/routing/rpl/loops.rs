//! Detection of loops and inconsistencies by the packet information of forwarded packets (RFC 6550
//! §11.2, RFC 6553).

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::PacketInformation;

use super::config::{RplCounters, count};

/// MAX_RPL_OPTION_RANK_ERRORS and MAX_RPL_OPTION_FORWARD_ERRORS (RFC 6553 §5): the number of
/// errors in an hour that have an effect.
const ERRORS_MAX: u8 = 20;
const HOUR: Duration = Duration::from_secs(3600);

/// The part of RPL that checks packet information, and limits the effects of false packet
/// information on this node.
#[derive(Debug, Default)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Loops {
    rank_errors: u8,
    forwarding_errors: u8,
    /// The end of the hour for which errors are counted.
    until: Instant,
}

/// The ranks of this node in packet information.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderRanks {
    pub(super) own: u16,
    /// The rank from which children derive theirs.
    pub(super) to_children: u16,
}

/// The outcome of a check of the sender's rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RankCheck {
    /// Whether the inconsistency resets Trickle.
    pub(super) resets: bool,
    /// Whether the packet is dropped, because this is its second inconsistency.
    pub(super) drops: bool,
}

/// The next hop of a forwarded packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// The next hop of the packet's route.
    On,
    /// The neighbour that has sent the packet and has a wrong route.
    Back,
    /// This node's parent, because a child returned the packet and this node has no other route.
    Up(Address),
}

impl Loops {
    /// Checks the rank of a packet's sender against the packet's direction (RFC 6550 §11.2.2.2).
    pub(super) fn check_rank(
        &mut self,
        now: Instant,
        counters: &mut RplCounters,
        ranks: SenderRanks,
        information: &mut PacketInformation,
    ) -> RankCheck {
        let theirs = information.sender_rank;
        let down = information.down;
        // A source that is not a router has rank 0.
        let contradicts = |ours| match down {
            true => theirs > ours,
            false => theirs < ours && theirs != 0,
        };
        if !contradicts(ranks.own) {
            return RankCheck::default();
        }
        count(&mut counters.rank_errors);
        let resets = self.admit_rank_error(now);
        // A packet that fits the rank in the last DIO does not loop: a child knows only that rank.
        let is_loop = contradicts(ranks.to_children);
        let drops = core::mem::replace(&mut information.rank_error, true) && is_loop;
        RankCheck { resets, drops }
    }

    /// Returns whether one more rank error has an effect.
    pub(super) fn admit_rank_error(&mut self, now: Instant) -> bool {
        self.begin_hour(now);
        admit(&mut self.rank_errors)
    }

    /// Returns whether one more returned packet removes a route.
    pub(super) fn admit_forwarding_error(&mut self, now: Instant) -> bool {
        self.begin_hour(now);
        admit(&mut self.forwarding_errors)
    }

    fn begin_hour(&mut self, now: Instant) {
        if self.until <= now {
            self.until = now + HOUR;
            self.rank_errors = 0;
            self.forwarding_errors = 0;
        }
    }
}

fn admit(errors: &mut u8) -> bool {
    let is_admitted = *errors < ERRORS_MAX;
    *errors = errors.saturating_add(u8::from(is_admitted));
    is_admitted
}
