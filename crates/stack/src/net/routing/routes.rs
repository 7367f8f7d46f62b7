//! The forwarding table: longest prefix first (RFC 8200 leaves the rest to us).

use core::cell::Cell;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::icmpv6::nd::{DuplicateAddress, Tid};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::Error;

/// Where a packet goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// Over the radio to this neighbour.
    Neighbour(Address),
    /// Over the radio to the node itself: its link-layer address is derived
    /// from the interface identifier (RFC 4944 §6, RFC 6282 §3.2.2).
    OnLink,
    /// To the host side: TUN, a direct link.
    Host,
}

/// One entry of the forwarding table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// Destinations whose first `len` bits equal these take the route.
    pub prefix: Addr,
    /// Bits of `prefix` that count, 0 (the default route) to 128.
    pub len: u8,
    /// Where they go.
    pub via: Via,
}

/// Room for one route in a node's table: the route, and what is known of the
/// registration that has left it behind, if one has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteSlot {
    prefix: Addr,
    len: u8,
    via: Via,
    registration: Option<Registration>,
}

/// What a router remembers of a registration that has passed it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registration {
    pub(crate) tid: Option<Tid>,
    /// Who has registered.
    pub(crate) eui64: [u8; 8],
    /// Until when, in seconds since the node's start.
    until_s: u32,
}

impl Registration {
    pub(crate) fn new(now: Instant, report: &DuplicateAddress) -> Self {
        let until = now + Duration::from_secs(60).times(report.lifetime_min.into());
        let until_s = until.as_millis().checked_div(1_000).unwrap_or_default();
        Registration {
            tid: report.tid,
            eui64: report.eui64,
            until_s: u32::try_from(until_s).unwrap_or(u32::MAX),
        }
    }

    fn is_good(&self, now: Instant) -> bool {
        now.as_millis() < u64::from(self.until_s).saturating_mul(1_000)
    }
}

impl RouteSlot {
    fn new(route: Route, registration: Option<Registration>) -> Self {
        let len = route.len.min(128);
        RouteSlot {
            // Bits behind the prefix say nothing, and must not make two of one.
            prefix: addr::prefix(&route.prefix, len),
            len,
            via: route.via,
            registration,
        }
    }

    fn len(&self) -> u8 {
        self.len
    }

    /// Whether the route is a given one, or its registration has not ended.
    fn is_good(&self, now: Instant) -> bool {
        self.registration.is_none_or(|it| it.is_good(now))
    }

    fn is(&self, route: &Route) -> bool {
        (self.prefix, self.len(), self.via) == (route.prefix, route.len, route.via)
    }
}

/// A table of routes in the caller's memory, sorted by falling prefix length
/// and, within a length, by prefix.
pub(crate) struct Routes<T> {
    table: T,
    used: usize,
    /// How many of the first entries are host routes, found by binary search.
    hosts: usize,
}

impl<T: AsRef<[Option<RouteSlot>]> + AsMut<[Option<RouteSlot>]>> Routes<T> {
    pub(crate) fn new(mut table: T) -> Self {
        table.as_mut().fill(None);
        Routes {
            table,
            used: 0,
            hosts: 0,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &RouteSlot> {
        self.table.as_ref().iter().take(self.used).flatten()
    }

    /// Adds a route or, if prefix and length are known, replaces it.
    pub(crate) fn add(&mut self, route: Route) -> Result<(), Error> {
        self.insert(RouteSlot::new(route, None))
    }

    /// Adds or replaces the route to the one address `to`, as a registration has it.
    pub(crate) fn add_registered(
        &mut self,
        to: Addr,
        via: Via,
        registration: Registration,
    ) -> Result<(), Error> {
        let route = Route {
            prefix: to,
            len: 128,
            via,
        };
        self.insert(RouteSlot::new(route, Some(registration)))
    }

    /// The registration that has left the route to this address behind, if it is good
    /// at `now`.
    pub(crate) fn registration(&self, now: Instant, to: &Addr) -> Option<Registration> {
        self.host(now, to)?.registration
    }

    /// Forgets the routes whose registrations have ended.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(ended) = self.ended(now) {
            self.remove(&ended);
        }
    }

    fn ended(&self, now: Instant) -> Option<Route> {
        let ended = self.entries().find(|route| !route.is_good(now))?;
        let (prefix, len, via) = (ended.prefix, ended.len, ended.via);
        Some(Route { prefix, len, via })
    }

    fn insert(&mut self, route: RouteSlot) -> Result<(), Error> {
        let key = |r: &RouteSlot| (core::cmp::Reverse(r.len()), r.prefix);
        let used = self.used;
        let entries = self.table.as_ref().get(..used).unwrap_or_default();
        let at = entries.partition_point(|slot| slot.is_some_and(|r| key(&r) < key(&route)));
        let slots = self.table.as_mut();
        if let Some(Some(present)) = slots.get_mut(at)
            && key(present) == key(&route)
        {
            *present = route;
            return Ok(());
        }
        let Some(tail) = slots.get_mut(at..=used) else {
            return Err(Error::NoSlot);
        };
        // The free place at the end comes to the front. To rotate a slice can
        // panic, if it is empty.
        for pair in Cell::from_mut(tail).as_slice_of_cells().windows(2).rev() {
            if let [before, free] = pair {
                before.swap(free);
            }
        }
        if let Some(first) = tail.first_mut() {
            *first = Some(route);
        }
        self.used = used.saturating_add(1);
        self.hosts = self.hosts.saturating_add(usize::from(route.len() == 128));
        Ok(())
    }

    /// Forgets the route with this prefix and length if it goes `via` there.
    pub(crate) fn remove(&mut self, route: &Route) {
        let used = self.table.as_mut().get_mut(..self.used).unwrap_or_default();
        let is_it = |slot: &Option<RouteSlot>| slot.is_some_and(|slot| slot.is(route));
        let Some(at) = used.iter().position(is_it) else {
            return;
        };
        if let Some(tail) = used.get_mut(at..) {
            tail.rotate_left(1);
            if let Some(last) = tail.last_mut() {
                *last = None;
            }
        }
        self.used = self.used.saturating_sub(1);
        let hosts = usize::from(route.len == 128);
        self.hosts = self.hosts.saturating_sub(hosts);
    }

    /// Forgets every route.
    pub(crate) fn clear(&mut self) {
        self.table.as_mut().fill(None);
        self.used = 0;
        self.hosts = 0;
    }

    /// Whether a route to more than the neighbour itself leads through it.
    pub(crate) fn leads_through(&self, link: Address) -> bool {
        let own = addr::iid_of(link);
        self.entries().any(|route| {
            let is_itself = route.len() == 128 && own == Some(addr::iid(&route.prefix));
            route.via == Via::Neighbour(link) && !is_itself
        })
    }

    /// Where packets to `dst` go, by the longest matching prefix.
    pub(crate) fn lookup(&self, now: Instant, dst: &Addr) -> Option<Via> {
        if let Some(host) = self.host(now, dst) {
            return Some(host.via);
        }
        self.entries()
            .skip(self.hosts)
            .find(|r| r.prefix.shares_prefix(dst, r.len()))
            .map(|r| r.via)
    }

    /// The route to this one address.
    fn host(&self, now: Instant, dst: &Addr) -> Option<&RouteSlot> {
        let hosts = self.table.as_ref().get(..self.hosts)?;
        let found = hosts.binary_search_by(|r| match r {
            Some(route) => route.prefix.cmp(dst),
            None => core::cmp::Ordering::Greater,
        });
        let host = hosts.get(found.ok()?)?.as_ref();
        host.filter(|host| host.is_good(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    fn some(last: u8) -> Addr {
        let mut a = [0; 16];
        a[0] = 0xfd;
        a[15] = last;
        Addr(a)
    }

    fn route(prefix: Addr, len: u8, hop: u16) -> Route {
        Route {
            prefix,
            len,
            via: Via::Neighbour(Address::Short(hop)),
        }
    }

    #[test]
    fn the_longest_prefix_wins_whatever_the_order() {
        let entries = [
            route(some(0), 0, 1),
            route(some(7), 128, 2),
            route(some(0), 64, 3),
            route(some(9), 128, 4),
        ];
        for rotation in 0..entries.len() {
            let mut routes = Routes::new([None; 4]);
            for i in 0..entries.len() {
                routes.add(entries[(i + rotation) % 4]).unwrap();
            }
            let hop = |dst| match routes.lookup(NOW, &dst) {
                Some(Via::Neighbour(Address::Short(hop))) => hop,
                other => panic!("{other:?}"),
            };
            assert_eq!(hop(some(7)), 2);
            assert_eq!(hop(some(9)), 4);
            assert_eq!(hop(some(8)), 3);
            assert_eq!(hop(Addr([0x20; 16])), 1);
        }
    }

    #[test]
    fn a_known_prefix_is_replaced_and_a_full_table_says_so() {
        let mut routes = Routes::new([None; 2]);
        routes.add(route(some(1), 128, 1)).unwrap();
        routes.add(route(some(1), 128, 5)).unwrap();
        routes.add(route(some(2), 128, 2)).unwrap();
        assert_eq!(routes.add(route(some(3), 128, 3)), Err(Error::NoSlot));
        assert_eq!(
            routes.lookup(NOW, &some(1)),
            Some(Via::Neighbour(Address::Short(5)))
        );
        assert_eq!(routes.lookup(NOW, &some(3)), None);
        routes.remove(&route(some(1), 128, 5));
        assert_eq!(routes.lookup(NOW, &some(1)), None);
        assert!(routes.lookup(NOW, &some(2)).is_some());
        routes.remove(&route(some(2), 128, 9));
        assert!(
            routes.lookup(NOW, &some(2)).is_some(),
            "that one went elsewhere"
        );
        routes.clear();
        assert_eq!(routes.lookup(NOW, &some(2)), None);
    }

    fn registered(eui: u8, tid: u8, minutes: u16) -> Registration {
        let report = DuplicateAddress {
            status: 0,
            tid: Some(Tid(tid)),
            lifetime_min: minutes,
            eui64: [eui; 8],
            address: some(1),
        };
        Registration::new(NOW, &report)
    }

    #[test]
    fn a_route_keeps_its_registration_until_it_is_replaced() {
        let mut routes = Routes::new([None; 2]);
        let via = Via::Neighbour(Address::Short(3));
        assert_eq!(routes.registration(NOW, &some(1)), None);
        for number in [240, 255, 0] {
            let registration = registered(7, number, 5);
            routes.add_registered(some(1), via, registration).unwrap();
            let known = routes.registration(NOW, &some(1));
            assert_eq!((known, routes.used), (Some(registration), 1));
            assert_eq!(routes.lookup(NOW, &some(1)), Some(via));
        }
        routes.add(route(some(1), 128, 9)).unwrap();
        assert_eq!((routes.registration(NOW, &some(1)), routes.used), (None, 1));
    }

    #[test]
    fn a_registered_route_ends_with_its_registration_and_a_given_one_never() {
        let mut routes = Routes::new([None; 3]);
        let via = Via::Neighbour(Address::Short(3));
        routes.add(route(some(2), 128, 9)).unwrap();
        routes
            .add_registered(some(1), via, registered(7, 1, 5))
            .unwrap();
        routes
            .add_registered(some(3), via, registered(7, 1, 9))
            .unwrap();
        let at = |s| NOW + Duration::from_secs(s);
        assert_eq!(routes.lookup(at(299), &some(1)), Some(via));
        assert_eq!(routes.lookup(at(300), &some(1)), None);
        assert_eq!(routes.registration(at(300), &some(1)), None);
        routes.expire(at(300));
        assert_eq!((routes.used, routes.hosts), (2, 2));
        assert_eq!(routes.lookup(at(300), &some(3)), Some(via));
        assert!(routes.lookup(at(9_000_000), &some(2)).is_some());
    }

    #[test]
    fn bits_behind_the_prefix_do_not_count() {
        let mut routes = Routes::new([None; 1]);
        routes.add(route(some(1), 64, 1)).unwrap();
        routes.add(route(some(2), 64, 2)).unwrap();
        assert_eq!(
            routes.lookup(NOW, &some(9)),
            Some(Via::Neighbour(Address::Short(2)))
        );
    }
}
