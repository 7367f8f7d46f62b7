//! What is read from a run.

use super::probes::Charge;
use super::scenes::IMAGE;
use redpoll_experiments::{Metric, Reading, Run};

/// From when the leaf asks first until the image is in its flash.
pub const TIME: Metric = Metric::new("time", "s");
/// What was sent beyond the image.
pub const TWICE: Metric = Metric::new("sent twice", "%");
/// Of the leaf's radio.
pub const CHARGE: Metric = Metric::new("charge", "mC/MB");
/// Frames of all nodes, for a kilobyte of the image.
pub const FRAMES: Metric = Metric::new("frames", "1/kB");
/// Of the runs.
pub const WHOLE: Metric = Metric::new("whole", "share");

/// [`TIME`].
pub fn time(run: &Run) -> Reading {
    run.flow("image", "/image/took_s")
}

/// [`TWICE`].
pub fn twice(run: &Run) -> Reading {
    run.flow("image", "/image/sent_twice_percent")
}

/// [`WHOLE`]: whether all of it has been written.
pub fn whole(run: &Run) -> Reading {
    let written = run.flow("image", "/image/written_bytes")?;
    Ok(f64::from(u8::from(written == IMAGE && time(run).is_ok())))
}

/// [`CHARGE`].
pub fn charge(found: &Charge) -> Reading {
    found
        .mc
        .map(|mc| mc / (IMAGE / 1e6))
        .ok_or(redpoll_experiments::Gap::Nothing)
}

/// [`FRAMES`].
pub fn frames(found: &Charge) -> Reading {
    found
        .frames
        .map(|it| it / (IMAGE / 1e3))
        .ok_or(redpoll_experiments::Gap::Nothing)
}
