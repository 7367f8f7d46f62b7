//! Downward routes (RFC 6550 §9): DAOs, their acknowledgements, No-Paths.
//!
//! In storing mode a router tells its parent of all targets that it knows, four a
//! message, one message at a time; in non-storing mode a node tells the root who its
//! parent is. A target that finds no room in a full table is refused, and its sender
//! looks for another parent: what is there stays until it ends.

use redpoll_base::{Addr, Duration, Instant, Rng, divide};
use redpoll_wire::rpl::{Dao, DaoAck, Sequence, TargetOption, status};

use super::config::count;
use super::messages::Ack;
use super::targets::{Taken, Teller};
use super::{Dodag, Rpl, STORES, Table, earlier, has_come, times};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::Peer;
use crate::net::routing::routes::{DownwardRoute, News};
use crate::profile::Profile;
use crate::rules::RplRules;

/// A former parent hears so many DelayDAOs later that it is one, when the new parent has
/// heard of all.
const NO_PATH_DELAYS: u64 = 2;
/// A path lifetime that has no end (§6.7.8).
pub(super) const FOR_EVER: u8 = 255;
/// The timeout of a DAO that is repeated doubles so often at most: from 5 s to 320 s.
const TIMEOUT_DOUBLINGS: u8 = 6;
/// A parent that has no room is tried again after this.
const PAUSE: Duration = Duration::from_secs(60);

/// What a node has to tell of itself and others.
#[derive(Debug)]
#[repr(C)] // In this order on purpose: see `redpoll_mac::Mac`.
pub(super) struct Daos {
    /// Path Sequence of the node's own address.
    pub(super) path_sequence: Sequence,
    /// The last DAOSequence.
    pub(super) sequence: u8,
    /// The DAO that is due was sent before, as it is.
    pub(super) repeats: bool,
    /// A DAO of the node's own address has left since it joined.
    pub(super) is_known: bool,
    /// What is known above of the node's own address.
    pub(super) own: News,
    /// DelayDAO.
    pub(super) due: Option<Instant>,
    /// A DAO that is not acknowledged.
    pending: Option<Pending>,
    /// When the node tells of itself again.
    refresh_at: Option<Instant>,
    /// Who is to hear that nothing can be reached through this node any more.
    pub(super) no_path: Option<NoPath>,
}

/// No-Paths for a former parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoPath {
    pub(super) parent: Peer,
    /// When: by then packets take the new way.
    pub(super) at: Instant,
    /// Targets that were told of.
    pub(super) told: usize,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    until: Instant,
    tries: u8,
    /// Its DAOSequence: No-Paths that leave meanwhile have others.
    sequence: u8,
}

impl Daos {
    pub(super) fn new(rng: &mut Rng) -> Self {
        Daos {
            // Somewhere on the line (§7.2): what a node had before it restarted is
            // seldom newer.
            path_sequence: Sequence(128_u8.saturating_add(rng.below(112) as u8)),
            sequence: rng.next_u32() as u8,
            repeats: false,
            is_known: false,
            own: News::Old,
            due: None,
            pending: None,
            refresh_at: None,
            no_path: None,
        }
    }

    /// `at`, or when something is to be done if that is earlier.
    pub(super) fn earlier(&self, at: Instant) -> Instant {
        let at = match &self.pending {
            Some(pending) => at.min(pending.until),
            None => earlier(at, &self.due),
        };
        let at = match &self.no_path {
            Some(no_path) if STORES => at.min(no_path.at),
            _ => at,
        };
        earlier(at, &self.refresh_at)
    }

    /// DelayDAO begins, if it does not run (§9.5 (2)).
    fn schedule(&mut self, at: Instant) {
        self.due = Some(earlier(at, &self.due));
    }

    /// Whether a DAO may go out now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.pending.is_none() && has_come(&self.due, now)
    }
}

/// Between half of `mean` and one and a half.
#[inline(never)] // size
pub(super) fn jittered(mean: Duration, rng: &mut Rng) -> Duration {
    let half = mean.divided_by(2);
    half + Duration::from_micros(rng.below_u64(mean.as_micros()))
}

impl<P: Profile> Rpl<P> {
    /// The node has another parent than before, or one again.
    pub(super) fn on_new_parent(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        former: Option<Peer>,
        joins: bool,
    ) {
        let storing = self.is_storing();
        if let (Some(dodag), Some(parent), true) = (&self.dodag, self.parent, storing) {
            // It is above this node now, whatever was told of it before.
            table.forget_downward(&parent.within(&dodag.prefix));
        }
        if let Some(former) = former.filter(|_| storing) {
            // §9.8 (4), if it can hear it.
            let hears = self.candidates.get(former).is_some_and(|it| !it.is_gone());
            let at = now + times(self.shared.config.dao_delay, NO_PATH_DELAYS);
            self.daos.no_path = hears.then_some(NoPath {
                parent: former,
                at,
                told: 0,
            });
        }
        if STORES && self.daos.no_path.map(|it| it.parent) == self.parent {
            self.daos.no_path = None;
        }
        self.tell_all(now, table, joins);
    }

    /// §9.6: everything is to be told anew; `with_others`: by all nodes around, too.
    fn tell_all(&mut self, now: Instant, table: &mut Table<P::Memory>, with_others: bool) {
        let pending = self.daos.pending.take();
        self.tell_own();
        let mut delay = self.shared.config.dao_delay;
        table.each_downward(|_, downward| {
            if !downward.is_gone() {
                downward.news = News::Fresh;
            }
        });
        if !self.is_storing() {
            // The root hears all of them, over the same last hops. It can answer those
            // whose parents it knows: who is near it begins. And as long as it has not
            // answered, each change of parents is told ever more rarely, as repeated DAOs
            // are: where none get through links look bad, and parents change for that.
            let hops = match with_others {
                true => u64::from(self.dag_rank(self.rank)),
                false => 1,
            };
            let tries = pending.map_or(self.replies.dao_tries, |pending| pending.tries);
            self.replies.dao_tries = tries;
            delay = times(delay, hops.max(1_u64 << tries.min(TIMEOUT_DOUBLINGS)));
        }
        let at = now + Duration::from_micros(self.shared.rng.below_u64(delay.as_micros()));
        match self.is_storing() {
            true => self.daos.schedule(at),
            false => _ = self.daos.due.get_or_insert(at),
        }
    }

    /// §9.2.1: each new DAO has a new Path Sequence.
    fn tell_own(&mut self) {
        self.daos.path_sequence = self.daos.path_sequence.next();
        self.daos.own = News::Fresh;
        self.daos.repeats = false;
    }

    /// §9.6: the parent wants to hear of everybody.
    pub(super) fn on_trigger(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        // In storing mode it need not go on; what is lost farther down comes back so, too.
        // Where each DIO says it the next one does.
        if !self.shared.config.dtsn_each_dio {
            self.dtsn = self.dtsn.next();
            if !self.is_leaf() {
                self.reset_trickle(now);
            }
        }
        self.tell_all(now, table, true);
    }

    #[inline(never)] // size
    pub(super) fn on_detached(&mut self) {
        self.daos.is_known = false;
        self.daos.pending = None;
        self.daos.due = None;
        self.daos.refresh_at = None;
        self.daos.no_path = None;
    }

    /// Runs the timers of DAOs.
    pub(super) fn run_daos(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
    ) {
        if self.is_root() || !self.is_joined() || identity.address.is_unspecified() {
            self.on_detached();
            return;
        }
        if has_come(&self.daos.refresh_at, now) {
            self.daos.refresh_at = None;
            self.tell_own();
            let delay = jittered(self.shared.config.dao_delay, &mut self.shared.rng);
            self.daos.schedule(now + delay);
        }
        let Some(pending) = self.daos.pending.filter(|pending| pending.until <= now) else {
            return;
        };
        self.daos.pending = None;
        self.untell(table);
        self.daos.repeats = true;
        self.daos.due = Some(now);
        self.replies.dao_tries = pending.tries;
        // It goes on, for there may be no other parent, and the root has to hear of it.
        if pending.tries == self.shared.config.dao_retries.saturating_add(1) {
            count(&mut self.shared.counters.daos_given_up);
            self.avoid_parent(now, table);
        }
    }

    /// What was told was not heard.
    fn untell(&mut self, table: &mut Table<P::Memory>) {
        if self.daos.own == News::Told {
            self.daos.own = News::Fresh;
        }
        table.each_downward(|_, downward| {
            downward.news = match downward.news {
                News::Told => News::Fresh,
                News::GoneTold => News::Gone,
                news => news,
            };
        });
    }

    /// The parent is of no use for ways down: another one, if there is any.
    fn avoid_parent(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        if !self.is_storing() {
            return;
        }
        if let Some(link) = self.parent
            && let Some(neighbour) = self.candidates.get_mut(link)
        {
            neighbour.full = true;
        }
        self.reconsider(now, table);
    }

    /// A DAO has left; with the lifetime of the node's own route in it.
    pub(super) fn on_dao_sent(&mut self, now: Instant, has_own: bool, more: bool) {
        count(&mut self.shared.counters.daos_sent);
        self.daos.due = more.then_some(now);
        if has_own {
            self.daos.is_known = true;
            self.daos.refresh_at = match self.shared.rules.dao_interval() {
                Some(interval) => {
                    let more = self
                        .shared
                        .rng
                        .below_u64(interval.divided_by(10).as_micros());
                    Some(now + interval + Duration::from_micros(more))
                }
                // Twice in a lifetime, so that one may be lost.
                None => self
                    .lifetime()
                    .map(|lifetime| now + jittered(lifetime, &mut self.shared.rng).divided_by(2)),
            };
        }
        if self.shared.config.dao_ack {
            let before = core::mem::take(&mut self.replies.dao_tries);
            // Where many wait in vain the air or the root is what they wait for: each
            // asks ever more rarely, and not with the others.
            let factor = 1_u64 << before.min(TIMEOUT_DOUBLINGS);
            let timeout = times(self.shared.config.dao_timeout, factor);
            self.daos.pending = Some(Pending {
                until: now + jittered(timeout, &mut self.shared.rng),
                tries: before.saturating_add(1),
                sequence: self.daos.sequence,
            });
        }
    }

    /// The lifetime of routes in this DODAG; `None`: no end.
    fn lifetime(&self) -> Option<Duration> {
        let configuration = &self.dodag.as_ref()?.configuration;
        let unit = Duration::from_secs(configuration.lifetime_unit_s.into());
        match configuration.lifetime {
            FOR_EVER => None,
            lifetime => {
                let lifetime = times(unit, lifetime.max(1).into());
                Some(lifetime.max(Duration::from_secs(4)))
            }
        }
    }

    /// What is left of a route, in lifetime units, rounded up.
    pub(super) fn units(&self, now: Instant, downward: &DownwardRoute) -> u8 {
        let unit = u32::from(self.lifetime_unit_s().max(1));
        match downward.left_s(now) {
            None => FOR_EVER,
            Some(left_s) => {
                let units = divide(left_s.saturating_add(unit).saturating_sub(1), unit);
                units.clamp(1, u32::from(FOR_EVER.saturating_sub(1))) as u8
            }
        }
    }

    fn lifetime_unit_s(&self) -> u16 {
        let dodag = self.dodag.as_ref();
        dodag.map_or(1, |it| it.configuration.lifetime_unit_s)
    }

    /// Who can be reached through `near`, or whose parent is who (§9.7, §9.8).
    pub(super) fn on_dao(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        (src, near): (Addr, Option<Peer>),
        dao: &Dao<'_>,
    ) -> Result<(), DropReason> {
        let Some(dodag) = self.dodag.filter(|_| self.is_joined()) else {
            count(&mut self.shared.counters.foreign);
            return Ok(());
        };
        if dao.instance != dodag.instance || dao.dodag.is_some_and(|id| id != dodag.id) {
            count(&mut self.shared.counters.foreign);
            return Ok(());
        }
        let from = match (dodag.is_storing(), near) {
            (true, Some(link)) if Some(link) == self.parent => {
                if !dodag.is_rooted_at(link) {
                    self.on_loop(now, table, link);
                }
                return Err(DropReason::BadSource);
            }
            // §9.1 (4): link-local addresses.
            (true, Some(link)) if !self.is_leaf() => Some(link),
            // §9.1 (5), (6): to the root, from a routable address.
            (false, _) if self.is_root() && src.shares_prefix(&dodag.prefix, 64) => None,
            _ => return Err(DropReason::BadSource),
        };
        let teller = Teller { src, from };
        let taken = self.take_targets(now, identity, table, (&dodag, teller), dao)?;
        // A frame to a neighbour that may not exist is dear: the answer to this DAO is one.
        let hop = match dodag.is_storing() {
            true => near,
            false => Peer::at(&src).filter(|_| self.is_child(&dodag, dao)),
        };
        let answers = match taken {
            Taken::All => dao.acknowledge,
            Taken::Full if hop.is_some_and(|it| self.answers(table, &dodag, it)) => true,
            Taken::Full if hop.is_none() => true,
            Taken::Full => self.shared.probes.may_try(now, hop),
            // Routers that are known lead there.
            Taken::Unproven if hop.is_none() => dao.acknowledge,
            Taken::Unproven | Taken::Later => {
                let may_try = self.shared.probes.may_try(now, hop);
                let is_answer = taken == Taken::Unproven && dao.acknowledge;
                if may_try && !is_answer {
                    self.shared.probes.schedule(hop);
                }
                may_try && is_answer
            }
        };
        if answers {
            let status = match taken {
                Taken::Full => status::REJECTED,
                _ => status::ACCEPTED,
            };
            self.replies.push_ack(Ack {
                to: src,
                sequence: dao.sequence,
                status,
            });
        }
        let tells = dodag.is_storing() && !self.is_root();
        if tells && table.downwards().any(|(_, it)| is_news(it)) {
            let delay = jittered(self.shared.config.dao_delay, &mut self.shared.rng);
            self.daos.due.get_or_insert(now + delay);
        }
        Ok(())
    }

    pub(super) fn on_dao_ack(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        (src, near): (Addr, Option<Peer>),
        ack: &DaoAck,
    ) -> Result<(), DropReason> {
        let Some(dodag) = &self.dodag else {
            count(&mut self.shared.counters.foreign);
            return Ok(());
        };
        let is_expected = match dodag.is_storing() {
            true => near.is_some() && near == self.parent,
            false => src == dodag.id,
        };
        let pending = self.daos.pending.as_ref();
        let is_pending = pending.is_some_and(|pending| pending.sequence == ack.sequence);
        if !is_expected || !is_pending || ack.instance != dodag.instance {
            count(&mut self.shared.counters.stale);
            return Ok(());
        }
        self.daos.pending = None;
        if ack.status >= status::REJECTED {
            count(&mut self.shared.counters.daos_refused);
            self.untell(table);
            self.daos.due = Some(now + PAUSE);
            self.avoid_parent(now, table);
            return Ok(());
        }
        self.daos.repeats = false;
        if self.daos.own == News::Told {
            self.daos.own = News::Old;
        }
        table.each_downward(|_, downward| {
            if downward.news == News::Told {
                downward.news = News::Old;
            }
        });
        Ok(())
    }

    /// Nobody here knows a way to `dst`, which a packet is for. A root asks its children
    /// for all that they know, ever more rarely.
    pub(crate) fn on_unreachable(&mut self, now: Instant, dst: &Addr) {
        if self.is_root() && self.holds(dst) && self.limits.admit_trigger(now) {
            self.dtsn = self.dtsn.next();
            self.reset_trickle(now);
        }
    }
}

/// A target that can be: one address of the DODAG that is not this node's.
pub(super) fn is_possible<O>(identity: &Identity, dodag: &Dodag<O>, target: &TargetOption) -> bool {
    let to = target.prefix;
    let is_inside = to.shares_prefix(&dodag.prefix, 64);
    target.len == 128 && is_inside && !identity.is_own(&to) && to != dodag.id
}

/// Whether the parent is to hear of a target, or of its end.
pub(super) fn is_news(downward: &DownwardRoute) -> bool {
    matches!(downward.news, News::Fresh | News::Gone)
}

pub(super) fn known_is_good(known: &DownwardRoute, now: Instant) -> bool {
    !known.is_gone() && known.left_s(now).is_none_or(|left_s| left_s > 0)
}
