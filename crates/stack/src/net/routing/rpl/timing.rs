//! Arithmetic with times. The functions are out of line because RPL calls them often.

use redpoll_base::{Duration, Instant, Rng};

/// Returns a random duration between half of `mean` and one and a half times `mean`.
#[inline(never)] // size
pub(super) fn jittered(mean: Duration, rng: &mut Rng) -> Duration {
    let half = mean.divided_by(2);
    half + Duration::from_micros(rng.below_u64(mean.as_micros()))
}

#[inline(never)] // size
pub(super) fn times(span: Duration, factor: u64) -> Duration {
    span.times(factor)
}

#[inline(never)] // size
pub(super) fn has_come(at: &Option<Instant>, now: Instant) -> bool {
    at.is_some_and(|at| at <= now)
}

#[inline(never)] // size
pub(super) fn earlier(at: Instant, other: &Option<Instant>) -> Instant {
    other.map_or(at, |other| other.min(at))
}
