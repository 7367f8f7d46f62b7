//! A network address as the transport sees it: sixteen opaque bytes.

use core::fmt;
use core::hash::{Hash, Hasher};

/// Sixteen bytes in network order that name a host.
///
/// For IPv6 these are the address itself. The transport compares and hashes
/// them and never looks inside; `wire` and `stack` know what they mean.
///
/// They lie where words do, so that a processor that reads only aligned words
/// moves and compares them by words.
#[derive(Clone, Copy, Eq, PartialOrd, Ord, Default)]
#[repr(align(4))]
pub struct Addr(pub [u8; 16]);

impl PartialEq for Addr {
    // Once, for all comparisons.
    #[inline(never)]
    fn eq(&self, other: &Addr) -> bool {
        let (ours, _) = self.0.as_chunks();
        let (theirs, _) = other.0.as_chunks();
        let pairs = ours.iter().zip(theirs);
        // Without a branch at each pair.
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

    /// The address as bytes in network order.
    pub const fn octets(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is the unspecified address.
    pub fn is_unspecified(&self) -> bool {
        *self == Self::UNSPECIFIED
    }

    /// Whether the address names a group of hosts (RFC 4291 §2.7).
    pub const fn is_multicast(&self) -> bool {
        self.0[0] == 0xff
    }

    /// Whether the first `bits` bits (0 to 128; more counts as 128) of both
    /// addresses are the same.
    #[inline(never)] // size
    pub fn shares_prefix(&self, other: &Addr, bits: u8) -> bool {
        // Byte by byte: 128 bits are many on 32-bit processors.
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
}
