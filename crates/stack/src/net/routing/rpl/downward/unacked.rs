//! Next hops that do not acknowledge frames. A DAO may name any next hop (RFC 6550 §9), so the
//! link decides whether a route stays: ADR 38.

use redpoll_base::Addr;

use super::{Downward, Upward};
use crate::net::routing::routes::Advertisement;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::upward::{Dodag, DodagOf};
use crate::net::routing::{Peer, Table};
use crate::profile::Profile;

/// Frames in a row without an acknowledgement after which the routes through a next hop are
/// removed, if the next hop has never acknowledged a frame.
const FRAMES_OF_UNPROVEN: u8 = 2;
/// As [`FRAMES_OF_UNPROVEN`], for a next hop that has acknowledged a frame.
const FRAMES_OF_PROVEN: u8 = 4;
/// Largest number of routes through a next hop that has not acknowledged a frame yet.
const UNPROVEN_MAX: usize = 8;
/// The bit that is set once the next hop has acknowledged a frame; the other bits count frames in a
/// row without an acknowledgement.
const PROVEN: u8 = 128;

/// Results of frames to the next hop of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct UnackedHop(u8);

impl UnackedHop {
    /// The state of a next hop that has acknowledged a frame.
    pub(crate) const PROVEN: UnackedHop = UnackedHop(PROVEN);

    /// Counts a frame to the next hop. Returns whether its routes are to be removed.
    pub(crate) fn on_frame(&mut self, acknowledged: bool) -> bool {
        if acknowledged {
            *self = Self::PROVEN;
            return false;
        }
        self.0 = self.0.saturating_add(1);
        let limit = match self.is_proven() {
            true => FRAMES_OF_PROVEN,
            false => FRAMES_OF_UNPROVEN,
        };
        self.frames() >= limit
    }

    /// Returns whether the next hop has acknowledged a frame.
    pub(crate) fn is_proven(self) -> bool {
        self.0 & PROVEN != 0
    }

    /// Returns the number of frames in a row that were not acknowledged.
    fn frames(self) -> u8 {
        self.0 & !PROVEN
    }

    /// Counts an unanswered inquiry to the target. Returns whether there are too many of them.
    #[allow(dead_code, reason = "only a root sends inquiries")]
    pub(super) fn on_unanswered(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.frames() >= FRAMES_OF_PROVEN
    }

    /// Returns whether the root stops its inquiries, because too many of them had no answer.
    #[allow(dead_code, reason = "only a root sends inquiries")]
    pub(super) fn is_silent(self) -> bool {
        self.frames() >= FRAMES_OF_PROVEN
    }

    /// Returns whether at least two frames had no acknowledgement, or two inquiries no answer.
    pub(crate) fn is_doubtful(self) -> bool {
        self.frames() >= FRAMES_OF_UNPROVEN
    }

    /// Returns whether the next hop has acknowledged frames, including the last one sent to it.
    pub(super) fn answers(self) -> bool {
        self == Self::PROVEN
    }
}

impl<O> Dodag<O> {
    /// Returns the first hop of packets to the target `to`. In storing mode it is the next hop
    /// `link`. In non-storing mode it is the target, if its parent `link` is this node, `own`.
    pub(super) fn first_hop(&self, own: Option<Peer>, to: &Addr, link: Peer) -> Option<Peer> {
        match self.is_storing() {
            true => Some(link),
            false if Some(link) == own => Peer::at(to),
            false => None,
        }
    }
}

impl<P: Profile> Downward<P> {
    /// Counts a frame to the neighbour `hop` for the routes that begin there, and removes them if
    /// it does not acknowledge frames. Registered hosts stay until their registrations end.
    pub(in crate::net::routing::rpl) fn on_hop(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        hop: Peer,
        ok: bool,
    ) {
        let Some(dodag) = upward.dodag() else {
            return;
        };
        let (own, is_root, now) = (upward.own(), upward.is_root(), cx.now);
        let mut lost = 0_u32;
        let mut any = false;
        let mut is_restored = false;
        cx.table.each_downward(|to, route| {
            let is_it = dodag.first_hop(own, to, route.link) == Some(hop);
            if !is_it || route.is_host() || route.is_gone() {
                return;
            }
            any = true;
            let was_proven = route.hop.is_proven();
            if route.hop.on_frame(ok) {
                lost = lost.saturating_add(1);
                route.end(now, route.sequence);
            } else if ok && !was_proven && !is_root {
                // The parent has the route with a brief lifetime, or lacks it: advertise it.
                route.advertisement = Advertisement::Due;
                is_restored = true;
            }
        });
        if ok && !any && !self.answered.contains(&Some(hop)) {
            self.answered = [Some(hop), self.answered[0]];
        } else if !ok {
            self.answered = self.answered.map(|it| it.filter(|it| *it != hop));
        }
        if ok {
            cx.shared.probes.on_acknowledged(now, hop);
        }
        let counters = &mut cx.shared.counters;
        counters.routes_unacked = counters.routes_unacked.wrapping_add(lost);
        if is_root && lost > 0 {
            cx.table.retain_downward(|route| {
                !matches!(
                    route.advertisement,
                    Advertisement::WithdrawalDue | Advertisement::WithdrawalSent
                )
            });
        } else if lost > 0 || is_restored {
            self.daos
                .due
                .get_or_insert(now + cx.shared.config.dao_delay);
        }
    }

    /// Returns whether the first hop of a route to `to` by `link` has acknowledged frames, or `to`
    /// behind the parent `link` has answered an inquiry of the root.
    pub(super) fn is_proven(
        &self,
        cx: &Context<'_, P>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        to: &Addr,
        link: Peer,
    ) -> bool {
        let Some(hop) = dodag.first_hop(upward.own(), to, link) else {
            if self.inquiries.is_confirmed(to, link) {
                return true;
            }
            let known = cx.table.downward(cx.now, to).filter(|it| it.link == link);
            return known.is_some_and(|known| known.hop.is_proven());
        };
        self.answers(cx.table, upward, dodag, hop)
    }

    /// Returns whether the neighbour `hop` is known to have acknowledged frames.
    pub(super) fn answers(
        &self,
        table: &Table<P::Memory>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        hop: Peer,
    ) -> bool {
        let mut routes = table.downwards();
        upward.answers(hop)
            || self.answered.contains(&Some(hop))
            || routes.any(|(to, it)| {
                let is_good = it.hop.answers() && !it.is_gone();
                is_good && dodag.first_hop(upward.own(), to, it.link) == Some(hop)
            })
    }
}

/// Returns whether the next hop `link`, which has not acknowledged a frame yet, has the largest
/// number of routes that it may have.
pub(super) fn is_at_limit<P: Profile>(cx: &Context<'_, P>, dodag: &DodagOf<P>, link: Peer) -> bool {
    let routes = cx.table.downwards();
    let routes = routes.filter(|(_, it)| it.link == link && it.is_usable(cx.now));
    dodag.is_storing() && routes.count() >= UNPROVEN_MAX
}

/// Probes one of the next hops that have not acknowledged a frame yet.
pub(in crate::net::routing::rpl) fn prove_any<P: Profile>(
    cx: &mut Context<'_, P>,
    upward: &Upward<P>,
) {
    let mut routes = cx.table.downwards();
    let unproven = routes.find_map(|(to, route)| {
        let first = upward.dodag()?.first_hop(upward.own(), to, route.link);
        first.filter(|_| !route.hop.is_proven() && !route.is_host() && !route.is_gone())
    });
    drop(routes);
    cx.shared.probes.try_any(cx.now, unproven);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unproven_hop_is_lost_with_the_second_frame_and_a_proven_one_with_the_fourth() {
        let mut hop = UnackedHop::default();
        assert!(!hop.on_frame(false) && !hop.is_proven());
        assert!(hop.on_frame(false));
        let mut hop = UnackedHop::default();
        assert!(!hop.on_frame(false) && !hop.on_frame(true));
        for _ in 0..3 {
            assert!(!hop.on_frame(false) && hop.is_proven() && !hop.answers());
        }
        assert!(hop.on_frame(false));
        assert!(!hop.on_frame(true) && hop.answers());
    }
}
