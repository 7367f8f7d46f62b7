//! The bound of a figure, and the value that is compared with it.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judged {
    Worst,
    /// The mean of the seeds: a ratio of two runs with one seed varies more than the effect.
    Mean,
    /// The best seed: other work of this machine can only make the runs slower.
    Best,
}

impl Judged {
    pub(super) fn of(self, values: &[f64], bound: &Bound) -> f64 {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (worst, best) = match bound {
            Bound::AtLeast(_) => (low, high),
            Bound::AtMost(_) => (high, low),
            Bound::Between(least, most) if most - high < low - least => (high, low),
            Bound::Between(..) => (low, high),
        };
        match self {
            Judged::Worst => worst,
            Judged::Mean => values.iter().sum::<f64>() / values.len() as f64,
            Judged::Best => best,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Judged::Worst => "worst",
            Judged::Mean => "mean",
            Judged::Best => "best",
        }
    }
}

/// The range in which a value has to be.
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// A derived range: a value that is better than possible is wrong, too. Both ends are allowed.
    Between(f64, f64),
}

impl Bound {
    pub(super) fn holds(&self, value: f64) -> bool {
        match self {
            Bound::AtLeast(least) => value >= *least,
            Bound::AtMost(most) => value <= *most,
            Bound::Between(least, most) => (*least..=*most).contains(&value),
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Bound::AtLeast(least) => format!("≥ {least}"),
            Bound::AtMost(most) => format!("≤ {most}"),
            Bound::Between(least, most) => format!("{least:.3} to {most:.3}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_on_the_bounds_side() {
        let values = [1.0, 4.0, 1.0];
        let least = |judged: Judged| judged.of(&values, &Bound::AtLeast(2.0));
        let most = |judged: Judged| judged.of(&values, &Bound::AtMost(2.0));
        assert_eq!((least(Judged::Worst), most(Judged::Worst)), (1.0, 4.0));
        assert_eq!((least(Judged::Best), most(Judged::Best)), (4.0, 1.0));
        assert_eq!((least(Judged::Mean), most(Judged::Mean)), (2.0, 2.0));
        let between = |judged: Judged, most| judged.of(&values, &Bound::Between(0.0, most));
        assert_eq!(
            (between(Judged::Worst, 4.0), between(Judged::Worst, 9.0)),
            (4.0, 1.0)
        );
    }

    #[test]
    fn a_value_that_is_no_number_meets_no_bound() {
        assert!(!Bound::AtLeast(0.0).holds(f64::NAN));
        assert!(!Bound::AtMost(1.0).holds(f64::NAN));
        assert!(!Bound::Between(0.0, 1.0).holds(f64::NAN));
        assert!(Bound::AtMost(1.0).holds(1.0));
        assert!(Bound::Between(1.0, 1.0).holds(1.0));
    }
}
