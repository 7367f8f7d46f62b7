//! A network address as the transport sees it: sixteen opaque bytes.

use core::fmt;
use core::hash::{Hash, Hasher};

/// The address of a host: sixteen bytes in network order, for IPv6 the address itself.
///
/// The transport compares and hashes addresses without interpreting them; `wire` and `stack`
/// interpret them. The type is aligned to words, so that a processor with only aligned accesses
/// moves and compares addresses by words.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Default)]
#[repr(align(4))]
pub struct Addr(pub [u8; 16]);

impl PartialEq for Addr {
    // Not inlined: one copy of the code for all comparisons.
    #[inline(never)]
    fn eq(&self, other: &Addr) -> bool {
        let (ours, _) = self.0.as_chunks();
        let (theirs, _) = other.0.as_chunks();
        let pairs = ours.iter().zip(theirs);
        // Compares without a branch for each pair.
        let differences = pairs.map(|(a, b)| u32::from_ne_bytes(*a) ^ u32::from_ne_bytes(*b));
        differences.fold(0, |all, difference| all | difference) == 0
    }
}

impl Hash for Addr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl Addr {
    /// The unspecified address, all zeros (RFC 4291 §2.5.2).
    pub const UNSPECIFIED: Addr = Addr([0; 16]);

    /// Returns the bytes in network order.
    pub const fn octets(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns whether the address is the unspecified address.
    pub fn is_unspecified(&self) -> bool {
        *self == Self::UNSPECIFIED
    }

    /// Returns whether the address is a multicast address (RFC 4291 §2.7).
    pub const fn is_multicast(&self) -> bool {
        self.0[0] == 0xff
    }

    /// Returns whether the first `bits` bits, 128 at most, of both addresses are equal.
    pub fn shares_prefix(&self, other: &Addr, bits: u8) -> bool {
        // Byte by byte, because integers of 128 bits are slow on 32-bit processors.
        let mut bits = bits;
        for (a, b) in self.0.iter().zip(&other.0) {
            if bits == 0 {
                break;
            }
            let host_bits = 0xff_u32 >> bits.min(8);
            if u32::from(a ^ b) > host_bits {
                return false;
            }
            bits = bits.saturating_sub(8);
        }
        true
    }
}

impl From<[u8; 16]> for Addr {
    fn from(octets: [u8; 16]) -> Self {
        Addr(octets)
    }
}

impl From<core::net::Ipv6Addr> for Addr {
    fn from(addr: core::net::Ipv6Addr) -> Self {
        Addr(addr.octets())
    }
}

impl From<Addr> for core::net::Ipv6Addr {
    fn from(addr: Addr) -> Self {
        core::net::Ipv6Addr::from(addr.0)
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        core::net::Ipv6Addr::from(*self).fmt(f)
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_compare_bit_by_bit() {
        let mut a = Addr([0xfd; 16]);
        let b = a;
        a.0[8] = 0xfc;
        assert!(a.shares_prefix(&b, 64));
        assert!(a.shares_prefix(&b, 71));
        assert!(!a.shares_prefix(&b, 72));
        assert!(!a.shares_prefix(&b, 128));
        assert!(b.shares_prefix(&b, 128));
        assert!(Addr::UNSPECIFIED.shares_prefix(&b, 0));
    }

    #[test]
    fn equal_addresses_have_equal_hashes_and_texts() {
        extern crate std;
        use core::net::Ipv6Addr;
        use std::hash::BuildHasher;
        let text = "fd72:6564::ff:fe00:1";
        let ip: Ipv6Addr = text.parse().unwrap();
        let addr = Addr::from(ip);
        assert_eq!(Addr::from(*addr.octets()), addr);
        assert_eq!(Ipv6Addr::from(addr), ip);
        assert_eq!(
            std::format!("{addr} {addr:?}"),
            std::format!("{text} {text}")
        );
        for at in 0..16 {
            let mut other = addr;
            other.0[at] ^= 0x10;
            assert_ne!(other, addr);
        }
        let state = std::hash::RandomState::new();
        assert_eq!(state.hash_one(addr), state.hash_one(Addr(addr.0)));
        assert!(Addr::UNSPECIFIED.is_unspecified() && !addr.is_unspecified());
        assert!(Addr([0xff; 16]).is_multicast() && !addr.is_multicast());
    }
}
