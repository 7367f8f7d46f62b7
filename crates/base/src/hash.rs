//! HalfSipHash-2-4 (Aumasson; SipHash with words of 32 bits): a keyed function
//! for short input, on processors whose registers have 32 bits.
//!
//! Its key has 64 bits and its output 32. This is enough for numbers that change with the clock
//! and that an off-path attacker must not guess.

/// Returns the hash of `words`, at most 63 of them.
pub fn half_sip_hash([k0, k1]: [u32; 2], words: &[u32]) -> u32 {
    let [mut a, mut b, mut c, mut d] = [k0, k1, k0 ^ 0x6c79_6765, k1 ^ 0x7465_6462];
    // A word whose top byte is the length in bytes follows the words, and then comes the
    // finalisation. One loop processes all three, to save flash.
    let len = (words.len() as u32) << 26;
    let mut words = words.iter();
    let mut is_over = false;
    loop {
        let word = words.next();
        let (m, rounds) = if is_over {
            c ^= 0xff;
            (0, 4)
        } else {
            (*word.unwrap_or(&len), 2)
        };
        d ^= m;
        for _ in 0..rounds {
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
        }
        a ^= m;
        if is_over {
            return b ^ d;
        }
        is_over = word.is_none();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of the reference implementation for whole words: key 00..07, input 00, 01, ...
    #[test]
    fn vectors_of_the_reference() {
        let words = [0x0302_0100, 0x0706_0504, 0x0b0a_0908];
        for (len, vector) in [
            [0xa9, 0x35, 0x9f, 0x5b],
            [0x2a, 0x6e, 0x46, 0x89],
            [0xd0, 0xb8, 0x84, 0x8f],
            [0x57, 0xf0, 0x87, 0x2f],
        ]
        .into_iter()
        .enumerate()
        {
            let hash = half_sip_hash([0x0302_0100, 0x0706_0504], &words[..len]);
            assert_eq!(hash, u32::from_le_bytes(vector));
        }
    }
}
