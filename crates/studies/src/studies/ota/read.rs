//! Metrics of this study, and their readings from a run.

use super::probes::Charge;
use super::scenes::IMAGE;
use redpoll_experiments::{Metric, Reading, Run};

/// Time from the leaf's first request until the image is in its flash.
pub const TIME: Metric = Metric::new("time", "s");
/// Bytes sent in addition to the image, as a share of the image.
pub const TWICE: Metric = Metric::new("bytes sent more than once", "%");
/// Charge of the leaf's radio per megabyte of the image.
pub const CHARGE: Metric = Metric::new("charge", "mC/MB");
/// Frames of all nodes per kilobyte of the image.
pub const FRAMES: Metric = Metric::new("frames", "1/kB");
/// Share of runs in which the image is complete.
pub const WHOLE: Metric = Metric::new("transfers that deliver the whole image", "share");

pub fn time(run: &Run) -> Reading {
    run.flow("image", "/image/took_s")
}

pub fn twice(run: &Run) -> Reading {
    run.flow("image", "/image/sent_twice_percent")
}

/// Reads [`WHOLE`]: 1 if the image was written completely, 0 otherwise.
pub fn whole(run: &Run) -> Reading {
    let written = run.flow("image", "/image/written_bytes")?;
    Ok(f64::from(u8::from(written == IMAGE && time(run).is_ok())))
}

pub fn charge(found: &Charge) -> Reading {
    found
        .mc
        .map(|mc| mc / (IMAGE / 1e6))
        .ok_or(redpoll_experiments::Gap::Nothing)
}

pub fn frames(found: &Charge) -> Reading {
    found
        .frames
        .map(|it| it / (IMAGE / 1e3))
        .ok_or(redpoll_experiments::Gap::Nothing)
}
