//! Charts of means with confidence intervals. The horizontal axis has numbers or names.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::Look;
use super::frame::{BOTTOM, Fit, LETTER, Legend, TOP, frame, label};

/// A chart of means over an x axis.
#[derive(Clone, Debug)]
pub struct Means {
    /// Label of the y axis, with its unit.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Names along the x axis; empty if the x axis has numbers.
    pub names: Vec<String>,
    /// Whether lines join the means; has no effect with names.
    pub is_joined: bool,
    pub lines: Vec<MeanLine>,
}

#[derive(Clone, Debug)]
pub struct MeanLine {
    pub name: String,
    pub look: Look,
    /// Means from left to right.
    pub means: Vec<Mean>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Mean {
    /// Place on the x axis: a number, or the index of a name.
    pub x: f64,
    pub value: f64,
    /// Ends of the confidence interval, if it is known.
    pub ends: Option<(f64, f64)>,
}

/// Distance in pixels between error bars of different lines at the same x.
const APART: f64 = 3.0;
/// Greatest ratio of largest and smallest number on a linear x axis of positive numbers.
const RATIO_MAX: f64 = 50.0;
/// Number of letters up to which a name below the axis is never truncated.
const LETTERS_MIN: usize = 4;

impl Means {
    /// Draws the chart as SVG, for a page with the style of studies.
    pub fn svg(&self, fit: Fit) -> String {
        let means = || self.lines.iter().flat_map(|line| &line.means);
        let heights = means().flat_map(|mean| {
            let (low, high) = mean.ends.unwrap_or((mean.value, mean.value));
            [mean.value, low, high]
        });
        let y = Axis::of_lines(heights, (BOTTOM, TOP));
        let x = self.first_axis(fit);
        let below = BOTTOM + 32.0;
        let mut legend = Legend::at(below + 22.0, fit);
        for line in &self.lines {
            if self.lines.len() > 1 || !line.name.is_empty() {
                legend.line(&line.name, line.look, true);
            }
        }
        let (legend, height) = legend.end();
        let mut svg = frame(&self.title, &self.x_label, &y, (below, height), fit);
        self.marks(&mut svg, &x, fit);
        let is_joined = self.is_joined && self.names.is_empty();
        let middle = (self.lines.len() as f64 - 1.0) / 2.0;
        for (at, line) in self.lines.iter().enumerate() {
            let aside = APART * (at as f64 - middle);
            line.draw(&mut svg, &|place| x.px(place) + aside, &y, is_joined);
        }
        svg.push_str(&legend);
        svg.push_str("</svg>\n");
        svg
    }

    fn first_axis(&self, fit: Fit) -> Axis {
        let (left, right) = fit.plot_px();
        let px = (left + 14.0, right - 14.0);
        if !self.names.is_empty() {
            let ends = [-0.5, self.names.len() as f64 - 0.5];
            return Axis::over(ends.into_iter(), false, (left, right));
        }
        let places = || {
            self.lines
                .iter()
                .flat_map(|line| &line.means)
                .map(|mean| mean.x)
        };
        let least = places().fold(f64::INFINITY, f64::min);
        let most = places().fold(f64::NEG_INFINITY, f64::max);
        if least > 0.0 && most / least > RATIO_MAX {
            Axis::logarithmic(places(), px)
        } else {
            Axis::over(places(), false, px)
        }
    }

    fn marks(&self, svg: &mut String, x: &Axis, fit: Fit) {
        let at = BOTTOM + 16.0;
        if self.names.is_empty() {
            for mark in x.marks() {
                label(svg, (x.px(mark), at), "middle", &x.text(mark));
            }
            return;
        }
        let (left, right) = fit.plot_px();
        let room = (right - left) / self.names.len() as f64;
        let letters = ((room / LETTER) as usize).max(LETTERS_MIN);
        for (index, name) in self.names.iter().enumerate() {
            let name = match name.chars().count() {
                count if count <= letters => name.clone(),
                _ => name.chars().take(letters - 1).chain(['…']).collect(),
            };
            label(svg, (x.px(index as f64), at), "middle", &name);
        }
    }
}

impl MeanLine {
    fn draw(&self, svg: &mut String, x: &dyn Fn(f64) -> f64, y: &Axis, is_joined: bool) {
        let colour = self.look.colour();
        if is_joined && self.means.len() > 1 {
            let mut path = String::new();
            for mean in &self.means {
                let verb = if path.is_empty() { 'M' } else { 'L' };
                let _ = write!(path, "{verb}{:.1} {:.1}", x(mean.x), y.px(mean.value));
            }
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.4\" \
                 stroke-dasharray=\"{}\" fill=\"none\"/>",
                self.look.dash()
            );
        }
        for mean in &self.means {
            let at = x(mean.x);
            if let Some((low, high)) = mean.ends {
                let (low, high, left) = (y.px(low), y.px(high), at - 3.0);
                let _ = writeln!(
                    svg,
                    "<path class=\"interval\" d=\"M{at:.1} {low:.1}V{high:.1}M{left:.1} \
                     {low:.1}h6M{left:.1} {high:.1}h6\" stroke=\"{colour}\" \
                     stroke-width=\"1.1\" fill=\"none\"/>"
                );
            }
            svg.push_str(&self.look.mark((at, y.px(mean.value))));
            svg.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mean, MeanLine, Means};
    use crate::page::colours::Look;
    use crate::page::frame::Fit;

    fn means(names: &[&str], xs: &[f64]) -> Means {
        let means = xs.iter().map(|&x| Mean {
            x,
            value: 10.0 + x,
            ends: Some((9.0 + x, 12.0 + x)),
        });
        Means {
            title: "goodput (kb/s)".to_owned(),
            x_label: "key (ms)".to_owned(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            is_joined: true,
            lines: vec![MeanLine {
                name: "a & <b>".to_owned(),
                look: Look::nth(0, 0),
                means: means.collect(),
            }],
        }
    }

    #[test]
    fn means_over_numbers_are_joined_and_have_intervals() {
        let svg = means(&[], &[0.0, 5.0, 40.0]).svg(Fit::Column);
        assert_eq!(svg.matches("class=\"interval\"").count(), 3, "{svg}");
        assert!(svg.contains("a &amp; &lt;b&gt;") && svg.contains("width=\"336\""));
        let joined = svg
            .lines()
            .find(|it| it.contains("stroke-width=\"1.4\""))
            .unwrap();
        assert_eq!(joined.matches('L').count(), 2);
    }

    #[test]
    fn numbers_of_several_magnitudes_have_a_logarithmic_axis() {
        let svg = means(&[], &[1.0, 10.0, 1_000.0]).svg(Fit::Page);
        assert!(
            svg.contains(">100</text>") && svg.contains(">1000</text>"),
            "{svg}"
        );
        let svg = means(&[], &[1.0, 10.0]).svg(Fit::Page);
        assert!(svg.contains(">4</text>"), "{svg}");
    }

    #[test]
    fn names_are_not_joined_and_are_cut_to_their_room() {
        let long = "a name that is longer than its room";
        let svg = means(&["newreno", long], &[0.0, 1.0]).svg(Fit::Column);
        assert!(
            svg.contains(">newreno</text>") && !svg.contains(long),
            "{svg}"
        );
        assert!(!svg.contains("stroke-width=\"1.4\""), "{svg}");
    }
}
