//! Keys of eight bytes, for nodes that may have extended addresses.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

/// The interface identifier.
pub(super) type ExtendedKey = [u8; 8];
pub(super) use ExtendedKey as Key;

/// Returns the key of a unicast link-layer address.
pub(super) fn of(link: Address) -> Option<ExtendedKey> {
    addr::iid_of(link)
}

pub(super) fn link(key: ExtendedKey) -> Address {
    addr::link_address(&within(key, &addr::LINK_LOCAL_PREFIX))
}

pub(super) fn within(key: ExtendedKey, prefix: &Addr) -> Addr {
    addr::from_prefix_and_iid(prefix, key)
}

/// Returns the last bits of the key, at most 32.
pub(super) fn low_bits(key: ExtendedKey) -> u32 {
    let [.., a, b, c, d] = key;
    u32::from_be_bytes([a, b, c, d])
}
