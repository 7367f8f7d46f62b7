//! Charts that do not belong to a study: lines over time, bars with names.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::Look;
use super::frame::{BOTTOM, FOOT, Fit, Legend, TOP, frame, label};
use super::html::{escape, number};

/// Lines over an x axis.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Label of the y axis, with its unit.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Whether both axes are logarithmic; numbers must then be positive.
    pub is_logarithmic: bool,
    pub lines: Vec<Line>,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    pub look: Look,
    /// Points from left to right; `None` is a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// A chart of horizontal bars, each with a name.
#[derive(Clone, Debug)]
pub struct Bars {
    pub title: String,
    /// Name and number of each bar.
    pub bars: Vec<(String, f64)>,
    pub look: Look,
}

const NAMES: f64 = 140.0;
const BAR: f64 = 18.0;
/// Maximum number of letters of a name; longer names are truncated.
const LETTERS: usize = 20;

impl Plot {
    /// Draws the chart as SVG, for a page with the style of studies.
    pub fn svg(&self, fit: Fit) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let heights = points().filter_map(|(_, y)| *y);
        let (places, px) = (points().map(|(x, _)| *x), [fit.plot_px(), (BOTTOM, TOP)]);
        let (x, y) = if self.is_logarithmic {
            let x = Axis::logarithmic(places, px[0]);
            (x, Axis::logarithmic(heights, px[1]))
        } else {
            let x = Axis::over(places, false, px[0]);
            (x, Axis::of_lines(heights, px[1]))
        };
        let below = BOTTOM + 32.0;
        let mut legend = Legend::at(below + 22.0, fit);
        for line in &self.lines {
            legend.line(&line.name, line.look, false);
        }
        let (legend, height) = legend.end();
        let mut svg = frame(&self.title, &self.x_label, &y, (below, height), fit);
        for mark in x.marks() {
            label(
                &mut svg,
                (x.px(mark), BOTTOM + 16.0),
                "middle",
                &x.text(mark),
            );
        }
        for line in &self.lines {
            line.draw(&mut svg, &x, &y);
        }
        svg.push_str(&legend);
        svg.push_str("</svg>\n");
        svg
    }
}

impl Line {
    fn draw(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let mut path = String::new();
        let mut is_down = false;
        for (at, height) in thinned(&self.points, |at| x.px(at)) {
            let Some(height) = height else {
                is_down = false;
                continue;
            };
            let verb = if is_down { 'L' } else { 'M' };
            let _ = write!(path, "{verb}{:.1} {:.1}", x.px(at), y.px(height));
            is_down = true;
        }
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" stroke=\"{}\" stroke-width=\"1.7\" stroke-dasharray=\"{}\" \
             stroke-linejoin=\"round\" fill=\"none\"/>",
            self.look.colour(),
            self.look.dash()
        );
    }
}

type Point = (f64, Option<f64>);

/// Reduces the points: keeps the first, least, greatest and last point per half pixel.
fn thinned(points: &[Point], px: impl Fn(f64) -> f64) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    let same = |a: &Point, b: &Point| {
        let place = |point: &Point| (2.0 * px(point.0)) as i64;
        place(a) == place(b) && a.1.is_some() == b.1.is_some()
    };
    for group in points.chunk_by(same) {
        let mut few: Vec<usize> = vec![0, group.len() - 1];
        let by_height = |a: &usize, b: &usize| {
            let (a, b) = (group[*a].1, group[*b].1);
            a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
        };
        few.extend((0..group.len()).min_by(by_height));
        few.extend((0..group.len()).max_by(by_height));
        few.sort_unstable();
        few.dedup();
        kept.extend(few.into_iter().map(|at| group[at]));
    }
    kept
}

/// Minimum number of adjacent bars with equal numbers that are drawn as one bar.
const SAME: usize = 3;

impl Bars {
    /// Returns the bars to draw: [`SAME`] or more adjacent bars with the same printed number become
    /// one bar, with the names of the first and the last.
    fn merged(&self) -> Vec<(String, f64)> {
        let mut merged = Vec::new();
        for group in self.bars.chunk_by(|a, b| number(a.1) == number(b.1)) {
            match group {
                [first, .., last] if group.len() >= SAME => {
                    merged.push((format!("{} … {}", first.0, last.0), first.1));
                }
                _ => merged.extend_from_slice(group),
            }
        }
        merged
    }

    /// Draws the chart as SVG, or one line of text if there are three or more bars and all have
    /// the same number.
    pub fn svg(&self, fit: Fit) -> String {
        let width = fit.chart_px();
        let bars = self.merged();
        let title = escape(&self.title);
        if let ([(names, value)], SAME..) = (&*bars, self.bars.len()) {
            let text = format!(
                "{} for each of {} bars: {names}",
                number(*value),
                self.bars.len()
            );
            let (top, height) = (TOP, TOP + BAR + FOOT);
            let mut svg = format!(
                "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
                 role=\"img\" aria-label=\"{title}\">\n\
                 <text x=\"4\" y=\"{}\" font-weight=\"600\">{title}</text>\n",
                top - 12.0
            );
            label(&mut svg, (4.0, top + 10.0), "start", &text);
            svg.push_str("</svg>\n");
            return svg;
        }
        let top = TOP;
        let height = top + BAR * bars.len() as f64 + FOOT;
        let right = width - 64.0;
        let x = Axis::over(bars.iter().map(|bar| bar.1), true, (NAMES, right));
        let mut svg = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{title}\">\n\
             <text x=\"4\" y=\"{}\" font-weight=\"600\">{title}</text>\n",
            top - 12.0
        );
        for (row, (name, value)) in bars.iter().enumerate() {
            let y = top + BAR * row as f64;
            let name: String = match name.chars().count() {
                0..=LETTERS => name.clone(),
                _ => name.chars().take(LETTERS - 1).chain(['…']).collect(),
            };
            label(&mut svg, (NAMES - 6.0, y + 13.0), "end", &name);
            let end = x.px(*value);
            let _ = writeln!(
                svg,
                "<rect x=\"{NAMES}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"{}\"/>",
                y + 3.0,
                (end - NAMES).max(0.0),
                BAR - 5.0,
                self.look.colour()
            );
            label(&mut svg, (end + 5.0, y + 13.0), "start", &number(*value));
        }
        let bottom = height - FOOT + 2.0;
        let _ = writeln!(
            svg,
            "<path class=\"axis\" d=\"M{NAMES} {top}V{bottom:.1}\"/></svg>"
        );
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::{Bars, Line, Plot, thinned};
    use crate::page::colours::Look;
    use crate::page::frame::Fit;

    #[test]
    fn points_of_one_pixel_keep_their_extremes_and_gaps() {
        let heights = (0..1_000).map(|n| (f64::from(n) / 10_000.0, Some(f64::from(n % 7))));
        let mut points: Vec<_> = heights.collect();
        points.push((0.1, None));
        points.push((0.1, Some(3.0)));
        let kept = thinned(&points, |x| x);
        let heights: Vec<_> = kept.iter().map(|(_, y)| *y).collect();
        let expected = [Some(0.0), Some(6.0), Some(5.0), None, Some(3.0)];
        assert_eq!(heights, expected);
    }

    #[test]
    fn a_line_with_a_gap_is_in_two_parts() {
        let line = Line {
            name: "a <b>".to_owned(),
            look: Look::nth(0, 0),
            points: vec![
                (0.0, Some(1.0)),
                (1.0, None),
                (2.0, Some(2.0)),
                (3.0, Some(1.0)),
            ],
        };
        let plot = Plot {
            title: "height (m)".to_owned(),
            x_label: "time (s)".to_owned(),
            is_logarithmic: false,
            lines: vec![line],
        };
        let svg = plot.svg(Fit::Page);
        let path = svg.lines().find(|line| line.contains("linejoin")).unwrap();
        assert_eq!(path.matches('M').count(), 2);
        assert!(svg.contains("a &lt;b&gt;") && svg.contains("height (m)"));
    }

    #[test]
    fn bars_with_the_same_number_are_one_and_if_all_are_a_line() {
        let bars = |numbers: &[f64]| {
            let bars = numbers.iter().enumerate();
            let bars = bars.map(|(at, number)| (format!("node-{at}"), *number));
            let (title, look) = ("duty cycle (%)".to_owned(), Look::nth(0, 0));
            let bars = bars.collect();
            Bars { title, bars, look }.svg(Fit::Page)
        };
        let all = bars(&[100.0; 15]);
        assert!(!all.contains("<rect"), "{all}");
        assert!(
            all.contains("100 for each of 15 bars: node-0 … node-14"),
            "{all}"
        );
        let some = bars(&[100.0, 100.0, 100.0, 21.0, 100.0, 100.0]);
        assert_eq!(some.matches("<rect").count(), 4, "{some}");
        assert!(
            some.contains(">node-0 … node-2<") && some.contains(">node-5<"),
            "{some}"
        );
        let two = bars(&[100.0, 100.0]);
        assert_eq!(two.matches("<rect").count(), 2, "{two}");
    }
}
