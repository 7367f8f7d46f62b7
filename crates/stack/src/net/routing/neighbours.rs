//! The addresses that are registered with a router (RFC 6775 §6.5, RFC 8505 §5.6).

use redpoll_base::{Addr, Duration, Instant};
use redpoll_wire::icmpv6::nd::{AddressRegistration, Tid};
use redpoll_wire::ieee802154::Address;

use crate::net::nd::status;

/// A registered neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    addr: Addr,
    link: Address,
    eui64: [u8; 8],
    until: Instant,
    tid: Option<Tid>,
}

/// The addresses registered with a router, in the caller's memory.
pub(crate) struct Neighbours<T> {
    table: T,
}

impl<T: AsRef<[Option<Neighbour>]> + AsMut<[Option<Neighbour>]>> Neighbours<T> {
    pub(crate) fn new(mut table: T) -> Self {
        table.as_mut().fill(None);
        Neighbours { table }
    }

    /// Processes a registration (RFC 6775 §6.5, RFC 8505 §5.6). Returns its status.
    pub(crate) fn register(
        &mut self,
        now: Instant,
        addr: Addr,
        link: Address,
        asked: &AddressRegistration,
    ) -> u8 {
        let AddressRegistration {
            eui64,
            lifetime_min,
            tid,
            ..
        } = *asked;
        let entry = Neighbour {
            addr,
            link,
            eui64,
            until: now + Duration::from_secs(60).times(lifetime_min.into()),
            tid,
        };
        let table = self.table.as_mut();
        let alive = |n: &Neighbour| n.until > now;
        if let Some(cell) = table
            .iter_mut()
            .find(|cell| cell.as_ref().is_some_and(|n| n.addr == addr && alive(n)))
        {
            if cell.is_some_and(|n| n.eui64 != eui64) {
                return status::DUPLICATE;
            }
            if is_stale(tid, cell.and_then(|n| n.tid)) {
                return status::MOVED;
            }
            // A lifetime of zero removes the registration.
            *cell = (lifetime_min > 0).then_some(entry);
            return status::SUCCESS;
        }
        if lifetime_min == 0 {
            return status::SUCCESS;
        }
        match table
            .iter_mut()
            .find(|cell| !cell.as_ref().is_some_and(alive))
        {
            Some(cell) => {
                *cell = Some(entry);
                status::SUCCESS
            }
            None => status::CACHE_FULL,
        }
    }

    pub(crate) fn len(&self, now: Instant) -> usize {
        let entries = self.table.as_ref().iter().flatten();
        entries.filter(|n| n.until > now).count()
    }

    /// Removes the registration of `addr`. Returns the link-layer address of its host.
    pub(crate) fn forget(&mut self, addr: &Addr) -> Option<Address> {
        let mut table = self.table.as_mut().iter_mut();
        let is_it = |neighbour: &Neighbour| neighbour.addr == *addr;
        let cell = table.find(|cell| cell.as_ref().is_some_and(is_it))?;
        Some(cell.take()?.link)
    }

    pub(crate) fn tenure(&self, link: Address, now: Instant) -> Option<Instant> {
        let mut until = None;
        for entry in self.table.as_ref().iter().flatten() {
            if entry.link == link && entry.until > now {
                until = until.max(Some(entry.until));
            }
        }
        until
    }

    pub(crate) fn owner(&self, addr: &Addr, now: Instant) -> Option<[u8; 8]> {
        Some(self.find(addr, now)?.eui64)
    }

    pub(crate) fn tid(&self, addr: &Addr, now: Instant) -> Option<Tid> {
        self.find(addr, now)?.tid
    }

    pub(crate) fn lookup(&self, addr: &Addr, now: Instant) -> Option<Address> {
        Some(self.find(addr, now)?.link)
    }

    fn find(&self, addr: &Addr, now: Instant) -> Option<&Neighbour> {
        let mut entries = self.table.as_ref().iter().flatten();
        entries.find(|n| n.addr == *addr && n.until > now)
    }
}

/// Returns whether a registration with `tid` is older than the one with `known`. A registration
/// without a TID is never older (RFC 8505 §6).
pub(crate) fn is_stale(tid: Option<Tid>, known: Option<Tid>) -> bool {
    tid.zip(known)
        .is_some_and(|(tid, known)| tid.is_stale_after(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_are_kept_replaced_refused_and_forgotten() {
        let mut cache = Neighbours::new([None; 2]);
        let now = Instant::from_millis(5);
        let addr = |n| Addr([n; 16]);
        let mut register = |at, a, link, eui, minutes| {
            let asked = AddressRegistration {
                lifetime_min: minutes,
                eui64: [eui; 8],
                ..AddressRegistration::default()
            };
            let status = cache.register(at, addr(a), Address::Short(link), &asked);
            (status, cache.lookup(&addr(a), at))
        };
        assert_eq!(register(now, 1, 11, 1, 5), (0, Some(Address::Short(11))));
        assert_eq!(register(now, 2, 12, 2, 5), (0, Some(Address::Short(12))));
        assert_eq!(register(now, 1, 99, 9, 5), (1, Some(Address::Short(11))));
        assert_eq!(register(now, 3, 13, 3, 5), (2, None));
        assert_eq!(register(now, 1, 21, 1, 5), (0, Some(Address::Short(21))));
        assert_eq!(register(now, 2, 12, 2, 0), (0, None));
        assert_eq!(register(now, 3, 13, 3, 5), (0, Some(Address::Short(13))));
        let later = now + Duration::from_secs(301);
        assert_eq!(register(later, 4, 14, 4, 5), (0, Some(Address::Short(14))));
        // A removal succeeds even if the registration has expired.
        assert_eq!(register(later, 3, 0, 0, 0), (0, None));
    }
}
