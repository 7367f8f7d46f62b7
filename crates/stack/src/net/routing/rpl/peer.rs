//! Keys of neighbours and nodes of the DODAG in RPL's tables.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

#[cfg_attr(feature = "rpl-eui64", path = "peer/extended.rs")]
#[cfg_attr(not(feature = "rpl-eui64"), path = "peer/short.rs")]
mod key;

use key::Key;

/// A node, by the interface identifier that is formed from its link-layer address
/// (RFC 4944 §6, RFC 6282 §3.2.2). The key is the part of the identifier that distinguishes nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Peer(Key);

impl Peer {
    /// Returns the node with this link-layer address; `None` if it is absent, the broadcast
    /// address, or an extended address in a build for short ones.
    pub(crate) fn of(link: Address) -> Option<Peer> {
        let link = Some(link).filter(|link| crate::packet::is_unicast(*link))?;
        key::of(link).map(Peer)
    }

    /// Returns the node whose interface identifier is that of this address.
    pub(crate) fn at(addr: &Addr) -> Option<Peer> {
        Peer::of(addr::link_address(addr))
    }

    pub(crate) fn link(self) -> Address {
        key::link(self.0)
    }

    /// Returns the node's address with this prefix of 64 bits.
    pub(crate) fn within(self, prefix: &Addr) -> Addr {
        key::within(self.0, prefix)
    }

    /// Returns a hash of this node and its neighbour `other`. Among neighbours with the same cost,
    /// the node chooses the one with the smallest hash. The hashes differ between nodes, so that
    /// nodes with the same neighbours choose different ones.
    pub(crate) fn order_of(self, other: Peer) -> u16 {
        let (own, other) = (key::low_bits(self.0), key::low_bits(other.0));
        let both = own.wrapping_mul(0x9E37_79B1) ^ other.wrapping_mul(0x85EB_CA6B);
        ((both ^ (both >> 15)).wrapping_mul(0xC2B2_AE35) >> 16) as u16
    }

    pub(crate) fn link_local(self) -> Addr {
        self.within(&addr::LINK_LOCAL_PREFIX)
    }
}
