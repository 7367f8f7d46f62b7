//! Pictures of a result: flows and nodes over time, their totals, and the mesh.
//!
//! They are SVG with the style of the studies' pages ([`redpoll_experiments::page`]). With the
//! feature `images`, `standalone` makes them self-contained files, and `png` images.

#[cfg(feature = "images")]
mod alone;
mod over_time;
mod steps;

#[cfg(feature = "images")]
pub use alone::{PngError, png, standalone};

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

pub const NAMES: [&str; 12] = [
    "topology",
    "goodput",
    "window",
    "round-trip",
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
pub fn pictures(files: &Files, only: &[String]) -> Result<Vec<Picture>, Problem> {
    let mut pictures = Vec::new();
    let report = match &files.report {
        Some(path) => Some(Report::read(path)?),
        None => None,
    };
    if let Some(report) = &report {
        pictures.extend(topology(report));
    }
    if let Some(path) = &files.series {
        pictures.extend(Tracks::read(path, only)?.pictures());
    }
    if let Some(report) = &report {
        pictures.extend(bars(report, only));
    }
    Ok(pictures)
}

fn topology(report: &Report) -> Option<Picture> {
    let mesh = report.mesh()?;
    Some(Picture {
        name: "topology",
        note: String::new(),
        svg: mesh.svg(),
    })
}

fn bars(report: &Report, only: &[String]) -> Vec<Picture> {
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
        let svg = Bars { title, bars, look }.svg();
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
