//! Keys of two bytes, for nodes that all have short addresses.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr;

pub(super) type ShortKey = u16;
pub(super) use ShortKey as Key;

/// Returns the key of a unicast link-layer address; `None` for an extended one.
pub(super) fn of(link: Address) -> Option<ShortKey> {
    match link {
        Address::Short(short) => Some(short),
        Address::Extended(_) | Address::Absent => None,
    }
}

pub(super) fn link(key: ShortKey) -> Address {
    Address::Short(key)
}

pub(super) fn within(key: ShortKey, prefix: &Addr) -> Addr {
    addr::from_prefix_and_short(prefix, key)
}

/// Returns the last bits of the key, at most 32.
pub(super) fn low_bits(key: ShortKey) -> u32 {
    key.into()
}
