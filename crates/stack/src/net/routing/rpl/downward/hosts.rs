//! Hosts that do not know RPL (RFC 9010). A registration with this router (RFC 8505) counts
//! like a DAO of a neighbour. The router advertises the address as an external target, whose
//! Path Sequence is the TID of the registration, until the registration ends.
//!
//! Not implemented: the owner of an address in target options (RFC 9010 §6.1) and in messages to
//! the root. Only the router with the registration knows the owner; elsewhere the later
//! registration wins.

use redpoll_base::{Addr, Instant};
use redpoll_wire::icmpv6::nd::AddressRegistration;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{Sequence, TargetOption};

use super::{Downward, Upward, is_good, is_possible};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::nd::status;
use crate::net::outgoing::Outbox;
use crate::net::routing::registered::{Registered, confirm};
use crate::net::routing::routes::{Advertisement, DownwardRoute, Replacement, Target};
use crate::net::routing::rpl::config::count;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::timing::jittered;
use crate::net::routing::{Control, LIFETIME_MAX_MIN, Peer, Via};
use crate::profile::Profile;

/// Whether this build lets hosts that do not know RPL register.
pub(in crate::net::routing::rpl) const IS_BUILT: bool = true;
pub(super) type Hosts<M> = Option<Registered<M>>;

/// The sender of a registration.
#[derive(Clone, Copy, Debug)]
struct Applicant {
    /// The address that the sender registers.
    src: Addr,
    link: Address,
    peer: Peer,
}

impl<P: Profile> Downward<P> {
    /// Lets hosts register with this router.
    pub(in crate::net::routing::rpl) fn take_hosts(
        &mut self,
        upward: &Upward<P>,
        hosts: Registered<P::Memory>,
    ) {
        self.hosts = Some(hosts).filter(|_| !upward.is_leaf());
    }

    /// Returns the hosts that register with this router, if it takes registrations.
    pub(in crate::net::routing::rpl) const fn registered(&self) -> Option<&Registered<P::Memory>> {
        self.hosts.as_ref()
    }

    pub(in crate::net::routing::rpl) const fn registered_mut(
        &mut self,
    ) -> Option<&mut Registered<P::Memory>> {
        self.hosts.as_mut()
    }

    pub(super) fn host(&self, now: Instant, dst: &Addr) -> Option<Via> {
        self.hosts.as_ref()?.neighbour(now, dst)
    }

    /// Processes the registration of a host, or its end.
    pub(in crate::net::routing::rpl) fn on_registration(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        outbox: &mut Outbox,
        control: Control,
    ) -> Result<(), DropReason> {
        let Control::Registration {
            address,
            link,
            target,
            asked,
            crowded,
        } = control
        else {
            return Err(DropReason::IcmpIgnored);
        };
        // A router that has not joined does not answer, so that the host looks for another router.
        let Some(dodag) = upward.joined() else {
            return Err(DropReason::IcmpIgnored);
        };
        if !dodag.holds(&address) {
            return Err(DropReason::BadSource);
        }
        let asked = AddressRegistration {
            lifetime_min: asked.lifetime_min.min(LIFETIME_MAX_MIN),
            ..asked
        };
        let status = match (crowded, Peer::of(link)) {
            (false, Some(peer)) => {
                let host = Applicant {
                    src: address,
                    link,
                    peer,
                };
                self.register(cx, upward, identity, host, &asked)
            }
            _ => status::CACHE_FULL,
        };
        if status != status::SUCCESS {
            count(&mut cx.shared.counters.registrations_refused);
        }
        let registration = AddressRegistration { status, ..asked };
        confirm(outbox, identity, link, target, registration);
        Ok(())
    }

    /// Registers a host. Returns the status of the registration.
    fn register(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
        identity: &Identity,
        host: Applicant,
        asked: &AddressRegistration,
    ) -> u8 {
        let Applicant { src, link, peer } = host;
        let now = cx.now;
        let Some(dodag) = upward.dodag() else {
            return status::CACHE_FULL;
        };
        let known = cx.table.downward_mut(&src).copied();
        let known = known.filter(|known| is_good(known, now));
        let whole = TargetOption {
            prefix: src,
            len: 128,
        };
        // A host cannot register the address of a node of the DODAG.
        let is_members = known.is_some_and(|known| known.target == Target::Member);
        if is_members || !is_possible(identity, dodag, &whole) {
            return status::DUPLICATE;
        }
        // A later registration with another router makes this one out of date.
        if let (Some(known), Some(tid)) = (known, asked.tid)
            && !known.is_host()
            && tid.is_stale_after(known.sequence)
        {
            return status::MOVED;
        }
        let Some(hosts) = &mut self.hosts else {
            return status::CACHE_FULL;
        };
        let status = hosts.register(now, src, link, asked);
        // RFC 8505 §5.1: without the R flag the host itself ensures that it is reachable.
        if status != status::SUCCESS || !(asked.routed || asked.tid.is_none()) {
            return status;
        }
        let follows = known.map_or(Sequence::FIRST, |known| known.sequence.next());
        let sequence = asked.tid.unwrap_or(follows);
        if asked.lifetime_min == 0 {
            let known = cx.table.downward_mut(&src);
            if let Some(known) = known.filter(|it| it.is_host()) {
                known.end(now, sequence);
                self.advertise_hosts(cx);
            }
            return status;
        }
        let lifetime_s = u32::from(asked.lifetime_min).saturating_mul(60);
        let mut downward = DownwardRoute::new(now, peer, sequence, Some(lifetime_s));
        downward.target = Target::Host;
        if upward.is_root() {
            downward.advertisement = Advertisement::Done;
        }
        let rule = Replacement {
            brief_s: 0,
            by_hops: dodag.is_storing(),
        };
        if cx.table.add_downward(now, src, downward, rule).is_err() {
            count(&mut cx.shared.counters.targets_refused);
            self.forget_host(now, &src);
            return status::CACHE_FULL;
        }
        self.advertise_hosts(cx);
        status
    }

    /// Schedules a new DAO, after DelayDAO, because the registrations have changed.
    fn advertise_hosts(&mut self, cx: &mut Context<'_, P>) {
        self.daos.repeats = false;
        let delay = jittered(cx.shared.config.dao_delay, &mut cx.shared.rng);
        self.daos.due.get_or_insert(cx.now + delay);
    }

    /// Withdraws the hosts whose registrations have expired.
    pub(in crate::net::routing::rpl) fn end_hosts(
        &mut self,
        cx: &mut Context<'_, P>,
        upward: &Upward<P>,
    ) {
        let now = cx.now;
        let mut any = false;
        cx.table.each_downward(|_, downward| {
            if downward.is_host() && !downward.is_gone() && !downward.is_good(now) {
                downward.lapse(now);
                any = true;
            }
        });
        if any && !upward.is_root() {
            self.advertise_hosts(cx);
        }
    }

    /// Forgets a host: its address is registered elsewhere, or the table of routes is full.
    pub(super) fn forget_host(&mut self, now: Instant, address: &Addr) {
        if let Some(hosts) = &mut self.hosts {
            hosts.forget(now, address);
        }
    }
}
