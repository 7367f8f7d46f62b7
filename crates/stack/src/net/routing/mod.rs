//! Routes and routing protocols.
//!
//! A node has one table of routes, and a [`Way`] of filling it. The rest of the node does not
//! depend on the way: routing protocols implement [`Protocol`].
//!
//! - *fixed*: only the routes that the program has given;
//! - *leaf* (`leaf.rs`): all packets go through one of several possible parents;
//! - *registered* (`registered.rs`): registrations of hosts create routes;
//! - *RPL* (`rpl/`, RFC 6550): the routers find routes by themselves.
//!
//! A new protocol is a folder, a variant of [`Way`], and its arm in `ask!`.

#[cfg(test)]
mod flooding;
mod leaf;
mod neighbours;
mod protocol;
mod registered;
mod routes;
#[cfg_attr(not(feature = "rpl"), path = "absent.rs")]
pub(crate) mod rpl;

use redpoll_base::{Addr, Instant, Memory, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::nd::{AddressRegistration, DuplicateAddress};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

use super::icmp::Refusal;
use super::identity::{Identity, is_loopback};
use super::nd::{Advertised, NdConfig};
use super::outgoing::Outbox;
use super::plan::{Onward, Plan};
use crate::counters::DropReason;
use crate::link::Tenure;
use crate::packet::{NextHop, PacketView, is_unicast};
use crate::profile::Profile;
use crate::{Error, SleepyConfig};

pub use neighbours::Neighbour;
pub(crate) use neighbours::{Neighbours, is_stale};
pub(crate) use protocol::{EchoId, RouterError, Signal};
pub use routes::{Route, RouteSlot, Via};
#[allow(unused_imports, reason = "a build may lack RPL")]
pub use rpl::*;

use leaf::Leaf;
use protocol::{NoProtocol, Protocol};
use registered::Registered;
pub(crate) use routes::{LIFETIME_MAX_MIN, Registration, RouteTable};

type Table<M> = RouteTable<<M as Memory>::Table<Option<RouteSlot>>>;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    /// The neighbour at `link` registers `address` with this router; `target` is the target of its
    /// solicitation. `crowded`: the neighbour sleeps, and this router has no room for another
    /// sleeping neighbour.
    Registration {
        address: Addr,
        link: Address,
        target: Addr,
        asked: AddressRegistration,
        crowded: bool,
    },
    /// The router `src` reports a registration; `is_proven`: `src` has acknowledged a frame.
    Report {
        src: Addr,
        report: DuplicateAddress,
        is_proven: bool,
    },
    Answer {
        src: Addr,
        answer: DuplicateAddress,
    },
}

/// The link layer's result of a frame to a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quality {
    pub(crate) neighbour: Address,
    pub(crate) attempts: u8,
    pub(crate) ok: bool,
}

/// The way of filling the table.
#[allow(
    clippy::large_enum_variant,
    reason = "a node has only one value of this type, and a box would need a heap"
)]
enum Way<P: Profile> {
    Fixed,
    Leaf(Leaf),
    Registered(Registered<P::Memory>),
    #[allow(dead_code, reason = "a build may lack RPL")]
    Rpl(rpl::Rpl<P>),
    #[cfg(test)]
    Flooding(flooding::Flooding),
}

/// Calls a function of [`Protocol`] on the node's protocol or, if the node has none, the function's
/// default.
macro_rules! ask {
    ($way:expr, $function:ident($($argument:expr),*)) => {
        match $way {
            Way::Rpl(rpl) => Protocol::<P::Memory>::$function(rpl, $($argument),*),
            #[cfg(test)]
            Way::Flooding(flooding) => Protocol::<P::Memory>::$function(flooding, $($argument),*),
            Way::Fixed | Way::Leaf(_) | Way::Registered(_) => {
                Protocol::<P::Memory>::$function(&mut NoProtocol, $($argument),*)
            }
        }
    };
}

/// Whether this build has a routing protocol. If not, the compiler removes the code that only a
/// protocol needs.
pub(crate) const HAS_PROTOCOL: bool = EXTENSION_MAX != 0;
/// The longest extension header that a protocol inserts.
pub(crate) const EXTENSION_MAX: usize = if cfg!(test) { 136 } else { rpl::EXTENSION_MAX };
pub(crate) const SIGNAL_MAX: usize = rpl::MESSAGE_MAX;

/// Returns whether a hop-by-hop option is one of a routing protocol, which the destination ignores.
pub(crate) fn is_option(kind: u8) -> bool {
    rpl::is_option(kind)
}

pub(crate) struct Routing<P: Profile> {
    table: Table<P::Memory>,
    way: Way<P>,
}

impl<P: Profile> Routing<P> {
    pub(crate) fn new(
        nd: &NdConfig,
        sleepy: Option<&SleepyConfig>,
        routes: <P::Memory as Memory>::Table<Option<RouteSlot>>,
        neighbours: <P::Memory as Memory>::Table<Option<Neighbour>>,
    ) -> Self {
        let way = match (sleepy, nd.advertise) {
            (Some(sleepy), _) => Way::Leaf(Leaf::new(sleepy)),
            (None, Some(advertised)) if P::Memory::ROUTES => {
                Way::Registered(Registered::new(advertised, Neighbours::new(neighbours)))
            }
            (None, _) => Way::Fixed,
        };
        Routing {
            table: RouteTable::new(routes),
            way,
        }
    }

    /// Adds a route, or replaces the one with the same prefix and length.
    pub(crate) fn add(&mut self, route: Route) -> Result<(), Error> {
        self.table.add(route)
    }

    /// Adds a host route that holds until its destination registers.
    pub(crate) fn add_until_registered(&mut self, to: Addr, via: Via) -> Result<(), Error> {
        self.table.add_until_registered(to, via)
    }

    pub(crate) fn remove(&mut self, route: &Route) {
        self.table.remove(route);
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }

    /// Returns the number of routes created by registrations or DAOs.
    pub(crate) fn learnt(&self, now: Instant) -> usize {
        self.table.learnt(now)
    }

    pub(crate) fn neighbours(&self, now: Instant) -> usize {
        self.registered()
            .map_or(0, |registered| registered.neighbours(now))
    }

    /// Returns the contents of router advertisements, if hosts may register with this router.
    pub(crate) fn advertised(&self) -> Option<Advertised> {
        self.registered().map(Registered::advertised)
    }

    fn registered(&self) -> Option<&Registered<P::Memory>> {
        match &self.way {
            Way::Registered(registered) if P::Memory::ROUTES => Some(registered),
            Way::Rpl(rpl) => rpl.registered(),
            _ => None,
        }
    }

    fn registered_mut(&mut self) -> Option<&mut Registered<P::Memory>> {
        match &mut self.way {
            Way::Registered(registered) if P::Memory::ROUTES => Some(registered),
            Way::Rpl(rpl) => rpl.registered_mut(),
            _ => None,
        }
    }

    /// Returns whether the program has given this node its possible parents.
    pub(crate) fn knows_routers(&self) -> bool {
        matches!(self.way, Way::Leaf(_))
    }

    /// Returns the next hop of packets to `dst`. Packets to link-local addresses and to
    /// registered neighbours stay on the link. A node without a radio needs no routes.
    pub(crate) fn next_hop(&self, now: Instant, dst: &Addr) -> Option<NextHop> {
        if !P::Memory::HAS_RADIO {
            let stays = addr::is_link_local(dst)
                || dst.is_multicast()
                || dst.is_unspecified()
                || is_loopback(dst);
            return (!stays).then_some(NextHop::Host);
        }
        match &self.way {
            Way::Registered(registered) if P::Memory::ROUTES => {
                resolve(dst, || registered.lookup(now, &self.table, dst))
            }
            way => ask!(way, next_hop(now, &self.table, dst)),
        }
    }

    /// Returns whether a packet of this node to `dst` has a route. If it has none, the routing
    /// protocol looks for one.
    pub(crate) fn seek_route(&mut self, now: Instant, dst: &Addr) -> bool {
        let has_route = self.next_hop(now, dst).is_some();
        if !has_route {
            self.on_unreachable(now, dst);
        }
        has_route
    }

    pub(crate) fn is_unreachable(&self, now: Instant, dst: &Addr) -> bool {
        let beyond = P::Memory::ROUTES && !dst.is_multicast() && !addr::is_link_local(dst);
        beyond && self.table.lookup(now, dst) == Some(Via::Unreachable)
    }

    /// Returns whether a route, a registration or the program's choice of parents names this
    /// neighbour, so that it probably exists.
    pub(crate) fn names(&self, now: Instant, link: Address) -> bool {
        let is_named = match &self.way {
            Way::Registered(registered) if P::Memory::ROUTES => {
                registered.tenure(now, link).is_some()
            }
            Way::Leaf(leaf) => leaf.knows(link),
            way => ask!(way, names(now, link)),
        };
        is_named || self.table.names(now, link)
    }

    pub(crate) fn on_control(
        &mut self,
        now: Instant,
        identity: &Identity,
        outbox: &mut Outbox,
        control: Control,
    ) -> Result<(), DropReason> {
        let table = &mut self.table;
        match &mut self.way {
            Way::Registered(registered) if P::Memory::ROUTES => {
                registered.on_control(now, identity, table, outbox, control)
            }
            way => ask!(way, on_control(now, identity, table, outbox, control)),
        }
    }

    /// Processes the result of a frame to a neighbour. Returns a leaf's parent, if it has changed.
    pub(crate) fn on_link(&mut self, now: Instant, quality: Quality) -> Option<Address> {
        let is_lost = match &mut self.way {
            Way::Leaf(leaf) => leaf.on_link(quality),
            // A given route stays. A registered route stays until the registration ends.
            way => {
                ask!(way, on_link(now, &mut self.table, quality));
                false
            }
        };
        is_lost.then(|| self.next_parent()).flatten()
    }

    pub(crate) fn on_unreachable(&mut self, now: Instant, dst: &Addr) {
        if !P::Memory::HAS_RADIO {
            return;
        }
        ask!(&mut self.way, on_unreachable(now, &mut self.table, dst));
    }

    pub(crate) fn on_signal(
        &mut self,
        now: Instant,
        identity: &mut Identity,
        signal: &Signal<'_>,
    ) -> Result<(), DropReason> {
        let table = &mut self.table;
        ask!(&mut self.way, on_signal(now, identity, table, signal))
    }

    pub(crate) fn on_error(&mut self, now: Instant, identity: &Identity, error: RouterError<'_>) {
        let table = &mut self.table;
        ask!(&mut self.way, on_error(now, identity, table, error));
    }

    pub(crate) fn on_echo_reply(&mut self, now: Instant, src: &Addr, echo: EchoId) -> bool {
        let table = &mut self.table;
        ask!(&mut self.way, on_echo_reply(now, table, src, echo))
    }

    pub(crate) fn on_load(&mut self, now: Instant, turned_away: u32) {
        ask!(&mut self.way, on_load(now, turned_away));
    }

    pub(crate) fn poll_at(&self) -> Option<Wake> {
        ask!(&self.way, poll_at())
    }

    pub(crate) fn on_timeout(&mut self, now: Instant, identity: &Identity) {
        ask!(&mut self.way, on_timeout(now, identity, &mut self.table));
    }

    pub(crate) fn poll_message(
        &mut self,
        now: Instant,
        identity: &Identity,
        out: &mut Cursor<'_>,
    ) -> Option<Ipv6Header> {
        let table = &mut self.table;
        ask!(&mut self.way, poll_message(now, identity, table, out))
    }

    pub(crate) fn on_message_sent(&mut self, has_left: bool) {
        ask!(&mut self.way, on_message_sent(has_left));
    }

    pub(crate) fn is_group(&self, dst: &Addr) -> bool {
        ask!(&self.way, is_group(dst))
    }

    pub(crate) fn admit(
        &self,
        identity: &Identity,
        packet: &PacketView<'_>,
        admitted: Result<(), DropReason>,
    ) -> Result<(), DropReason> {
        ask!(&self.way, admit(identity, packet, admitted))
    }

    pub(crate) fn needs_whole(&self) -> bool {
        ask!(&self.way, needs_whole())
    }

    pub(crate) fn pass(
        &mut self,
        now: Instant,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Address>, Refusal> {
        ask!(&mut self.way, pass(now, &mut self.table, packet))
    }

    pub(crate) fn onward(
        &mut self,
        now: Instant,
        identity: &Identity,
        packet: &mut PacketView<'_>,
    ) -> Result<Option<Onward>, Refusal> {
        ask!(&mut self.way, onward(now, identity, packet))
    }

    pub(crate) fn opens(&self, src: &Addr) -> Result<bool, DropReason> {
        ask!(&self.way, opens(src))
    }

    pub(crate) fn headroom(&self) -> usize {
        ask!(&self.way, headroom())
    }

    pub(crate) fn encapsulate(
        &mut self,
        now: Instant,
        identity: &Identity,
        packet: &mut PacketView<'_>,
        next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        let table = &self.table;
        ask!(
            &mut self.way,
            encapsulate(now, identity, table, packet, next_hop)
        )
    }

    /// Replaces a leaf's parent by the next of its possible parents.
    pub(crate) fn next_parent(&mut self) -> Option<Address> {
        let Way::Leaf(leaf) = &mut self.way else {
            return None;
        };
        let parent = leaf.next_parent();
        // Replaces the previous default route, so there is always room.
        let _ = self.table.add(default_route(parent));
        Some(parent)
    }

    /// Returns the end of a neighbour's registration, after it has changed.
    pub(crate) fn poll_tenure(&mut self) -> Option<Tenure> {
        if !P::Memory::HAS_RADIO {
            return None;
        }
        let tenure = self.registered_mut()?.poll_tenure();
        tenure.filter(|tenure| !self.table.leads_through(tenure.link))
    }

    /// Returns the end of a neighbour's registration with this router. A neighbour that is a next
    /// hop is a router, whatever addresses it has registered.
    pub(crate) fn tenure(&self, now: Instant, link: Address) -> Option<Tenure> {
        let until = self.registered()?.tenure(now, link)?;
        (!self.table.leads_through(link)).then_some(Tenure { link, until })
    }
}

pub(crate) fn default_route(router: Address) -> Route {
    Route {
        prefix: Addr::UNSPECIFIED,
        len: 0,
        via: Via::Neighbour(router),
    }
}

/// Returns the next hop to `dst`. `lookup` finds the route, unless `dst` is on this link.
fn resolve(dst: &Addr, lookup: impl FnOnce() -> Option<Via>) -> Option<NextHop> {
    let is_near = dst.is_multicast() || addr::is_link_local(dst);
    follow(dst, if is_near { Some(Via::OnLink) } else { lookup() })
}

fn follow(dst: &Addr, via: Option<Via>) -> Option<NextHop> {
    if dst.is_multicast() {
        return Some(NextHop::Link(Address::BROADCAST));
    }
    if dst.is_unspecified() || is_loopback(dst) {
        return None;
    }
    let link = match via? {
        Via::Host => return Some(NextHop::Host),
        Via::Unreachable => return None,
        Via::Neighbour(link) => link,
        Via::OnLink => addr::link_address(dst),
    };
    is_unicast(link).then_some(NextHop::Link(link))
}
