//! The packets that pass between host and mesh (ingress filtering, RFC 2827, RFC 3704).
//!
//! A packet leaves the mesh only with a source inside the mesh's prefix, and enters the mesh only
//! with a source outside the prefix or with the host's own address. So a node cannot pretend to be
//! this computer, a loopback or IPv4-mapped address, or a host outside the mesh, and such a host
//! cannot pretend to be a node. Sources that no router may forward (RFC 6890, RFC 4291 §2.5) are
//! refused whatever the prefix is. Packets whose source is the border router's own address are
//! dropped by its node before they reach the gate.

use redpoll_base::{Addr, Instant};
use redpoll_stack::{DropReason, Node, Profile};
use redpoll_wire::ipv6::{self, Ipv6Header};

use crate::echo::{EchoLimit, is_echo_request};

/// Why a packet from the host did not enter the mesh.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejected {
    /// Not a well-formed IPv6 packet (an IPv4 packet, garbage, a truncated packet).
    Malformed,
    /// The source address is inside the mesh, but the packet came from the host side.
    SpoofedSource,
    /// The destination is link-local or a group: the host sends such packets on its interface for
    /// its own purposes (router solicitations, multicast DNS). They do not enter the mesh. See
    /// [`Gate::with_groups`] for groups beyond the link.
    NotForMesh,
    /// The destination is not inside the mesh's prefix.
    ForeignDestination,
    /// An echo request beyond the limit of 256 bytes per second to its destination, after a burst
    /// of 4,096 bytes. Requests to the border router itself have no limit.
    EchoLimit,
    /// The node refused the packet for its own reason, which it counts.
    Node(DropReason),
}

/// Why a packet from the mesh did not reach the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Withheld {
    /// Not a well-formed IPv6 packet.
    Malformed,
    /// The source is an address that no router forwards: unspecified, loopback, link-local,
    /// multicast, IPv4-compatible or IPv4-mapped (RFC 4291 §2.5, §2.7, RFC 6890).
    UnroutableSource,
    /// The source is outside the mesh's prefix, or is the host's own address, or the
    /// Subnet-Router anycast address, which belongs to the border router (RFC 4291 §2.6.1).
    ForeignSource,
}

/// Packets that passed, and drops by reason. Counters wrap at 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GateCounters {
    /// Packets from the host that entered the node.
    pub to_mesh: u32,
    /// Packets from the mesh that passed to the host.
    pub to_host: u32,
    /// See [`Rejected::Malformed`].
    pub malformed: u32,
    /// See [`Rejected::SpoofedSource`].
    pub spoofed_source: u32,
    /// See [`Rejected::NotForMesh`].
    pub not_for_mesh: u32,
    /// See [`Rejected::ForeignDestination`].
    pub foreign_destination: u32,
    /// See [`Rejected::EchoLimit`].
    pub echo_limit: u32,
    /// See [`Rejected::Node`].
    pub node: u32,
    /// See [`Withheld::Malformed`].
    pub withheld_malformed: u32,
    /// See [`Withheld::UnroutableSource`].
    pub unroutable_source: u32,
    /// See [`Withheld::ForeignSource`].
    pub foreign_source: u32,
}

impl GateCounters {
    /// Returns the name and count of every reason for dropped packets, except the node's own
    /// reasons ([`NodeCounters::drops`](redpoll_stack::NodeCounters::drops)).
    pub fn drops(&self) -> [(&'static str, u32); 8] {
        [
            ("malformed", self.malformed),
            ("spoofed_source", self.spoofed_source),
            ("not_for_mesh", self.not_for_mesh),
            ("foreign_destination", self.foreign_destination),
            ("echo_limit", self.echo_limit),
            ("withheld_malformed", self.withheld_malformed),
            ("unroutable_source", self.unroutable_source),
            ("foreign_source", self.foreign_source),
        ]
    }
}

/// The host side of a border router: it passes or refuses packets by the mesh's prefix.
#[derive(Clone, Debug)]
pub struct Gate {
    prefix: Addr,
    prefix_len: u8,
    host: Addr,
    has_groups: bool,
    echoes: EchoLimit,
    counters: GateCounters,
}

impl Gate {
    /// Returns a gate for the mesh with this prefix of `prefix_len` bits.
    pub const fn new(prefix: Addr, prefix_len: u8) -> Self {
        Gate {
            prefix,
            prefix_len,
            host: Addr::UNSPECIFIED,
            has_groups: false,
            echoes: EchoLimit::new(),
            counters: GateCounters {
                to_mesh: 0,
                to_host: 0,
                malformed: 0,
                spoofed_source: 0,
                not_for_mesh: 0,
                foreign_destination: 0,
                echo_limit: 0,
                node: 0,
                withheld_malformed: 0,
                unroutable_source: 0,
                foreign_source: 0,
            },
        }
    }

    /// Refuses packets from the mesh with the source `host`, the host's own address, even if this
    /// address lies inside the mesh's prefix.
    #[must_use]
    pub const fn with_host(mut self, host: Addr) -> Self {
        self.host = host;
        self
    }

    /// Accepts packets from the host for multicast groups of a scope beyond the link. The node
    /// decides whether to forward them.
    #[must_use]
    pub const fn with_groups(mut self) -> Self {
        self.has_groups = true;
        self
    }

    /// Returns the counters.
    pub fn counters(&self) -> &GateCounters {
        &self.counters
    }

    /// Handles a packet from the host to the mesh or the border router.
    ///
    /// # Errors
    /// The reason for a refusal, which the counters include.
    pub fn input_packet<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        packet: &[u8],
    ) -> Result<(), Rejected> {
        let result = self
            .check(packet)
            .and_then(|()| self.limit_echoes(now, node.address(), packet))
            .and_then(|()| node.input_packet(now, packet).map_err(Rejected::Node));
        let counters = &mut self.counters;
        let counter = match result {
            Ok(()) => &mut counters.to_mesh,
            Err(Rejected::Malformed) => &mut counters.malformed,
            Err(Rejected::SpoofedSource) => &mut counters.spoofed_source,
            Err(Rejected::NotForMesh) => &mut counters.not_for_mesh,
            Err(Rejected::ForeignDestination) => &mut counters.foreign_destination,
            Err(Rejected::EchoLimit) => &mut counters.echo_limit,
            Err(Rejected::Node(_)) => &mut counters.node,
        };
        *counter = counter.wrapping_add(1);
        result
    }

    /// Writes the next packet for the host to the start of `out` (at least 1280 bytes) and returns
    /// its length. Packets that may not leave the mesh are dropped and counted ([`Withheld`]).
    pub fn poll_packet<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        out: &mut [u8],
    ) -> Option<usize> {
        loop {
            let len = node.poll_packet(now, out)?;
            let may_leave = self.may_leave(out.get(..len).unwrap_or_default());
            let counters = &mut self.counters;
            let counter = match may_leave {
                Ok(()) => &mut counters.to_host,
                Err(Withheld::Malformed) => &mut counters.withheld_malformed,
                Err(Withheld::UnroutableSource) => &mut counters.unroutable_source,
                Err(Withheld::ForeignSource) => &mut counters.foreign_source,
            };
            *counter = counter.wrapping_add(1);
            if may_leave.is_ok() {
                return Some(len);
            }
        }
    }

    /// Checks the source of a packet that is about to leave the mesh.
    fn may_leave(&self, packet: &[u8]) -> Result<(), Withheld> {
        let (header, _) = Ipv6Header::parse(packet).map_err(|_| Withheld::Malformed)?;
        let src = &header.src;
        if is_unroutable(src) {
            return Err(Withheld::UnroutableSource);
        }
        if !self.contains(src) || *src == self.host || self.is_anycast(src) {
            return Err(Withheld::ForeignSource);
        }
        Ok(())
    }

    fn check(&self, packet: &[u8]) -> Result<(), Rejected> {
        let (header, _) = Ipv6Header::parse(packet).map_err(|_| Rejected::Malformed)?;
        let is_group = header.dst.is_multicast();
        let is_beyond_link = !ipv6::addr::is_link_scoped_multicast(&header.dst);
        let is_known = is_group && is_beyond_link && self.has_groups;
        if is_group && !is_known || ipv6::addr::is_link_local(&header.dst) {
            return Err(Rejected::NotForMesh);
        }
        if self.contains(&header.src) && header.src != self.host {
            return Err(Rejected::SpoofedSource);
        }
        if !is_group && !self.contains(&header.dst) {
            return Err(Rejected::ForeignDestination);
        }
        Ok(())
    }

    /// Refuses an echo request beyond the limit, unless it is for `own`, the border router.
    fn limit_echoes(&mut self, now: Instant, own: Addr, packet: &[u8]) -> Result<(), Rejected> {
        let (header, payload) = Ipv6Header::parse(packet).map_err(|_| Rejected::Malformed)?;
        let is_free = header.dst == own || !is_echo_request(&header, payload);
        if is_free || self.echoes.admit(now, &header.dst, packet.len()) {
            Ok(())
        } else {
            Err(Rejected::EchoLimit)
        }
    }

    /// Returns whether the address is the mesh's prefix followed by zeros.
    fn is_anycast(&self, addr: &Addr) -> bool {
        let behind = u128::from_be_bytes(addr.0).checked_shl(self.prefix_len.into());
        behind == Some(0)
    }

    fn contains(&self, addr: &Addr) -> bool {
        addr.shares_prefix(&self.prefix, self.prefix_len)
    }
}

/// Returns whether routers must not forward packets with this source: the unspecified and the
/// loopback address, IPv4 addresses in IPv6 form (compatible `::/96`, mapped `::ffff:0:0/96`; RFC
/// 4291 §2.5.2, §2.5.3, §2.5.5), link-local (§2.5.6) and multicast addresses (§2.7).
fn is_unroutable(src: &Addr) -> bool {
    let [head @ .., _, _, _, _] = &src.0;
    let is_ipv4 = matches!(
        head,
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] | [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
    );
    is_ipv4 || src.is_multicast() || ipv6::addr::is_link_local(src)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redpoll_base::Ecn;

    fn packet(src: Addr, dst: Addr) -> [u8; 40] {
        Ipv6Header {
            dscp: 0,
            ecn: Ecn::NotEct,
            flow_label: 0,
            payload_len: 0,
            next_header: 59,
            hop_limit: 64,
            src,
            dst,
        }
        .to_bytes()
    }

    fn addr(text: &str) -> Addr {
        text.parse::<core::net::Ipv6Addr>().unwrap().into()
    }

    #[test]
    fn only_foreign_packets_for_the_mesh_enter() {
        let gate = Gate::new(addr("fd00:1::"), 64);
        let check = |src, dst| gate.check(&packet(addr(src), addr(dst)));
        assert_eq!(check("2001:db8::1", "fd00:1::5"), Ok(()));
        assert_eq!(
            check("fd00:1::9", "fd00:1::5"),
            Err(Rejected::SpoofedSource)
        );
        assert_eq!(
            check("2001:db8::1", "fd00:2::5"),
            Err(Rejected::ForeignDestination)
        );
        assert_eq!(check("fe80::1", "ff02::2"), Err(Rejected::NotForMesh));
        assert_eq!(gate.check(&[0x45; 60]), Err(Rejected::Malformed));
        assert_eq!(gate.check(&[]), Err(Rejected::Malformed));
    }

    /// One address of each special-purpose range of RFC 6890 and its registry.
    const SPECIAL: [&str; 20] = [
        "::",
        "::1",
        "::127.0.0.1",
        "::192.0.2.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:0.0.0.0",
        "::ffff:255.255.255.255",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "fc00::1",
        "fd00:2::1",
        "fe80::1",
        "febf::1",
        "ff02::1",
        "ff0e::1",
    ];

    #[test]
    fn no_special_or_foreign_source_leaves_the_mesh() {
        let gate = Gate::new(addr("fd00:1::"), 64).with_host(addr("fd00:1::aa"));
        for src in SPECIAL {
            let packet = packet(addr(src), addr("2001:db8::1"));
            assert!(gate.may_leave(&packet).is_err(), "{src}");
        }
        let leaves = |src| gate.may_leave(&packet(addr(src), addr("2001:db8::1")));
        assert_eq!(leaves("fd00:1::5"), Ok(()));
        assert_eq!(leaves("fd00:1::aa"), Err(Withheld::ForeignSource));
        assert_eq!(leaves("fd00:1::"), Err(Withheld::ForeignSource));
        assert_eq!(leaves("fd00:1:0:1::5"), Err(Withheld::ForeignSource));
        assert_eq!(leaves("::ffff:1.2.3.4"), Err(Withheld::UnroutableSource));
        assert_eq!(gate.may_leave(&[0x45; 60]), Err(Withheld::Malformed));
    }

    #[test]
    fn an_unroutable_source_is_refused_inside_any_prefix() {
        for src in ["::1", "::ffff:127.0.0.1", "fe80::1", "ff02::1"] {
            let gate = Gate::new(addr(src), 64);
            let packet = packet(addr(src), addr("2001:db8::1"));
            assert_eq!(gate.may_leave(&packet), Err(Withheld::UnroutableSource));
        }
    }
}
