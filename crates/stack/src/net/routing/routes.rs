//! The forwarding table, ordered by prefix length.

#[cfg_attr(not(feature = "rpl"), path = "routes/absent.rs")]
mod rpl;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::icmpv6::nd::{DuplicateAddress, Tid};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use crate::Error;
pub(crate) use rpl::*;

/// The next hop of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Via {
    /// Over the radio to this neighbour.
    Neighbour(Address),
    /// Over the radio to the destination. Its link-layer address is derived from the interface
    /// identifier (RFC 4944 §6, RFC 6282 §3.2.2).
    OnLink,
    /// To the host side, for example a TUN interface.
    Host,
    /// No next hop: in this prefix, only addresses with a more specific route or a registration
    /// exist. Senders get an error at once (RFC 4443 §3.1, code 3).
    Unreachable,
}

impl Via {
    /// Returns whether this neighbour is the next hop.
    pub(crate) fn is(self, link: Address) -> bool {
        matches!(self, Via::Neighbour(next_hop) if next_hop == link)
    }
}

/// One entry of the forwarding table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The prefix of the destinations.
    pub prefix: Addr,
    /// Length of the prefix in bits, 0 (the default route) to 128.
    pub len: u8,
    /// The next hop.
    pub via: Via,
}

/// An entry of a node's table of routes. A border router may have a thousand. An entry that a
/// registration has created takes the same room as any other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteSlot {
    prefix: Addr,
    kind: Kind,
}

/// The `len` of a given host route that ends when its destination registers: a separate flag would
/// make each route larger.
const UNTIL_REGISTERED: u8 = 255;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Given {
        len: u8,
        via: Via,
    },
    Registered {
        link: u16,
        registration: Registration,
    },
    #[allow(dead_code, reason = "only RPL has downward routes")]
    Downward(DownwardRoute),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Registration {
    pub(crate) tid: Option<Tid>,
    owner: Owner,
    /// The end of the registration, in [`spells`], wrapping. As bytes, because an aligned number
    /// would make the route two bytes larger.
    until: [u8; 2],
}

/// The owner of a registration: the bytes of its EUI-64 that the manufacturer assigns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Owner([u8; 5]);

/// The longest lifetime of a registration in minutes: one day, so that the routes to a host that
/// has left expire. RFC 6775 leaves the limit to the router.
pub(crate) const LIFETIME_MAX_MIN: u16 = 24 * 60;

impl Owner {
    pub(crate) fn of(eui64: [u8; 8]) -> Self {
        let [.., a, b, c, d, e] = eui64;
        Owner([a, b, c, d, e])
    }
}

/// Returns the time in spells of 2^26 microseconds (67 s). Minutes would require a division for
/// each packet to a registered address.
const fn spells(at: Instant) -> u16 {
    (at.as_micros() >> 26) as u16
}

/// The longest lifetime of a registration in spells, rounded up.
const SPELLS_MAX: u16 = {
    let longest = Duration::from_millis_u32(LIFETIME_MAX_MIN as u32 * 60_000);
    spells(Instant::from_micros(longest.as_micros())) + 1
};

impl Registration {
    /// The registration lasts to the end of its last spell, a period of 67 s (see [`spells`]).
    pub(crate) fn new(now: Instant, report: &DuplicateAddress) -> Self {
        let lifetime = u32::from(report.lifetime_min.min(LIFETIME_MAX_MIN)).wrapping_mul(60_000);
        Registration {
            tid: report.tid,
            owner: Owner::of(report.eui64),
            until: spells(now + Duration::from_millis_u32(lifetime)).to_be_bytes(),
        }
    }

    pub(crate) fn is_of(&self, eui64: [u8; 8]) -> bool {
        self.owner == Owner::of(eui64)
    }

    fn is_good(&self, now: Instant) -> bool {
        u16::from_be_bytes(self.until).wrapping_sub(spells(now)) <= SPELLS_MAX
    }
}

impl RouteSlot {
    fn given(route: Route) -> Self {
        let len = route.len.min(128);
        RouteSlot {
            // Bits behind the prefix have no meaning, and must not distinguish routes.
            prefix: addr::prefix(&route.prefix, len),
            kind: Kind::Given {
                len,
                via: route.via,
            },
        }
    }

    fn len(&self) -> u8 {
        match self.kind {
            Kind::Given { len, .. } => len.min(128),
            Kind::Registered { .. } => 128,
            Kind::Downward(_) => 128,
        }
    }

    fn via(&self) -> Via {
        match self.kind {
            Kind::Given { via, .. } => via,
            Kind::Registered { link, .. } => Via::Neighbour(Address::Short(link)),
            Kind::Downward(downward) => Via::Neighbour(downward.next_hop()),
        }
    }

    /// Returns whether the route has not expired. A given route never expires.
    fn is_good(&self, now: Instant) -> bool {
        match self.kind {
            Kind::Given { .. } => true,
            Kind::Registered { registration, .. } => registration.is_good(now),
            Kind::Downward(downward) => downward.is_good(now),
        }
    }

    fn is_usable(&self, now: Instant) -> bool {
        match self.kind {
            Kind::Downward(downward) => downward.is_usable(now),
            _ => self.is_good(now),
        }
    }

    fn is(&self, route: &Route) -> bool {
        self.len() == route.len && self.prefix == route.prefix && self.via() == route.via
    }
}

/// A table of routes in the caller's memory, sorted by descending prefix length and, within a
/// length, by prefix.
pub(crate) struct RouteTable<T> {
    table: T,
    used: usize,
    /// The number of host routes, which are the first entries and are found by binary search.
    hosts: usize,
}

impl<T: AsRef<[Option<RouteSlot>]> + AsMut<[Option<RouteSlot>]>> RouteTable<T> {
    pub(crate) fn new(mut table: T) -> Self {
        table.as_mut().fill(None);
        RouteTable {
            table,
            used: 0,
            hosts: 0,
        }
    }

    fn entries(&self) -> impl Iterator<Item = &RouteSlot> {
        self.table.as_ref().iter().take(self.used).flatten()
    }

    /// Adds a route, or replaces the one with the same prefix and length.
    pub(crate) fn add(&mut self, route: Route) -> Result<(), Error> {
        self.insert(RouteSlot::given(route))
    }

    /// Adds a host route that holds until its destination registers.
    pub(crate) fn add_until_registered(&mut self, to: Addr, via: Via) -> Result<(), Error> {
        self.insert(RouteSlot {
            prefix: to,
            kind: Kind::Given {
                len: UNTIL_REGISTERED,
                via,
            },
        })
    }

    /// Returns the given route to this one address, if registrations do not replace it.
    pub(crate) fn firm(&self, now: Instant, to: &Addr) -> Option<Via> {
        match self.host(now, to)?.kind {
            Kind::Given { len: 128, via } => Some(via),
            _ => None,
        }
    }

    /// Adds or replaces the route to the one address `to`, for a registration, by the neighbour
    /// with this short address.
    pub(crate) fn add_registered(
        &mut self,
        to: Addr,
        link: u16,
        registration: Registration,
    ) -> Result<(), Error> {
        self.insert(RouteSlot {
            prefix: to,
            kind: Kind::Registered { link, registration },
        })
    }

    pub(crate) fn registration(&self, now: Instant, to: &Addr) -> Option<Registration> {
        match self.host(now, to)?.kind {
            Kind::Registered { registration, .. } => Some(registration),
            _ => None,
        }
    }

    /// Returns the number of valid routes that registrations or DAOs have created.
    pub(crate) fn learnt(&self, now: Instant) -> usize {
        let is_learnt =
            |route: &&RouteSlot| !matches!(route.kind, Kind::Given { .. }) && route.is_good(now);
        self.entries().filter(is_learnt).count()
    }

    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(ended) = self.ended(now) {
            self.remove(&ended);
        }
    }

    fn ended(&self, now: Instant) -> Option<Route> {
        let ended = self.entries().find(|route| !route.is_good(now))?;
        let (prefix, len, via) = (ended.prefix, ended.len(), ended.via());
        Some(Route { prefix, len, via })
    }

    fn insert(&mut self, route: RouteSlot) -> Result<(), Error> {
        let is_before = |r: &&RouteSlot| {
            r.len() > route.len() || r.len() == route.len() && r.prefix < route.prefix
        };
        let used = self.used;
        let at = self.entries().take_while(is_before).count();
        let slots = self.table.as_mut();
        if let Some(Some(present)) = slots.get_mut(at)
            && present.len() == route.len()
            && present.prefix == route.prefix
        {
            *present = route;
            return Ok(());
        }
        let Some(tail) = slots.get_mut(at..=used) else {
            return Err(Error::NoSlot);
        };
        // The entries behind the new one move back by one.
        let mut moved = Some(route);
        for place in tail {
            core::mem::swap(place, &mut moved);
        }
        self.used = used.saturating_add(1);
        self.hosts = self.hosts.saturating_add(usize::from(route.len() == 128));
        Ok(())
    }

    pub(crate) fn remove(&mut self, route: &Route) {
        let used = self.table.as_mut().get_mut(..self.used).unwrap_or_default();
        let is_it = |slot: &Option<RouteSlot>| slot.as_ref().is_some_and(|slot| slot.is(route));
        let Some(at) = used.iter().position(is_it) else {
            return;
        };
        // The entries behind the removed one move up, beginning with the last.
        let mut moved = None;
        for place in used.get_mut(at..).unwrap_or_default().iter_mut().rev() {
            core::mem::swap(place, &mut moved);
        }
        self.used = self.used.saturating_sub(1);
        let hosts = usize::from(route.len == 128);
        self.hosts = self.hosts.saturating_sub(hosts);
    }

    pub(crate) fn clear(&mut self) {
        self.table.as_mut().fill(None);
        self.used = 0;
        self.hosts = 0;
    }

    /// Returns whether the neighbour is the next hop to another destination than itself.
    pub(crate) fn leads_through(&self, link: Address) -> bool {
        let own = addr::iid_of(link);
        self.entries().any(|route| {
            let is_itself = route.len() == 128 && own == Some(addr::iid(&route.prefix));
            let is_itself = is_itself || matches!(route.kind, Kind::Downward(it) if it.is_host());
            route.via().is(link) && !is_itself
        })
    }

    pub(crate) fn names(&self, now: Instant, link: Address) -> bool {
        self.entries()
            .any(|route| route.via().is(link) && route.is_good(now))
    }

    /// Returns the next hop to `dst`, by the longest matching prefix.
    pub(crate) fn lookup(&self, now: Instant, dst: &Addr) -> Option<Via> {
        if let Some(host) = self.host(now, dst) {
            return Some(host.via());
        }
        self.entries()
            .skip(self.hosts)
            .find(|r| r.prefix.shares_prefix(dst, r.len()))
            .map(RouteSlot::via)
    }

    /// Returns the next hop to `dst` in the table of a leaf. The program has given all of its few
    /// routes, so none expires.
    pub(crate) fn longest(&self, dst: &Addr) -> Option<Via> {
        let mut entries = self.entries();
        let found = entries.find(|r| r.prefix.shares_prefix(dst, r.len()));
        found.map(RouteSlot::via)
    }

    /// Returns the next hop to `dst` by a host route.
    #[allow(dead_code, reason = "used only by RPL")]
    pub(crate) fn lookup_host(&self, now: Instant, dst: &Addr) -> Option<Via> {
        self.host(now, dst).map(RouteSlot::via)
    }

    fn host(&self, now: Instant, dst: &Addr) -> Option<&RouteSlot> {
        let host = self.table.as_ref().get(self.host_at(dst)?)?.as_ref();
        host.filter(|host| host.is_usable(now))
    }

    fn host_at(&self, dst: &Addr) -> Option<usize> {
        let hosts = self.table.as_ref().get(..self.hosts)?;
        let found = hosts.binary_search_by(|r| match r {
            Some(route) => route.prefix.cmp(dst),
            None => core::cmp::Ordering::Greater,
        });
        found.ok()
    }
}

#[cfg(test)]
mod tests;
