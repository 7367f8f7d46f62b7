//! Percentiles of many values with little memory.

use hdrhistogram::Histogram;

/// A histogram whose classes are narrower than one percent. The first value allocates its memory.
#[derive(Clone, Debug, Default)]
pub struct Percentiles {
    classes: Option<Histogram<u32>>,
}

impl Percentiles {
    pub fn add(&mut self, value: u64) {
        if self.classes.is_none() {
            // The precision of two decimal digits gives 128 classes per power of two. The range of
            // the histogram grows as necessary.
            self.classes = Histogram::new(2).ok();
        }
        if let Some(classes) = &mut self.classes {
            // A histogram that grows accepts every value, unless memory is exhausted.
            let _ = classes.record(value);
        }
    }

    /// Returns the smallest value that at least `share` (0 to 1) of all values do not exceed,
    /// accurate to one percent; `None` without values.
    pub fn at(&self, share: f64) -> Option<u64> {
        let classes = self.classes.as_ref()?;
        Some(classes.median_equivalent(classes.value_at_quantile(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_one_percent() {
        let mut percentiles = Percentiles::default();
        assert_eq!(percentiles.at(0.5), None);
        for value in 1..=100_000 {
            percentiles.add(value);
        }
        for (share, expected) in [(0.0, 1.0), (0.5, 50_000.0), (0.95, 95_000.0), (1.0, 1e5)] {
            let got = percentiles.at(share).unwrap() as f64;
            assert!((got - expected).abs() <= expected * 0.01, "{share}: {got}");
        }
    }

    #[test]
    fn values_of_any_size_are_within_one_percent() {
        for doubling in 0..64 {
            for value in [
                1u64 << doubling,
                (1u64 << doubling) - 1,
                u64::MAX >> doubling,
            ] {
                let mut percentiles = Percentiles::default();
                percentiles.add(value);
                let got = percentiles.at(0.5).unwrap();
                assert!(got.abs_diff(value) <= value / 100, "{value}: {got}");
            }
        }
    }

    #[test]
    fn the_order_of_the_values_does_not_matter() {
        let (mut up, mut down) = (Percentiles::default(), Percentiles::default());
        (1..=10_000).for_each(|value| up.add(value));
        (1..=10_000).rev().for_each(|value| down.add(value));
        for share in [0.0, 0.01, 0.25, 0.5, 0.99, 1.0] {
            assert_eq!(up.at(share), down.at(share), "{share}");
        }
    }
}
