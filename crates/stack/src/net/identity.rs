//! The identity of a node: its addresses, and the packets that are for it.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr};

/// The addresses of a node, its hop limit, and whether it forwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    /// The link-layer address in the node's frames.
    pub(crate) link: Address,
    /// The EUI-64 in the node's registrations.
    pub(crate) eui64: [u8; 8],
    pub(crate) link_local: Addr,
    /// The global address; unspecified until the node has one.
    pub(crate) address: Addr,
    pub(crate) hop_limit: u8,
    pub(crate) forwards: bool,
}

impl Identity {
    /// Returns the unicast addresses, in the order of [`Ask::own`](crate::transports::Ask).
    pub(crate) fn own(&self) -> [Addr; 2] {
        [self.link_local, self.address]
    }

    pub(crate) fn local(&self, dst: &Addr) -> u8 {
        u8::from(*dst != self.link_local)
    }

    pub(crate) fn is_own(&self, addr: &Addr) -> bool {
        !addr.is_unspecified() && (*addr == self.address || *addr == self.link_local)
    }

    /// Returns whether packets to this address are for the node: its own addresses and groups (RFC
    /// 4291 §2.8).
    pub(crate) fn is_mine(&self, dst: &Addr) -> bool {
        self.is_own(dst)
            || *dst == addr::LINK_LOCAL_ALL_NODES
            || *dst == addr::solicited_node(&self.address)
            || *dst == addr::solicited_node(&self.link_local)
            || (self.forwards && *dst == addr::LINK_LOCAL_ALL_ROUTERS)
    }

    /// Returns whether this node is a router, and `dst` is the Subnet-Router anycast address of its
    /// prefix (RFC 4291 §2.6.1).
    pub(crate) fn is_subnet_anycast(&self, dst: &Addr) -> bool {
        let is_prefix = self.forwards && self.address.shares_prefix(dst, 64);
        is_prefix && !self.address.is_unspecified() && dst.0.ends_with(&[0; 8])
    }

    /// Returns the source address for packets to `dst`, of the same scope (RFC 6724 §5, rule 2);
    /// `None` before the node has one.
    pub(crate) fn source_for(&self, dst: &Addr) -> Option<Addr> {
        if addr::is_link_local(dst) || addr::is_link_scoped_multicast(dst) {
            return Some(self.link_local);
        }
        Some(self.address).filter(|address| !address.is_unspecified())
    }

    /// Returns the source of an answer to this packet: the packet's destination, if that is an
    /// address of the node, otherwise the node's address towards the packet's source (RFC 4443
    /// §2.2).
    pub(crate) fn answers_from(&self, header: &Ipv6Header) -> Option<Addr> {
        if self.is_own(&header.dst) {
            return Some(header.dst);
        }
        self.source_for(&header.src)
    }

    /// Returns the header of a packet of this node, without the length.
    pub(crate) fn header(&self, src: Addr, dst: Addr, next_header: u8) -> Ipv6Header {
        Ipv6Header {
            next_header,
            hop_limit: self.hop_limit,
            src,
            dst,
            ..Ipv6Header::default()
        }
    }
}

/// `::1`: packets from or to it are never on a link (RFC 4291 §2.5.3).
pub(crate) fn is_loopback(addr: &Addr) -> bool {
    u128::from_be_bytes(addr.0) == 1
}
