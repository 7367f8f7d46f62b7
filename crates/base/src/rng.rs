//! A small, fast, seedable random number generator.
//!
//! PCG-XSH-RR 64/32: 64 bits of state, 32 bits per step. It is for backoff, jitter and simulation,
//! *not* for secrets. The caller provides the secret of TCP's initial sequence numbers.

use crate::divide;

/// A stream of pseudo-random numbers, fully determined by its seed.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
    increment: u64,
}

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

impl Rng {
    /// Returns a stream determined by `seed`.
    pub const fn new(seed: u64) -> Self {
        Self::stream(seed, 0)
    }

    /// Returns stream number `id` of `seed`: streams of one seed are independent.
    #[inline(never)] // size
    pub const fn stream(seed: u64, id: u64) -> Self {
        let increment = (mix(id) << 1) | 1;
        let state = mix(seed.wrapping_add(increment)).wrapping_add(increment);
        Rng { state, increment }
    }

    /// Returns the stream named `name` of `seed`, for one stream per purpose.
    pub const fn named(seed: u64, name: &str) -> Self {
        // FNV-1a hash of the name.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut rest = name.as_bytes();
        while let [byte, tail @ ..] = rest {
            hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
            rest = tail;
        }
        Self::stream(seed, hash)
    }

    /// Returns the state of the stream, for [`Rng::resume`].
    pub const fn state(&self) -> [u64; 2] {
        [self.state, self.increment]
    }

    /// Continues a stream from its [`state`](Self::state).
    pub const fn resume([state, increment]: [u64; 2]) -> Self {
        // The increment must be odd: an even one shortens the period.
        let increment = increment | 1;
        Rng { state, increment }
    }

    /// Returns the next 32 random bits.
    #[inline(never)] // size
    pub const fn next_u32(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
        let xorshifted = (((old >> 18) ^ old) >> 27) as u32;
        xorshifted.rotate_right((old >> 59) as u32)
    }

    /// Returns the next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        ((self.next_u32() as u64) << 32) | self.next_u32() as u64
    }

    /// Returns a number in `0..bound`, without modulo bias; 0 if `bound` is 0.
    pub const fn below(&mut self, bound: u32) -> u32 {
        // Lemire's multiply-and-reject method.
        let mut product = (self.next_u32() as u64).wrapping_mul(bound as u64);
        if (product as u32) < bound {
            let rest = bound.wrapping_neg();
            let threshold = rest.wrapping_sub(divide(rest, bound).wrapping_mul(bound));
            while (product as u32) < threshold {
                product = (self.next_u32() as u64).wrapping_mul(bound as u64);
            }
        }
        (product >> 32) as u32
    }

    /// Returns a number in `0..bound` for bounds over 32 bits; 0 if `bound` is 0. The bias is below
    /// `bound / 2^64`.
    #[inline(never)] // size
    pub const fn below_u64(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128).wrapping_mul(bound as u128) >> 64) as u64
    }
}

/// SplitMix64's finaliser: spreads nearby seeds over the whole range.
const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_stream_resumes_from_its_state() {
        let mut here = Rng::named(3, "here");
        here.next_u64();
        let mut there = Rng::resume(here.state());
        assert_eq!(there.next_u64(), here.next_u64());
    }

    #[test]
    fn same_seed_same_numbers_other_seed_others() {
        let draw = |mut r: Rng| [r.next_u64(), r.next_u64(), r.next_u64()];
        assert_eq!(draw(Rng::new(7)), draw(Rng::new(7)));
        assert_ne!(draw(Rng::new(7)), draw(Rng::new(8)));
        assert_ne!(draw(Rng::named(7, "a")), draw(Rng::named(7, "b")));
    }

    #[test]
    fn below_is_flat_and_in_range() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 8];
        for _ in 0..80_000 {
            seen[rng.below(8) as usize] += 1;
        }
        for count in seen {
            assert!((9_500..10_500).contains(&count), "{seen:?}");
        }
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
        assert!(rng.below_u64(1 << 40) < 1 << 40);
    }

    /// A product in the rejected range is drawn again. Otherwise, among the results below 3 * 2^30,
    /// the multiples of 3 would be twice as likely as the other numbers.
    #[test]
    fn below_rejects_what_would_prefer_some_numbers() {
        let mut rng = Rng::new(4);
        let bound = 3 << 30;
        let multiples = (0..30_000).filter(|_| rng.below(bound).is_multiple_of(3));
        let multiples = multiples.count();
        assert!((9_500..10_500).contains(&multiples), "{multiples}");
    }

    #[test]
    fn bounds_over_32_bits_are_kept_and_filled() {
        let mut rng = Rng::new(2);
        let bound = 5 << 40;
        let mut seen = [0_u32; 5];
        for _ in 0..50_000 {
            seen[(rng.below_u64(bound) >> 40) as usize] += 1;
        }
        for count in seen {
            assert!((9_500..10_500).contains(&count), "{seen:?}");
        }
        let low_bits = |rng: &mut Rng| rng.below_u64(u64::MAX) as u32;
        assert_ne!(low_bits(&mut rng), low_bits(&mut rng));
        assert_eq!(rng.below_u64(0), 0);
        assert_eq!(rng.below_u64(1), 0);
    }
}
