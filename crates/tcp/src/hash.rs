//! HalfSipHash-2-4 (Aumasson; SipHash with words of 32 bits): a keyed function
//! for short input, on processors whose registers have 32 bits.
//!
//! Its key has 64 bits and its output 32: enough for numbers that somebody who
//! is not on the path must not guess, and that change with the clock.

use redpoll_base::Addr;

/// The hash of the words that were put in.
#[derive(Clone)]
pub(crate) struct HalfSipHash {
    v: [u32; 4],
    words: u8,
}

impl HalfSipHash {
    pub(crate) fn new([k0, k1]: [u32; 2]) -> Self {
        HalfSipHash {
            v: [k0, k1, k0 ^ 0x6c79_6765, k1 ^ 0x7465_6462],
            words: 0,
        }
    }

    /// At most 63 words.
    pub(crate) fn word(mut self, m: u32) -> Self {
        self.compress(m);
        self.words = self.words.wrapping_add(1);
        self
    }

    pub(crate) fn addr(self, addr: &Addr) -> Self {
        let (words, _) = addr.octets().as_chunks();
        words
            .iter()
            .fold(self, |hash, word| hash.word(u32::from_le_bytes(*word)))
    }

    pub(crate) fn finish(mut self) -> u32 {
        // The input's length in bytes, in the top byte of the last word.
        self.compress(u32::from(self.words) << 26);
        self.v[2] ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        self.v[1] ^ self.v[3]
    }

    fn compress(&mut self, m: u32) {
        self.v[3] ^= m;
        self.round();
        self.round();
        self.v[0] ^= m;
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        a = a.wrapping_add(b);
        b = b.rotate_left(5) ^ a;
        a = a.rotate_left(16);
        c = c.wrapping_add(d);
        d = d.rotate_left(8) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(7) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(13) ^ c;
        c = c.rotate_left(16);
        self.v = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the reference implementation for inputs of whole words:
    /// key 00..07, input 00, 01, ...
    #[test]
    fn vectors_of_the_reference() {
        let mut hash = HalfSipHash::new([0x0302_0100, 0x0706_0504]);
        let mut next = 0x0302_0100;
        for vector in [
            [0xa9, 0x35, 0x9f, 0x5b],
            [0x2a, 0x6e, 0x46, 0x89],
            [0xd0, 0xb8, 0x84, 0x8f],
            [0x57, 0xf0, 0x87, 0x2f],
        ] {
            assert_eq!(hash.clone().finish(), u32::from_le_bytes(vector));
            hash = hash.word(next);
            next += 0x0404_0404;
        }
    }
}
