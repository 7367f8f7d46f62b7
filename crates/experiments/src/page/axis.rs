//! Axes: map numbers to pixels, linear or logarithmic, with round marks.

use super::html::{mark_text, trimmed};

/// Smallest span of an axis that does not start at zero, relative to the greatest value.
const SPAN_MIN: f64 = 0.005;

/// A range of numbers along a range of pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    /// Least value on the axis, or its decimal logarithm on a logarithmic axis.
    low: f64,
    high: f64,
    is_logarithmic: bool,
    from_px: f64,
    to_px: f64,
}

impl Axis {
    /// Returns an axis from the least to the greatest of `values`; also covers zero if `zero`.
    pub fn over(values: impl Iterator<Item = f64>, zero: bool, px: (f64, f64)) -> Axis {
        let start = if zero {
            (0.0, 0.0)
        } else {
            (f64::INFINITY, f64::NEG_INFINITY)
        };
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold(start, |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = match high - low {
            span if span > 0.0 => (low, high),
            // All values are equal, or there is no value and the axis must cover zero.
            _ if low.is_finite() => (low, low + 1.0),
            _ => (0.0, 1.0),
        };
        let room = if zero { 0.06 * (high - low) } else { 0.0 };
        Axis {
            low: if low < 0.0 { low - room } else { low },
            high: high + room,
            is_logarithmic: false,
            from_px: px.0,
            to_px: px.1,
        }
    }

    /// Returns an axis for the values of lines. It starts at zero, unless the least value exceeds
    /// half of the greatest and the span exceeds `SPAN_MIN`: then it covers only the values.
    pub fn of_lines(values: impl Iterator<Item = f64>, px: (f64, f64)) -> Axis {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = high - low;
        let is_near = low > 0.5 * high && span > SPAN_MIN * high;
        if !is_near {
            return Axis::over(values.into_iter(), true, px);
        }
        let room = 0.06 * span;
        Axis {
            low: low - room,
            high: high + room,
            is_logarithmic: false,
            from_px: px.0,
            to_px: px.1,
        }
    }

    /// Returns a logarithmic axis between powers of ten that covers the positive `values`.
    pub fn logarithmic(values: impl Iterator<Item = f64>, px: (f64, f64)) -> Axis {
        let positive = values.filter(|value| *value > 0.0);
        let axis = Axis::over(positive.map(f64::log10), false, px);
        // The logarithm of a power of ten may have a rounding error.
        let (low, high) = ((axis.low + 1e-9).floor(), (axis.high - 1e-9).ceil());
        Axis {
            low,
            high: high.max(low + 1.0),
            is_logarithmic: true,
            ..axis
        }
    }

    pub fn px(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic {
            value.log10()
        } else {
            value
        };
        let share = (value - self.low) / (self.high - self.low);
        self.from_px + share * (self.to_px - self.from_px)
    }

    /// Formats a mark with the digits that distinguish it from its neighbours.
    pub fn text(&self, mark: f64) -> String {
        let marks = self.marks();
        let step = match marks.as_slice() {
            [first, second, ..] if !self.is_logarithmic => second - first,
            _ => return mark_text(mark),
        };
        let digits = (1.0 - step.log10().floor()).clamp(0.0, 9.0) as usize;
        trimmed(format!("{mark:.digits$}"))
    }

    /// Returns about six round numbers along the axis, or powers of ten on a logarithmic axis.
    pub fn marks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let powers = self.low as i32..=self.high as i32;
            return powers.map(|power| 10_f64.powi(power)).collect();
        }
        let span = self.high - self.low;
        let rough = span / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..12)
            .map(|n| (first + f64::from(n)) * step)
            .take_while(|mark| *mark <= self.high + step * 1e-9)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn marks_are_round_and_within() {
        let axis = Axis::over([3.0, 97.0].into_iter(), true, (0.0, 100.0));
        assert_eq!(axis.marks(), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(axis.px(0.0), 0.0);
        let axis = Axis::over([1.0, 8.0].into_iter(), false, (0.0, 70.0));
        assert_eq!(axis.marks(), [2.0, 4.0, 6.0, 8.0]);
        assert_eq!(axis.px(8.0), 70.0);
    }

    #[test]
    fn a_logarithmic_axis_covers_powers_of_ten() {
        let axis = Axis::logarithmic([10.0, 10_000.0].into_iter(), (0.0, 300.0));
        assert_eq!(axis.marks(), [10.0, 100.0, 1_000.0, 10_000.0]);
        assert!((axis.px(100.0) - 100.0).abs() < 1e-6);
        let axis = Axis::logarithmic([0.3, 25.0, 0.0].into_iter(), (0.0, 1.0));
        assert_eq!(axis.marks(), [0.1, 1.0, 10.0, 100.0]);
        let axis = Axis::logarithmic([5.0, 6.0].into_iter(), (0.0, 1.0));
        assert_eq!(axis.marks(), [1.0, 10.0]);
        assert_eq!(
            Axis::logarithmic([].into_iter(), (0.0, 1.0)).marks().len(),
            2
        );
    }

    #[test]
    fn marks_have_texts_that_differ() {
        let texts = |low: f64, high: f64| {
            let axis = Axis::over([low, high].into_iter(), false, (0.0, 1.0));
            let marks = axis.marks();
            marks
                .iter()
                .map(|mark| axis.text(*mark))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts(28.0, 29.0),
            ["28", "28.2", "28.4", "28.6", "28.8", "29"]
        );
        assert_eq!(texts(28.0, 28.9), ["28", "28.2", "28.4", "28.6", "28.8"]);
        assert_eq!(texts(0.0, 11.0), ["0", "2.5", "5", "7.5", "10"]);
        assert_eq!(
            texts(1_000.0, 1_001.2),
            ["1000", "1000.25", "1000.5", "1000.75", "1001"]
        );
        assert_eq!(
            texts(0.0, 97_000.0),
            ["0", "20000", "40000", "60000", "80000"]
        );
    }

    #[test]
    fn an_axis_of_lines_shows_their_variation() {
        let low = |values: &[f64]| Axis::of_lines(values.iter().copied(), (0.0, 1.0)).low;
        assert!(low(&[30.0, 34.0]) > 29.0);
        assert!(low(&[993.0, 1_004.0]) > 990.0);
        // The axis includes zero for lines that approach zero, hardly vary or are constant.
        for values in [
            &[3.0, 34.0][..],
            &[100.0, 100.1],
            &[7.0],
            &[0.02, 0.02001],
            &[-1.0, 3.0],
            &[],
        ] {
            assert!(low(values) <= 0.0, "{values:?}");
        }
    }

    #[test]
    fn one_value_or_none_has_an_axis_too() {
        assert!(
            !Axis::over([5.0].into_iter(), false, (0.0, 1.0))
                .marks()
                .is_empty()
        );
        assert!(
            !Axis::over([].into_iter(), false, (0.0, 1.0))
                .marks()
                .is_empty()
        );
    }
}
