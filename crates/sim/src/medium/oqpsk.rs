//! Probability that a bit of the 2.4 GHz O-QPSK DSSS PHY is received wrongly.
//!
//! IEEE 802.15.4-2006 §E.4.1.8 gives, for a ratio of signal to interference and noise `s` (a power
//! ratio, not dB),
//!
//! ```text
//! BER = 8/15 · 1/16 · Σ k=2..16 (−1)^k · C(16, k) · exp(20 · s · (1/k − 1))
//! ```
//!
//! The table is computed once through `libm`, so every machine computes the same values.

/// Microseconds per bit at 250 kb/s.
pub const US_PER_BIT: f64 = 4.0;

/// First entry of the table, in dB; lower ratios use this entry, with which all frames are lost.
const LOWEST_DB: f64 = -12.0;
/// Ratio above which errors are rarer than one in 10^12 bits.
const HIGHEST_DB: f64 = 8.0;
/// Power ratio that is certainly over [`HIGHEST_DB`] despite rounding: 8.06 dB.
const CERTAIN: f64 = 6.4;
const STEPS_PER_DB: f64 = 32.0;
const ENTRIES: usize = ((HIGHEST_DB - LOWEST_DB) * STEPS_PER_DB) as usize + 1;

pub fn bit_error_rate(sinr: f64) -> f64 {
    let mut binomial = 16.0;
    let mut sum = 0.0;
    for k in 2..=16 {
        let k = f64::from(k);
        binomial = binomial * (17.0 - k) / k;
        let sign = if k % 2.0 == 0.0 { 1.0 } else { -1.0 };
        sum += sign * binomial * libm::exp(20.0 * sinr * (1.0 / k - 1.0));
    }
    (8.0 / 15.0 / 16.0 * sum).clamp(0.0, 0.5)
}

/// A table of ln(1 − BER) over the ratio in dB.
#[derive(Clone, Debug)]
pub struct BitSuccess {
    ln: Box<[f64]>,
}

impl Default for BitSuccess {
    fn default() -> Self {
        let ln = (0..ENTRIES)
            .map(|i| {
                let db = LOWEST_DB + i as f64 / STEPS_PER_DB;
                libm::log1p(-bit_error_rate(from_db(db)))
            })
            .collect();
        BitSuccess { ln }
    }
}

impl BitSuccess {
    /// Returns the logarithm of the probability that one bit is correct at the power ratio `sinr`,
    /// interpolated between table entries.
    pub fn ln_of(&self, sinr: f64) -> f64 {
        // Most frames have a ratio above the table: no bit errors, so no logarithm is needed.
        if sinr >= CERTAIN {
            return 0.0;
        }
        let place = (to_db(sinr) - LOWEST_DB) * STEPS_PER_DB;
        if place <= 0.0 {
            return self.ln[0];
        }
        if place >= (ENTRIES - 1) as f64 {
            return 0.0;
        }
        let below = place as usize;
        let (a, b) = (self.ln[below], self.ln[below + 1]);
        a + (b - a) * (place - below as f64)
    }
}

/// Converts decibels into a power or power ratio.
pub fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Converts a power or power ratio into decibels.
pub fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_rate_at_known_points() {
        // Without a signal, the receiver guesses among sixteen symbols: half of the bits are wrong.
        assert!((bit_error_rate(0.0) - 0.5).abs() < 1e-12);
        // The first terms of the sum at 1 (0 dB): 5.448e-3 - 0.907e-3 + 0.557e-3 - 0.491e-3 + ... =
        // 4.85e-3, times 1/30.
        let ber = bit_error_rate(1.0);
        assert!((1.60e-4..1.63e-4).contains(&ber), "{ber}");
        assert!(bit_error_rate(from_db(6.0)) < 1e-12);
    }

    #[test]
    fn the_table_follows_the_formula() {
        let table = BitSuccess::default();
        for i in 0..400 {
            let db = -11.9 + f64::from(i) * 0.0487;
            let sinr = from_db(db);
            let exact = libm::log1p(-bit_error_rate(sinr));
            let error = (table.ln_of(sinr) - exact).abs();
            assert!(error <= exact.abs() * 0.01 + 1e-12, "at {db} dB");
        }
        assert_eq!(table.ln_of(f64::INFINITY), 0.0);
        assert!(to_db(CERTAIN) > HIGHEST_DB && to_db(CERTAIN) < HIGHEST_DB + 0.1);
        assert_eq!(table.ln_of(0.0), table.ln[0]);
    }
}
