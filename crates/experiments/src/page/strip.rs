//! Two samples on a common axis: a dot for each value, and a stroke at each mean.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::Look;

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 46.0;
/// y coordinate of the first sample in pixels.
const ROW: f64 = 10.0;
/// Left and right end of the axis, in pixels.
const ENDS: (f64, f64) = (22.0, 222.0);

/// Draws the values of `a` above those of `b`; labels the least and the greatest value.
pub fn strip(a: &[f64], b: &[f64]) -> String {
    let all = || a.iter().chain(b).copied();
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(f64::NEG_INFINITY, f64::max);
    let x = Axis::over(all(), false, ENDS);
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"values of A and of B\">"
    );
    for (row, (name, values)) in [("A", a), ("B", b)].into_iter().enumerate() {
        let y = ROW + 14.0 * row as f64;
        let colour = Look::nth(row, 0).colour();
        let _ = write!(
            svg,
            "<text class=\"soft\" x=\"2\" y=\"{:.1}\">{name}</text>",
            y + 4.0
        );
        for value in values {
            let _ = write!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\" \
                 fill-opacity=\"0.55\"/>",
                x.px(*value)
            );
        }
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let _ = write!(
            svg,
            "<path class=\"mean\" d=\"M{:.1} {:.1}v12\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            x.px(mean),
            y - 6.0
        );
    }
    // Equal ends need only one label.
    let ends = if low < high {
        vec![low, high]
    } else {
        vec![low]
    };
    for value in ends.into_iter().filter(|value| value.is_finite()) {
        let _ = write!(
            svg,
            "<text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x.px(value),
            HEIGHT - 4.0,
            super::html::number(value)
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn every_value_has_a_dot_and_every_sample_a_mean() {
        let svg = strip(&[1.0, 2.0, 3.0], &[2.0, 5.0]);
        assert_eq!(svg.matches("<circle").count(), 5, "{svg}");
        assert_eq!(svg.matches("class=\"mean\"").count(), 2);
        assert!(
            svg.contains(">1</text>") && svg.contains(">5</text>"),
            "{svg}"
        );
        // Equal values have one label.
        assert_eq!(strip(&[4.0], &[4.0]).matches(">4</text>").count(), 1);
    }
}
