//! Neighbour discovery for 6LoWPAN (RFC 4861, RFC 6775, RFC 8505) of the node itself: a host finds
//! its router, prefix and contexts, and a router answers solicitations. [`routing`](super::routing)
//! creates routes from registrations.
//!
//! Addresses are not resolved by multicast: link-local addresses contain the link-layer address
//! (RFC 6775 §5.6), and hosts register their other addresses.

mod learned;
mod solicitor;

use redpoll_base::{Addr, Instant, Wake};
use redpoll_wire::icmpv6::nd::AddressRegistration;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

use super::identity::Identity;
use super::outgoing::{Content, Outbox};
use crate::counters::DropReason;
use crate::packet::is_unicast;

pub(crate) use learned::Learned;
pub(crate) use solicitor::Solicitor;
use solicitor::{Due, REGISTRATION_LIFETIME_MIN};

/// The configuration of neighbour discovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NdConfig {
    /// Whether to ask routers for prefix, context and a default route, form an address from the
    /// prefix and register it. For hosts without a given address.
    pub solicit: bool,
    /// The contents of router advertisements; `None` for a node that is not a router.
    pub advertise: Option<Advertised>,
}

impl NdConfig {
    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

/// The contents of a router advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Advertised {
    /// The 64-bit prefix from which hosts form their addresses. It is also context 0.
    pub prefix: Addr,
    /// Lifetime of the router as a default router, in seconds.
    pub router_lifetime_s: u16,
    /// Lifetime of prefix and context, in minutes.
    pub context_lifetime_min: u16,
    /// The border router that distributes prefix and context.
    pub border_router: Addr,
}

impl Advertised {
    /// Returns contents with a router lifetime of 30 minutes. Prefix and context last 60 minutes.
    pub fn new(prefix: Addr, border_router: Addr) -> Self {
        Advertised {
            prefix,
            router_lifetime_s: 1_800,
            context_lifetime_min: 60,
            border_router,
        }
    }

    /// Returns these contents after `set` has changed them.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

/// Status of a registration (RFC 6775 §4.1, RFC 8505 §4.1, table 1 of each).
pub(crate) mod status {
    pub(crate) const SUCCESS: u8 = 0;
    pub(crate) const DUPLICATE: u8 = 1;
    pub(crate) const CACHE_FULL: u8 = 2;
    pub(crate) const MOVED: u8 = 3;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elapsed {
    /// A message is in the outbox, or no timer was due.
    Quiet,
    /// The router does not answer, and the host uses only the routers that the program has given.
    RouterSilent,
}

/// A node's own part in neighbour discovery. Its messages go to the outbox in the arguments.
#[derive(Debug)]
pub(crate) struct Discovery {
    pub(crate) solicitor: Solicitor,
}

impl Discovery {
    pub(crate) fn new(solicitor: Solicitor) -> Self {
        Discovery { solicitor }
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        self.solicitor.poll_at()
    }

    /// Runs the timers that are due. A host that `knows_routers` does not solicit others.
    pub(crate) fn on_timeout(
        &mut self,
        now: Instant,
        identity: &Identity,
        knows_routers: bool,
        outbox: &mut Outbox,
    ) -> Elapsed {
        match self.solicitor.on_timeout(now) {
            Some(Due::Solicit) if knows_routers => return Elapsed::RouterSilent,
            Some(Due::Solicit) => outbox.push(
                identity.link_local,
                addr::LINK_LOCAL_ALL_ROUTERS,
                Content::RouterSolicitation,
            ),
            Some(Due::Register(router)) => self.register_with(identity, router, outbox),
            None => {}
        }
        Elapsed::Quiet
    }

    /// Registers the node's address (RFC 6775 §5.5.1), which is the target and the packet's
    /// source (RFC 8505 §5.5).
    fn register_with(&self, identity: &Identity, router: Address, outbox: &mut Outbox) {
        let Some(to) = addr::link_local(router) else {
            return;
        };
        let asked = AddressRegistration {
            status: status::SUCCESS,
            tid: Some(self.solicitor.tid()),
            routed: true,
            lifetime_min: REGISTRATION_LIFETIME_MIN,
            eui64: identity.eui64,
        };
        let content = Content::Registration {
            target: identity.address,
            asked,
        };
        outbox.push(identity.address, to, content);
    }

    /// Answers a router solicitation of `src` (RFC 6775 §6.3).
    pub(crate) fn on_router_solicitation(
        &self,
        identity: &Identity,
        src: Addr,
        advertised: Option<Advertised>,
        outbox: &mut Outbox,
    ) -> Result<(), DropReason> {
        let advertised = advertised.ok_or(DropReason::IcmpIgnored)?;
        // Refuse a source that is not link-local, because the answer is valid on this link only.
        if !addr::is_link_local(&src) {
            return Err(DropReason::BadSource);
        }
        let content = Content::RouterAdvertisement(advertised);
        outbox.push(identity.link_local, src, content);
        Ok(())
    }

    /// Processes a router advertisement. Returns the router, if it is used (RFC 6775 §5.4).
    pub(crate) fn on_router_advertisement(
        &mut self,
        now: Instant,
        src: Addr,
        lifetime_s: u16,
    ) -> Result<Standing, DropReason> {
        // RFC 4861 §6.1.2: the source must be a link-local address.
        let router = addr::link_address(&src);
        if !addr::is_link_local(&src) || !is_unicast(router) {
            return Err(DropReason::BadSource);
        }
        // RFC 4861 §6.3.4: with a lifetime of zero, the sender is no longer a default router.
        if lifetime_s == 0 && self.solicitor.on_router_gone(router, now) {
            return Ok(Standing::Gone(router));
        }
        if lifetime_s == 0 || !self.solicitor.on_advertisement(router, now) {
            return Err(DropReason::IcmpIgnored);
        }
        Ok(Standing::Serves(router))
    }

    /// Answers a question about an address of this node (RFC 4861 §7.2.4). An answer to
    /// duplicate address detection goes to all nodes of the link.
    pub(crate) fn on_question(
        &self,
        identity: &Identity,
        question: &Question,
        router: bool,
        outbox: &mut Outbox,
    ) {
        let &Question {
            src, target, link, ..
        } = question;
        let content = Content::NeighborAdvertisement {
            router,
            target,
            registration: None,
        };
        // RFC 6775 §6.5.2: the answer to a registration goes to the link-local address, which is
        // unique even if the registration has failed.
        match link.and_then(addr::link_local) {
            Some(to) if question.registers => outbox.push(identity.link_local, to, content),
            _ if src.is_unspecified() => {
                outbox.push(target, addr::LINK_LOCAL_ALL_NODES, content);
            }
            _ => outbox.push(target, src, content),
        }
    }

    /// Processes the answer of the router `src` to this host's registration (RFC 6775 §5.5.2).
    pub(crate) fn on_neighbor_advertisement(
        &mut self,
        now: Instant,
        identity: &Identity,
        src: Addr,
        registration: Option<AddressRegistration>,
    ) -> Result<(), DropReason> {
        let answer = registration
            .filter(|registration| registration.eui64 == identity.eui64)
            .ok_or(DropReason::IcmpIgnored)?;
        if !addr::is_link_local(&src) {
            return Err(DropReason::BadSource);
        }
        let router = addr::link_address(&src);
        self.solicitor.on_registration(router, answer, now);
        Ok(())
    }
}

/// A neighbour solicitation without a registration, or with one that this node does not process.
pub(crate) struct Question {
    pub(crate) src: Addr,
    pub(crate) target: Addr,
    pub(crate) link: Option<Address>,
    pub(crate) registers: bool,
}

/// The role of the sender of a router advertisement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// The sender is this host's router.
    Serves(Address),
    /// The sender was this host's router and no longer is.
    Gone(Address),
}
