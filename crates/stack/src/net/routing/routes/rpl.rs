//! Routes that DAOs have created (RFC 6550 §9), in the same table as all other routes.

use redpoll_base::{Addr, Instant, divide_long, least};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::Sequence;

use super::{Kind, Route, RouteSlot, RouteTable, Via};
use crate::Error;
use crate::net::routing::Peer;
use crate::net::routing::rpl::UnackedHop;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DownwardRoute {
    /// In storing mode the next hop, in non-storing mode the parent of the target.
    pub(crate) link: Peer,
    /// Path Sequence.
    pub(crate) sequence: Sequence,
    pub(crate) advertisement: Advertisement,
    pub(crate) target: Target,
    /// State of the next hop: whether it has ever acknowledged a frame, and the number of frames in
    /// a row that it has not acknowledged.
    pub(crate) hop: UnackedHop,
    /// The end of the route, in seconds since the start of the node. As bytes, because an
    /// aligned number would make the route larger.
    until_s: [u8; 4],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// A node of the DODAG.
    Member,
    /// A host without RPL that another router advertises (the E flag, RFC 6550 §6.7.8).
    External,
    /// A host without RPL that is registered with this router (RFC 9010).
    Host,
}

/// The state of a target's advertisement (DAO) or withdrawal (No-Path) at this router's parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advertisement {
    Done,
    Due,
    /// A DAO is due that only renews the route, so it may wait until more targets are due.
    RenewalDue,
    /// A DAO has left and is not acknowledged yet.
    Sent,
    /// A No-Path is due.
    WithdrawalDue,
    /// A No-Path has left and is not acknowledged yet.
    WithdrawalSent,
    /// The target belongs to a previous version of the DODAG.
    Faded,
}

/// Seconds for which a withdrawn target stays in the table, so that a No-Path can inform the
/// parent. For the same time, packets still take a route of the previous version of the DODAG.
const GRACE_S: u32 = 15;
/// The value of `until_s` for a route that does not expire.
const FOR_EVER: u32 = u32::MAX;

/// Whether nodes of this build can have targets: roots, routers in storing mode, and routers with
/// which hosts register can.
pub(crate) const HAS_TARGETS: bool = cfg!(any(
    feature = "rpl-root",
    feature = "rpl-storing",
    feature = "rpl-hosts"
));

fn seconds(now: Instant) -> u32 {
    divide_long(now.as_micros(), 1_000_000)
}

impl DownwardRoute {
    /// Returns a route that ends after `lifetime_s` seconds; `None`: never.
    pub(crate) fn new(
        now: Instant,
        link: Peer,
        sequence: Sequence,
        lifetime_s: Option<u32>,
    ) -> Self {
        let until_s = match lifetime_s {
            // The route is valid until the end of its last second.
            Some(lifetime_s) => seconds(now)
                .saturating_add(lifetime_s)
                .min(FOR_EVER.saturating_sub(1)),
            None => FOR_EVER,
        };
        DownwardRoute {
            link,
            sequence,
            advertisement: Advertisement::Due,
            target: Target::Member,
            hop: UnackedHop::default(),
            until_s: until_s.to_be_bytes(),
        }
    }

    pub(super) fn next_hop(self) -> Address {
        self.link.link()
    }

    /// Lets the route end within `lifetime_s` seconds; 0 changes nothing.
    #[allow(dead_code, reason = "used only by a root")]
    pub(crate) fn shorten(&mut self, now: Instant, lifetime_s: u32) {
        let until_s = u32::from_be_bytes(self.until_s);
        let soon = seconds(now).saturating_add(lifetime_s);
        if lifetime_s > 0 {
            self.until_s = until_s.min(soon).to_be_bytes();
        }
    }

    /// Lets the route end no sooner than the `known` one.
    #[allow(dead_code, reason = "used only by a root")]
    pub(crate) fn lengthen(&mut self, known: &DownwardRoute) {
        self.until_s = self.until_s.max(known.until_s);
    }

    /// Lets the route end no later than the `known` one.
    pub(crate) fn end_with(&mut self, known: &DownwardRoute) {
        self.until_s = self.until_s.min(known.until_s);
    }

    /// Returns whether this route outlasts `known` by over a quarter of this route's lifetime.
    pub(crate) fn renews(&self, now: Instant, known: &DownwardRoute) -> bool {
        let ends = |route: &DownwardRoute| u32::from_be_bytes(route.until_s);
        let gain = ends(self).saturating_sub(ends(known));
        self.left_s(now)
            .map_or(gain > 0, |left_s| gain > left_s / 4)
    }

    /// Returns the remaining lifetime in seconds of a route that the parent knows, so that the next
    /// DAO only renews it. `None`: not known, without an end, or at most `brief_s` seconds remain.
    pub(crate) fn renewable_s(&self, now: Instant, brief_s: u32) -> Option<u32> {
        let is_known = matches!(
            self.advertisement,
            Advertisement::Done | Advertisement::RenewalDue
        );
        let left_s = self.left_s(now)?;
        (is_known && left_s > brief_s).then_some(left_s)
    }

    /// Returns the remaining lifetime in seconds; `None`: no end.
    pub(crate) fn left_s(&self, now: Instant) -> Option<u32> {
        match u32::from_be_bytes(self.until_s) {
            FOR_EVER => None,
            until_s => Some(until_s.saturating_sub(seconds(now))),
        }
    }

    #[inline(never)] // size
    pub(crate) fn is_good(&self, now: Instant) -> bool {
        u32::from_be_bytes(self.until_s) >= seconds(now)
    }

    /// Returns whether packets may take the route: it has not expired, and no No-Path has withdrawn
    /// it (RFC 6550 §6.4.3).
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.is_good(now)
            && !matches!(
                self.advertisement,
                Advertisement::WithdrawalDue | Advertisement::WithdrawalSent
            )
    }

    /// Withdraws the route: packets do not take it from now on. The entry stays until a No-Path has
    /// informed the parent.
    pub(crate) fn end(&mut self, now: Instant, sequence: Sequence) {
        let until_s = u32::from_be_bytes(self.until_s);
        let soon = seconds(now).saturating_add(GRACE_S);
        self.until_s = until_s.min(soon).to_be_bytes();
        self.sequence = sequence;
        self.advertisement = Advertisement::WithdrawalDue;
    }

    /// Withdraws the route because the registration behind it has expired.
    #[allow(dead_code, reason = "used only by a router that registers hosts")]
    pub(crate) fn lapse(&mut self, now: Instant) {
        self.until_s = FOR_EVER.to_be_bytes();
        self.end(now, self.sequence);
    }

    /// Lets the route end soon without a No-Path: it belongs to a version of the DODAG that is
    /// over. Until then packets take it, because the new version may not be complete.
    pub(crate) fn fade(&mut self, now: Instant) {
        self.end(now, self.sequence);
        self.advertisement = Advertisement::Faded;
    }

    pub(crate) fn is_host(&self) -> bool {
        self.target == Target::Host
    }

    /// Returns whether the next hop has acknowledged a frame, or has registered the address.
    pub(crate) fn is_proven(&self) -> bool {
        self.hop.is_proven() || self.is_host()
    }

    /// Returns whether the route ends within `brief_s` seconds.
    pub(crate) fn is_brief(&self, now: Instant, brief_s: u32) -> bool {
        self.left_s(now).is_some_and(|left_s| left_s <= brief_s)
    }

    pub(crate) fn is_gone(&self) -> bool {
        matches!(
            self.advertisement,
            Advertisement::WithdrawalDue | Advertisement::WithdrawalSent | Advertisement::Faded
        )
    }
}

/// The rule by which a full table replaces routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement {
    /// The lifetime, in seconds, up to which a route is brief.
    pub(crate) brief_s: u32,
    /// Whether the routes have next hops (storing mode).
    pub(crate) by_hops: bool,
}

impl<T: AsRef<[Option<RouteSlot>]> + AsMut<[Option<RouteSlot>]>> RouteTable<T> {
    /// Adds or replaces the route to the one address `to`. A full table first removes expired
    /// routes, then one unproven route, the one that ends first. In storing mode, the removed route
    /// must have another next hop than the new route. In non-storing mode, the new route must be
    /// proven, or the removed one doubtful (`UnackedHop::is_doubtful`). A new route that is proven
    /// and not brief can also replace a brief route.
    pub(crate) fn add_downward(
        &mut self,
        now: Instant,
        to: Addr,
        downward: DownwardRoute,
        rule: Replacement,
    ) -> Result<(), Error> {
        let slot = RouteSlot {
            prefix: to,
            kind: Kind::Downward(downward),
        };
        if self.insert(slot).is_ok() {
            return Ok(());
        }
        self.expire(now);
        if self.insert(slot).is_ok() {
            return Ok(());
        }
        let Replacement { brief_s, by_hops } = rule;
        let stays = downward.is_proven() && !downward.is_brief(now, brief_s);
        let others = self.downwards().filter(|(_, it)| {
            let may_go = match by_hops {
                true => it.link != downward.link,
                false => downward.is_proven() || it.hop.is_doubtful(),
            };
            may_go && !it.is_proven() || stays && !it.is_host() && it.is_brief(now, brief_s)
        });
        let next = least(others.map(|(to, it)| (it.until_s, *to)));
        self.forget_downward(&next.ok_or(Error::NoSlot)?);
        self.insert(slot)
    }

    /// Returns the entry of the target `to`, even if it is withdrawn.
    pub(crate) fn downward_mut(&mut self, to: &Addr) -> Option<&mut DownwardRoute> {
        if !HAS_TARGETS {
            return None;
        }
        let at = self.host_at(to)?;
        match &mut self.table.as_mut().get_mut(at)?.as_mut()?.kind {
            Kind::Downward(downward) => Some(downward),
            Kind::Given { .. } | Kind::Registered { .. } => None,
        }
    }

    pub(crate) fn downward(&self, now: Instant, to: &Addr) -> Option<DownwardRoute> {
        if !HAS_TARGETS {
            return None;
        }
        match self.host(now, to)?.kind {
            Kind::Downward(downward) => Some(downward),
            Kind::Given { .. } | Kind::Registered { .. } => None,
        }
    }

    /// Returns all targets in the table, withdrawn ones included.
    pub(crate) fn downwards(&self) -> impl Iterator<Item = (&Addr, &DownwardRoute)> {
        self.entries().filter_map(|slot| match &slot.kind {
            Kind::Downward(downward) if HAS_TARGETS => Some((&slot.prefix, downward)),
            Kind::Downward(_) => None,
            Kind::Given { .. } | Kind::Registered { .. } => None,
        })
    }

    pub(crate) fn each_downward(&mut self, mut change: impl FnMut(&Addr, &mut DownwardRoute)) {
        if !HAS_TARGETS {
            return;
        }
        for slot in self.table.as_mut().iter_mut().flatten() {
            if let Kind::Downward(downward) = &mut slot.kind {
                change(&slot.prefix, downward);
            }
        }
    }

    pub(crate) fn forget_downward(&mut self, to: &Addr) {
        if let Some(link) = self.downward_mut(to).map(|downward| downward.link) {
            self.remove(&Route {
                prefix: *to,
                len: 128,
                via: Via::Neighbour(link.link()),
            });
        }
    }

    /// Removes the targets for which `keep` returns `false`.
    pub(crate) fn retain_downward(&mut self, mut keep: impl FnMut(&DownwardRoute) -> bool) {
        while HAS_TARGETS {
            let mut ended = self.downwards().filter(|(_, downward)| !keep(downward));
            let Some(to) = ended.next().map(|(to, _)| *to) else {
                return;
            };
            drop(ended);
            self.forget_downward(&to);
        }
    }

    /// Returns whether this neighbour is the next hop to a target.
    pub(crate) fn leads_down_through(&self, now: Instant, link: Peer) -> bool {
        self.downwards()
            .any(|(_, downward)| downward.link == link && downward.is_usable(now))
    }
}
