//! Confidence intervals of means and of differences of two samples, by the bootstrap.
//!
//! The percentile interval (Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter
//! 13) of a few runs is too narrow. It is widened around the estimate by the ratio of Student's t
//! to the normal distribution (Hesterberg: *What Teachers Should Know About the Bootstrap*, 2015,
//! "expanded percentile interval").

use redpoll_base::Rng;

const DRAWS: usize = 10_000;
/// Student's t at 97.5 %, for 1, 2, ... degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// The normal distribution at 97.5 %.
const NORMAL: f64 = 1.960;

/// An estimate with its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn excludes(&self, value: f64) -> bool {
        value < self.low || value > self.high
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// Mean of the second sample minus that of the first.
    pub difference: Interval,
    /// Mean of the second sample over that of the first; `None` if a resampled mean is not
    /// positive.
    pub ratio: Option<Interval>,
}

/// Compares `b` with `a`; `None` if a sample has fewer than two values, which allow no inference.
pub fn difference(a: &[f64], b: &[f64]) -> Option<Difference> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    // A fixed seed makes the result reproducible.
    let mut rng = Rng::named(1, "bootstrap");
    let (mut differences, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..DRAWS {
        let (a, b) = (redrawn(a, &mut rng), redrawn(b, &mut rng));
        differences.push(b - a);
        ratios.push((a > 0.0 && b > 0.0).then(|| (b / a).ln()));
    }
    let few = a.len().min(b.len());
    let (mean_a, mean_b) = (mean(a), mean(b));
    let difference = interval(mean_b - mean_a, differences, few);
    // The interval of a ratio is symmetric in its logarithm.
    let ratios: Option<Vec<f64>> = ratios.into_iter().collect();
    let ratio = ratios.map(|ratios| {
        let log = interval((mean_b / mean_a).ln(), ratios, few);
        Interval {
            value: log.value.exp(),
            low: log.low.exp(),
            high: log.high.exp(),
        }
    });
    Some(Difference { difference, ratio })
}

/// Returns the mean of a sample with its interval; `None` for fewer than two values.
pub fn mean_of(values: &[f64]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let mut rng = Rng::named(1, "bootstrap");
    let means = (0..DRAWS).map(|_| redrawn(values, &mut rng)).collect();
    Some(interval(mean(values), means, values.len()))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the mean of one resample of `values`, drawn with replacement.
fn redrawn(values: &[f64], rng: &mut Rng) -> f64 {
    let draw = |rng: &mut Rng| {
        let at = (u64::from(rng.next_u32()) * values.len() as u64) >> 32;
        values[at as usize]
    };
    let sum: f64 = values.iter().map(|_| draw(rng)).sum();
    sum / values.len() as f64
}

/// Returns an estimate's interval from its resampled values; the smaller sample has `few` values.
fn interval(value: f64, mut redrawn: Vec<f64>, few: usize) -> Interval {
    redrawn.sort_by(f64::total_cmp);
    let n = few as f64;
    let t = T.get(few - 2).copied().unwrap_or(NORMAL);
    let wider = (n / (n - 1.0)).sqrt() * t / NORMAL;
    let at = |share: f64| {
        let place = (share * (redrawn.len() - 1) as f64).round() as usize;
        value + wider * (redrawn[place] - value)
    };
    Interval {
        value,
        low: at(0.025),
        high: at(0.975),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns approximately normal numbers with a mean of 10 and a deviation of 1.
    fn sample(rng: &mut Rng, n: usize) -> Vec<f64> {
        let uniform = |rng: &mut Rng| f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let normal = |rng: &mut Rng| (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0;
        (0..n).map(|_| 10.0 + normal(rng)).collect()
    }

    /// Draws a hundred pairs of samples of `n` values from one distribution. Returns the number of
    /// pairs whose interval of the difference excludes zero.
    fn wrong(n: usize) -> u32 {
        let mut rng = Rng::named(7, "samples");
        let differs = |rng: &mut Rng| {
            let (a, b) = (sample(rng, n), sample(rng, n));
            let found = difference(&a, &b).unwrap();
            assert_eq!(
                found.difference.excludes(0.0),
                found.difference.low > 0.0 || found.difference.high < 0.0
            );
            found.difference.excludes(0.0)
        };
        (0..100).map(|_| u32::from(differs(&mut rng))).sum()
    }

    #[test]
    fn equal_samples_rarely_count_as_different() {
        for n in [3, 5, 20] {
            assert!(wrong(n) <= 11, "{n}: {}", wrong(n));
        }
    }

    #[test]
    fn different_samples_are_found_different() {
        let mut rng = Rng::named(7, "samples");
        let a = sample(&mut rng, 10);
        let b: Vec<f64> = sample(&mut rng, 10).iter().map(|it| 1.5 * it).collect();
        let found = difference(&a, &b).unwrap();
        let (difference, ratio) = (found.difference, found.ratio.unwrap());
        assert!(
            difference.excludes(0.0) && !difference.excludes(5.0),
            "{difference:?}"
        );
        assert!(ratio.excludes(1.0) && !ratio.excludes(1.5), "{ratio:?}");
    }

    #[test]
    fn the_interval_of_a_mean_has_it_about_as_often_as_it_says() {
        for n in [4, 12] {
            let mut rng = Rng::named(7, "samples");
            let misses = |_: &i32| mean_of(&sample(&mut rng, n)).unwrap().excludes(10.0);
            let missed = (0..100).filter(misses).count();
            assert!(missed <= 11, "{n}: {missed}");
        }
        assert_eq!(mean_of(&[1.0]), None);
    }

    #[test]
    fn one_value_has_no_difference_and_zeros_have_no_ratio() {
        assert_eq!(difference(&[1.0], &[2.0, 3.0]), None);
        let found = difference(&[0.0, 0.0], &[2.0, 3.0]).unwrap();
        assert_eq!(found.ratio, None);
        assert_eq!(found.difference.value, 2.5);
    }
}
