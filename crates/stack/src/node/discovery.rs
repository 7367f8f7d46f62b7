//! Neighbour discovery on the wire: what [`nd`](crate::nd) decides, sent and
//! received (RFC 4861, RFC 6775, RFC 8505).

use redpoll_base::{Addr, Instant, Memory};
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{
    self, AddressRegistration, BorderRouter, ContextInformation, NdOption, NeighborAdvertisement,
    NeighborSolicitation, Options, PrefixInformation, RouterAdvertisement,
};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;
use redpoll_wire::{Cursor, NoRoom};

use super::Node;
use super::paths::is_unicast;
use crate::Error;
use crate::counters::DropReason;
use crate::nd::{Due, REGISTRATION_LIFETIME_MIN, is_stale, status as nd_status};
use crate::routes::{Route, Via};

/// Room for the options of one message: a router advertisement has the most.
const OPTIONS_MAX: usize = 112;

/// Options of one message, collected in the order they are sent.
pub(super) struct OptionsBuffer {
    bytes: [u8; OPTIONS_MAX],
    len: usize,
}

impl OptionsBuffer {
    pub(super) fn of(options: &[NdOption<'_>]) -> Result<Self, NoRoom> {
        let mut bytes = [0; OPTIONS_MAX];
        let mut cursor = Cursor::new(&mut bytes);
        for option in options {
            option.emit(&mut cursor)?;
        }
        let len = cursor.position();
        Ok(OptionsBuffer { bytes, len })
    }

    pub(super) fn parsed(&self) -> Options<'_> {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        Options::parse(bytes).unwrap_or_default()
    }
}

impl<M: Memory + 'static> Node<M> {
    pub(super) fn nd_timeout(&mut self, now: Instant) {
        match self.solicitor.on_timeout(now) {
            // It was told its routers: the one it has does not answer.
            Some(Due::Solicit) if self.sleepy.is_some() => self.change_parent(now),
            Some(Due::Solicit) => {
                let sllao = NdOption::SourceLinkLayer(self.config.link_address());
                if let Ok(options) = OptionsBuffer::of(&[sllao]) {
                    let options = options.parsed();
                    let message = Message::RouterSolicitation { options };
                    self.send_nd(now, self.link_local, addr::LINK_LOCAL_ALL_ROUTERS, &message);
                }
            }
            Some(Due::Register(router)) => self.register_with(now, router),
            None => {}
        }
    }

    /// RFC 6775 §5.5.1: the address being registered is the packet's source.
    fn register_with(&mut self, now: Instant, router: Address) {
        let Some(target) = addr::link_local(router) else {
            return;
        };
        let options = OptionsBuffer::of(&[
            NdOption::SourceLinkLayer(self.config.link_address()),
            NdOption::AddressRegistration(AddressRegistration {
                status: 0,
                tid: Some(self.solicitor.tid()),
                routed: true,
                lifetime_min: REGISTRATION_LIFETIME_MIN,
                eui64: self.config.mac.extended,
            }),
        ]);
        if let Ok(options) = options {
            let options = options.parsed();
            let message = Message::NeighborSolicitation(NeighborSolicitation { target, options });
            self.send_nd(now, self.config.address, target, &message);
        }
    }

    pub(super) fn send_nd(&mut self, now: Instant, src: Addr, dst: Addr, message: &Message<'_>) {
        // One that is lost is lost like any other: ND repeats it.
        match self.send_icmp(now, nd::HOP_LIMIT, (src, dst), message) {
            Ok(()) => {}
            Err(Error::NoRoute) => self.counters.drop(DropReason::NoRoute),
            Err(_) => self.counters.drop(DropReason::NoSlot),
        }
    }

    /// RFC 6775 §6.3: a router answers a solicitation, to the one who asked.
    pub(super) fn on_router_solicitation(
        &mut self,
        now: Instant,
        src: Addr,
    ) -> Result<(), DropReason> {
        let advertised = self.config.nd.advertise.ok_or(DropReason::IcmpIgnored)?;
        // The answer must not leave the link, where it counts.
        if !addr::is_link_local(&src) {
            return Err(DropReason::BadSource);
        }
        let lifetime_s = u32::from(advertised.context_lifetime_min).saturating_mul(60);
        let options = OptionsBuffer::of(&[
            NdOption::SourceLinkLayer(self.config.link_address()),
            NdOption::PrefixInformation(PrefixInformation {
                prefix: advertised.prefix,
                prefix_len: 64,
                on_link: false,
                autonomous: true,
                valid_lifetime_s: lifetime_s,
                preferred_lifetime_s: lifetime_s,
            }),
            NdOption::Context(ContextInformation {
                cid: 0,
                compress: true,
                prefix_len: 64,
                prefix: advertised.prefix,
                valid_lifetime_min: advertised.context_lifetime_min,
            }),
            NdOption::BorderRouter(BorderRouter {
                version: 0,
                valid_lifetime_min: advertised.context_lifetime_min,
                address: advertised.border_router,
            }),
        ])
        .map_err(|_| DropReason::TooBig)?;
        let message = Message::RouterAdvertisement(RouterAdvertisement {
            cur_hop_limit: self.config.hop_limit,
            router_lifetime_s: advertised.router_lifetime_s,
            options: options.parsed(),
            ..RouterAdvertisement::default()
        });
        self.send_nd(now, self.link_local, src, &message);
        Ok(())
    }

    /// RFC 6775 §5.4: takes prefix, context and default route from a router.
    pub(super) fn on_router_advertisement(
        &mut self,
        now: Instant,
        src: Addr,
        router_lifetime_s: u16,
        learned: &Learned,
    ) -> Result<(), DropReason> {
        // RFC 4861 §6.1.2: the source must be a link-local address.
        let router = addr::link_address(&src);
        if !addr::is_link_local(&src) || !is_unicast(router) {
            return Err(DropReason::BadSource);
        }
        let default = Route {
            prefix: Addr::UNSPECIFIED,
            len: 0,
            via: Via::Neighbour(router),
        };
        // RFC 4861 §6.3.4: a lifetime of zero ends the router's service.
        if router_lifetime_s == 0 && self.solicitor.on_router_gone(router, now) {
            self.paths.routes.remove(&default);
            return Ok(());
        }
        if router_lifetime_s == 0 || !self.solicitor.on_advertisement(router, now) {
            return Err(DropReason::IcmpIgnored);
        }
        if let Some(context) = learned.context {
            let contexts = self.lowpan.contexts_mut();
            contexts.insert(
                context.cid,
                context.prefix,
                context.prefix_len,
                context.compress,
            );
        }
        if let Some(prefix) = learned.prefix
            && self.config.address.is_unspecified()
        {
            self.config.address = addr::from_prefix_and_short(&prefix, self.config.mac.short);
        }
        let added = self.paths.routes.add(default);
        added.map_err(|_| DropReason::NoRoute)
    }

    /// RFC 6775 §6.5 (registration) and RFC 4861 §7.2.3 (a question about us).
    pub(super) fn on_neighbor_solicitation(
        &mut self,
        now: Instant,
        src: Addr,
        target: Addr,
        link: Option<Address>,
        registration: Option<AddressRegistration>,
    ) -> Result<(), DropReason> {
        if src.is_unspecified() || !self.is_mine(&target) || target.is_multicast() {
            return Err(DropReason::IcmpIgnored);
        }
        let tllao = NdOption::TargetLinkLayer(self.config.link_address());
        let link = link.filter(|link| is_unicast(*link));
        let options = match (registration, link, self.config.nd.advertise) {
            (Some(asked), Some(link), Some(advertised)) => {
                // Somebody's address elsewhere would draw its packets here.
                if !src.shares_prefix(&advertised.prefix, 64) {
                    return Err(DropReason::BadSource);
                }
                let paths = &mut self.paths;
                // It may have moved on while this was on its way.
                let status = match is_stale(asked.tid, paths.routes.tid(&src)) {
                    true => nd_status::MOVED,
                    false => paths.neighbours.register(now, src, link, &asked),
                };
                // RFC 8505 §5.1: without R it sees to its being reachable itself.
                let is_routed = asked.routed || asked.tid.is_none();
                let is_new = status == nd_status::SUCCESS && is_routed;
                if is_new && self.report_registration(now, src, asked) {
                    // The next router's answer comes first.
                    return Ok(());
                }
                let answer = AddressRegistration { status, ..asked };
                OptionsBuffer::of(&[tllao, NdOption::AddressRegistration(answer)])
            }
            _ => OptionsBuffer::of(&[tllao]),
        }
        .map_err(|_| DropReason::TooBig)?;
        let message = Message::NeighborAdvertisement(NeighborAdvertisement {
            router: self.config.nd.advertise.is_some(),
            solicited: true,
            override_cached: true,
            target,
            options: options.parsed(),
        });
        // RFC 6775 §6.5.2: the answer to a registration that may have failed
        // goes to the link-local address, which is never in doubt.
        let (from, to) = match link.and_then(addr::link_local) {
            Some(to) if registration.is_some() => (self.link_local, to),
            _ => (target, src),
        };
        self.send_nd(now, from, to, &message);
        Ok(())
    }

    /// The answer to our registration (RFC 6775 §5.5.2).
    pub(super) fn on_neighbor_advertisement(
        &mut self,
        now: Instant,
        target: Addr,
        registration: Option<AddressRegistration>,
    ) -> Result<(), DropReason> {
        let Some(answer) = registration.filter(|r| r.eui64 == self.config.mac.extended) else {
            return Err(DropReason::IcmpIgnored);
        };
        let router = addr::link_address(&target);
        self.solicitor.on_registration(router, answer, now);
        Ok(())
    }
}

/// What a router advertisement tells a host.
#[derive(Clone, Copy, Default)]
pub(super) struct Learned {
    prefix: Option<Addr>,
    context: Option<ContextInformation>,
}

impl Learned {
    pub(super) fn from_options(options: &Options<'_>) -> Self {
        let mut learned = Learned::default();
        for option in options.iter() {
            match option {
                // RFC 4862 §5.5.3 (a) to (d).
                NdOption::PrefixInformation(p)
                    if p.autonomous
                        && p.prefix_len == 64
                        && !addr::is_link_local(&p.prefix)
                        && !p.prefix.is_multicast()
                        && p.valid_lifetime_s > 0
                        && p.preferred_lifetime_s <= p.valid_lifetime_s =>
                {
                    learned.prefix = Some(p.prefix);
                }
                NdOption::Context(c) if c.valid_lifetime_min > 0 => learned.context = Some(c),
                _ => {}
            }
        }
        learned
    }
}

/// The registration among the options, if there is one.
pub(super) fn registration(options: &Options<'_>) -> Option<AddressRegistration> {
    options.iter().find_map(|option| match option {
        NdOption::AddressRegistration(registration) => Some(registration),
        _ => None,
    })
}
