//! Which parent a sleepy node has, and how the mesh learns of it.
//!
//! A node that loses its parent takes the next of its candidates and registers
//! its address there (RFC 6775 §5.5). The parent tells the next router towards
//! the border router, that one the next, with the messages of multihop
//! duplicate address detection (RFC 6775 §8.2); going hop by hop, they leave a
//! route to the address behind. The answer comes back along those routes, and
//! only then does the parent answer the node: who is registered is reachable.

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
use crate::nd::status;
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
        // If it was registered here, it has moved.
        self.paths.neighbours.forget(&address);
        let route = Route {
            prefix: address,
            len: 128,
            via: Via::Neighbour(behind),
        };
        let full = self.paths.routes.add(route).is_err();
        if !full && self.pass_up(now, report) {
            return Ok(());
        }
        let answer = DuplicateAddress {
            status: if full {
                status::CACHE_FULL
            } else {
                report.status
            },
            ..report
        };
        self.send_to_router(now, behind, &Message::DuplicateAddressConfirmation(answer));
        Ok(())
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
        if let Some(child) = self.paths.neighbours.lookup(&answer.address, now) {
            let registration = AddressRegistration {
                status: answer.status,
                lifetime_min: answer.lifetime_min,
                eui64: answer.eui64,
            };
            return self.confirm_registration(now, child, registration);
        }
        match self.paths.next_hop(now, &answer.address) {
            Some(NextHop::Link(down)) => {
                self.send_to_router(now, down, &Message::DuplicateAddressConfirmation(answer));
                Ok(())
            }
            _ => Err(DropReason::NoRoute),
        }
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
