//! The Internet checksum (RFC 1071; pseudo-header RFC 8200 §8.1).

use crate::Addr;

/// A running one's-complement sum over bytes that may come in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    /// At most 17 bits.
    sum: u32,
    /// The bytes so far are odd in number: the next one is a word's second.
    odd: bool,
}

impl Checksum {
    /// An empty sum.
    pub const fn new() -> Self {
        Checksum { sum: 0, odd: false }
    }

    /// The sum over the IPv6 pseudo-header: addresses, the upper-layer length
    /// in bytes and its next-header number (RFC 8200 §8.1).
    pub fn pseudo_header(src: &Addr, dst: &Addr, next_header: u8, len: u32) -> Self {
        let mut sum = Checksum::new();
        sum.add(&src.0);
        sum.add(&dst.0);
        sum.add_sum(fold(len).wrapping_add(next_header.into()));
        sum
    }

    /// Adds `bytes`, which continue where the last call ended; up to 16 MiB of
    /// them.
    ///
    /// Bytes at even and at odd places are summed apart and put together once:
    /// two instructions a byte, where a word at a time costs a Cortex-M0 seven.
    pub fn add(&mut self, bytes: &[u8]) {
        // In 16 MiB neither of the two exceeds 32 bits.
        let (mut high, mut low) = (0u32, 0u32);
        let mut sum = |h: u8, l: u8| {
            high = high.wrapping_add(u32::from(h));
            low = low.wrapping_add(u32::from(l));
        };
        let (eights, rest) = bytes.as_chunks();
        for &[a, b, c, d, e, f, g, h] in eights {
            sum(a, b);
            sum(c, d);
            sum(e, f);
            sum(g, h);
        }
        let (words, last) = rest.as_chunks();
        for &[h, l] in words {
            sum(h, l);
        }
        if let [last] = last {
            sum(*last, 0);
        }
        let mut sum = fold((fold(high) << 8).wrapping_add(fold(low)));
        // RFC 1071 §2 (B): of words whose bytes are swapped, the sum is
        // swapped; and that is a product with 256.
        if self.odd {
            sum <<= 8;
        }
        self.add_sum(sum);
        self.odd ^= !bytes.len().is_multiple_of(2);
    }

    /// Adds what was summed up apart, of bytes that begin at an even place and
    /// are the last ones.
    pub fn append(&mut self, other: Checksum) {
        self.add_sum(other.sum);
    }

    /// Adds a sum of at most 25 bits.
    fn add_sum(&mut self, sum: u32) {
        self.sum = fold(self.sum.wrapping_add(sum));
    }

    /// The checksum to store: the complement of the sum.
    pub fn finish(self) -> u16 {
        !(fold(self.sum) as u16)
    }

    /// Whether the bytes added so far, their checksum field included, are intact.
    pub fn is_valid(self) -> bool {
        self.finish() == 0
    }
}

/// One's-complement addition's end-around carry: at most 17 bits remain.
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

    /// The definition, word by word.
    #[test]
    fn long_inputs_sum_like_their_definition() {
        extern crate std;
        let mut rng = crate::Rng::new(3);
        for len in [0, 1, 7, 8, 9, 1_500, 65_535, 65_536, 65_537, 200_001] {
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
}
