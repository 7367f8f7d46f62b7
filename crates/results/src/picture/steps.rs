//! Steps: lines over time of numbers that each hold for a while.

/// Numbers over time; `None` is a gap.
pub(super) type Points = Vec<(f64, Option<f64>)>;

const STEPS: f64 = 24.0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holds {
    /// A value holds until the next row: it is the state at the time of its row.
    Until,
    /// A value holds since the previous row: it is a mean.
    Since,
}

impl Holds {
    /// Returns the points between which straight lines form steps.
    pub(super) fn steps(self, points: &[(f64, Option<f64>)]) -> Points {
        let pairs = points.windows(2);
        let steps = pairs.flat_map(|pair| {
            let value = match self {
                Holds::Until => pair[0].1,
                Holds::Since => pair[1].1,
            };
            [(pair[0].0, value), (pair[1].0, value)]
        });
        steps.collect()
    }
}

/// Returns the seconds between two steps of a run of `duration` seconds with a row every `interval`
/// seconds: 1, 2 or 5 times a power of ten, at most [`STEPS`] steps, and at least the interval. In
/// shorter steps, a few segments more or less look like a change.
pub(super) fn step_s(duration: f64, interval: f64) -> f64 {
    let least = duration / STEPS;
    let power = 10_f64.powf(least.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].map(|it| it * power);
    let nice = nice.into_iter().find(|it| *it >= 0.999 * least);
    nice.unwrap_or(least).max(interval)
}

/// Returns the mean rate in kb/s between rows that are `step` seconds apart, from the bytes that
/// arrived since the start. The last step includes a remainder of less than half a step.
pub(super) fn rates(bytes: &[(f64, Option<f64>)], step: f64) -> Points {
    let known = bytes.iter().filter_map(|(t, it)| Some((*t, (*it)?)));
    let known: Vec<(f64, f64)> = known.collect();
    let (Some(first), Some(last)) = (known.first(), known.last()) else {
        return Vec::new();
    };
    let mut cuts = vec![*first];
    for row in &known {
        let from = cuts.last().map_or(first.0, |cut| cut.0);
        if row.0 - from >= 0.999 * step && last.0 - row.0 >= 0.5 * step {
            cuts.push(*row);
        }
    }
    cuts.push(*last);
    let pairs = cuts.windows(2).filter(|pair| pair[1].0 > pair[0].0);
    let steps = pairs.flat_map(|pair| {
        let rate = (pair[1].1 - pair[0].1) * 8.0 / 1_000.0 / (pair[1].0 - pair[0].0);
        [(pair[0].0, Some(rate)), (pair[1].0, Some(rate))]
    });
    steps.collect()
}

#[cfg(test)]
mod tests {
    use super::{Holds, rates, step_s};

    #[test]
    fn numbers_of_rows_are_steps() {
        let points = [(0.0, None), (1.0, Some(3.0)), (2.0, Some(5.0))];
        let until = [(0.0, None), (1.0, None), (1.0, Some(3.0)), (2.0, Some(3.0))];
        assert_eq!(Holds::Until.steps(&points), until);
        let since = [
            (0.0, Some(3.0)),
            (1.0, Some(3.0)),
            (1.0, Some(5.0)),
            (2.0, Some(5.0)),
        ];
        assert_eq!(Holds::Since.steps(&points), since);
    }

    #[test]
    fn a_step_is_long_enough_and_a_whole_number_of_rows_is_kept() {
        let steps = [
            (60.0, 1.0),
            (30.0, 1.0),
            (86_400.0, 1.0),
            (60.0, 10.0),
            (0.6, 0.1),
        ];
        let steps = steps.map(|(duration, interval)| step_s(duration, interval));
        assert_eq!(steps, [5.0, 2.0, 5_000.0, 10.0, 0.1]);
    }

    /// A flow of 487-byte segments that receives 8 or 9 of them per second has a constant goodput.
    #[test]
    fn a_few_segments_more_or_less_do_not_change_the_goodput() {
        let mut bytes = 0.0;
        let rows = (0..=60).map(|second| {
            let row = (f64::from(second), Some(bytes));
            bytes += 487.0 * if second % 2 == 0 { 8.0 } else { 9.0 };
            row
        });
        let steps = rates(&rows.collect::<Vec<_>>(), 5.0);
        assert_eq!(steps.len(), 2 * 12);
        assert_eq!((steps[0].0, steps[23].0), (0.0, 60.0));
        let values = steps.iter().filter_map(|it| it.1);
        let (least, most) = (
            values.clone().fold(f64::MAX, f64::min),
            values.fold(0.0, f64::max),
        );
        assert!(most - least < 1.0 && least > 32.0, "{least} to {most}");
        // The remainder belongs to the last step.
        let rows: Vec<_> = (0..=12)
            .map(|t| (f64::from(t), Some(125.0 * f64::from(t))))
            .collect();
        let cuts: Vec<f64> = rates(&rows, 5.0).iter().map(|it| it.0).collect();
        assert_eq!(cuts, [0.0, 5.0, 5.0, 12.0]);
    }
}
