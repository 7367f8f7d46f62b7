//! The DAOs of this node: when they are due, and their acknowledgement (RFC 6550 §9.5, §9.6).

use redpoll_base::{Duration, Instant, Rng, divide};
use redpoll_wire::rpl::{DaoAck, Sequence, status};

use super::{Downward, FOR_EVER, STORES, Upward};
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::routes::{Advertisement, DownwardRoute};
use crate::net::routing::rpl::DaoSender;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::{earlier, has_come, jittered, times};
use crate::profile::Profile;
use crate::rules::RplRules;

/// The time, in DelayDAOs, from a change of the parent to the No-Path for the former parent. By
/// then the new parent has heard of all targets.
const NO_PATH_DELAYS: u64 = 2;
/// How often the timeout of a repeated DAO doubles at most: from 5 s to 320 s.
const TIMEOUT_DOUBLINGS: u8 = 6;
/// The mean pause from an acknowledgement to the next DAO with targets that did not fit into the
/// acknowledged one, as a multiple of the time that the acknowledgement took. Routers near the root
/// of a large mesh advertise thousands of targets at the same time. Without a pause, all of these
/// routers contend for the same air.
const REST: u64 = 3;
/// The largest DAGRank `n` for which a node in non-storing mode sends its first DAO within `n`
/// DelayDAOs. For a larger `n`, the DAO leaves after `n * n / 16` to `n * n / 8` DelayDAOs. Builds
/// for non-storing mode alone have no flash for the second rule.
const FAR: u64 = 8;
/// Pause after which a node sends the next DAO to a parent or root that has rejected one.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug)]
#[repr(C)] // Small fields first, to save flash: see `redpoll_mac::Mac`.
pub(super) struct Daos {
    pub(super) path_sequence: Sequence,
    /// The last DAOSequence.
    pub(super) sequence: u8,
    /// How often the DAO that is due was sent before.
    tries: u8,
    /// Whether the DAO that is due was sent before with the same contents.
    pub(super) repeats: bool,
    /// Whether a DAO with the address of this node has left since the node joined.
    pub(super) is_known: bool,
    /// Whether the nodes above know the address of this node.
    pub(super) own: Advertisement,
    /// The end of DelayDAO.
    pub(super) due: Option<Instant>,
    /// The time at which a DAO that only renews routes is due.
    pub(super) renewal_due: Option<Instant>,
    /// A DAO that is not acknowledged yet.
    pending: Option<Pending>,
    /// The time of the next DAO with the address of this node.
    refresh_at: Option<Instant>,
    /// No-Paths that report to the former parent that it reaches no target through this node any
    /// more.
    pub(super) no_path: Option<NoPath>,
    pub(super) written: Written,
}

/// Whether targets did not fit into the last DAO.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Left {
    /// Whether new, changed or withdrawn targets did not fit.
    pub(super) due: bool,
    /// Whether targets that are only renewed did not fit.
    pub(super) renewals: bool,
}

/// The kind of a written message, until 6LoWPAN has accepted the message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Written {
    /// No message, or one that is not repeated if 6LoWPAN does not accept it.
    #[default]
    Other,
    Dao,
    /// A No-Path, with the state to return to if 6LoWPAN does not accept it.
    NoPath(NoPath),
}

/// No-Paths for a former parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoPath {
    pub(super) parent: Peer,
    /// The time at which the No-Paths begin; by then packets take the new route.
    pub(super) at: Instant,
    /// Number of targets that the No-Paths have withdrawn so far.
    pub(super) withdrawn: usize,
}

/// A DAO that has been sent. The next DAO waits until this one is acknowledged or, if no
/// acknowledgement is requested, for a DelayDAO. Without this wait, the DAOs of a router with many
/// targets could fill its queue.
#[derive(Clone, Copy, Debug)]
struct Pending {
    until: Instant,
    /// Whether 6LoWPAN has accepted the DAO; used only if no acknowledgement is requested.
    has_left: bool,
    tries: u8,
    /// The DAO's DAOSequence. No-Paths that leave in the meantime have other DAOSequences.
    sequence: u8,
}

impl Daos {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Daos {
            // A random Path Sequence in the linear part of the counter (RFC 6550 §7.2) is seldom
            // older than the last one before a restart.
            path_sequence: Sequence(128_u8.saturating_add(rng.below(112) as u8)),
            sequence: rng.next_u32() as u8,
            tries: 0,
            repeats: false,
            is_known: false,
            own: Advertisement::Done,
            due: None,
            renewal_due: None,
            pending: None,
            refresh_at: None,
            no_path: None,
            written: Written::Other,
        }
    }

    /// Returns the earlier of `at` and the time at which this type next has to act.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        let at = match &self.pending {
            Some(pending) => at.min(pending.until),
            None => earlier(earlier(at, &self.due), &self.renewal_due),
        };
        let at = match &self.no_path {
            Some(no_path) if STORES => at.min(no_path.at),
            _ => at,
        };
        earlier(at, &self.refresh_at)
    }

    /// Sets the end of DelayDAO to `at`, unless an earlier end is set (RFC 6550 §9.5 (2)).
    fn schedule(&mut self, at: Instant) {
        self.due = Some(earlier(at, &self.due));
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.pending.is_none() && (has_come(&self.due, now) || has_come(&self.renewal_due, now))
    }

    /// Renews the target of this node: each new DAO has a new Path Sequence (RFC 6550 §9.2.1).
    fn renew(&mut self) {
        self.path_sequence = self.path_sequence.next();
        self.own = Advertisement::Due;
        self.repeats = false;
    }
}

/// Returns the time of the next DAO after an acknowledgement. `sent_at`: the time at which the
/// acknowledged DAO left, if targets did not fit into it. If `sent_at` is in the future, returns
/// `sent_at`.
fn rested<P: Profile>(cx: &mut Context<'_, P>, sent_at: Option<Instant>) -> Option<Instant> {
    let pause = times(cx.now - sent_at?, REST);
    sent_at.max(Some(cx.now + jittered(pause, &mut cx.shared.rng)))
}

impl<P: Profile> Downward<P> {
    /// Advertises all targets to a new parent, which replaces `former` if there was one.
    pub(in crate::net::routing::rpl) fn on_new_parent(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        former: Option<Peer>,
        joins: bool,
    ) {
        // A child that did not hear of the detachment kept this node as its parent: ask it for its
        // DAOs.
        if joins && !upward.is_leaf() {
            self.ask_for_daos();
        }
        let storing = upward.is_storing();
        if let (Some(dodag), Some(parent), true) = (upward.dodag(), upward.parent(), storing) {
            // The parent is above this node now, whatever earlier DAOs claimed.
            cx.table.forget_downward(&parent.within(&dodag.prefix));
        }
        if let Some(former) = former.filter(|_| storing) {
            // RFC 6550 §9.8 (4): a No-Path goes to the former parent, if this parent can hear it.
            let hears = upward.hears(former);
            let at = cx.now + times(cx.shared.config.dao_delay, NO_PATH_DELAYS);
            self.daos.no_path = hears.then_some(NoPath {
                parent: former,
                at,
                withdrawn: 0,
            });
        }
        if STORES && self.daos.no_path.map(|it| it.parent) == upward.parent() {
            self.daos.no_path = None;
        }
        self.advertise_all(cx, upward, joins);
    }

    /// Schedules DAOs with all targets (RFC 6550 §9.6). `with_others`: the neighbours also schedule
    /// their DAOs now.
    pub(in crate::net::routing::rpl) fn advertise_all(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        with_others: bool,
    ) {
        let pending = self.daos.pending.take();
        self.daos.renew();
        let mut delay = cx.shared.config.dao_delay;
        let mut first = cx.now;
        cx.table.each_downward(|_, downward| {
            if !downward.is_gone() {
                downward.advertisement = Advertisement::Due;
            }
        });
        if !upward.is_storing() {
            // All DAOs go to the root, over the same last hops. The root can answer a node whose
            // parent it knows, so nodes near the root begin. The number of nodes within `n` hops
            // grows with the square of `n`, and the last hops carry the DAOs of all these nodes.
            // Until the root has answered, the intervals between reports of new parents grow like
            // those between repetitions of a DAO: if no DAO gets through, links look bad, and nodes
            // change their parents because of that.
            let hops = match with_others {
                true => u64::from(upward.dag_rank(upward.rank())),
                false => 1,
            };
            let tries = pending.map_or(self.daos.tries, |pending| pending.tries);
            self.daos.tries = tries;
            delay = if STORES && hops > FAR {
                let half = times(times(delay, hops), hops).divided_by(16);
                first = cx.now + half;
                half
            } else {
                times(delay, hops.max(1_u64 << tries.min(TIMEOUT_DOUBLINGS)))
            };
        }
        let at = first + Duration::from_micros(cx.shared.rng.below_u64(delay.as_micros()));
        match upward.is_storing() {
            true => self.daos.schedule(at),
            false => _ = self.daos.due.get_or_insert(at),
        }
    }

    /// The parent asks for all DAOs (RFC 6550 §9.6). Returns whether this node asks its children,
    /// too, and therefore has another DTSN.
    pub(in crate::net::routing::rpl) fn on_trigger(&mut self, cx: &Context<'_, P>) -> bool {
        // In storing mode a node need not forward the parent's request to its children. This node
        // does, to restore routes that are lost farther down. If each multicast DIO increments the
        // DTSN, the next DIO is the request.
        let asks = !cx.shared.config.dtsn_each_dio;
        if asks {
            self.ask_for_daos();
        }
        asks
    }

    /// Increments the DTSN for a multicast DIO, if each multicast DIO asks for DAOs.
    pub(in crate::net::routing::rpl) fn on_dio(&mut self, cx: &Context<'_, P>) {
        if cx.shared.config.dtsn_each_dio {
            self.ask_for_daos();
        }
    }

    /// Stops all DAOs, for example because the node has no parent.
    #[inline(never)] // size
    pub(in crate::net::routing::rpl) fn on_detached(&mut self) {
        self.daos.is_known = false;
        self.daos.pending = None;
        self.daos.due = None;
        self.daos.renewal_due = None;
        self.daos.refresh_at = None;
        self.daos.no_path = None;
    }

    /// Runs the timers of DAOs. Returns whether a DAO counts as given up now: no transmission of
    /// the DAO was acknowledged.
    pub(in crate::net::routing::rpl) fn run_daos(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
    ) -> bool {
        if upward.is_root() || !upward.is_joined() || identity.address.is_unspecified() {
            self.on_detached();
            return false;
        }
        let config = &cx.shared.config;
        if has_come(&self.daos.refresh_at, cx.now) {
            self.daos.refresh_at = None;
            self.daos.renew();
            let delay = jittered(config.dao_delay, &mut cx.shared.rng);
            self.daos.schedule(cx.now + delay);
        }
        let now = cx.now;
        let Some(pending) = self.daos.pending.filter(|pending| pending.until <= now) else {
            return false;
        };
        self.daos.pending = None;
        if pending.has_left {
            self.on_acknowledged(cx);
            return false;
        }
        self.on_unacknowledged(cx);
        self.daos.repeats = true;
        self.daos.due = Some(now);
        self.daos.tries = pending.tries;
        // The node continues to repeat the DAO: it may have only this parent, and the root has to
        // know the node.
        let is_given_up = pending.tries == cx.shared.config.dao_retries.saturating_add(1);
        if is_given_up {
            count(&mut cx.shared.counters.daos_given_up);
        }
        is_given_up
    }

    /// Marks every target of the last DAO as not advertised.
    fn on_unacknowledged(&mut self, cx: &mut Context<'_, P>) {
        if self.daos.own == Advertisement::Sent {
            self.daos.own = Advertisement::Due;
        }
        cx.table.each_downward(|_, downward| {
            downward.advertisement = match downward.advertisement {
                Advertisement::Sent => Advertisement::Due,
                Advertisement::WithdrawalSent => Advertisement::WithdrawalDue,
                other => other,
            };
        });
    }

    /// Starts the timers of a DAO that has left. `has_own`: this node's address is a target.
    pub(super) fn on_dao_sent(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        has_own: bool,
        left: Left,
    ) {
        let now = cx.now;
        count(&mut cx.shared.counters.daos_sent);
        self.daos.due = left.due.then_some(now);
        self.daos.renewal_due = left.renewals.then_some(now);
        if has_own {
            self.daos.is_known = true;
            self.daos.refresh_at = match cx.shared.rules.dao_interval() {
                Some(interval) => {
                    let more = cx.shared.rng.below_u64(interval.divided_by(10).as_micros());
                    Some(now + interval + Duration::from_micros(more))
                }
                // The node sends the DAO twice in a lifetime, so that one may be lost.
                None => lifetime(upward)
                    .map(|lifetime| now + jittered(lifetime, &mut cx.shared.rng).divided_by(2)),
            };
        }
        let config = &cx.shared.config;
        let before = core::mem::take(&mut self.daos.tries);
        // If acknowledgements are lost in many nodes, the radio channel or the root is
        // overloaded: each node repeats its DAO at growing, random intervals.
        let (timeout, tries) = match config.dao_ack {
            true => {
                let factor = 1_u64 << before.min(TIMEOUT_DOUBLINGS);
                (times(config.dao_timeout, factor), before.saturating_add(1))
            }
            false => (config.dao_delay, 0),
        };
        self.daos.pending = Some(Pending {
            until: now + jittered(timeout, &mut cx.shared.rng),
            has_left: false,
            tries,
            sequence: self.daos.sequence,
        });
        self.daos.written = Written::Dao;
    }

    /// Records whether the last written message had a route, and whether 6LoWPAN accepted it.
    pub(in crate::net::routing::rpl) fn on_message_sent(&mut self, has_left: bool, dao_ack: bool) {
        self.on_inquiry(has_left);
        match (core::mem::take(&mut self.daos.written), has_left) {
            (Written::Dao, _) if !dao_ack => {
                if let Some(pending) = &mut self.daos.pending {
                    pending.has_left = has_left;
                }
            }
            (Written::NoPath(again), false) => self.daos.no_path = Some(again),
            _ => {}
        }
    }

    /// Processes a DAO-ACK of the parent (storing mode) or the root. Returns whether the DAO-ACK
    /// rejects the pending DAO.
    pub(in crate::net::routing::rpl) fn on_dao_ack(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        sender: DaoSender,
        ack: &DaoAck,
    ) -> bool {
        let Some(dodag) = upward.dodag() else {
            count(&mut cx.shared.counters.foreign);
            return false;
        };
        let is_expected = match dodag.is_storing() {
            true => sender.near.is_some() && sender.near == upward.parent(),
            false => sender.src == dodag.id,
        };
        let pending = self.daos.pending.as_ref();
        let is_pending = pending.is_some_and(|pending| pending.sequence == ack.sequence);
        if !is_expected || !is_pending || ack.instance != dodag.instance {
            count(&mut cx.shared.counters.stale);
            return false;
        }
        self.daos.pending = None;
        if ack.status >= status::REJECTED {
            count(&mut cx.shared.counters.daos_refused);
            self.on_unacknowledged(cx);
            let again = cx.now + PAUSE;
            self.daos.due = Some(again);
            self.daos.renewal_due = self.daos.renewal_due.map(|at| at.max(again));
            return true;
        }
        if STORES {
            self.daos.due = rested(cx, self.daos.due);
            self.daos.renewal_due = rested(cx, self.daos.renewal_due);
        }
        self.daos.repeats = false;
        self.on_acknowledged(cx);
        false
    }

    /// Marks every target of the last DAO as advertised.
    fn on_acknowledged(&mut self, cx: &mut Context<'_, P>) {
        if self.daos.own == Advertisement::Sent {
            self.daos.own = Advertisement::Done;
        }
        cx.table.each_downward(|_, downward| {
            if downward.advertisement == Advertisement::Sent {
                downward.advertisement = Advertisement::Done;
            }
        });
    }
}

/// Returns the lifetime of routes in this DODAG; `None`: no end.
fn lifetime<P: Profile>(upward: &Upward<P>) -> Option<Duration> {
    let configuration = &upward.dodag()?.configuration;
    let unit = Duration::from_secs(configuration.lifetime_unit_s.into());
    match configuration.lifetime {
        FOR_EVER => None,
        lifetime => {
            let lifetime = times(unit, lifetime.max(1).into());
            Some(lifetime.max(Duration::from_secs(4)))
        }
    }
}

/// Returns the remaining lifetime of a route in lifetime units of `unit_s` seconds, rounded up.
pub(super) fn units_left(now: Instant, unit_s: u16, downward: &DownwardRoute) -> u8 {
    let unit = u32::from(unit_s.max(1));
    match downward.left_s(now) {
        None => FOR_EVER,
        Some(left_s) => {
            let units = divide(left_s.saturating_add(unit).saturating_sub(1), unit);
            units.clamp(1, u32::from(FOR_EVER.saturating_sub(1))) as u8
        }
    }
}
