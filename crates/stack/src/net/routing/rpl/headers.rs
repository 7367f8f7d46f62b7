//! RPL's headers in packets inside the DODAG: packet information, source routes and outer headers
//! (RFC 6553, RFC 6554, RFC 9008). A packet loses them where it leaves the DODAG.

use redpoll_base::{Addr, Instant};
use redpoll_wire::Cursor;
use redpoll_wire::icmpv6::{parameter_problem, unreachable};
use redpoll_wire::ipv6::{self, Ipv6Header, addr, hop_by_hop_len, next_header};
use redpoll_wire::rpl::{
    Advance, PacketInformation, SourceRoute, advance, config_flag, has_source_route, srh_len,
};

use super::downward::{HAS_HOSTS, Path, ROUTE_MAX};
use super::parts::RplParts;
use super::upward::{Dodag, HAS_ROOT};
use super::{Peer, Shared, Upward};
use crate::counters::DropReason;
use crate::net::icmp::{IcmpError, Refusal};
use crate::net::identity::Identity;
use crate::net::plan::{Insertion, Onward, Plan};
use crate::net::routing::Table;
use crate::net::routing::routes::Target;
use crate::packet::{NextHop, Origin, PacketView};
use crate::profile::Profile;

/// The longest extension header that is put into packets: packet information, or a source route.
pub(in crate::net::routing) const EXTENSION_MAX: usize = longer(PacketInformation::LEN, ROUTE_MAX);

const fn longer(one: usize, other: usize) -> usize {
    if one < other { other } else { one }
}

/// Whether packets may leave the DODAG here: at a root, or for a host that does not know RPL.
const IS_EDGE: bool = HAS_ROOT || HAS_HOSTS;

/// Returns the next stop of a packet's source route (RFC 6554 §4.2); `None` if no stop is left. If
/// the sender is a neighbour that cannot lie on a path from the root, the packet is dropped without
/// an error, because that neighbour could choose the receiver of the error.
pub(super) fn follow_route<P: Profile>(
    upward: &Upward<P>,
    identity: &Identity,
    packet: &mut PacketView<'_>,
) -> Result<Option<Onward>, Refusal> {
    let hop_by_hop = hop_by_hop_len(packet.bytes);
    let at = Ipv6Header::LEN.saturating_add(hop_by_hop);
    if behind(packet, hop_by_hop) != next_header::ROUTING {
        return Ok(None);
    }
    let next = match advance(packet.bytes, at, |address| identity.is_own(address)) {
        Advance::Arrived => return Ok(None),
        _ if !routes_by_source(upward, packet) => return Err(DropReason::SourceRoute.into()),
        Advance::Onward(next) if identity.forwards => next,
        Advance::Problem(pointer) | Advance::Loop(pointer) => {
            let code = parameter_problem::HEADER_FIELD;
            let pointer = pointer as u16;
            let error = IcmpError::ParameterProblem { code, pointer };
            return Err(Refusal(DropReason::SourceRoute, Some(error)));
        }
        Advance::Onward(_) | Advance::Multicast => return Err(DropReason::SourceRoute.into()),
    };
    if ipv6::decrement_hop_limit(packet.bytes).is_none() {
        let error = IcmpError::HopLimitExceeded;
        return Err(Refusal(DropReason::HopLimit, Some(error)));
    }
    // A strict route: the next stop is a neighbour.
    let link = addr::link_address(&next);
    let absent = IcmpError::unreachable(unreachable::SOURCE_ROUTE);
    if identity.is_own(&next) || Peer::of(link).is_none() {
        return Err(Refusal(DropReason::AddressUnreachable, Some(absent)));
    }
    Ok(Some(Onward { next: link, absent }))
}

/// Returns whether the sender of a packet may have received its source route from the root: the
/// DODAG is one of non-storing mode, this node is not its root, and the sender is a neighbour that
/// has sent a DIO, as the parent has.
fn routes_by_source<P: Profile>(upward: &Upward<P>, packet: &PacketView<'_>) -> bool {
    let Origin::Link { from, .. } = packet.origin else {
        return false;
    };
    let is_known = Peer::of(from).is_some_and(|peer| upward.knows(peer));
    is_known && !upward.is_storing() && !upward.is_root()
}

/// Returns the protocol number of the header after the hop-by-hop header.
fn behind(packet: &PacketView<'_>, hop_by_hop: usize) -> u8 {
    match hop_by_hop {
        0 => packet.header.next_header,
        _ => packet
            .bytes
            .get(Ipv6Header::LEN)
            .copied()
            .unwrap_or_default(),
    }
}

/// Removes RPL's packet information from a packet that leaves the DODAG (RFC 9008 §7, §8), and
/// refuses one that has a source route (RFC 6554 §5.1).
fn undress(packet: &mut PacketView<'_>, has_information: bool) -> Result<Plan, Refusal> {
    if IS_EDGE && has_source_route(packet.bytes) {
        return Err(DropReason::SourceRoute.into());
    }
    let hop_by_hop = hop_by_hop_len(packet.bytes);
    // A header that holds other options stays, because hosts skip RPL's option (RFC 8200 §4.2).
    // The rank in it becomes 0 (RFC 9008 §6).
    if IS_EDGE && (!has_information || hop_by_hop != PacketInformation::LEN) {
        if let Some(mut information) = PacketInformation::find(packet.bytes) {
            information.sender_rank = 0;
            information.replace(packet.bytes);
        }
        return Ok(Plan::Keep);
    }
    Ok(Plan::Strip(hop_by_hop))
}

/// Returns the Next Header of an extension header in this packet (`is_own`) or in an outer header.
fn next_of(packet: &PacketView<'_>, is_own: bool) -> u8 {
    match is_own {
        true => packet.header.next_header,
        false => next_header::IPV6,
    }
}

/// Returns an outer header of a packet, which leads to `dst`.
fn outer_to(identity: &Identity, packet: &PacketView<'_>, dst: Addr) -> Option<Ipv6Header> {
    let src = identity.source_for(&packet.header.dst)?;
    Some(Ipv6Header {
        // RFC 6040 §4.1: the outer header gets the inner ECN field.
        ecn: packet.header.ecn,
        dscp: packet.header.dscp,
        ..identity.header(src, dst, next_header::NONE)
    })
}

/// Returns the packet information of a new packet, without rank and direction.
fn fresh<O>(dodag: &Dodag<O>) -> PacketInformation {
    let flags = dodag.configuration.flags;
    PacketInformation {
        instance: dodag.instance,
        ignorable: flags & config_flag::RPI_0X23 != 0,
        ..PacketInformation::default()
    }
}

/// Returns the packet information of a packet that arrived with `present`. If the packet comes from
/// outside the DODAG, only the type of the option is kept (RFC 9008 §12), because flags set outside
/// could make routers of the DODAG remove routes.
fn kept(
    present: Option<PacketInformation>,
    is_outside: bool,
    fresh: PacketInformation,
) -> PacketInformation {
    match present {
        Some(PacketInformation { ignorable, .. }) if HAS_ROOT && is_outside => {
            PacketInformation { ignorable, ..fresh }
        }
        present => present.unwrap_or(fresh),
    }
}

/// RPL's headers of a packet that leaves by the radio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a value with a path exists only during one call"
)]
enum Dress {
    /// The packet keeps its headers.
    Keep,
    /// No header of RPL, because the receiver does not know RPL.
    Bare,
    /// New packet information, which replaces the packet's.
    Information(PacketInformation),
    /// A source route along this path.
    #[allow(dead_code, reason = "only a root makes source routes")]
    Route(Path),
}

impl<P: Profile> RplParts<P> {
    /// Gives a packet that is about to leave the headers that RPL's routers read, or removes them
    /// where the packet leaves the DODAG.
    pub(super) fn encapsulate(
        &self,
        now: Instant,
        identity: &Identity,
        table: &Table<P::Memory>,
        shared: &Shared<P>,
        packet: &mut PacketView<'_>,
        next_hop: NextHop,
    ) -> Result<Plan, Refusal> {
        let present = PacketInformation::find(packet.bytes);
        if next_hop == NextHop::Host {
            return undress(packet, present.is_some());
        }
        let root = self.upward.dodag().filter(|_| shared.config.tunnels);
        let tunnel = Tunnel {
            identity,
            root: root.map(|dodag| dodag.id),
        };
        let is_outside = HAS_ROOT && packet.origin == Origin::Host;
        let dst = &packet.header.dst;
        match self.dress(now, table, &shared.rules, dst, present, is_outside) {
            Dress::Keep => Ok(Plan::Keep),
            Dress::Bare => undress(packet, present.is_some()),
            Dress::Information(information) if present.is_some() => {
                information.replace(packet.bytes);
                Ok(Plan::Keep)
            }
            Dress::Information(information) => Ok(tunnel.inform(packet, &information)),
            Dress::Route(path) => {
                if path.is_external() {
                    let fresh = self.upward.dodag().map(fresh);
                    // The router at the path's end forwards the inner packet, which is going down.
                    let down = PacketInformation {
                        down: true,
                        sender_rank: 0,
                        ..kept(present, is_outside, fresh.unwrap_or_default())
                    };
                    down.replace(packet.bytes);
                }
                tunnel.route(packet, &path)
            }
        }
    }

    /// Returns the headers of a packet to `dst` that has the packet information `present`.
    fn dress(
        &self,
        now: Instant,
        table: &Table<P::Memory>,
        rules: &P::Rules,
        dst: &Addr,
        present: Option<PacketInformation>,
        is_outside: bool,
    ) -> Dress {
        let upward = &self.upward;
        let Some(dodag) = upward.dodag() else {
            return Dress::Keep;
        };
        if dst.is_multicast() || addr::is_link_local(dst) {
            return Dress::Keep;
        }
        if upward.routed_by_source().is_some() {
            match self.downward.path(now, table, upward, dodag, dst) {
                Some(path) if path.stops() > 0 => return Dress::Route(path),
                _ => {}
            }
        }
        // RFC 9008 §7: a host that does not know RPL gets none of its headers. No header is
        // inserted into a packet from which no node would remove it.
        match table.downward(now, dst).map(|known| known.target) {
            Some(Target::Host) => return Dress::Bare,
            Some(Target::External) if present.is_none() => return Dress::Keep,
            _ => {}
        }
        let down = upward.is_root() || dodag.is_storing() && table.lookup_host(now, dst).is_some();
        let rank = match down {
            true => upward.rank_to_children(),
            false => upward.rank(),
        };
        Dress::Information(PacketInformation {
            down,
            // RFC 6550 §11.2: the rank is zero at a source that is not a router of the DODAG.
            sender_rank: self.sender_rank(rules, rank),
            ..kept(present, is_outside, fresh(dodag))
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Tunnel<'i> {
    identity: &'i Identity,
    /// The root, to which the outer headers of upward packets lead; `None`: only packets to
    /// external targets get an outer header.
    root: Option<Addr>,
}

impl Tunnel<'_> {
    /// Inserts packet information. A packet without room for the information is sent without it.
    fn inform(&self, packet: &PacketView<'_>, information: &PacketInformation) -> Plan {
        let outer = self.outer_for(packet, !information.down);
        let header = information.header(next_of(packet, outer.is_none()));
        let Some(mut insertion) = Insertion::new(next_header::HOP_BY_HOP, &header) else {
            return Plan::Keep;
        };
        insertion.outer = outer;
        Plan::Insert(insertion)
    }

    fn route(&self, packet: &PacketView<'_>, path: &Path) -> Result<Plan, Refusal> {
        let first = path.first_stop();
        let outer = match path.is_external() {
            true => outer_to(self.identity, packet, first),
            false => self.outer_for(packet, false),
        };
        let outer = outer.map(|outer| Ipv6Header {
            dst: first,
            ..outer
        });
        let next = next_of(packet, outer.is_none());
        let common = path.common();
        let len = srh_len(path.stops(), common);
        let mut buffer = [0; EXTENSION_MAX];
        let mut out = Cursor::new(&mut buffer);
        let emitted = SourceRoute::emit(next, common, path.addresses(), &mut out);
        if emitted.is_err() || out.position() != len {
            return Err(DropReason::TooBig.into());
        }
        let insertion = Insertion::new(next_header::ROUTING, out.written());
        let mut insertion = insertion.ok_or(DropReason::TooBig)?;
        insertion.dst = outer.is_none().then_some(first);
        insertion.outer = outer;
        insertion.is_vital = true;
        Ok(Plan::Insert(insertion))
    }

    /// Returns the outer header of a forwarded packet (RFC 6553 §4, RFC 6554 §4.1); `None` if the
    /// packet gets no outer header. The outer header of an upward packet leads to the root, and
    /// that of a downward packet to the packet's destination (RFC 9008 §7).
    fn outer_for(&self, packet: &PacketView<'_>, is_up: bool) -> Option<Ipv6Header> {
        let root = self.root?;
        let dst = if is_up { root } else { packet.header.dst };
        if packet.origin == Origin::Own {
            return None;
        }
        outer_to(self.identity, packet, dst)
    }
}
