//! Paths of a root in non-storing mode, and errors of routers on them (RFC 6550 §9.7,
//! RFC 6554 §4.2).

use redpoll_base::{Addr, Instant};
use redpoll_wire::icmpv6::unreachable;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use crate::net::identity::Identity;
use crate::net::routing::protocol::RouterError;
use crate::net::routing::routes::Target;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::downward::{Downward, Upward};
use crate::net::routing::rpl::loops::Loops;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::upward::DodagOf;
use crate::net::routing::{Peer, Table};
use crate::profile::Profile;

/// The largest number of hops down in non-storing mode.
const STOPS_MAX: usize = 64;

/// The path down to a node, hop by hop, the nearest hop first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    prefix: Addr,
    hops: [Peer; STOPS_MAX],
    len: usize,
    to: Addr,
    /// Whether the destination does not know RPL, so that the path ends at its router.
    is_external: bool,
}

impl Path {
    pub(crate) fn first(&self) -> Option<Address> {
        self.hops.first().map(|hop| hop.link())
    }

    /// Returns whether the destination is an external target: the path ends at its router.
    pub(crate) fn is_external(&self) -> bool {
        self.is_external
    }

    /// Returns the number of stops after the first one.
    pub(crate) fn stops(&self) -> usize {
        self.len.saturating_sub(1)
    }

    pub(crate) fn first_stop(&self) -> Addr {
        match self.len {
            1 => self.to,
            _ => {
                let first = self.hops.first();
                first.map_or(self.to, |hop| hop.within(&self.prefix))
            }
        }
    }

    /// Returns the addresses of the stops behind the first one.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Addr> + '_ {
        let between = self.hops.get(1..self.stops()).unwrap_or_default();
        let between = between.iter().map(|hop| hop.within(&self.prefix));
        between.chain((self.len > 1).then_some(self.to))
    }

    /// Returns the number of leading bytes that all addresses of the path have in common.
    pub(crate) fn common(&self) -> usize {
        let first = self.first_stop().0;
        let alike = |other: Addr| {
            let both = first.iter().zip(&other.0);
            both.take_while(|(a, b)| a == b).count()
        };
        // At most 14: addresses that are formed from short ones differ in the last two bytes.
        self.addresses().map(alike).fold(14, usize::min)
    }
}

impl<P: Profile> Downward<P> {
    /// Returns the path to `dst` by the parents of the nodes on it (RFC 6550 §9.7), for a root in
    /// non-storing mode.
    pub(in crate::net::routing::rpl) fn path(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        upward: &Upward<P>,
        dodag: &DodagOf<P>,
        dst: &Addr,
    ) -> Option<Path> {
        // RFC 9010 §9.2.2: the parent of an external target is its router.
        let (link, is_external) = match self.inquiries.leaving(dst) {
            Some(claimed) => claimed,
            None => {
                let target = table.downward(now, dst)?;
                (target.link, target.target != Target::Member)
            }
        };
        let to = match is_external {
            true => link.within(&dodag.prefix),
            false => *dst,
        };
        let mut parent = match is_external {
            true => table.downward(now, &to)?.link,
            false => link,
        };
        let mut path = Path {
            prefix: dodag.prefix,
            hops: [Peer::at(&to)?; STOPS_MAX],
            len: 0,
            to,
            is_external,
        };
        let mut at = to;
        loop {
            let here = Peer::at(&at)?;
            // If the parents form a loop, the path exceeds its maximum length: return `None`.
            *path.hops.get_mut(path.len)? = here;
            path.len = path.len.saturating_add(1);
            if Some(parent) == upward.own() {
                break;
            }
            at = parent.within(&dodag.prefix);
            parent = table.downward(now, &at)?.link;
        }
        path.hops.get_mut(..path.len)?.reverse();
        Some(path)
    }

    /// Processes an error of the router `from`: the router does not reach the destination of the
    /// quoted packet, which is the next stop of a source route (RFC 6554 §4.2, RFC 6550 §11.2.2.3)
    /// or a host (RFC 4443 §3.1). The root forgets this stop, and asks for all DAOs at the next
    /// packet to it. Only an error from the parent of the stop counts: this parent could also drop
    /// the packets, so that it gains nothing by a false error. A link that works can lose a packet,
    /// too. If the stop has answered before, the root therefore asks the stop, and forgets it after
    /// four errors or inquiries without an answer. `loops` admits twenty such errors an hour.
    pub(in crate::net::routing::rpl) fn on_lost_stop(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        loops: &mut Loops,
        identity: &Identity,
        error: RouterError<'_>,
    ) {
        let Some(dodag) = upward.dodag() else {
            return;
        };
        let Ok((header, _)) = Ipv6Header::parse_partial(error.packet) else {
            return;
        };
        let now = cx.now;
        let is_route = error.code == unreachable::SOURCE_ROUTE;
        let stop = cx.table.downward(now, &header.dst);
        // The tunnel ends at an external target's router, whose error quotes the inner packet.
        let is_host = stop.is_some_and(|stop| stop.target == Target::External);
        let is_about = match is_route {
            true => header.next_header == next_header::ROUTING,
            false => is_host && matches!(error.code, unreachable::NO_ROUTE | unreachable::ADDRESS),
        };
        if !is_route && !is_about {
            return;
        }
        let is_ours = is_about && identity.is_own(&header.src);
        if is_ours
            && upward.routed_by_source().is_some()
            && let Some(parent) = Peer::at(&error.from)
            && parent.within(&dodag.prefix) == error.from
        {
            self.on_unreached(now, &header.dst, parent);
            if stop.is_some_and(|stop| stop.link == parent)
                && let Some(stop) = cx.table.downward_mut(&header.dst)
            {
                let is_lost = !stop.is_proven()
                    || stop.hop.on_unanswered() && loops.admit_forwarding_error(now);
                if is_lost {
                    cx.table.forget_downward(&header.dst);
                    count(&mut cx.shared.counters.lost_stops);
                } else {
                    self.inquiries.schedule(now);
                }
                return;
            }
        }
        count(&mut cx.shared.counters.stale);
    }
}
