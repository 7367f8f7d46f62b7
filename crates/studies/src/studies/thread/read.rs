//! Metrics of this study, and their readings from a run.

use super::probes::{Found, Watch};
use super::scenes::{IMAGE, Transfer, leaf_name};
use redpoll_experiments::{Gap, Metric, Probed, Reading};

/// Time from the beginning of the transfer until its last byte arrived.
pub const TIME: Metric = Metric::new("time", "s");
pub const GOODPUT: Metric = Metric::new("goodput", "kb/s");
/// Charge of the leaf's radio per kilobyte.
pub const CHARGE: Metric = Metric::new("charge", "mC/kB");
pub const ABORTS: Metric = Metric::new("aborts", "per transfer");
/// Share of runs in which the last byte arrived.
pub const WHOLE: Metric = Metric::new("complete transfers", "share");

/// Returns the case of a transfer of the image, with its probe.
pub fn watched(transfer: Transfer) -> Probed<Watch> {
    short(transfer, IMAGE)
}

/// Returns the case of a transfer of `bytes`, with its probe.
pub fn short(transfer: Transfer, bytes: u64) -> Probed<Watch> {
    let leaf = leaf_name(transfer.hops);
    let case = transfer.case();
    let case = match bytes {
        IMAGE => case,
        _ => case.set("apps.image.total", format!("{bytes} B")),
    };
    case.probe(Watch { bytes, leaf })
}

pub fn time(found: &Found) -> Reading {
    found.time_s.ok_or(Gap::Nothing)
}

pub fn goodput(found: &Found, bytes: u64) -> Reading {
    Ok(bytes as f64 * 8.0 / 1e3 / time(found)?)
}

pub fn charge(found: &Found) -> Reading {
    Ok(found.charge_mc.ok_or(Gap::Nothing)? / (IMAGE as f64 / 1e3))
}

pub fn aborts(found: &Found) -> Reading {
    Ok(found.aborts as f64)
}

pub fn whole(found: &Found) -> Reading {
    Ok(f64::from(u8::from(found.time_s.is_some())))
}
