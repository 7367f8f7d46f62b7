//! Metrics of this study, and their readings from a run.

use super::probes::{Fleet, FleetFound, Found, Lock, LockFound, Watch};
use super::scenes::{
    By, COMMANDS, FLEET_BYTES, IDLE_S, IMAGE, RING, Transfer, in_ring, leaf_name, of_fleet, to_lock,
};
use redpoll_experiments::{Gap, Metric, Probed, Reading};

/// Time from the beginning of the transfer until its last byte arrived.
pub const TIME: Metric = Metric::new("time", "s");
pub const GOODPUT: Metric = Metric::new("goodput", "kb/s");
/// Charge of the leaf's radio per kilobyte of the image.
pub const CHARGE: Metric = Metric::new("charge", "mC/kB");
pub const ABORTS: Metric = Metric::new("aborts", "per transfer");
/// Longest time without an arrival between the first and the last byte.
pub const PAUSE: Metric = Metric::new("longest pause", "s");
/// Time from the beginning until the last device had the image.
pub const LAST: Metric = Metric::new("time until the last device has the image", "s");
/// Jain's index of the goodputs of all devices.
pub const JAIN: Metric = Metric::new("Jain's index", "");
pub const FLEET_ABORTS: Metric = Metric::new("aborts", "per run");
/// Latency of a command from writing until its last byte arrived.
pub const MEDIAN: Metric = Metric::new("median latency", "ms");
pub const LATE: Metric = Metric::new("95th percentile of latency", "ms");
/// Charge of the lock's radio without commands.
pub const IDLE: Metric = Metric::new("idle charge", "mC/h");
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

/// Returns the case of a transfer of the image in the ring, with its probe.
pub fn ring(by: By, lost: u32) -> Probed<Watch> {
    let leaf = leaf_name(RING - 1);
    in_ring(by, lost).probe(Watch { bytes: IMAGE, leaf })
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

pub fn pause(found: &Found) -> Reading {
    time(found)?;
    Ok(found.longest_pause_s)
}

pub fn aborts(found: &Found) -> Reading {
    Ok(found.aborts as f64)
}

pub fn whole(found: &Found) -> Reading {
    Ok(f64::from(u8::from(found.time_s.is_some())))
}

/// Returns the case of the transfers to a fleet, with its probe.
pub fn fleet(by: By, lost: u32) -> Probed<Fleet> {
    of_fleet(by, lost).probe(Fleet)
}

/// Returns the case of the commands to a lock, with its probe.
pub fn lock(by: By, poll_ms: u32, lost: u32) -> Probed<Lock> {
    to_lock(by, poll_ms, lost).probe(Lock)
}

pub fn last(found: &FleetFound) -> Reading {
    let times: Option<Vec<f64>> = found.times_s.iter().copied().collect();
    let times = times.ok_or(Gap::Nothing)?;
    Ok(times.into_iter().fold(0.0, f64::max))
}

/// Returns Jain's index of the goodputs; the goodput of a device without the image is 0.
pub fn jain(found: &FleetFound) -> Reading {
    let goodput = |time: &Option<f64>| time.map_or(0.0, |time| FLEET_BYTES as f64 / time);
    let goodputs: Vec<f64> = found.times_s.iter().map(goodput).collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|it| it * it).sum();
    if squares > 0.0 {
        Ok(sum * sum / (goodputs.len() as f64 * squares))
    } else {
        Err(Gap::Nothing)
    }
}

/// Returns the latency in milliseconds below which `percent` of the commands are.
pub fn latency(found: &LockFound, percent: u64) -> Reading {
    let rank = (COMMANDS * percent).div_ceil(100) - 1;
    let latency = found.latencies_ms.get(rank as usize);
    latency.map(|ms| *ms as f64).ok_or(Gap::Nothing)
}

pub fn idle(found: &LockFound) -> Reading {
    let (from, until) = IDLE_S;
    Ok(found.idle_mc * 3_600.0 / (until - from) as f64)
}
