//! Downward routes (RFC 6550 §9): DAOs, their acknowledgements, and targets in the routing table.
//!
//! In storing mode a router advertises all targets that it knows to its parent, four in a message
//! by default, one message at a time. In non-storing mode a node reports its parent to the root. If
//! the table is full and no route in it may be replaced, a new target is rejected, and the sender
//! of its DAO looks for another parent.
//!
//! - `advertise.rs`: the DAOs of this node, their timers and acknowledgements;
//! - `dao.rs`: DAOs that are received, and `targets.rs`: their targets;
//! - `messages.rs`: DAOs, No-Paths and DAO-ACKs that are sent;
//! - `unacked.rs`: next hops that do not acknowledge frames (ADR 38);
//! - `hosts.rs`: hosts that do not know RPL (RFC 9010);
//! - `root/`: source routes of a root, and its inquiries for targets.

mod advertise;
mod dao;
#[cfg_attr(not(feature = "rpl-hosts"), path = "absent/hosts.rs")]
mod hosts;
mod messages;
#[cfg_attr(not(feature = "rpl-root"), path = "absent/root.rs")]
mod root;
mod targets;
mod unacked;

use redpoll_base::{Addr, Duration, Instant, Rng};
use redpoll_wire::rpl::{Sequence, TargetOption};

use super::shared::Context;
use super::upward::{Dodag, STORES, Upward};
use crate::net::identity::Identity;
use crate::net::routing::routes::{Advertisement, DownwardRoute};
use crate::net::routing::{Peer, Table, Via};
use crate::profile::Profile;

pub(super) use dao::DaoOutcome;
pub(super) use hosts::IS_BUILT as HAS_HOSTS;
pub(super) use messages::MESSAGE_MAX;
pub(super) use root::{Path, ROUTE_MAX};
pub(crate) use unacked::UnackedHop;
pub(super) use unacked::prove_any;

use advertise::Daos;
use hosts::Hosts;
use messages::Ack;
use root::Inquiries;

/// A path lifetime that has no end (RFC 6550 §6.7.8).
const FOR_EVER: u8 = 255;
/// The first pause between two requests of a root for all DAOs. It doubles up to an hour.
const TRIGGER_PAUSE: Duration = Duration::from_secs(15);
const TRIGGER_PAUSE_MAX: Duration = Duration::from_secs(3600);

#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Downward<P: Profile> {
    /// The DTSN of this node (RFC 6550 §9.6).
    dtsn: Sequence,
    daos: Daos,
    /// Neighbours that have acknowledged a frame recently and are the next hop of no route yet.
    answered: [Option<Peer>; 2],
    /// Acknowledgements that are due. If one does not fit, the sender of the DAO repeats it.
    acks: [Option<Ack>; 4],
    trigger: TriggerLimit,
    inquiries: Inquiries,
    hosts: Hosts<P::Memory>,
}

/// The limit on the requests of a root for all DAOs.
#[derive(Debug, Default)]
struct TriggerLimit {
    /// The earliest time of the next request for all DAOs.
    at: Option<Instant>,
    pause: Duration,
}

impl TriggerLimit {
    /// Returns whether a root may ask for DAOs now. If so, starts the pause to the next request.
    fn admit(&mut self, now: Instant) -> bool {
        if self.at.is_some_and(|at| now < at) {
            return false;
        }
        // The pause has its first length again if no request came in the hour after the last pause.
        let is_rare = self.at.is_none_or(|at| now >= at + TRIGGER_PAUSE_MAX);
        self.pause = match is_rare {
            true => TRIGGER_PAUSE,
            false => self.pause.times(2).min(TRIGGER_PAUSE_MAX),
        };
        self.at = Some(now + self.pause);
        true
    }
}

impl<P: Profile> Downward<P> {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Downward {
            dtsn: Sequence::FIRST,
            daos: Daos::new(rng),
            answered: [None; 2],
            acks: [None; 4],
            trigger: TriggerLimit::default(),
            inquiries: Inquiries::default(),
            hosts: Hosts::default(),
        }
    }

    // --- facts ---

    pub(super) fn dtsn(&self) -> Sequence {
        self.dtsn
    }

    /// Returns whether a DAO with the address of this node has left since the node joined.
    pub(super) fn is_known(&self) -> bool {
        self.daos.is_known
    }

    /// Returns the next hop of packets down to `dst`.
    pub(super) fn lookup(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        upward: &Upward<P>,
        dst: &Addr,
    ) -> Option<Via> {
        if let Some(dodag) = upward.routed_by_source()
            && !table.downward(now, dst).is_some_and(|it| it.is_host())
        {
            let path = self.path(now, table, upward, dodag, dst)?;
            return path.first().map(Via::Neighbour);
        }
        let known = table.lookup_host(now, dst);
        known.or_else(|| self.host(now, dst))
    }

    pub(super) fn has_message_due(&self) -> bool {
        self.inquiries.is_due() || self.has_ack_due()
    }

    // --- events ---

    /// Increments the DTSN, so that the children send their DAOs again (RFC 6550 §9.6).
    pub(super) fn ask_for_daos(&mut self) {
        self.dtsn = self.dtsn.next();
    }

    /// Handles a packet to `dst` without a route. Returns whether this node is a root and asks its
    /// children for all targets that they know, by another DTSN.
    pub(super) fn on_unreachable(&mut self, now: Instant, upward: &Upward<P>, dst: &Addr) -> bool {
        let asks = upward.is_root() && upward.holds(dst) && self.trigger.admit(now);
        if asks {
            self.ask_for_daos();
        }
        asks
    }

    /// Lets the routes of the previous version of the DODAG end. Nodes in the sub-DODAG of the new
    /// version send DAOs. A target of the previous version may be above this node now: if this node
    /// advertised the target again, the advertisement would circulate.
    pub(super) fn on_version(&mut self, cx: &mut Context<'_, P>) {
        let now = cx.now;
        cx.table.each_downward(|_, downward| {
            if !downward.is_host() {
                downward.fade(now);
            }
        });
        self.on_detached();
    }

    // --- time ---

    /// Returns the earlier of `at` and the time at which this type next has to act.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        self.inquiries.earlier(self.daos.earlier(at))
    }
}

/// Returns whether a target can exist: one address of the DODAG, but not this node's or the root's.
fn is_possible<O>(identity: &Identity, dodag: &Dodag<O>, target: &TargetOption) -> bool {
    let to = target.prefix;
    target.len == 128 && dodag.holds(&to) && !identity.is_own(&to) && to != dodag.id
}

/// Returns whether a DAO has to advertise a target, or its end, to the parent after DelayDAO.
fn is_due(downward: &DownwardRoute) -> bool {
    matches!(
        downward.advertisement,
        Advertisement::Due | Advertisement::WithdrawalDue
    )
}

/// Returns whether a DAO that renews the target at the parent is due.
fn is_renewal_due(downward: &DownwardRoute) -> bool {
    downward.advertisement == Advertisement::RenewalDue
}

/// Returns whether packets may take this route now.
fn is_good(known: &DownwardRoute, now: Instant) -> bool {
    !known.is_gone() && known.left_s(now).is_none_or(|left_s| left_s > 0)
}
