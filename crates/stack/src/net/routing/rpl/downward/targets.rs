//! Targets of received DAOs (RFC 6550 §9.7, §9.8): which of them change the table of routes.
//!
//! A DAO is not authenticated. A target therefore keeps its present route until the next hop of a
//! new route has acknowledged a frame (ADR 38).

use redpoll_base::{Addr, Duration};
use redpoll_wire::rpl::{Dao, RplOption, Transit};

use super::unacked::is_at_limit;
use super::{Downward, FOR_EVER, UnackedHop, Upward, is_good, is_possible};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::routing::routes::{Advertisement, DownwardRoute, Replacement, Target};
use crate::net::routing::rpl::DaoSender;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::{earlier, jittered};
use crate::net::routing::rpl::upward::{Dodag, DodagOf};
use crate::net::routing::{LIFETIME_MAX_MIN, Peer};
use crate::profile::Profile;

/// Lifetime, in lifetime units, with which a router advertises a target whose next hop has not
/// acknowledged a frame yet (ADR 38).
pub(super) const BRIEF: u8 = 1;

/// The renewal of a route waits for renewals of other routes, on average for 1 / 16 of the lifetime
/// that is left at the parent. This wait shrinks from hop to hop, so that renewals arrive in time
/// after any number of hops.
const RENEWAL_SHARE: u32 = 16;

/// The outcome of a DAO, or of one of its targets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Taken {
    /// Every target was accepted.
    All,
    /// Every target was accepted; the next hop has yet to acknowledge a frame.
    Unproven,
    /// A target waits until its next hop has acknowledged a frame, or until the target has answered
    /// the root. This node does not acknowledge the DAO, so that its sender repeats the DAO.
    Later,
    /// A target did not fit into the table.
    Full,
}

/// A target of a DAO, with the next hop to the target or with the target's parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdvertisedTarget {
    pub(super) to: Addr,
    /// In storing mode the next hop, in non-storing mode the target's parent.
    pub(super) link: Peer,
    pub(super) transit: Transit,
}

impl<P: Profile> Downward<P> {
    /// Processes the groups of targets of a DAO. The transit information of a group follows the
    /// group (RFC 6550 §9.4). A group may have any number of targets.
    pub(super) fn take_targets(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        sender: DaoSender,
        dao: &Dao<'_>,
    ) -> Result<Taken, DropReason> {
        let dodag = upward.dodag().ok_or(DropReason::Malformed)?;
        // The option with which the group begins.
        let mut first = None;
        let mut in_transit = true;
        let mut taken = Taken::All;
        for (at, option) in dao.options.iter().enumerate() {
            match option {
                RplOption::Target(_) if core::mem::take(&mut in_transit) => first = Some(at),
                RplOption::Transit(transit) => {
                    // RFC 6550 §9.4 (3): transit information belongs to the targets before it.
                    let first = first.ok_or(DropReason::Malformed)?;
                    // If a target has several parents, the first one is used.
                    if core::mem::replace(&mut in_transit, true) {
                        continue;
                    }
                    let link = match sender.near {
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
                        let to = target.prefix;
                        let is_its_own = sender.may_advertise(dodag, &to, &transit);
                        if !is_its_own || !is_possible(identity, dodag, &target) {
                            count(&mut cx.shared.counters.implausible);
                            continue;
                        }
                        let one = AdvertisedTarget { to, link, transit };
                        taken = taken.max(self.take_target(cx, upward, dodag, &one));
                    }
                }
                _ => {}
            }
        }
        // RFC 6550 §9.4 (1), (3): a DAO has targets, and transit information follows the last one.
        if first.is_some() && in_transit {
            Ok(taken)
        } else {
            Err(DropReason::Malformed)
        }
    }

    pub(super) fn take_target(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        target: &AdvertisedTarget,
    ) -> Taken {
        let AdvertisedTarget { to, link, transit } = target;
        let now = cx.now;
        let known = cx.table.downward_mut(to).copied();
        if transit.lifetime == 0 {
            return self.withdraw(cx, dodag, target);
        }
        // A node of the DODAG and a host that does not know RPL cannot share an address: the one
        // that is in the table keeps the address.
        let good = known.filter(|known| is_good(known, now));
        if good.is_some_and(|it| (it.target == Target::Member) == transit.external) {
            count(&mut cx.shared.counters.implausible);
            return Taken::All;
        }
        let is_same = known.is_some_and(|known| known.link == *link);
        let is_proven = self.is_proven(cx, upward, dodag, to, *link);
        if let Some(known) = good.filter(|_| !is_same)
            && let Some(taken) = self.stays(cx, upward, dodag, &known, is_proven, target)
        {
            return taken;
        }
        if !is_same && !is_proven && is_at_limit(cx, dodag, *link) {
            count(&mut cx.shared.counters.targets_refused);
            return Taken::Later;
        }
        let lifetime_s = lifetime_s(dodag, transit);
        let mut downward = DownwardRoute::new(now, *link, transit.sequence, lifetime_s);
        match known.filter(|_| is_same) {
            Some(known) if known.hop.is_proven() || !is_proven => downward.hop = known.hop,
            _ if is_proven => downward.hop = UnackedHop::PROVEN,
            _ => {}
        }
        if transit.external {
            downward.target = Target::External;
        }
        if !dodag.is_storing() {
            let known = known.filter(|_| is_same);
            self.limit(cx, upward, dodag, to, known, &mut downward);
        }
        let brief_s = brief_s(dodag);
        let is_brief = downward.is_brief(now, brief_s);
        // RFC 6550 §9.2.2: a repetition is not advertised again, nor is a target that a child takes
        // over from another child with the same Path Sequence: the parent's next hop to the target
        // remains this node. Two kinds of repetition are advertised: a brief route whose next hop
        // has been proven since, and one that extends the route's end by over a quarter of the
        // route's lifetime. Some routers send such repetitions.
        let is_repeated = good.is_some_and(|known| {
            let is_longer =
                !is_brief && (known.is_brief(now, brief_s) || downward.renews(now, &known));
            let is_old =
                known.advertisement == Advertisement::Done && known.sequence == transit.sequence;
            is_old && !is_longer
        });
        if let Some(known) = good.filter(|_| is_repeated && !is_brief && !upward.is_root()) {
            // The repetition is not advertised, so the route keeps the end that the parent knows.
            downward.end_with(&known);
        }
        if upward.is_root() || is_repeated || !dodag.is_storing() {
            downward.advertisement = Advertisement::Done;
        } else if let Some(left_s) = good
            .filter(|_| is_same)
            .and_then(|it| it.renewable_s(now, brief_s))
        {
            downward.advertisement = Advertisement::RenewalDue;
            let wait = Duration::from_secs(u64::from(left_s / RENEWAL_SHARE));
            let at = now + jittered(wait, &mut cx.shared.rng);
            self.daos.renewal_due = Some(earlier(at, &self.daos.renewal_due));
        }
        if known.is_some_and(|known| known.is_host()) {
            self.forget_host(now, to);
        }
        self.enter(cx, dodag, downward, target)
    }

    fn enter(
        &mut self,
        cx: &mut Context<'_, P>,
        dodag: &DodagOf<P>,
        downward: DownwardRoute,
        target: &AdvertisedTarget,
    ) -> Taken {
        let now = cx.now;
        let brief_s = brief_s(dodag);
        let rule = Replacement {
            brief_s,
            by_hops: dodag.is_storing(),
        };
        if cx
            .table
            .add_downward(now, target.to, downward, rule)
            .is_err()
        {
            count(&mut cx.shared.counters.targets_refused);
            if !dodag.is_storing() {
                self.inquiries.offer(now, target);
            }
            // A target with a short lifetime does not make this node refuse the whole DAO: the
            // sender advertises the target again when the next hop of its route is proven.
            return match downward.is_brief(now, brief_s) {
                true => Taken::All,
                false => Taken::Full,
            };
        }
        if !dodag.is_storing() && !downward.hop.is_proven() {
            self.inquiries.schedule(now);
        }
        match downward.hop.is_proven() {
            true => Taken::All,
            false => Taken::Unproven,
        }
    }

    /// Returns the outcome if the target keeps the `known` route for now. `is_proven`: the next hop
    /// of the advertised route has acknowledged a frame.
    fn stays(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        known: &DownwardRoute,
        is_proven: bool,
        target: &AdvertisedTarget,
    ) -> Option<Taken> {
        // DAOs of one neighbour arrive in order, even if its Path Sequences have restarted. Between
        // two next hops, the newer Path Sequence counts: a router with a new parent advertises the
        // present Path Sequences. If the next hop of a route does not acknowledge frames, the Path
        // Sequence of that route proves nothing.
        let is_doubtful = is_proven && !known.hop.answers() && !known.is_host();
        let is_stale = target.transit.sequence.is_stale_after(known.sequence) && !is_doubtful;
        if is_stale {
            count(&mut cx.shared.counters.stale);
        }
        if is_stale && (dodag.is_storing() || known.is_proven()) {
            return Some(Taken::All);
        }
        let is_known = known.is_proven() && !dodag.is_storing()
            || self.is_proven(cx, upward, dodag, &target.to, known.link);
        if (is_proven || !is_known) && !is_stale {
            return None;
        }
        count(&mut cx.shared.counters.daos_unproven);
        if !dodag.is_storing() {
            self.inquiries.offer(cx.now, target);
        }
        Some(Taken::Later)
    }

    /// Processes a No-Path (RFC 6550 §6.4.3). It is valid if it is not older than the route, and
    /// comes from the next hop of the route or, in non-storing mode, from the target. A root in
    /// non-storing mode first asks a target that has answered before. The root does not acknowledge
    /// the No-Path of such a target, because packets still go to the target.
    fn withdraw(
        &mut self,
        cx: &mut Context<'_, P>,
        dodag: &DodagOf<P>,
        target: &AdvertisedTarget,
    ) -> Taken {
        let storing = dodag.is_storing();
        let sequence = target.transit.sequence;
        let known = cx.table.downward_mut(&target.to);
        match known.filter(|known| known.link == target.link || !storing) {
            Some(known) if !sequence.is_stale_after(known.sequence) => {
                if !storing && self.doubts(cx.now, known) {
                    return Taken::Later;
                }
                if !known.is_gone() {
                    known.end(cx.now, sequence);
                }
            }
            _ => count(&mut cx.shared.counters.stale),
        }
        Taken::All
    }
}

/// Returns [`BRIEF`] in seconds; 0 if no route of this DODAG lasts longer.
pub(super) fn brief_s<O>(dodag: &Dodag<O>) -> u32 {
    let configuration = &dodag.configuration;
    match configuration.lifetime > BRIEF {
        true => configuration.lifetime_unit_s.into(),
        false => 0,
    }
}

/// Returns the lifetime of a route in seconds; `None`: no end, which only the root can allow. It is
/// the lifetime in the DAO, up to the lifetime in the configuration of the DODAG (RFC 6550 §6.7.6),
/// or up to a day for a host, whose registration counts (RFC 8505).
fn lifetime_s<O>(dodag: &Dodag<O>, transit: &Transit) -> Option<u32> {
    let configuration = &dodag.configuration;
    let (unit, most) = (configuration.lifetime_unit_s, configuration.lifetime);
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

impl DaoSender {
    /// Returns whether the sender may advertise the target `to`. In non-storing mode a node
    /// advertises itself to the root (RFC 6550 §9.7), and a router advertises the hosts whose
    /// parent it is (RFC 9010 §9.2.2).
    fn may_advertise<O>(&self, dodag: &Dodag<O>, to: &Addr, transit: &Transit) -> bool {
        match (dodag.is_storing(), transit.external) {
            (true, _) => true,
            (false, false) => *to == self.src,
            // A No-Path need not name the parent.
            (false, true) => transit.parent.is_none_or(|parent| parent == self.src),
        }
    }
}

/// Returns whether a DAO names this node as the parent of its sender (non-storing mode).
pub(super) fn is_child<P: Profile>(upward: &Upward<P>, dodag: &DodagOf<P>, dao: &Dao<'_>) -> bool {
    let mut parents = dao.options.iter().filter_map(|option| match option {
        RplOption::Transit(transit) => parent_of(dodag, &transit),
        _ => None,
    });
    upward.own().is_some() && parents.next() == upward.own()
}

/// Returns the parent in transit information (RFC 6550 §9.7 (1)), if it is a router of this DODAG
/// whose address is formed from its link-layer address. A No-Path need not name the parent.
fn parent_of<O>(dodag: &Dodag<O>, transit: &Transit) -> Option<Peer> {
    let parent = transit.parent?;
    Peer::at(&parent).filter(|peer| peer.within(&dodag.prefix) == parent)
}
