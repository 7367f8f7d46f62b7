//! Pictures of a result: flows and nodes over time, their totals, and the mesh.
//!
//! The pictures are SVG with the style of the studies' pages ([`redpoll_experiments::page`]).
//! [`self_contained`] adds this style. With the feature `images`, `standalone` also converts the
//! letters to outlines, and `png` renders an image.

#[cfg(feature = "images")]
mod alone;
mod over_time;
mod steps;
mod style;
mod swept;

#[cfg(feature = "images")]
pub use alone::{PngError, png, standalone};

pub use over_time::Source;
pub use redpoll_experiments::page::Fit;
pub use style::self_contained;
pub use swept::{Swept, swept};

use redpoll_experiments::page::{Bars, Look};

use crate::folder::Files;
use crate::report::{Problem, Report};
use over_time::Tracks;

#[derive(Clone, Debug)]
pub struct Picture {
    pub name: &'static str,
    /// Omitted parts; empty if the picture is complete.
    pub note: String,
    pub svg: String,
}

pub const NAMES: [&str; 13] = [
    "topology",
    "goodput",
    "window",
    "round-trip",
    "loss",
    "in-flight",
    "retransmissions",
    "queue",
    "radio",
    "current",
    "flows",
    "duty-cycle",
    "charge",
];

/// Greatest number of bars; the picture shows the greatest values.
const BARS: usize = 40;

/// Returns the pictures of a result. If `only` is not empty, they show only the flows and nodes
/// with these names.
pub fn pictures(files: &Files, only: &[String], fit: Fit) -> Result<Vec<Picture>, Problem> {
    let report = match &files.report {
        Some(path) => Some(Report::read(path)?),
        None => None,
    };
    let series = files.series.as_deref().map(Source::File);
    pictures_of(report.as_ref(), series, only, fit)
}

/// Returns the pictures of a report, of a series, or of both.
pub fn pictures_of(
    report: Option<&Report>,
    series: Option<Source<'_>>,
    only: &[String],
    fit: Fit,
) -> Result<Vec<Picture>, Problem> {
    let mut pictures = Vec::new();
    if let Some(report) = report {
        pictures.extend(topology(report, fit));
    }
    if let Some(source) = series {
        pictures.extend(Tracks::read(source, only, fit)?.pictures());
    }
    if let Some(report) = report {
        pictures.extend(bars(report, only, fit));
    }
    Ok(pictures)
}

fn topology(report: &Report, fit: Fit) -> Option<Picture> {
    let mesh = report.mesh()?;
    Some(Picture {
        name: "topology",
        note: String::new(),
        svg: mesh.svg(fit),
    })
}

fn bars(report: &Report, only: &[String], fit: Fit) -> Vec<Picture> {
    let wanted = |name: &str| only.is_empty() || only.iter().any(|it| it == name);
    let picture = |name, title: &str, mut bars: Vec<(String, f64)>| {
        bars.retain(|(name, _)| wanted(name));
        let all = bars.len();
        if all > BARS {
            bars.sort_by(|a, b| b.1.total_cmp(&a.1));
            bars.truncate(BARS);
        }
        let note = if all > BARS {
            format!("the {BARS} largest of {all} values")
        } else {
            String::new()
        };
        let look = Look::nth(0, 0);
        let title = title.to_owned();
        let is_empty = bars.is_empty();
        let svg = Bars { title, bars, look }.svg(fit);
        (!is_empty).then_some(Picture { name, note, svg })
    };
    [
        picture(
            "flows",
            "goodput from the first to the last byte (kb/s)",
            report.of_flows("/goodput_kbps", 1.0),
        ),
        picture(
            "duty-cycle",
            "duty cycle of the radio (%)",
            report.of_nodes("/radio_duty_cycle", 100.0),
        ),
        picture(
            "charge",
            "charge used (mC)",
            report.of_nodes("/energy/charge_mc", 1.0),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
