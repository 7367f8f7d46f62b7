//! The Internet checksum (RFC 1071; pseudo-header RFC 8200 §8.1).

use crate::Addr;

/// A running one's-complement sum over bytes that may come in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum {
    sum: u32,
    /// The last byte of a piece of odd length, waiting for its partner.
    odd: Option<u8>,
}

impl Checksum {
    /// An empty sum.
    pub const fn new() -> Self {
        Checksum { sum: 0, odd: None }
    }

    /// The sum over the IPv6 pseudo-header: addresses, the upper-layer length
    /// in bytes and its next-header number (RFC 8200 §8.1).
    pub fn pseudo_header(src: &Addr, dst: &Addr, next_header: u8, len: u32) -> Self {
        let mut sum = Checksum::new();
        sum.add(&src.0);
        sum.add(&dst.0);
        sum.add(&len.to_be_bytes());
        sum.add(&[0, 0, 0, next_header]);
        sum
    }

    /// Adds `bytes`, which continue where the last call ended.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        if let Some(high) = self.odd {
            let [low, tail @ ..] = rest else { return };
            self.add_word(u16::from_be_bytes([high, *low]));
            self.odd = None;
            rest = tail;
        }
        let mut words = rest.chunks_exact(2);
        // A chunk adds at most 0xffff; the sum is folded before 2^16 of them.
        for word in words.by_ref() {
            if let [high, low] = word {
                self.add_word(u16::from_be_bytes([*high, *low]));
            }
        }
        if let [last] = words.remainder() {
            self.odd = Some(*last);
        }
    }

    fn add_word(&mut self, word: u16) {
        let sum = self.sum.wrapping_add(u32::from(word));
        // Folding at each step keeps the sum below 2^17 and costs one add.
        self.sum = (sum & 0xffff).wrapping_add(sum >> 16);
    }

    /// The checksum to store: the complement of the sum.
    pub fn finish(mut self) -> u16 {
        if let Some(high) = self.odd.take() {
            self.add_word(u16::from_be_bytes([high, 0]));
        }
        let folded = (self.sum & 0xffff).wrapping_add(self.sum >> 16);
        !(folded as u16)
    }

    /// Whether the bytes added so far, their checksum field included, are intact.
    pub fn is_valid(self) -> bool {
        self.finish() == 0
    }
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
        }
    }
}
