//! Sequence plots of a TCP connection: segments and acknowledgments over time. Shades mark the
//! periods in which a cause delayed the connection.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::Look;
use super::frame::{BOTTOM, Fit, Legend, TOP, frame, label};

/// A sequence plot. Times (s) and sequence numbers (bytes) count from the connection's start.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    pub title: String,
    /// First transmissions of segments.
    pub sent: Vec<Range>,
    /// Retransmissions.
    pub again: Vec<Range>,
    /// Times at which the sender received an acknowledgment, and the acknowledged sequence numbers.
    pub acked: Vec<(f64, f64)>,
    pub shades: Vec<Shades>,
    /// Least and greatest time on the x axis, in seconds.
    pub t: (f64, f64),
    /// Greatest number on the y axis, which then starts at zero. With `None`, the axis covers the
    /// visible segments.
    pub most: Option<f64>,
}

/// The transmission of a segment: time, first sequence number and end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    pub t: f64,
    pub from: f64,
    pub until: f64,
}

/// The periods in which a cause delayed the connection.
#[derive(Clone, Debug)]
pub struct Shades {
    pub name: String,
    pub look: Look,
    /// Beginning and end of each period, in seconds since the connection's start.
    pub times: Vec<(f64, f64)>,
}

/// Minimum width of a shade in pixels.
const SHADE_MIN: f64 = 1.5;

impl Sequence {
    /// Draws the plot as SVG, for a page with the style of studies.
    pub fn svg(&self, fit: Fit) -> String {
        let is_shown = |t: f64| (self.t.0..=self.t.1).contains(&t);
        let ranges = || {
            self.sent
                .iter()
                .chain(&self.again)
                .filter(|it| is_shown(it.t))
        };
        let x = Axis::over([self.t.0, self.t.1].into_iter(), false, fit.plot_px());
        let px = (BOTTOM, TOP);
        let y = match self.most {
            Some(most) => Axis::over([most].into_iter(), true, px),
            None => Axis::over(ranges().flat_map(|it| [it.from, it.until]), false, px),
        };
        let below = BOTTOM + 32.0;
        let mut legend = Legend::at(below + 22.0, fit);
        for (name, look, is_any) in [
            ("sent", SENT, !self.sent.is_empty()),
            ("retransmitted", AGAIN, !self.again.is_empty()),
            ("acknowledged", ACKED, !self.acked.is_empty()),
        ] {
            if is_any {
                legend.line(name, look, false);
            }
        }
        for shades in self.shades.iter().filter(|it| !it.times.is_empty()) {
            legend.entry(&shades.name, &|x, y| {
                shade((x, x + 20.0), (y - 6.0, y + 5.0), shades.look)
            });
        }
        let (legend, height) = legend.end();
        let mut svg = frame(&self.title, "time (s)", &y, (below, height), fit);
        for mark in x.marks() {
            label(
                &mut svg,
                (x.px(mark), BOTTOM + 16.0),
                "middle",
                &x.text(mark),
            );
        }
        self.shades(&mut svg, &x);
        self.acknowledged(&mut svg, &x, &y);
        for (ranges, look) in [(&self.sent, SENT), (&self.again, AGAIN)] {
            let shown = ranges.iter().filter(|it| is_shown(it.t));
            segments(&mut svg, shown, look, (&x, &y));
        }
        svg.push_str(&legend);
        svg.push_str("</svg>\n");
        svg
    }

    fn shades(&self, svg: &mut String, x: &Axis) {
        for shades in &self.shades {
            let shown = shades
                .times
                .iter()
                .filter(|it| it.1 >= self.t.0 && it.0 <= self.t.1);
            for (from, until) in shown {
                let from = x.px(from.max(self.t.0));
                let until = x.px(until.min(self.t.1)).max(from + SHADE_MIN);
                svg.push_str(&shade((from, until), (TOP, BOTTOM), shades.look));
                svg.push('\n');
            }
        }
    }

    /// Draws the acknowledged sequence number over time as steps.
    fn acknowledged(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let mut path = String::new();
        let shown = self
            .acked
            .iter()
            .filter(|it| (self.t.0..=self.t.1).contains(&it.0));
        for (t, acked) in shown {
            let (x, y) = (x.px(*t), y.px(*acked).clamp(TOP, BOTTOM));
            let _ = if path.is_empty() {
                write!(path, "M{x:.1} {y:.1}")
            } else {
                write!(path, "H{x:.1}V{y:.1}")
            };
        }
        if !path.is_empty() {
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" stroke=\"{}\" stroke-width=\"1.2\" fill=\"none\"/>",
                ACKED.colour()
            );
        }
    }
}

const SENT: Look = Look {
    hue: crate::study::Hue::Blue,
    variant: 0,
};
const AGAIN: Look = Look {
    hue: crate::study::Hue::Vermilion,
    variant: 0,
};
const ACKED: Look = Look {
    hue: crate::study::Hue::Grey,
    variant: 0,
};

fn shade((left, right): (f64, f64), (top, bottom): (f64, f64), look: Look) -> String {
    format!(
        "<rect class=\"shade\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
         fill=\"{}\" fill-opacity=\"0.3\"/>",
        right - left,
        bottom - top,
        look.colour()
    )
}

/// Draws each segment as a vertical stroke from its first to its last byte.
fn segments<'a>(
    svg: &mut String,
    ranges: impl Iterator<Item = &'a Range>,
    look: Look,
    (x, y): (&Axis, &Axis),
) {
    let mut path = String::new();
    for range in ranges {
        let [from, until] = [range.from, range.until].map(|at| y.px(at).clamp(TOP, BOTTOM));
        // Make a short segment visible as well.
        let until = until.min(from - 2.0);
        let _ = write!(path, "M{:.1} {from:.1}V{until:.1}", x.px(range.t));
    }
    if !path.is_empty() {
        let _ = writeln!(
            svg,
            "<path class=\"segments\" d=\"{path}\" stroke=\"{}\" stroke-width=\"1.7\" fill=\"none\"/>",
            look.colour()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_the_segments_and_shades_of_its_time() {
        let range = |t: f64, from: f64| Range {
            t,
            from,
            until: from + 100.0,
        };
        let plot = Sequence {
            title: "<b>".to_owned(),
            sent: vec![range(0.5, 0.0), range(1.5, 100.0), range(9.0, 200.0)],
            again: vec![range(2.0, 0.0)],
            acked: vec![(2.5, 100.0), (3.0, 200.0)],
            shades: vec![Shades {
                name: "lost & found".to_owned(),
                look: Look::nth(4, 0),
                times: vec![(1.0, 2.0), (8.0, 9.0)],
            }],
            t: (0.0, 4.0),
            most: None,
        };
        let svg = plot.svg(Fit::Page);
        let strokes = svg.lines().filter(|it| it.contains("class=\"segments\""));
        let strokes: Vec<_> = strokes.map(|it| it.matches('M').count()).collect();
        assert_eq!(strokes, [2, 1], "{svg}");
        // One shade is in the plot, and one in the legend.
        assert_eq!(svg.matches("class=\"shade\"").count(), 2, "{svg}");
        assert!(
            svg.contains("lost &amp; found") && !svg.contains("<b>"),
            "{svg}"
        );
    }
}
