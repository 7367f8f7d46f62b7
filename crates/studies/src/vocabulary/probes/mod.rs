//! Probes that look at a world during a run.

pub mod air;
mod cwnd;
mod hourly;
mod slots;

pub use cwnd::{Course, Cwnd};
pub use hourly::Hourly;
pub use slots::Slots;

use redpoll_base::Instant;

fn seconds(at: Instant) -> f64 {
    at.as_micros() as f64 / 1e6
}
