//! IPv6 addresses that 802.15.4 nodes form and use (RFC 4291, RFC 6282 §3.2.2).

use crate::ieee802154;
use redpoll_base::Addr;

/// `ff02::1`, every node on the link (RFC 4291 §2.7.1).
pub const LINK_LOCAL_ALL_NODES: Addr = Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
/// `ff02::2`, every router on the link (RFC 4291 §2.7.1).
pub const LINK_LOCAL_ALL_ROUTERS: Addr = Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
/// The first half of a link-local address, `fe80::/64` (RFC 4291 §2.5.6).
pub const LINK_LOCAL_PREFIX: Addr = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

/// Returns an address of the first 64 bits of `prefix` and the interface identifier `iid`.
pub const fn from_prefix_and_iid(prefix: &Addr, iid: [u8; 8]) -> Addr {
    let mut addr = *prefix;
    if let Some(low) = addr.0.last_chunk_mut() {
        *low = iid;
    }
    addr
}

/// Returns the first `len` bits of `addr`, followed by zeros; `len` over 128 counts as 128.
pub const fn prefix(addr: &Addr, len: u8) -> Addr {
    overlay(addr, len, &Addr::UNSPECIFIED)
}

/// Returns the first `len` bits of `prefix`, and the rest of `addr`. It works byte by byte, because
/// integers of 128 bits are slow on 32-bit processors.
#[inline(never)] // size
pub(crate) const fn overlay(prefix: &Addr, len: u8, addr: &Addr) -> Addr {
    let mut joined = *addr;
    let (mut to, mut from): (&mut [u8], &[u8]) = (&mut joined.0, &prefix.0);
    let mut bits = len;
    while let ([byte, later @ ..], [prefix, rest @ ..]) = (to, from) {
        let host_bits = match bits {
            0 => break,
            8.. => 0,
            _ => 0xff_u8 >> bits,
        };
        *byte = *byte & host_bits | *prefix & !host_bits;
        bits = bits.saturating_sub(8);
        (to, from) = (later, rest);
    }
    joined
}

/// Returns the interface identifier of a link-layer address; `None` for
/// [`ieee802154::Address::Absent`].
#[inline(never)] // size
pub const fn iid_of(address: ieee802154::Address) -> Option<[u8; 8]> {
    match address {
        ieee802154::Address::Absent => None,
        ieee802154::Address::Short(short) => Some(iid_from_short(short)),
        ieee802154::Address::Extended(eui64) => Some(iid_from_eui64(eui64)),
    }
}

/// Returns the interface identifier of a short address, `0000:00ff:fe00:XXXX` (RFC 6282 §3.2.2).
/// RFC 4944 §6 included the PAN ID; that form is obsolete.
pub const fn iid_from_short(short: u16) -> [u8; 8] {
    let [high, low] = short.to_be_bytes();
    [0, 0, 0, 0xff, 0xfe, 0, high, low]
}

/// Returns the interface identifier of an EUI-64, with its universal/local bit inverted (RFC 4291
/// Appendix A).
pub const fn iid_from_eui64(eui64: [u8; 8]) -> [u8; 8] {
    let [first, b, c, d, e, f, g, h] = eui64;
    [first ^ 0x02, b, c, d, e, f, g, h]
}

/// Returns the low 64 bits of an address.
pub const fn iid(addr: &Addr) -> [u8; 8] {
    let [.., a, b, c, d, e, f, g, h] = addr.0;
    [a, b, c, d, e, f, g, h]
}

/// Returns the link-local address of an EUI-64.
pub const fn link_local_from_eui64(eui64: [u8; 8]) -> Addr {
    from_prefix_and_iid(&LINK_LOCAL_PREFIX, iid_from_eui64(eui64))
}

/// Returns the link-local address of a short address.
pub const fn link_local_from_short(short: u16) -> Addr {
    from_prefix_and_iid(&LINK_LOCAL_PREFIX, iid_from_short(short))
}

/// Returns the link-local address of a link-layer address; `None` if that is absent.
#[inline(never)] // size
pub const fn link_local(address: ieee802154::Address) -> Option<Addr> {
    match iid_of(address) {
        Some(iid) => Some(from_prefix_and_iid(&LINK_LOCAL_PREFIX, iid)),
        None => None,
    }
}

/// Returns the address that a node with a short address forms in a /64 prefix.
pub const fn from_prefix_and_short(prefix: &Addr, short: u16) -> Addr {
    from_prefix_and_iid(prefix, iid_from_short(short))
}

/// Returns the link-layer address from which this module forms the interface identifier of `addr`:
/// a short address if the identifier has that form, otherwise an EUI-64.
pub const fn link_address(addr: &Addr) -> ieee802154::Address {
    match iid(addr) {
        [0, 0, 0, 0xff, 0xfe, 0, high, low] => {
            ieee802154::Address::Short(u16::from_be_bytes([high, low]))
        }
        // Inverting the bit twice restores it.
        iid => ieee802154::Address::Extended(iid_from_eui64(iid)),
    }
}

/// Returns whether the address is in `fe80::/10` (RFC 4291 §2.4).
pub const fn is_link_local(addr: &Addr) -> bool {
    let [first, second, ..] = addr.0;
    first == 0xfe && second & 0xc0 == 0x80
}

/// Returns whether this is a multicast address whose packets stay on the link: scope
/// interface-local, link-local or the reserved 0 (RFC 4291 §2.7).
pub const fn is_link_scoped_multicast(addr: &Addr) -> bool {
    let [first, second, ..] = addr.0;
    first == 0xff && second & 0x0f <= 2
}

/// Returns the solicited-node group of an address, `ff02::1:ffXX:XXXX` (RFC 4291 §2.7.1).
pub const fn solicited_node(addr: &Addr) -> Addr {
    let [.., a, b, c] = addr.0;
    Addr([0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}
