//! Percentiles of many values in little memory.

use std::collections::VecDeque;

/// Values are counted in classes whose width is less than one percent of the
/// value. Only those between the smallest and the largest value have a place: a flow's
/// latencies lie within few doublings.
#[derive(Clone, Debug, Default)]
pub struct Percentiles {
    /// The class of the first place.
    first: usize,
    places: VecDeque<u32>,
    count: u64,
}

/// Classes to a doubling, a power of two.
const STEPS: u64 = 128;

impl Percentiles {
    /// Takes in a value.
    pub fn add(&mut self, value: u64) {
        let class = class_of(value);
        if self.places.is_empty() {
            self.first = class;
        }
        while class < self.first {
            self.places.push_front(0);
            self.first -= 1;
        }
        let place = class - self.first;
        if place >= self.places.len() {
            self.places.resize(place + 1, 0);
        }
        self.places[place] += 1;
        self.count += 1;
    }

    /// The smallest value that at least this share (0 to 1) of all values do
    /// not exceed, to one percent; `None` without values.
    pub fn at(&self, share: f64) -> Option<u64> {
        let rank = libm::ceil(self.count as f64 * share).max(1.0) as u64;
        let mut seen = 0;
        for (place, count) in self.places.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= rank {
                return Some(middle_of(self.first + place));
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
    fn the_order_of_the_values_does_not_matter() {
        let (mut up, mut down) = (Percentiles::default(), Percentiles::default());
        (1..=10_000).for_each(|value| up.add(value));
        (1..=10_000).rev().for_each(|value| down.add(value));
        for share in [0.0, 0.01, 0.25, 0.5, 0.99, 1.0] {
            assert_eq!(up.at(share), down.at(share), "{share}");
        }
    }

    #[test]
    fn what_lies_close_takes_little() {
        let mut percentiles = Percentiles::default();
        (1_000_000..2_000_000)
            .step_by(1_000)
            .for_each(|value| percentiles.add(value));
        assert!(percentiles.places.len() <= 2 * STEPS as usize);
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
