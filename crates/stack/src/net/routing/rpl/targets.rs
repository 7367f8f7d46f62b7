//! Targets of DAOs that have come (RFC 6550 §9.7, §9.8): which of them change the table of routes.
//!
//! A DAO is not authenticated, so a target keeps the route that it has until the next hop of the
//! other one has acknowledged a frame (ADR 38).

use redpoll_base::{Addr, Instant};
use redpoll_wire::rpl::{Dao, RplOption, Transit};

use super::config::count;
use super::downward::{FOR_EVER, is_possible, known_is_good};
use super::{Dodag, DodagOf, Rpl, Table, UnackedHop};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::routes::{DownwardRoute, News, Target};
use crate::net::routing::{LIFETIME_MAX_MIN, Peer};
use crate::profile::Profile;

/// Lifetime, in units, by which a router advertises a target whose next hop has not acknowledged
/// a frame yet (ADR 38).
pub(super) const BRIEF: u8 = 1;

/// The outcome for a DAO, or for one target of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Taken {
    /// Every target was heeded.
    All,
    /// Every target was heeded; the next hop has yet to acknowledge a frame.
    Unproven,
    /// A next hop has to acknowledge a frame first. The DAO is not acknowledged, so that its
    /// sender repeats it.
    Later,
    /// A target found no room.
    Full,
}

/// The sender of a DAO.
#[derive(Clone, Copy, Debug)]
pub(super) struct Teller {
    /// Its address.
    pub(super) src: Addr,
    /// The neighbour that has sent it, in storing mode.
    pub(super) from: Option<Peer>,
}

impl<P: Profile> Rpl<P> {
    /// Takes the groups of targets of a DAO, each before its transit information (§9.4), however
    /// many targets a group has.
    pub(super) fn take_targets(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        (dodag, teller): (&DodagOf<P>, Teller),
        dao: &Dao<'_>,
    ) -> Result<Taken, DropReason> {
        // The option with which the group begins.
        let mut first = None;
        let mut in_transit = true;
        let mut taken = Taken::All;
        for (at, option) in dao.options.iter().enumerate() {
            match option {
                RplOption::Target(_) if core::mem::take(&mut in_transit) => first = Some(at),
                RplOption::Transit(transit) => {
                    // §9.4 (3).
                    let first = first.ok_or(DropReason::Malformed)?;
                    // Of several parents of a target the first one.
                    if core::mem::replace(&mut in_transit, true) {
                        continue;
                    }
                    let link = match teller.from {
                        Some(link) => link,
                        None => parent_of(dodag, &transit).ok_or(DropReason::Malformed)?,
                    };
                    let group = dao.options.iter().skip(first);
                    for option in group.take(at.saturating_sub(first)) {
                        let RplOption::Target(target) = option else {
                            continue;
                        };
                        // An impossible target is skipped, so that the others of the same
                        // router remain reachable.
                        let is_its_own = teller.may_tell(dodag, &target.prefix, &transit);
                        if !is_its_own || !is_possible(identity, dodag, &target) {
                            count(&mut self.shared.counters.implausible);
                            continue;
                        }
                        let one = (target.prefix, link);
                        taken = taken.max(self.take_target(now, table, dodag, one, &transit));
                    }
                }
                _ => {}
            }
        }
        // §9.4 (1), (3).
        if first.is_some() && in_transit {
            Ok(taken)
        } else {
            Err(DropReason::Malformed)
        }
    }

    /// Whether a DAO says that its source is a child of this node (non-storing mode).
    pub(super) fn is_child(&self, dodag: &DodagOf<P>, dao: &Dao<'_>) -> bool {
        let mut parents = dao.options.iter().filter_map(|option| match option {
            RplOption::Transit(transit) => parent_of(dodag, &transit),
            _ => None,
        });
        self.own.is_some() && parents.next() == self.own
    }

    /// Takes one target, which is reached through the neighbour `link` or has that parent.
    pub(super) fn take_target(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        dodag: &DodagOf<P>,
        (to, link): (Addr, Peer),
        transit: &Transit,
    ) -> Taken {
        let known = table.downward_mut(&to).copied();
        if transit.lifetime == 0 {
            self.withdraw(now, table, dodag, (&to, link), transit);
            return Taken::All;
        }
        // A node of the DODAG and one that does not know RPL are two: the first one stays.
        let good = known.filter(|known| known_is_good(known, now));
        if good.is_some_and(|it| (it.target == Target::Member) == transit.external) {
            count(&mut self.shared.counters.implausible);
            return Taken::All;
        }
        let is_same = known.is_some_and(|known| known.link == link);
        let is_proven = self.is_proven(now, table, dodag, &to, link);
        if let Some(known) = good.filter(|_| !is_same)
            && let Some(taken) =
                self.stays(now, table, dodag, (&known, is_proven), (to, link), transit)
        {
            return taken;
        }
        if !is_same && !is_proven && self.is_at_limit(now, table, link) {
            count(&mut self.shared.counters.targets_refused);
            return Taken::Full;
        }
        let lifetime_s = self.lifetime_s(transit);
        let mut downward = DownwardRoute::new(now, link, transit.sequence, lifetime_s);
        match known.filter(|_| is_same) {
            Some(known) if known.hop.is_proven() || !is_proven => downward.hop = known.hop,
            _ if is_proven => downward.hop = UnackedHop::PROVEN,
            _ => {}
        }
        if transit.external {
            downward.target = Target::External;
        }
        if !dodag.is_storing() {
            self.limit(
                now,
                table,
                dodag,
                &to,
                known.filter(|_| is_same),
                &mut downward,
            );
        }
        let brief_s = self.brief_s();
        let is_brief = downward.is_brief(now, brief_s);
        // §9.2.2: what is not new need not be told again. A route that was brief and no longer is
        // was proven in the meantime.
        let is_repeated = known.is_some_and(|known| {
            let is_longer = known.is_brief(now, brief_s) && !is_brief;
            let is_old = known.news == News::Old && known.sequence == transit.sequence;
            is_same && is_old && !is_longer
        });
        if self.is_root() || is_repeated || !self.is_storing() {
            downward.news = News::Old;
        }
        if known.is_some_and(|known| known.is_host()) {
            self.forget_host(now, &to);
        }
        self.enter(now, table, dodag, (to, downward), transit)
    }

    /// Enters a target in the table.
    fn enter(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        dodag: &DodagOf<P>,
        (to, downward): (Addr, DownwardRoute),
        transit: &Transit,
    ) -> Taken {
        let brief_s = self.brief_s();
        let room = (brief_s, dodag.is_storing());
        if table.add_downward(now, to, downward, room).is_err() {
            count(&mut self.shared.counters.targets_refused);
            if !dodag.is_storing() {
                self.root.offer(now, (to, downward.link), transit);
            }
            // The sender advertises a target again when it is proven. Until then the target
            // does not refuse the others of its DAO.
            return match downward.is_brief(now, brief_s) {
                true => Taken::All,
                false => Taken::Full,
            };
        }
        if !dodag.is_storing() && !downward.hop.is_proven() {
            self.root.schedule(now);
        }
        match downward.hop.is_proven() {
            true => Taken::All,
            false => Taken::Unproven,
        }
    }

    /// The outcome if the target `to` keeps the `known` route for now, and does not take the one
    /// by `link`, which `is_proven` or not.
    fn stays(
        &mut self,
        now: Instant,
        table: &Table<P::Memory>,
        dodag: &DodagOf<P>,
        (known, is_proven): (&DownwardRoute, bool),
        (to, link): (Addr, Peer),
        transit: &Transit,
    ) -> Option<Taken> {
        // What comes by the same way is in the order in which it was sent, even of a node that has
        // begun to count anew. Of two ways the newer one counts; a router that has another parent
        // advertises those behind it by the numbers that they have. A number proves nothing for a
        // next hop that does not acknowledge frames.
        let is_doubtful = is_proven && !known.hop.answers() && !known.is_host();
        let is_stale = transit.sequence.is_stale_after(known.sequence) && !is_doubtful;
        if is_stale {
            count(&mut self.shared.counters.stale);
        }
        if is_stale && (dodag.is_storing() || known.is_proven()) {
            return Some(Taken::All);
        }
        let is_known = known.is_proven() && !dodag.is_storing()
            || self.is_proven(now, table, dodag, &to, known.link);
        if (is_proven || !is_known) && !is_stale {
            return None;
        }
        self.on_unproven();
        if !dodag.is_storing() {
            self.root.offer(now, (to, link), transit);
        }
        Some(Taken::Later)
    }

    /// Takes a No-Path (§6.4.3). It counts from the neighbour through which the target is reached,
    /// in non-storing mode from the target, and if it is not older than the route. A root in
    /// non-storing mode first asks a target that has answered before.
    fn withdraw(
        &mut self,
        now: Instant,
        table: &mut Table<P::Memory>,
        dodag: &DodagOf<P>,
        (to, link): (&Addr, Peer),
        transit: &Transit,
    ) {
        let storing = dodag.is_storing();
        let known = table.downward_mut(to);
        match known.filter(|known| known.link == link || !storing) {
            Some(known) if !transit.sequence.is_stale_after(known.sequence) => {
                if !storing && self.doubts(now, known) {
                    return;
                }
                if !known.is_gone() {
                    known.end(now, transit.sequence);
                }
            }
            _ => count(&mut self.shared.counters.stale),
        }
    }

    /// Returns [`BRIEF`] in seconds; 0 if no route of this DODAG lasts longer.
    pub(super) fn brief_s(&self) -> u32 {
        let configuration = self.dodag.as_ref().map(|dodag| dodag.configuration);
        let lasting = configuration.filter(|it| it.lifetime > BRIEF);
        lasting.map_or(0, |it| it.lifetime_unit_s.into())
    }

    /// The lifetime of a route in seconds: what the DAO asks for, up to the lifetime that the root
    /// announces (§6.7.6); up to a day for a host, whose registration counts (RFC 8505). `None`:
    /// no end, which only the root can allow.
    fn lifetime_s(&self, transit: &Transit) -> Option<u32> {
        let configuration = self.dodag.as_ref().map(|dodag| dodag.configuration);
        let (unit, most) =
            configuration.map_or((1, FOR_EVER), |it| (it.lifetime_unit_s, it.lifetime));
        let span = |units: u8| u32::from(unit).saturating_mul(units.into());
        let asked = (transit.lifetime != FOR_EVER).then_some(span(transit.lifetime));
        let most = match transit.external {
            true => Some(u32::from(LIFETIME_MAX_MIN).saturating_mul(60)),
            false if most == FOR_EVER => None,
            false => Some(span(most.max(1))),
        };
        match (asked, most) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        }
    }
}

impl Teller {
    /// Whether it may tell of the target `to`. In non-storing mode a node tells the root of
    /// itself (§9.7), and a router of the hosts whose parent it is (RFC 9010 §9.2.2).
    fn may_tell<O>(&self, dodag: &Dodag<O>, to: &Addr, transit: &Transit) -> bool {
        match (dodag.is_storing(), transit.external) {
            (true, _) => true,
            (false, false) => *to == self.src,
            // A No-Path need not name the parent.
            (false, true) => transit.parent.is_none_or(|parent| parent == self.src),
        }
    }
}

/// The parent in transit information (§9.7 (1)), a router of this DODAG whose address is
/// formed from its link-layer address. A No-Path need not say whose child the target was.
fn parent_of<O>(dodag: &Dodag<O>, transit: &Transit) -> Option<Peer> {
    let parent = transit.parent?;
    Peer::at(&parent).filter(|peer| peer.within(&dodag.prefix) == parent)
}
