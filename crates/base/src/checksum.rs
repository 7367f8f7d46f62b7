//! The Internet checksum (RFC 1071; pseudo-header RFC 8200 §8.1).

use bytemuck::pod_align_to;

use crate::Addr;

/// A running one's-complement sum over bytes that may be added in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    /// Sum of the words so far, at most 17 bits long.
    sum: u32,
    /// Whether the number of bytes so far is odd: then the next byte is the second byte of a word.
    odd: bool,
}

impl Checksum {
    /// Returns an empty sum.
    pub const fn new() -> Self {
        Checksum { sum: 0, odd: false }
    }

    /// Returns the sum over the IPv6 pseudo-header: addresses, the upper-layer length in bytes and
    /// its next-header number (RFC 8200 §8.1).
    pub fn pseudo_header(src: &Addr, dst: &Addr, next_header: u8, len: u32) -> Self {
        let (mut even, mut odd) = (0u32, 0u32);
        for address in [src, dst] {
            for &[a, b, c, d, e, f, g, h] in address.0.as_chunks().0 {
                let mut sum = |first: u8, second: u8| {
                    even = even.wrapping_add(first.into());
                    odd = odd.wrapping_add(second.into());
                };
                sum(a, b);
                sum(c, d);
                sum(e, f);
                sum(g, h);
            }
        }
        let mut sum = Checksum::new();
        sum.add_sum((even << 8).wrapping_add(odd));
        sum.add_sum(fold(len).wrapping_add(next_header.into()));
        sum
    }

    /// Returns the sum over the IPv6 pseudo-header and `payload`, a packet's whole payload after
    /// its extension headers (RFC 8200 §8.1).
    #[inline(never)] // size
    pub fn of_payload(src: &Addr, dst: &Addr, next_header: u8, payload: &[u8]) -> Self {
        let mut sum = Checksum::pseudo_header(src, dst, next_header, payload.len() as u32);
        sum.add(payload);
        sum
    }

    /// Adds up to 128 KiB of bytes, which continue where the last call ended. The function reads
    /// aligned halfwords in the processor's byte order. If `bytes` begins at an odd address, its
    /// first byte counts as the second byte of a halfword. A single byte after the last halfword
    /// counts as the first byte of one more halfword.
    pub fn add(&mut self, bytes: &[u8]) {
        // A shortcut for the second of the two pieces in which a ring returns bytes: it is
        // usually empty.
        if bytes.is_empty() {
            return;
        }
        let (head, halves, tail) = pod_align_to::<u8, [u16; 8]>(bytes);
        // The sum of 65,537 halfwords fits in 32 bits.
        let mut total = 0u32;
        let mut sum = |half: u16| total = total.wrapping_add(half.into());
        if let [second] = head {
            sum(u16::from_ne_bytes([0, *second]));
        }
        for &[a, b, c, d, e, f, g, h] in halves {
            sum(a);
            sum(b);
            sum(c);
            sum(d);
            sum(e);
            sum(f);
            sum(g);
            sum(h);
        }
        let (pairs, last) = tail.as_chunks();
        for pair in pairs {
            sum(u16::from_ne_bytes(*pair));
        }
        if let [first] = last {
            sum(u16::from_ne_bytes([*first, 0]));
        }
        // RFC 1071 §2 (B): swapping the bytes of all words swaps the bytes of the sum. In
        // one's-complement arithmetic this is a multiplication by 256.
        let mut sum = fold(fold(total));
        let is_swapped = cfg!(target_endian = "little") == head.is_empty();
        if is_swapped != self.odd {
            sum <<= 8;
        }
        self.add_sum(sum);
        self.odd ^= !bytes.len().is_multiple_of(2);
    }

    /// Adds `other`, a sum that was computed separately over the bytes that follow. These bytes
    /// begin at an even offset, and no further bytes follow them.
    pub fn append(&mut self, other: Checksum) {
        self.add_sum(other.sum);
    }

    /// Adds a sum that is at most 25 bits long.
    fn add_sum(&mut self, sum: u32) {
        self.sum = fold(self.sum.wrapping_add(sum));
    }

    /// Returns the checksum to store: the complement of the sum.
    pub fn finish(self) -> u16 {
        !(fold(self.sum) as u16)
    }

    /// Returns whether the checksum is correct: the bytes so far must include the checksum field.
    pub fn is_valid(self) -> bool {
        self.finish() == 0
    }
}

/// Folds the carries of a one's-complement sum; at most 17 bits remain.
const fn fold(sum: u32) -> u32 {
    (sum & 0xffff).wrapping_add(sum >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 §3.
    #[test]
    fn rfc1071_example() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        let mut sum = Checksum::new();
        sum.add(&bytes);
        assert_eq!(sum.finish(), !0xddf2);
    }

    /// Compares with the definition, word by word.
    #[test]
    fn long_inputs_sum_like_their_definition() {
        extern crate std;
        let mut rng = crate::Rng::new(3);
        for len in [0, 1, 2, 7, 8, 9, 1_500, 65_535, 65_536, 65_537, 131_072] {
            let mut bytes: std::vec::Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            for all in [false, true] {
                if all {
                    bytes.fill(0xff);
                }
                let mut expected = bytes.chunks(2).fold(0u64, |sum, word| {
                    sum + u64::from(word[0]) * 256 + u64::from(*word.get(1).unwrap_or(&0))
                });
                while expected > 0xffff {
                    expected = (expected & 0xffff) + (expected >> 16);
                }
                let mut sum = Checksum::new();
                sum.add(&bytes);
                assert_eq!(sum.finish(), !(expected as u16), "{len} bytes");
            }
        }
    }

    #[test]
    fn pieces_of_odd_length_sum_like_the_whole() {
        let bytes: [u8; 61] = core::array::from_fn(|i| (i * 37) as u8);
        let mut whole = Checksum::new();
        whole.add(&bytes);
        for cut in 0..bytes.len() {
            let (a, b) = bytes.split_at(cut);
            let mut pieces = Checksum::new();
            pieces.add(a);
            pieces.add(&[]);
            pieces.add(b);
            assert_eq!(pieces.finish(), whole.finish(), "cut at {cut}");
            if cut.is_multiple_of(2) {
                let (mut front, mut back) = (Checksum::new(), Checksum::new());
                front.add(a);
                back.add(b);
                front.append(back);
                assert_eq!(front.finish(), whole.finish(), "joined at {cut}");
            }
        }
    }

    /// Compares `pseudo_header` with the sum over the bytes of the pseudo-header (RFC 8200 §8.1).
    #[test]
    fn a_pseudo_header_sums_like_its_bytes() {
        let src = Addr(core::array::from_fn(|i| (i * 53) as u8));
        let dst = Addr([0xfe; 16]);
        for len in [0, 8, 1_280, 0x1_2345] {
            let mut expected = Checksum::new();
            expected.add(&src.0);
            expected.add(&dst.0);
            expected.add(&(len as u32).to_be_bytes());
            expected.add(&[0, 0, 0, 17]);
            let sum = Checksum::pseudo_header(&src, &dst, 17, len as u32);
            assert_eq!(sum.finish(), expected.finish());
        }
        let mut bytes = [1, 2, 0, 0, 3];
        let sum = Checksum::of_payload(&src, &dst, 6, &bytes);
        assert!(!sum.is_valid());
        bytes[2..4].copy_from_slice(&sum.finish().to_be_bytes());
        assert!(Checksum::of_payload(&src, &dst, 6, &bytes).is_valid());
    }
}
