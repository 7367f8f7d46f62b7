//! A chart as SVG: lines over numbers, or bars over names. The chart shows the spread of each
//! number, the band of each judged row, and the paper's number.

use std::fmt::Write as _;

use super::axis::Axis;
use super::colours::{Look, Looks};
use super::frame::{BOTTOM, Fit, LETTER, Legend, TOP, frame, label};
use super::html::escape;
use crate::figure::{Figure, X};
use crate::row::Row;

/// Left and right edge of the plot, in pixels.
const PLOT: (f64, f64) = Fit::Page.plot_px();
const MARKS: usize = 24;
const NAME_LINES: usize = 3;
/// Half of the width of a band in a line chart, in pixels.
const BAND: f64 = 6.0;

pub fn chart(figure: &Figure, rows: &[&Row], looks: &Looks) -> String {
    let mut series: Vec<&str> = Vec::new();
    let mut names: Vec<&'static str> = Vec::new();
    for row in rows {
        if !series.contains(&row.series.as_str()) {
            series.push(&row.series);
        }
        if let X::Name(name) = &row.x
            && !names.contains(name)
        {
            names.push(name);
        }
    }
    let y = Axis::over(heights(rows).into_iter(), true, (BOTTOM, TOP));
    let lines = names.iter().map(|name| name_lines(name, names.len()).len());
    let below = 20.0 + 12.0 * lines.max().unwrap_or(1) as f64;
    let (legend, height) = legend(&series, rows, BOTTOM + below + 22.0, looks);
    let mut svg = frame(
        &title(rows),
        figure.x_label,
        &y,
        (BOTTOM + below, height),
        Fit::Page,
    );
    if names.is_empty() {
        over_numbers(&mut svg, figure, (rows, &series), &y, looks);
    } else {
        bars(&mut svg, rows, (&series, &names), (&y, looks));
    }
    svg.push_str(&legend);
    svg.push_str("</svg>\n");
    svg
}

fn title(rows: &[&Row]) -> String {
    match rows.first() {
        Some(row) if row.unit.is_empty() => row.metric.to_owned(),
        Some(row) => format!("{} ({})", row.metric, row.unit),
        None => String::new(),
    }
}

/// Returns all numbers that must fit in the chart: those of the rows, and those ends of their bands
/// that are at most twice the greatest number of the rows.
fn heights(rows: &[&Row]) -> Vec<f64> {
    let of_row = |row: &&Row| {
        let (low, high) = spread(row);
        [row.value, low, high, row.paper]
    };
    let mut all: Vec<f64> = rows.iter().flat_map(of_row).flatten().collect();
    let greatest = all.iter().copied().fold(0.0, f64::max);
    let ends = rows.iter().filter_map(|row| row.band());
    let ends = ends.flat_map(|band| [band.least, band.most]).flatten();
    all.extend(ends.filter(|end| *end <= 2.0 * greatest));
    all
}

/// Returns the ends of a row's error bar: those that the study declared for the row, or otherwise
/// the extremes of all seeds.
fn spread(row: &Row) -> (Option<f64>, Option<f64>) {
    match row.told.bar {
        Some((low, high)) => (Some(low), Some(high)),
        None => (row.low, row.high),
    }
}

/// Draws the lines, with bands and shades behind them.
fn over_numbers(
    svg: &mut String,
    figure: &Figure,
    (rows, series): (&[&Row], &[&str]),
    y: &Axis,
    looks: &Looks,
) {
    let at = |row: &Row| match row.x {
        X::Number(x) => x,
        _ => 0.0,
    };
    let places = rows.iter().map(|row| at(row));
    let x = Axis::over(places, false, (PLOT.0 + 12.0, PLOT.1 - 12.0));
    if let Some(shade) = figure.shade {
        let (from, until) = (x.px(shade.from), x.px(shade.until));
        let _ = writeln!(
            svg,
            "<rect class=\"work\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/>\
             <text class=\"soft\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            TOP,
            until - from,
            BOTTOM - TOP,
            (from + until) / 2.0,
            TOP + 13.0,
            escape(shade.name)
        );
    }
    for mark in x.marks() {
        let place = (x.px(mark), BOTTOM + 16.0);
        label(svg, place, "middle", &x.text(mark));
    }
    for row in rows {
        band(svg, row, (x.px(at(row)), BAND), y);
    }
    for name in series {
        let of_series: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|row| row.series == *name)
            .collect();
        line(svg, &of_series, looks.get(name), y, &|row| x.px(at(row)));
    }
}

/// Draws a line through the means with marks and error bars, and the paper's diamonds.
fn line(svg: &mut String, rows: &[&Row], look: Look, y: &Axis, x: &dyn Fn(&Row) -> f64) {
    let mut path = String::new();
    for row in rows {
        if let Some(value) = row.value {
            let verb = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{verb}{:.1} {:.1}", x(row), y.px(value));
        }
    }
    let colour = look.colour();
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.7\" \
         stroke-dasharray=\"{}\" fill=\"none\"/>",
        look.dash()
    );
    for row in rows {
        let at = x(row);
        error_bar(svg, row, at, colour, y);
        if let (Some(value), true) = (row.value, rows.len() <= MARKS) {
            svg.push_str(&look.mark((at, y.px(value))));
        }
        diamond(svg, row, at, colour, y);
    }
}

fn bars(
    svg: &mut String,
    rows: &[&Row],
    (series, names): (&[&str], &[&'static str]),
    (y, looks): (&Axis, &Looks),
) {
    let group = (PLOT.1 - PLOT.0) / names.len() as f64;
    let width = (0.8 * group / series.len() as f64).min(60.0);
    for (place, name) in names.iter().enumerate() {
        let middle = PLOT.0 + group * (place as f64 + 0.5);
        for (line, text) in name_lines(name, names.len()).iter().enumerate() {
            let at = (middle, BOTTOM + 14.0 + 12.0 * line as f64);
            label(svg, at, "middle", text);
        }
        // A series without a row at this name takes no space.
        let of_group = rows.iter().filter(|row| row.x == X::Name(name));
        let of_group: Vec<&&Row> = of_group.collect();
        for (place, row) in of_group.iter().enumerate() {
            let left = middle + width * (place as f64 - of_group.len() as f64 / 2.0);
            let look = looks.get(&row.series);
            let colour = look.colour();
            let (top, zero) = (y.px(row.value.unwrap_or(0.0).max(0.0)), y.px(0.0));
            let opacity = if look.variant == 0 { 0.75 } else { 0.25 };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\" fill-opacity=\"{opacity}\" stroke=\"{colour}\" \
                 stroke-dasharray=\"{}\"/>",
                left + 1.0,
                width - 2.0,
                zero - top,
                look.dash()
            );
            let centre = left + width / 2.0;
            band(svg, row, (centre, width / 2.0), y);
            error_bar(svg, row, centre, "var(--ink)", y);
            diamond(svg, row, centre, colour, y);
        }
    }
}

/// Draws the band of a judged row, `half` pixels to either side of `x`.
fn band(svg: &mut String, row: &Row, (x, half): (f64, f64), y: &Axis) {
    let Some(band) = row.band() else { return };
    let within = |value: f64| y.px(value).clamp(TOP, BOTTOM);
    let top = band.most.map_or(TOP, within);
    let bottom = band.least.map_or(BOTTOM, within);
    let (left, width) = (x - half, 2.0 * half);
    let _ = writeln!(
        svg,
        "<rect class=\"band\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
         height=\"{:.1}\"/>",
        bottom - top
    );
    for end in [band.least, band.most].into_iter().flatten() {
        let at = y.px(end);
        if (TOP..=BOTTOM).contains(&at) {
            let _ = writeln!(
                svg,
                "<path class=\"edge\" d=\"M{left:.1} {at:.1}h{width:.1}\"/>"
            );
        }
    }
}

fn name_lines(name: &str, count: usize) -> Vec<String> {
    let group = (PLOT.1 - PLOT.0) / count as f64;
    let mut lines = wrap(name, ((group / LETTER) as usize).max(8));
    lines.truncate(NAME_LINES);
    lines
}

fn wrap(text: &str, letters: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < letters => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn error_bar(svg: &mut String, row: &Row, x: f64, colour: &str, y: &Axis) {
    if let (Some(low), Some(high)) = spread(row)
        && low < high
    {
        let (low, high) = (y.px(low), y.px(high));
        let left = x - 3.0;
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}h6M{left:.1} {high:.1}h6\" \
             stroke=\"{colour}\" stroke-width=\"1.1\"/>"
        );
    }
}

fn diamond(svg: &mut String, row: &Row, x: f64, colour: &str, y: &Axis) {
    if let Some(paper) = row.paper {
        let at = y.px(paper) - 5.0;
        let _ = writeln!(
            svg,
            "<path class=\"diamond\" style=\"stroke:{colour}\" \
             d=\"M{x:.1} {at:.1}l5 5l-5 5l-5 -5z\"/>"
        );
    }
}

fn legend(series: &[&str], rows: &[&Row], top: f64, looks: &Looks) -> (String, f64) {
    let mut legend = Legend::at(top, Fit::Page);
    for name in series {
        legend.line(name, looks.get(name), true);
    }
    if rows.iter().any(|row| row.paper.is_some()) {
        legend.entry("paper", &|x, y| {
            let (x, y) = (x + 10.0, y - 5.0);
            format!("<path class=\"diamond\" d=\"M{x:.1} {y:.1}l5 5l-5 5l-5 -5z\"/>")
        });
    }
    if rows.iter().any(|row| row.band().is_some()) {
        legend.entry("band", &|x, y| {
            let (x, y) = (x + 4.0, y - 6.0);
            format!(
                "<rect class=\"band\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"12\" height=\"12\"/>\
                 <path class=\"edge\" d=\"M{x:.1} {y:.1}h12m0 12h-12\"/>"
            )
        });
    }
    legend.end()
}

#[cfg(test)]
mod tests {
    use super::{legend, wrap};
    use crate::page::colours::Looks;
    use crate::page::colours::tests::PLAIN;

    #[test]
    fn a_legend_has_room_for_all_its_names() {
        let names: Vec<String> = (0..12)
            .map(|n| format!("a rather long series {n}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (svg, end) = legend(&names, &[], 100.0, &Looks::of(&PLAIN, &[]));
        let lowest = svg
            .split("<text x=")
            .filter_map(|text| text.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .fold(0.0, f64::max);
        assert!(lowest > 100.0 && lowest < end, "{lowest} {end}");
    }

    #[test]
    fn long_names_are_in_lines() {
        assert_eq!(
            wrap("unreliable, no batch", 12),
            ["unreliable,", "no batch"]
        );
    }
}
