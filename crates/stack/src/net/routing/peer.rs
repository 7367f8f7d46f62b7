//! Neighbours, and nodes of the DODAG, as RPL's tables name them.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

/// A node, by the interface identifier that is made of its link-layer address
/// (RFC 4944 §6, RFC 6282 §3.2.2), or rather by what of it tells nodes apart: of
/// identifiers that are all made of short addresses these two bytes. With the feature
/// `rpl-foreign` they may be made of an EUI-64, and tables are larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Peer(
    #[cfg(not(feature = "rpl-foreign"))] u16,
    #[cfg(feature = "rpl-foreign")] [u8; 8],
);

impl Peer {
    /// The node with this link-layer address; `None` if it is absent, the broadcast
    /// address, or one that this build has no room for.
    pub(crate) fn of(link: Address) -> Option<Peer> {
        let link = Some(link).filter(|link| crate::packet::is_unicast(*link))?;
        #[cfg(feature = "rpl-foreign")]
        return addr::iid_of(link).map(Peer);
        #[cfg(not(feature = "rpl-foreign"))]
        match link {
            Address::Short(short) => Some(Peer(short)),
            Address::Extended(_) | Address::Absent => None,
        }
    }

    /// The node whose interface identifier stands in this address.
    pub(crate) fn at(addr: &Addr) -> Option<Peer> {
        Peer::of(addr::link_address(addr))
    }

    /// Its link-layer address.
    pub(crate) fn link(self) -> Address {
        #[cfg(feature = "rpl-foreign")]
        return addr::link_address(&self.within(&addr::LINK_LOCAL_PREFIX));
        #[cfg(not(feature = "rpl-foreign"))]
        Address::Short(self.0)
    }

    /// Its address with this prefix of 64 bits.
    pub(crate) fn within(self, prefix: &Addr) -> Addr {
        #[cfg(feature = "rpl-foreign")]
        return addr::from_prefix_and_iid(prefix, self.0);
        #[cfg(not(feature = "rpl-foreign"))]
        addr::from_prefix_and_short(prefix, self.0)
    }

    /// Its link-local address.
    pub(crate) fn link_local(self) -> Addr {
        self.within(&addr::LINK_LOCAL_PREFIX)
    }
}
