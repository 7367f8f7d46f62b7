//! One chart as SVG: lines over numbers, bars over names.

use std::fmt::Write as _;

use super::axis::Axis;
use super::{escape, number};
use crate::{Figure, Row, X};

const WIDTH: f64 = 480.0;
/// Room below a chart's last line.
const FOOT: f64 = 14.0;
/// Between two lines of the legend.
const LEGEND_LINE: f64 = 16.0;
/// Left, right, top, bottom of the plot.
const PLOT: (f64, f64, f64, f64) = (58.0, 468.0, 26.0, 222.0);
/// Width of a letter, and of the mark before a name in the legend with the space
/// behind it: a little more than fonts need, since none is known.
const LETTER: f64 = 7.0;
const LEGEND_MARK: f64 = 30.0;
/// Told apart by those who do not see all colours, too (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555",
];
/// More points than this are not dots any more.
const DOTS: usize = 24;
/// Names of bars take so many lines at most.
const NAME_LINES: usize = 2;

/// The chart of rows of one metric.
pub fn chart(figure: &Figure, rows: &[&Row]) -> String {
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
    let numbers = rows
        .iter()
        .flat_map(|row| [row.value, row.low, row.high, row.paper]);
    let y = Axis::over(numbers.flatten(), true, (PLOT.3, PLOT.2));
    let lines = names.iter().map(|name| name_lines(name, names.len()).len());
    let below = 20.0 + 12.0 * lines.max().unwrap_or(1) as f64;
    let has_paper = rows.iter().any(|row| row.paper.is_some());
    let (legend, height) = legend(&series, has_paper, PLOT.3 + below + 20.0);
    let mut svg = frame(rows[0], figure.x_label, &y, (PLOT.3 + below, height));
    if names.is_empty() {
        let at = |row: &Row| match row.x {
            X::Number(x) => x,
            _ => 0.0,
        };
        let x = Axis::over(
            rows.iter().map(|row| at(row)),
            false,
            (PLOT.0 + 10.0, PLOT.1 - 10.0),
        );
        if let Some(shade) = figure.shade {
            let (from, until) = (x.px(shade.from), x.px(shade.until));
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"#f2c94c\" fill-opacity=\"0.2\"><title>{}</title></rect>",
                PLOT.2,
                until - from,
                PLOT.3 - PLOT.2,
                escape(shade.name)
            );
        }
        for mark in x.marks() {
            label(
                &mut svg,
                (x.px(mark), PLOT.3 + 16.0),
                "middle",
                &mark_text(mark),
            );
        }
        for (index, name) in series.iter().enumerate() {
            let of_series: Vec<&Row> = rows
                .iter()
                .copied()
                .filter(|row| row.series == *name)
                .collect();
            line(&mut svg, &of_series, look(index), &y, &|row| x.px(at(row)));
        }
    } else {
        bars(&mut svg, rows, (&series, &names), &y);
    }
    svg.push_str(&legend);
    svg.push_str("</svg>\n");
    svg
}

/// The empty chart: frame, marks of the second axis, labels. Where the label of the
/// first goes, and how high all is.
fn frame(row: &Row, x_label: &str, y: &Axis, (x_label_y, height): (f64, f64)) -> String {
    let unit = match row.unit {
        "" => String::new(),
        unit => format!(" ({unit})"),
    };
    let (left, right, top, bottom) = PLOT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n"
    );
    for mark in y.marks() {
        let at = y.px(mark);
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#e3e6ea\" fill=\"none\"/>"
        );
        label(&mut svg, (left - 6.0, at + 4.0), "end", &mark_text(mark));
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {top}V{bottom}H{right}\" stroke=\"#57606a\" fill=\"none\"/>"
    );
    label(
        &mut svg,
        (left, top - 10.0),
        "start",
        &format!("{}{unit}", row.metric),
    );
    label(&mut svg, (right, x_label_y), "end", x_label);
    svg
}

/// A mark's number without zeros that say nothing.
fn mark_text(value: f64) -> String {
    let text = number(value);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn label(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let text = escape(text);
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#1b1f24\">{text}</text>"
    );
}

/// Colour of the series with this index, and how its line is dashed.
fn look(index: usize) -> (&'static str, &'static str) {
    let dash = match index / COLOURS.len() {
        0 => "",
        _ => " stroke-dasharray=\"5 3\"",
    };
    (COLOURS[index % COLOURS.len()], dash)
}

/// A line through the means, with dots and whiskers, and the paper's diamonds.
fn line(
    svg: &mut String,
    rows: &[&Row],
    (colour, dash): (&str, &str),
    y: &Axis,
    x: &dyn Fn(&Row) -> f64,
) {
    let mut path = String::new();
    for row in rows {
        if let Some(value) = row.value {
            let verb = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(path, "{verb}{:.1} {:.1}", x(row), y.px(value));
        }
    }
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"1.6\"{dash} fill=\"none\"/>"
    );
    for row in rows {
        let at = x(row);
        whisker(svg, row, at, colour, y);
        if let (Some(value), true) = (row.value, rows.len() <= DOTS) {
            let at_y = y.px(value);
            let _ = writeln!(
                svg,
                "<circle cx=\"{at:.1}\" cy=\"{at_y:.1}\" r=\"2.8\" fill=\"{colour}\"/>"
            );
        }
        diamond(svg, row, at, colour, y);
    }
}

/// Groups of bars over names.
fn bars(svg: &mut String, rows: &[&Row], (series, names): (&[&str], &[&'static str]), y: &Axis) {
    let group = (PLOT.1 - PLOT.0) / names.len() as f64;
    let width = (0.8 * group / series.len() as f64).min(60.0);
    for (place, name) in names.iter().enumerate() {
        let middle = PLOT.0 + group * (place as f64 + 0.5);
        for (line, text) in name_lines(name, names.len()).iter().enumerate() {
            label(
                svg,
                (middle, PLOT.3 + 14.0 + 12.0 * line as f64),
                "middle",
                text,
            );
        }
        let of_group = |series: &str| {
            let mut of_series = rows.iter().filter(|row| row.series == series);
            of_series.find(|row| row.x == X::Name(name))
        };
        // Bars that are not there leave no gaps.
        let present: Vec<(usize, &&Row)> = series
            .iter()
            .enumerate()
            .filter_map(|(index, series)| Some((index, of_group(series)?)))
            .collect();
        for (place, (index, row)) in present.iter().enumerate() {
            let left = middle + width * (place as f64 - present.len() as f64 / 2.0);
            let colour = COLOURS[index % COLOURS.len()];
            let (top, zero) = (y.px(row.value.unwrap_or(0.0).max(0.0)), y.px(0.0));
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"{colour}\" fill-opacity=\"0.75\"/>",
                left + 1.0,
                width - 2.0,
                zero - top
            );
            whisker(svg, row, left + width / 2.0, "#1b1f24", y);
            diamond(svg, row, left + width / 2.0, colour, y);
        }
    }
}

/// The name of one of `count` groups of bars, in lines.
fn name_lines(name: &str, count: usize) -> Vec<String> {
    let group = (PLOT.1 - PLOT.0) / count as f64;
    let mut lines = wrap(name, ((group / LETTER) as usize).max(8));
    lines.truncate(NAME_LINES);
    lines
}

/// A text in lines of about so many letters.
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

/// From the least to the greatest of all seeds.
fn whisker(svg: &mut String, row: &Row, x: f64, colour: &str, y: &Axis) {
    if let (Some(low), Some(high)) = (row.low, row.high)
        && low < high
    {
        let (low, high) = (y.px(low), y.px(high));
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-width=\"1\"/>"
        );
    }
}

/// The paper's number.
fn diamond(svg: &mut String, row: &Row, x: f64, colour: &str, y: &Axis) {
    if let Some(paper) = row.paper {
        let at = y.px(paper);
        let _ = writeln!(
            svg,
            "<path d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\" fill=\"#fff\" stroke=\"{colour}\" \
             stroke-width=\"1.8\"/>",
            at - 5.0
        );
    }
}

/// Names of the series from this height down, and where the chart ends.
fn legend(series: &[&str], has_paper: bool, top: f64) -> (String, f64) {
    let mut svg = String::new();
    let (mut x, mut y) = (PLOT.0, top);
    let mut entry = |name: &str, mark: &dyn Fn(f64, f64) -> String| {
        let width = LEGEND_MARK + LETTER * name.chars().count() as f64;
        if x > PLOT.0 && x + width > WIDTH {
            (x, y) = (PLOT.0, y + LEGEND_LINE);
        }
        svg.push_str(&mark(x, y - 4.0));
        label(&mut svg, (x + 12.0, y), "start", name);
        x += width;
    };
    for (index, name) in series.iter().enumerate() {
        let (colour, dash) = look(index);
        // What is dashed on the line is a ring here.
        let fill = if dash.is_empty() { colour } else { "#fff" };
        entry(name, &|x, y| {
            format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" \
                 stroke=\"{colour}\"/>\n"
            )
        });
    }
    if has_paper {
        entry("paper", &|x, y| {
            format!(
                "<path d=\"M{x:.1} {:.1}l5 5l-5 5l-5 -5z\" fill=\"#fff\" stroke=\"#1b1f24\"/>\n",
                y - 5.0
            )
        });
    }
    (svg, y + FOOT)
}

#[cfg(test)]
mod tests {
    use super::{COLOURS, legend, look};

    #[test]
    fn a_legend_has_room_for_all_its_names() {
        let names: Vec<String> = (0..12)
            .map(|n| format!("a rather long series {n}"))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (svg, end) = legend(&names, true, 100.0);
        let lowest = svg
            .split("<text x=")
            .filter_map(|text| text.split("y=\"").nth(1)?.split('"').next()?.parse().ok())
            .fold(0.0, f64::max);
        assert!(lowest > 100.0 && lowest < end, "{lowest} {end}");
    }

    #[test]
    fn no_two_series_look_the_same() {
        for one in 0..2 * COLOURS.len() {
            assert!((0..one).all(|other| look(other) != look(one)));
        }
    }
}
