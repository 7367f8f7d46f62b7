//! A rolling digest of all events.
//!
//! Two runs with the same digest had, in practice, the same events in the same order. The digest is
//! not a cryptographic hash.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Digest(0x243f_6a88_85a3_08d3)
    }
}

impl Digest {
    pub const fn add(&mut self, word: u64) {
        // One multiplication, rotation and exclusive or for each word, as in FxHash, with the
        // multiplier of PCG. `value` mixes the result again.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x5851_f42d_4c95_7f2d);
    }

    pub fn add_bytes(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in words.by_ref() {
            let mut octets = [0; 8];
            octets.copy_from_slice(word);
            self.add(u64::from_le_bytes(octets));
        }
        let mut octets = [0; 8];
        let rest = words.remainder();
        octets[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(octets));
        self.add(bytes.len() as u64);
    }

    pub const fn value(&self) -> u64 {
        let x = self.0;
        let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> u64 {
        let mut digest = Digest::default();
        words.iter().for_each(|word| digest.add(*word));
        digest.value()
    }

    #[test]
    fn order_and_content_count() {
        assert_eq!(of(&[1, 2]), of(&[1, 2]));
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        let mut a = Digest::default();
        let mut b = Digest::default();
        a.add_bytes(b"nine bytes");
        b.add_bytes(b"nine bytez");
        assert_ne!(a, b);
    }
}
