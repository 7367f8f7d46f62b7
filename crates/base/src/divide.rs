//! Division with little code.

/// Returns `n` divided by `by`, rounded down; 0 if `by` is 0. For processors without a division
/// instruction, the compiler's library has a routine that is fast and takes half a kilobyte. This
/// function takes a tenth of that, and more time for larger quotients. Use it for constant
/// divisors, too: on a processor without a 64-bit product, the compiler divides by a constant with
/// the library's routine.
#[inline(never)]
pub const fn divide(n: u32, by: u32) -> u32 {
    if by == 0 {
        return 0;
    }
    let (mut rest, mut part, mut bit) = (n, by, 1u32);
    while part <= n >> 1 {
        part <<= 1;
        bit <<= 1;
    }
    let mut quotient = 0;
    while bit != 0 {
        if rest >= part {
            rest = rest.wrapping_sub(part);
            quotient |= bit;
        }
        part >>= 1;
        bit >>= 1;
    }
    quotient
}

/// Returns `n` divided by `by`, rounded down, modulo 2^32; 0 if `by` is 0. `by` must be below 2^31.
/// The compiler's division with a 64-bit quotient takes a kilobyte of code more than this function.
#[inline(never)]
pub const fn divide_long(n: u64, by: u32) -> u32 {
    let (high, mut quotient) = ((n >> 32) as u32, n as u32);
    let mut rest = high.wrapping_sub(divide(high, by).wrapping_mul(by));
    if by == 0 {
        return 0;
    }
    let mut bits = u32::BITS;
    while bits > 0 {
        rest = rest << 1 | quotient >> 31;
        quotient <<= 1;
        if rest >= by {
            rest = rest.wrapping_sub(by);
            quotient |= 1;
        }
        bits = bits.wrapping_sub(1);
    }
    quotient
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divide_long_equals_long_division() {
        let mut rng = crate::Rng::new(2);
        for _ in 0..100_000 {
            let (n, by) = (rng.next_u64() >> rng.below(64), rng.next_u32() >> 1);
            let by = by >> rng.below(31);
            for by in [by, 1, 1_000, 60_000_000, u32::MAX >> 1] {
                let quotient = n.checked_div(by.into()).unwrap_or(0);
                assert_eq!(divide_long(n, by), quotient as u32, "{n} / {by}");
            }
        }
        assert_eq!(divide_long(7, 0), 0);
    }

    #[test]
    fn divide_equals_division() {
        let mut rng = crate::Rng::new(1);
        let edges = [1, 2, 3, 5, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];
        for _ in 0..100_000 {
            let (n, by) = (rng.next_u32(), rng.next_u32() >> rng.below(32));
            for n in [n, n >> 16, 0].into_iter().chain(edges) {
                for by in [by].into_iter().chain(edges) {
                    assert_eq!(divide(n, by), n.checked_div(by).unwrap_or(0), "{n} / {by}");
                }
            }
        }
        assert_eq!(divide(7, 0), 0);
    }
}
