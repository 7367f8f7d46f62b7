//! Which parent a sleepy node has, and how the mesh learns of it.
//!
//! A node that loses its parent takes the next of its candidates and registers
//! its address there (RFC 6775 §5.5). The parent tells the next router towards
//! the border router, that one the next, with the messages of multihop
//! duplicate address detection (RFC 6775 §8.2); going hop by hop, they leave a
//! route to the address behind. The answer comes back along those routes, and
//! only then does the parent answer the node: who is registered is reachable.
//!
//! Each registration has a number (RFC 8505 §5.2), so that one that was held up at a
//! former parent does not take the place of a later one. The router where the two
//! meet says "moved" to whoever is behind, and what the older one has left on its
//! way is removed.

use redpoll_base::{Addr, Instant, Memory};
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{
    AddressRegistration, DuplicateAddress, NdOption, NeighborAdvertisement,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use super::Node;
use super::discovery::OptionsBuffer;
use super::paths::{NextHop, is_unicast};
use crate::counters::DropReason;
use crate::nd::{is_stale, status};
use crate::routes::{Route, Via};

/// The child's side.
impl<M: Memory + 'static> Node<M> {
    /// Frames to the parent, data requests among them, have failed or not.
    /// Too many in a row, and the node turns to another.
    pub(super) fn note_parent(&mut self, now: Instant, delivered: bool) {
        let Some(sleepy) = &mut self.sleepy else {
            return;
        };
        if sleepy.on_link(delivered) {
            self.change_parent(now);
        }
    }

    /// The next candidate becomes the parent.
    pub(super) fn change_parent(&mut self, now: Instant) {
        let Some(sleepy) = &mut self.sleepy else {
            return;
        };
        let parent = sleepy.next_parent(now);
        self.counters.parent_changes = self.counters.parent_changes.wrapping_add(1);
        let default = Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via: Via::Neighbour(parent),
        };
        // There was one before: it takes its place.
        let _ = self.paths.routes.add(default);
        self.solicitor.begin_registration(parent, now);
    }
}

/// The routers' side.
impl<M: Memory + 'static> Node<M> {
    /// After a registration with this router: tells the next one, if there is
    /// one. `false` if this router is the last, and can answer.
    pub(super) fn report_registration(
        &mut self,
        now: Instant,
        address: Addr,
        registration: AddressRegistration,
    ) -> bool {
        let report = DuplicateAddress {
            status: status::SUCCESS,
            tid: registration.tid,
            lifetime_min: registration.lifetime_min,
            eui64: registration.eui64,
            address,
        };
        self.pass_up(now, report)
    }

    /// Sends a report to the next router towards the border router.
    fn pass_up(&mut self, now: Instant, report: DuplicateAddress) -> bool {
        let Some(advertised) = self.config.nd.advertise else {
            return false;
        };
        let border = advertised.border_router;
        if self.is_own(&border) {
            return false;
        }
        let Some(NextHop::Link(up)) = self.paths.next_hop(now, &border) else {
            return false;
        };
        self.send_to_router(now, up, &Message::DuplicateAddressRequest(report));
        true
    }

    fn send_to_router(&mut self, now: Instant, router: Address, message: &Message<'_>) {
        if let Some(to) = addr::link_local(router) {
            self.send_nd(now, self.link_local, to, message);
        }
    }

    /// A router behind this one reports a registration.
    pub(super) fn on_registration_report(
        &mut self,
        now: Instant,
        src: Addr,
        report: DuplicateAddress,
    ) -> Result<(), DropReason> {
        let advertised = self.config.nd.advertise.ok_or(DropReason::IcmpIgnored)?;
        let behind = addr::link_address(&src);
        if !addr::is_link_local(&src) || !is_unicast(behind) {
            return Err(DropReason::BadSource);
        }
        let address = report.address;
        if !address.shares_prefix(&advertised.prefix, 64) || self.is_own(&address) {
            return Err(DropReason::BadDestination);
        }
        let status = self.note_moved(now, behind, &report);
        if status == status::SUCCESS && self.pass_up(now, report) {
            return Ok(());
        }
        let answer = DuplicateAddress { status, ..report };
        self.send_to_router(now, behind, &Message::DuplicateAddressConfirmation(answer));
        Ok(())
    }

    /// Leads packets to where a report came from, if it is no older than what is
    /// known; with which status the report is to be answered, or passed on.
    fn note_moved(&mut self, now: Instant, behind: Address, report: &DuplicateAddress) -> u8 {
        let DuplicateAddress { address, tid, .. } = *report;
        let paths = &mut self.paths;
        let known = (
            paths.neighbours.tid(&address, now),
            paths.routes.tid(&address),
        );
        if is_stale(tid, known.0) || is_stale(tid, known.1) {
            return status::MOVED;
        }
        // If it was registered here, it has moved.
        paths.neighbours.forget(&address);
        let (via, old) = (Via::Neighbour(behind), paths.routes.lookup(&address));
        if paths.routes.add_registered(address, via, tid).is_err() {
            return status::CACHE_FULL;
        }
        // RFC 8505 §5.6: the state on the former way is cleaned up.
        if let (Some(old_tid), Some(Via::Neighbour(former))) = (known.1, old)
            && former != behind
        {
            let moved = DuplicateAddress {
                status: status::MOVED,
                tid: Some(old_tid),
                ..*report
            };
            self.send_to_router(now, former, &Message::DuplicateAddressConfirmation(moved));
        }
        status::SUCCESS
    }

    /// The answer, on its way back.
    pub(super) fn on_registration_answer(
        &mut self,
        now: Instant,
        answer: DuplicateAddress,
    ) -> Result<(), DropReason> {
        if self.config.nd.advertise.is_none() {
            return Err(DropReason::IcmpIgnored);
        }
        let DuplicateAddress { address, tid, .. } = answer;
        let paths = &mut self.paths;
        if let Some(child) = paths.neighbours.lookup(&address, now) {
            // It may have been registered anew since.
            if tid != paths.neighbours.tid(&address, now) {
                return Err(DropReason::IcmpIgnored);
            }
            if answer.status == status::MOVED {
                paths.neighbours.forget(&address);
            }
            let registration = AddressRegistration {
                status: answer.status,
                tid,
                routed: tid.is_some(),
                lifetime_min: answer.lifetime_min,
                eui64: answer.eui64,
            };
            return self.confirm_registration(now, child, registration);
        }
        let Some(NextHop::Link(down)) = paths.next_hop(now, &address) else {
            return Err(DropReason::NoRoute);
        };
        if tid != paths.routes.tid(&address) {
            return Err(DropReason::IcmpIgnored);
        }
        if answer.status == status::MOVED && tid.is_some() {
            paths.routes.remove(&Route {
                prefix: address,
                len: 128,
                via: Via::Neighbour(down),
            });
        }
        self.send_to_router(now, down, &Message::DuplicateAddressConfirmation(answer));
        Ok(())
    }

    /// RFC 6775 §6.5.2: the answer goes to the link-local address, which is
    /// never in doubt.
    pub(super) fn confirm_registration(
        &mut self,
        now: Instant,
        child: Address,
        registration: AddressRegistration,
    ) -> Result<(), DropReason> {
        let tllao = NdOption::TargetLinkLayer(self.config.link_address());
        let options = OptionsBuffer::of(&[tllao, NdOption::AddressRegistration(registration)])
            .map_err(|_| DropReason::TooBig)?;
        let message = Message::NeighborAdvertisement(NeighborAdvertisement {
            router: true,
            solicited: true,
            override_cached: true,
            target: self.link_local,
            options: options.parsed(),
        });
        self.send_to_router(now, child, &message);
        Ok(())
    }
}
