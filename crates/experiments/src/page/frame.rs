//! Common parts of charts: a frame with marks, labels, and a legend.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::Look;
use super::html::escape;

/// The medium whose width a picture fits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fit {
    /// A page in a browser.
    #[default]
    Page,
    /// A column of a two-column paper: 3.5 inches wide, with text of 9 points.
    Column,
}

impl Fit {
    /// Returns the width of a chart in pixels of 1/96 inch.
    pub const fn chart_px(self) -> f64 {
        match self {
            Fit::Page => 500.0,
            Fit::Column => 336.0,
        }
    }

    /// Returns the width of a map in pixels.
    pub const fn map_px(self) -> f64 {
        match self {
            Fit::Page => 620.0,
            Fit::Column => 336.0,
        }
    }

    /// Returns the left and the right edge of a chart's plot in pixels.
    pub const fn plot_px(self) -> (f64, f64) {
        (LEFT, self.chart_px() - 12.0)
    }
}

/// Pixels below the last line of a chart.
pub const FOOT: f64 = 14.0;
const LEGEND_LINE: f64 = 17.0;
const LEFT: f64 = 58.0;
/// y coordinate of the top edge of the plot in pixels; `BOTTOM`: that of its bottom edge.
pub const TOP: f64 = 28.0;
pub const BOTTOM: f64 = 232.0;
/// Width of a letter in pixels. `LEGEND_MARK` is the width of a legend's mark and the space after
/// it. Both exceed the need of usual fonts, because the font is unknown.
pub const LETTER: f64 = 6.6;
const LEGEND_MARK: f64 = 36.0;

/// Draws an empty chart: frame, marks of the y axis, labels. `x_label_y` is the y coordinate of the
/// x axis label, and `height` the height of the chart.
pub fn frame(
    title: &str,
    x_label: &str,
    y: &Axis,
    (x_label_y, height): (f64, f64),
    fit: Fit,
) -> String {
    let ((left, right), width) = (fit.plot_px(), fit.chart_px());
    let title = escape(title);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{title}\">\n"
    );
    for mark in y.marks() {
        let at = y.px(mark);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/>");
        label(&mut svg, (left - 6.0, at + 4.0), "end", &y.text(mark));
    }
    let _ = writeln!(
        svg,
        "<path class=\"axis\" d=\"M{left} {TOP}V{BOTTOM}H{right}\"/>\
         <text x=\"4\" y=\"{}\" font-weight=\"600\">{title}</text>",
        TOP - 12.0
    );
    label(&mut svg, (right, x_label_y), "end", x_label);
    svg
}

/// Writes a text at a point; `anchor` is `start`, `middle` or `end`.
pub fn label(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escape(text);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    );
}

pub struct Legend {
    svg: String,
    x: f64,
    y: f64,
    /// x coordinate of the right edge in pixels.
    end: f64,
}

impl Legend {
    pub fn at(top: f64, fit: Fit) -> Legend {
        Legend {
            svg: String::new(),
            x: 8.0,
            y: top,
            end: fit.chart_px(),
        }
    }

    /// Adds an entry: the mark that `mark` draws at a point, and `name` after it.
    pub fn entry(&mut self, name: &str, mark: &dyn Fn(f64, f64) -> String) {
        let width = LEGEND_MARK + LETTER * name.chars().count() as f64;
        if self.x > 8.0 && self.x + width > self.end {
            (self.x, self.y) = (8.0, self.y + LEGEND_LINE);
        }
        self.svg.push_str(&mark(self.x, self.y - 4.0));
        label(&mut self.svg, (self.x + 24.0, self.y), "start", name);
        self.x += width;
    }

    pub fn line(&mut self, name: &str, look: Look, is_marked: bool) {
        self.entry(name, &|x, y| {
            let mark = if is_marked {
                look.mark((x + 10.0, y))
            } else {
                String::new()
            };
            format!(
                "<path d=\"M{x:.1} {y:.1}h20\" stroke=\"{}\" stroke-width=\"1.7\" \
                 stroke-dasharray=\"{}\" fill=\"none\"/>{mark}",
                look.colour(),
                look.dash()
            )
        });
    }

    pub fn end(self) -> (String, f64) {
        (self.svg, self.y + FOOT)
    }
}
