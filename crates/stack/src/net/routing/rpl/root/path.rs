//! Paths of a root in non-storing mode, and what routers say that they do not reach (RFC 6550 §9.7,
//! RFC 6554 §4.2).

use redpoll_base::{Addr, Instant};
use redpoll_wire::icmpv6::unreachable;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use crate::net::identity::Identity;
use crate::net::routing::routes::Target;
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::{DodagOf, Peer, Rpl, Table};
use crate::profile::Profile;

/// Stops of a source route: so many hops a packet goes down in non-storing mode.
const STOPS_MAX: usize = 64;

/// The way down to a node, hop by hop, the nearest first. The last one is left
/// out: it is the destination itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    prefix: Addr,
    hops: [Peer; STOPS_MAX],
    len: usize,
    to: Addr,
    /// It ends at the router of the destination, which does not know RPL.
    is_external: bool,
}

impl Path {
    /// The next hop.
    pub(crate) fn first(&self) -> Option<Address> {
        self.hops.first().map(|hop| hop.link())
    }

    /// Whether it ends at a router before the destination, so that an outer header leads there.
    pub(crate) fn is_external(&self) -> bool {
        self.is_external
    }

    /// Stops behind the first one.
    pub(crate) fn stops(&self) -> usize {
        self.len.saturating_sub(1)
    }

    /// The address of the first stop.
    pub(crate) fn first_stop(&self) -> Addr {
        match self.len {
            1 => self.to,
            _ => {
                let first = self.hops.first();
                first.map_or(self.to, |hop| hop.within(&self.prefix))
            }
        }
    }

    /// The addresses behind it.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Addr> + '_ {
        let between = self.hops.get(1..self.stops()).unwrap_or_default();
        let between = between.iter().map(|hop| hop.within(&self.prefix));
        between.chain((self.len > 1).then_some(self.to))
    }

    /// Leading bytes that all its addresses have in common.
    pub(crate) fn common(&self) -> usize {
        let first = self.first_stop().0;
        let alike = |other: Addr| {
            let both = first.iter().zip(&other.0);
            both.take_while(|(a, b)| a == b).count()
        };
        // What differs between two short addresses is in the last two bytes.
        self.addresses().map(alike).fold(14, usize::min)
    }
}

impl<P: Profile> Rpl<P> {
    /// The way to `dst` as its parents have it (RFC 6550 §9.7), for a root in
    /// non-storing mode.
    pub(in crate::net::routing::rpl) fn path(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        dodag: &DodagOf<P>,
        dst: &Addr,
    ) -> Option<Path> {
        // RFC 9010 §9.2.2: the parent of an external target is its router.
        let (link, is_external) = match self.root.inquiries.leaving(dst) {
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
            // A loop among parents is longer than any path.
            *path.hops.get_mut(path.len)? = here;
            path.len = path.len.saturating_add(1);
            if Some(parent) == self.own {
                break;
            }
            at = parent.within(&dodag.prefix);
            parent = table.downward(now, &at)?.link;
        }
        path.hops.get_mut(..path.len)?.reverse();
        Some(path)
    }

    /// The router `from` has not reached the next stop of a packet, which is the packet's
    /// destination (RFC 6554 §4.2, RFC 6550 §11.2.2.3), or knows no such host (RFC 4443 §3.1). The
    /// root forgets what it knows of that stop: packets to it have the root ask everybody. Only
    /// the stop's own parent can say so, which could drop the packets as well; of stops that have
    /// answered, twenty times in an hour.
    pub(in crate::net::routing::rpl) fn on_lost_stop(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
        from: &Addr,
        (code, packet): (u8, &[u8]),
    ) {
        let Some(dodag) = &self.dodag else {
            return;
        };
        let Ok((header, _)) = Ipv6Header::parse_partial(packet) else {
            return;
        };
        let is_route = code == unreachable::SOURCE_ROUTE;
        let stop = table.downward(now, &header.dst);
        // The router of an external target returns an error about the packet itself.
        let is_host = stop.is_some_and(|stop| stop.target == Target::External);
        let is_about = match is_route {
            true => header.next_header == next_header::ROUTING,
            false => is_host && matches!(code, unreachable::NO_ROUTE | unreachable::ADDRESS),
        };
        if !is_route && !is_about {
            return;
        }
        let is_ours = is_about && identity.is_own(&header.src);
        let has_routes = self.is_root() && !dodag.is_storing();
        if is_ours
            && has_routes
            && let Some(parent) = Peer::at(from)
            && parent.within(&dodag.prefix) == *from
        {
            self.on_unreached(now, &header.dst, parent);
            if let Some(stop) = stop.filter(|stop| stop.link == parent) {
                if !stop.is_proven() || self.limits.admit_forwarding_error(now) {
                    table.forget_downward(&header.dst);
                    count(&mut self.shared.counters.lost_stops);
                }
                return;
            }
        }
        count(&mut self.shared.counters.stale);
    }
}
