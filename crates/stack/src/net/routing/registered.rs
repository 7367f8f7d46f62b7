//! The routes of routers whose hosts register with them: a registration creates routes on its way
//! to the border router.
//!
//! A host registers its address with the router that it has chosen (RFC 6775 §5.5).
//! That router reports the registration to the next router towards the border router, and so on, in
//! the messages of multihop duplicate address detection (RFC 6775 §8.2). Each hop creates a route
//! to the address. The answer returns along these routes, and only then does the first router
//! answer the host. A registered host is therefore reachable.
//!
//! Each registration has a TID (RFC 8505 §5.2), so that an older registration, which was delayed at
//! the previous router, does not replace a newer one. A router that learns of both reports "moved"
//! to the neighbour that reported the older one, and the routes of the older one are removed.
//!
//! The reports and their answers are not authenticated (RFC 6775 §8.2.1 has no check of their
//! sender). A router accepts a report only from a neighbour that is the next hop of a route or has
//! acknowledged a frame, and an answer only from the next router towards the border router
//! (ADR 38).

use redpoll_base::{Addr, Duration, Instant, Memory};
use redpoll_wire::icmpv6::nd::{AddressRegistration, DuplicateAddress};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use super::{
    Control, LIFETIME_MAX_MIN, Neighbour, Neighbours, Registration, Route, Table, Via, is_stale,
    resolve,
};
use crate::counters::DropReason;
use crate::link::Tenure;
use crate::net::identity::Identity;
use crate::net::nd::{Advertised, status};
use crate::net::outgoing::{Content, Outbox};
use crate::packet::{NextHop, is_unicast};

pub(super) struct Registered<M: Memory + 'static> {
    advertised: Advertised,
    neighbours: Neighbours<M::Table<Option<Neighbour>>>,
    /// A neighbour and the new end of its registration, until [`Self::poll_tenure`] returns it.
    tenure: Option<Tenure>,
}

/// Time for which a sleeping neighbour can still poll packets, among them the answer, after its
/// registration has failed or ended.
const ANSWER: Duration = Duration::from_secs(40);

impl<M: Memory + 'static> Registered<M> {
    pub(super) fn new(
        advertised: Advertised,
        neighbours: Neighbours<M::Table<Option<Neighbour>>>,
    ) -> Self {
        Registered {
            advertised,
            neighbours,
            tenure: None,
        }
    }

    pub(super) fn advertised(&self) -> Advertised {
        self.advertised
    }

    pub(super) fn neighbours(&self, now: Instant) -> usize {
        self.neighbours.len(now)
    }

    pub(super) fn poll_tenure(&mut self) -> Option<Tenure> {
        self.tenure.take()
    }

    pub(super) fn tenure(&self, now: Instant, link: Address) -> Option<Instant> {
        self.neighbours.tenure(link, now)
    }

    pub(super) fn lookup(&self, now: Instant, table: &Table<M>, dst: &Addr) -> Option<Via> {
        match self.neighbours.lookup(dst, now) {
            Some(link) => Some(Via::Neighbour(link)),
            None => table.lookup(now, dst),
        }
    }

    /// Registers an address of a host, and returns the status. [`Self::poll_tenure`] then returns
    /// until when the neighbour is registered.
    #[allow(dead_code, reason = "used only by routers that run RPL")]
    pub(super) fn register(
        &mut self,
        now: Instant,
        address: Addr,
        link: Address,
        asked: &AddressRegistration,
    ) -> u8 {
        let status = self.neighbours.register(now, address, link, asked);
        self.note_tenure(now, link);
        status
    }

    /// Records until when a neighbour is registered or, if not registered, can poll the answer.
    fn note_tenure(&mut self, now: Instant, link: Address) {
        let until = self.neighbours.tenure(link, now).unwrap_or(now + ANSWER);
        self.tenure = Some(Tenure { link, until });
    }

    /// Removes a registration: the address is registered with another router now.
    #[allow(dead_code, reason = "used only by routers that run RPL")]
    pub(super) fn forget(&mut self, now: Instant, address: &Addr) {
        if let Some(link) = self.neighbours.forget(address) {
            let until = now;
            self.tenure = Some(Tenure { link, until });
        }
    }

    #[allow(dead_code, reason = "used only by routers that run RPL")]
    pub(super) fn neighbour(&self, now: Instant, address: &Addr) -> Option<Via> {
        self.neighbours.lookup(address, now).map(Via::Neighbour)
    }

    fn next_hop(&self, now: Instant, table: &Table<M>, dst: &Addr) -> Option<NextHop> {
        resolve(dst, || self.lookup(now, table, dst))
    }

    pub(super) fn on_control(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<M>,
        outbox: &mut Outbox,
        control: Control,
    ) -> Result<(), DropReason> {
        table.expire(now);
        let mut router = Router {
            now,
            identity,
            table,
            outbox,
            way: self,
        };
        match control {
            Control::Registration {
                address,
                link,
                target,
                asked,
                crowded: false,
            } => router.on_registration(address, link, target, asked),
            Control::Registration {
                link,
                target,
                asked,
                ..
            } => {
                router.answer(link, target, asked, status::CACHE_FULL);
                Ok(())
            }
            Control::Report {
                src,
                report,
                is_proven,
            } => router.on_report(src, report, is_proven),
            Control::Answer { src, answer } => router.on_answer(src, answer),
        }
    }
}

/// Answers a registration of the neighbour at `link`, with the `target` of its solicitation
/// (RFC 8505 §5.5), to its link-local address, which is unique (RFC 6775 §6.5.2).
pub(super) fn confirm(
    outbox: &mut Outbox,
    identity: &Identity,
    link: Address,
    target: Addr,
    registration: AddressRegistration,
) {
    if let Some(to) = addr::link_local(link) {
        let content = Content::NeighborAdvertisement {
            router: true,
            target,
            registration: Some(registration),
        };
        outbox.push(identity.link_local, to, content);
    }
}

struct Router<'r, M: Memory + 'static> {
    now: Instant,
    identity: &'r Identity,
    table: &'r mut Table<M>,
    outbox: &'r mut Outbox,
    way: &'r mut Registered<M>,
}

impl<M: Memory + 'static> Router<'_, M> {
    /// Registers `address` for the host at `link` (RFC 6775 §6.5).
    fn on_registration(
        &mut self,
        address: Addr,
        link: Address,
        target: Addr,
        asked: AddressRegistration,
    ) -> Result<(), DropReason> {
        // Refuse an address outside the mesh: its registration would attract its packets here.
        if !address.shares_prefix(&self.way.advertised.prefix, 64) {
            return Err(DropReason::BadSource);
        }
        let asked = AddressRegistration {
            lifetime_min: asked.lifetime_min.min(LIFETIME_MAX_MIN),
            ..asked
        };
        let known = self.table.registration(self.now, &address);
        let elsewhere = |via: Via| !via.is(link);
        let firm = self.table.firm(self.now, &address);
        let status = match known {
            _ if self.identity.is_own(&address) => status::DUPLICATE,
            // The program has given a route to this address that leads elsewhere.
            _ if firm.is_some_and(elsewhere) => status::DUPLICATE,
            // RFC 6775 §6.5.1: another host has registered the address with another router.
            Some(known) if !known.is_of(asked.eui64) => status::DUPLICATE,
            // A stale TID: the host has registered elsewhere in the meantime.
            Some(known) if is_stale(asked.tid, known.tid) => status::MOVED,
            _ => self
                .way
                .neighbours
                .register(self.now, address, link, &asked),
        };
        self.way.note_tenure(self.now, link);
        // RFC 8505 §5.1: without the R flag the host itself ensures that it is reachable.
        let is_routed = asked.routed || asked.tid.is_none();
        let is_reported = status == status::SUCCESS && is_routed && self.report(address, asked);
        if is_reported && asked.lifetime_min > 0 {
            // The host is answered after the next router has answered. A host that ends its
            // registration is answered now: the next router's answer would find no route to it.
            return Ok(());
        }
        self.answer(link, target, asked, status);
        Ok(())
    }

    fn answer(&mut self, link: Address, target: Addr, asked: AddressRegistration, status: u8) {
        let registration = AddressRegistration { status, ..asked };
        confirm(self.outbox, self.identity, link, target, registration);
    }

    /// Reports a registration with this router to the next router. Returns `false` if this router
    /// is the last one, and can answer.
    fn report(&mut self, address: Addr, registration: AddressRegistration) -> bool {
        self.pass_up(DuplicateAddress {
            status: status::SUCCESS,
            tid: registration.tid,
            lifetime_min: registration.lifetime_min,
            eui64: registration.eui64,
            address,
        })
    }

    /// Returns the next router towards the border router; `None` if this router is the last one.
    fn up(&self) -> Option<Address> {
        let border = self.way.advertised.border_router;
        if self.identity.is_own(&border) {
            return None;
        }
        match self.way.next_hop(self.now, self.table, &border)? {
            NextHop::Link(up) => Some(up),
            NextHop::Host => None,
        }
    }

    fn pass_up(&mut self, report: DuplicateAddress) -> bool {
        let Some(up) = self.up() else {
            return false;
        };
        self.send(up, Content::Report(report));
        true
    }

    fn send(&mut self, router: Address, content: Content) {
        if let Some(to) = addr::link_local(router) {
            self.outbox.push(self.identity.link_local, to, content);
        }
    }

    fn on_report(
        &mut self,
        src: Addr,
        report: DuplicateAddress,
        is_proven: bool,
    ) -> Result<(), DropReason> {
        let behind = addr::link_address(&src);
        if !addr::is_link_local(&src) || !is_unicast(behind) {
            return Err(DropReason::BadSource);
        }
        let report = DuplicateAddress {
            lifetime_min: report.lifetime_min.min(LIFETIME_MAX_MIN),
            ..report
        };
        let address = report.address;
        let is_here = address.shares_prefix(&self.way.advertised.prefix, 64);
        if !is_here || self.identity.is_own(&address) {
            return Err(DropReason::BadDestination);
        }
        if !is_proven && !self.table.names(self.now, behind) {
            // If the reporting router acknowledges this frame, its next report is accepted, when
            // the host repeats the registration.
            let content = Content::NeighborAdvertisement {
                router: true,
                target: self.identity.link_local,
                registration: None,
            };
            self.send(behind, content);
            return Err(DropReason::IcmpIgnored);
        }
        let status = self.note_moved(behind, &report);
        if status == status::SUCCESS && self.pass_up(report) {
            return Ok(());
        }
        let answer = DuplicateAddress { status, ..report };
        self.send(behind, Content::Answer(answer));
        Ok(())
    }

    /// Creates or removes the route to a reported address by the router `behind`, unless the report
    /// is older than the known registration. Returns the status of the registration.
    fn note_moved(&mut self, behind: Address, report: &DuplicateAddress) -> u8 {
        let DuplicateAddress { address, tid, .. } = *report;
        let neighbours = &mut self.way.neighbours;
        let here = neighbours.tid(&address, self.now);
        let registration = self.table.registration(self.now, &address);
        let known = registration.and_then(|registration| registration.tid);
        let owner = neighbours.owner(&address, self.now);
        let is_others = owner.is_some_and(|owner| owner != report.eui64)
            || registration.is_some_and(|it| !it.is_of(report.eui64));
        // The program may have given a route to this address.
        let firm = self.table.firm(self.now, &address);
        let is_elsewhere = firm.is_some_and(|via| !via.is(behind));
        // RFC 6775 §8.2.4: the address belongs to another host.
        if is_others || is_elsewhere {
            return status::DUPLICATE;
        }
        if firm.is_some() {
            return status::SUCCESS;
        }
        if is_stale(tid, here) || is_stale(tid, known) {
            return status::MOVED;
        }
        let old = self.table.lookup(self.now, &address);
        // RFC 6775 §6.5.3: a lifetime of zero ends a registration. Only a route by the sender of
        // this report is removed, because the host may have registered elsewhere since.
        if report.lifetime_min == 0 {
            if registration.is_some() && old.is_some_and(|via| via.is(behind)) {
                self.table.remove(&Route {
                    prefix: address,
                    len: 128,
                    via: Via::Neighbour(behind),
                });
            }
            return status::SUCCESS;
        }
        // A host that was registered here has moved.
        if let Some(link) = neighbours.forget(&address) {
            let until = self.now;
            self.way.tenure = Some(Tenure { link, until });
        }
        let registration = Registration::new(self.now, report);
        // Refuse an extended address, because a route has room for a short one only.
        let Address::Short(link) = behind else {
            return status::CACHE_FULL;
        };
        let added = self.table.add_registered(address, link, registration);
        if added.is_err() {
            return status::CACHE_FULL;
        }
        // RFC 8505 §5.6: the routers on the previous path remove their state.
        if let (Some(old_tid), Some(Via::Neighbour(former))) = (known, old)
            && former != behind
        {
            let moved = DuplicateAddress {
                status: status::MOVED,
                tid: Some(old_tid),
                ..*report
            };
            self.send(former, Content::Answer(moved));
        }
        status::SUCCESS
    }

    /// Processes the answer to a report, on its way back.
    fn on_answer(&mut self, src: Addr, answer: DuplicateAddress) -> Result<(), DropReason> {
        if self.up().and_then(addr::link_local) != Some(src) {
            return Err(DropReason::BadSource);
        }
        let DuplicateAddress { address, tid, .. } = answer;
        let neighbours = &mut self.way.neighbours;
        if let Some(child) = neighbours.lookup(&address, self.now) {
            // Ignore the answer to an old registration if the host has registered again.
            if tid != neighbours.tid(&address, self.now) {
                return Err(DropReason::IcmpIgnored);
            }
            // RFC 6775 §8.2.5: after an error the registration ends.
            if answer.status != status::SUCCESS {
                self.way.neighbours.forget(&address);
                self.way.note_tenure(self.now, child);
            }
            let registration = AddressRegistration {
                status: answer.status,
                tid,
                routed: tid.is_some(),
                lifetime_min: answer.lifetime_min,
                eui64: answer.eui64,
            };
            // The target of the solicitation: RFC 8505 §5.5 or, without a TID, RFC 6775 §6.5.2.
            let target = match tid {
                Some(_) => address,
                None => self.identity.link_local,
            };
            confirm(self.outbox, self.identity, child, target, registration);
            return Ok(());
        }
        let Some(NextHop::Link(down)) = self.way.next_hop(self.now, self.table, &address) else {
            return Err(DropReason::NoRoute);
        };
        let known = self.table.registration(self.now, &address);
        if tid != known.and_then(|known| known.tid) {
            return Err(DropReason::IcmpIgnored);
        }
        if answer.status != status::SUCCESS && tid.is_some() {
            self.table.remove(&Route {
                prefix: address,
                len: 128,
                via: Via::Neighbour(down),
            });
        }
        self.send(down, Content::Answer(answer));
        Ok(())
    }
}
