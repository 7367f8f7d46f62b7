//! A small picture of a judged row on its own axis: band, mean with spread, and the paper's number.

use std::fmt::Write as _;

use super::axis::Axis;
use super::html::number;
use crate::row::Row;

const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 34.0;
/// y coordinate of the dot in pixels; `HALF`: half of the band's height in pixels.
const MIDDLE: f64 = 12.0;
const HALF: f64 = 8.0;

pub fn bullet(row: &Row) -> String {
    let Some(band) = row.band() else {
        return String::new();
    };
    let ends = [
        row.value, row.low, row.high, row.paper, band.least, band.most,
    ];
    let numbers: Vec<f64> = ends.into_iter().flatten().collect();
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = match most - least {
        span if span > 0.0 => 0.15 * span,
        _ => 0.15 * most.abs().max(0.1),
    };
    let span = [least - room, most + room].into_iter();
    let x = Axis::over(span, false, (8.0, WIDTH - 8.0));
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
         aria-label=\"band {band}\">"
    );
    let from = band.least.map_or(8.0, |it| x.px(it));
    let until = band.most.map_or(WIDTH - 8.0, |it| x.px(it));
    let (top, bottom) = (MIDDLE - HALF, MIDDLE + HALF);
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M8 {bottom}H{}\"/><rect class=\"band\" x=\"{from:.1}\" y=\"{top}\" \
         width=\"{:.1}\" height=\"{:.1}\"/>",
        WIDTH - 8.0,
        (until - from).max(1.5),
        2.0 * HALF
    );
    for end in [band.least, band.most].into_iter().flatten() {
        let at = x.px(end);
        let _ = write!(
            svg,
            "<path class=\"edge\" d=\"M{at:.1} {top}V{bottom}\"/>\
             <text class=\"soft\" x=\"{at:.1}\" y=\"{:.1}\" font-size=\"10\" \
             text-anchor=\"middle\">{}</text>",
            bottom + 11.0,
            number(end)
        );
    }
    if let Some(paper) = row.paper {
        let at = x.px(paper);
        let _ = write!(
            svg,
            "<path class=\"diamond\" d=\"M{at:.1} {:.1}l5 5l-5 5l-5 -5z\"/>",
            MIDDLE - 5.0
        );
    }
    let colour = match row.ok {
        Some(true) => "var(--good)",
        _ => "var(--bad)",
    };
    if let (Some(low), Some(high)) = (row.low, row.high) {
        let _ = write!(
            svg,
            "<path stroke=\"{colour}\" stroke-width=\"1.5\" d=\"M{:.1} {MIDDLE}H{:.1}\"/>",
            x.px(low),
            x.px(high)
        );
    }
    if let Some(value) = row.value {
        let _ = write!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{MIDDLE}\" r=\"3.6\" fill=\"{colour}\"/>",
            x.px(value)
        );
    }
    svg.push_str("</svg>");
    svg
}
