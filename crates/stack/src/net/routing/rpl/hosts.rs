//! Hosts that do not know RPL (RFC 9010). A registration with this router (RFC 8505) counts
//! like a DAO of a neighbour: the router tells of the address as of an external target, whose
//! Path Sequence is the registration's number, for as long as it is registered.
//!
//! Not here: the owner of an address in target options (RFC 9010 §6.1) and in messages to the
//! root. Whose an address is, is known where it is registered; elsewhere the later
//! registration counts.

use redpoll_base::{Addr, Instant};
use redpoll_wire::icmpv6::nd::AddressRegistration;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::{Sequence, TargetOption};

use super::config::count;
use super::downward::{is_possible, jittered, known_is_good};
use super::{DodagOf, Rpl, Table};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::nd::status;
use crate::net::outgoing::Outbox;
use crate::net::routing::registered::{Registered, confirm};
use crate::net::routing::routes::{DownwardRoute, News, Target};
use crate::net::routing::{Control, LIFETIME_MAX_MIN, Peer, Via};
use crate::profile::Profile;

/// Whether hosts that do not know RPL may register.
pub(super) const IS_BUILT: bool = true;
/// The hosts that have registered with this router.
pub(super) type Hosts<M> = Option<Registered<M>>;

impl<P: Profile> Rpl<P> {
    /// Hosts may register from now on.
    pub(super) fn take_hosts(&mut self, hosts: Registered<P::Memory>) {
        self.hosts = Some(hosts).filter(|_| !self.is_leaf());
    }

    /// The hosts that register with this router, if it takes registrations.
    pub(in crate::net::routing) const fn registered(&self) -> Option<&Registered<P::Memory>> {
        self.hosts.as_ref()
    }

    pub(in crate::net::routing) const fn registered_mut(
        &mut self,
    ) -> Option<&mut Registered<P::Memory>> {
        self.hosts.as_mut()
    }

    /// The registered host with this address.
    pub(super) fn host(&self, now: Instant, dst: &Addr) -> Option<Via> {
        self.hosts.as_ref()?.neighbour(now, dst)
    }

    /// A host registers with this router, or ends its registration.
    pub(super) fn take_control(
        &mut self,
        now: Instant,
        identity: &Identity,
        table: &mut Table<P::Memory>,
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
        // Without a way to the root it does not answer: the host looks for another router.
        let Some(dodag) = self.dodag.filter(|_| self.is_joined()) else {
            return Err(DropReason::IcmpIgnored);
        };
        if !address.shares_prefix(&dodag.prefix, 64) {
            return Err(DropReason::BadSource);
        }
        let asked = AddressRegistration {
            lifetime_min: asked.lifetime_min.min(LIFETIME_MAX_MIN),
            ..asked
        };
        let status = match (crowded, Peer::of(link)) {
            (false, Some(peer)) => {
                let host = (address, link, peer);
                self.register(now, (identity, &dodag), table, host, &asked)
            }
            _ => status::CACHE_FULL,
        };
        if status != status::SUCCESS {
            count(&mut self.shared.counters.registrations_refused);
        }
        let registration = AddressRegistration { status, ..asked };
        confirm(outbox, identity, (link, target), registration);
        Ok(())
    }

    /// The host at `link` registers the address `src`; with which status.
    fn register(
        &mut self,
        now: Instant,
        (identity, dodag): (&Identity, &DodagOf<P>),
        table: &mut Table<P::Memory>,
        (src, link, peer): (Addr, Address, Peer),
        asked: &AddressRegistration,
    ) -> u8 {
        let known = table.downward_mut(&src).copied();
        let known = known.filter(|known| known_is_good(known, now));
        let whole = TargetOption {
            prefix: src,
            len: 128,
        };
        // An address of the DODAG's own nodes is nobody else's.
        let is_members = known.is_some_and(|known| known.target == Target::Member);
        if is_members || !is_possible(identity, dodag, &whole) {
            return status::DUPLICATE;
        }
        // It may have moved on while this was on its way.
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
        // RFC 8505 §5.1: without R it sees to its being reachable itself.
        if status != status::SUCCESS || !(asked.routed || asked.tid.is_none()) {
            return status;
        }
        let follows = known.map_or(Sequence::FIRST, |known| known.sequence.next());
        let sequence = asked.tid.unwrap_or(follows);
        if asked.lifetime_min == 0 {
            if let Some(known) = table.downward_mut(&src).filter(|it| it.is_host()) {
                known.end(now, sequence);
                self.tell_of_hosts(now);
            }
            return status;
        }
        let lifetime_s = u32::from(asked.lifetime_min).saturating_mul(60);
        let mut downward = DownwardRoute::new(now, peer, sequence, Some(lifetime_s));
        downward.target = Target::Host;
        if self.is_root() {
            downward.news = News::Old;
        }
        if table
            .add_downward(now, src, downward, (0, dodag.is_storing()))
            .is_err()
        {
            count(&mut self.shared.counters.targets_refused);
            self.forget_host(now, &src);
            return status::CACHE_FULL;
        }
        self.tell_of_hosts(now);
        status
    }

    /// There is news of hosts: a DAO is due after DelayDAO, and it is another one.
    fn tell_of_hosts(&mut self, now: Instant) {
        self.daos.repeats = false;
        let delay = jittered(self.shared.config.dao_delay, &mut self.shared.rng);
        self.daos.due.get_or_insert(now + delay);
    }

    /// Tells of hosts whose registrations have run out that they cannot be reached.
    pub(super) fn end_hosts(&mut self, now: Instant, table: &mut Table<P::Memory>) {
        let mut any = false;
        table.each_downward(|_, downward| {
            if downward.is_host() && !downward.is_gone() && !downward.is_good(now) {
                downward.lapse(now);
                any = true;
            }
        });
        if any && !self.is_root() {
            self.tell_of_hosts(now);
        }
    }

    /// The address is registered elsewhere, or there is no room for it.
    pub(super) fn forget_host(&mut self, now: Instant, address: &Addr) {
        if let Some(hosts) = &mut self.hosts {
            hosts.forget(now, address);
        }
    }
}
