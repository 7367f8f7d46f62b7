//! Percentiles of many values in little memory.

/// Values are counted in classes whose width is less than one percent of the
/// value.
#[derive(Clone, Debug, Default)]
pub struct Percentiles {
    classes: Vec<u32>,
    count: u64,
}

/// Classes to a doubling, a power of two.
const STEPS: u64 = 128;

impl Percentiles {
    /// Takes in a value.
    pub fn add(&mut self, value: u64) {
        let class = class_of(value);
        if class >= self.classes.len() {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        self.count += 1;
    }

    /// The smallest value that at least this share (0 to 1) of all values do
    /// not exceed, to one percent; `None` without values.
    pub fn at(&self, share: f64) -> Option<u64> {
        let rank = libm::ceil(self.count as f64 * share).max(1.0) as u64;
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return Some(middle_of(class));
            }
        }
        None
    }
}

fn class_of(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let doublings = u64::from(value.ilog2() - STEPS.ilog2());
    let step = (value >> doublings) - STEPS;
    (STEPS + doublings * STEPS + step) as usize
}

fn middle_of(class: usize) -> u64 {
    let class = class as u64;
    if class < STEPS {
        return class;
    }
    let (doublings, step) = ((class - STEPS) / STEPS, (class - STEPS) % STEPS);
    let low = (STEPS + step) << doublings;
    low + ((1 << doublings) >> 1)
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
    fn classes_follow_each_other() {
        let mut last = 0;
        for value in 0..100_000 {
            let class = class_of(value);
            assert!(class == last || class == last + 1, "{value}");
            last = class;
        }
    }
}
