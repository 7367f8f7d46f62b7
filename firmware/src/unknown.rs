//! Values that the compiler cannot know, for images that are linked and never run.

use core::hint::black_box;

use redpoll_base::{Addr, Duration, Instant};
use redpoll_tcp::{Endpoint, Keepalive};

#[inline(always)]
pub fn any<T>(value: T) -> T {
    black_box(value)
}

#[inline(always)]
pub fn now() -> Instant {
    Instant::from_micros(any(1))
}

#[inline(always)]
pub fn span() -> Duration {
    Duration::from_micros(any(1))
}

#[inline(always)]
pub fn endpoint() -> Endpoint {
    Endpoint::new(Addr(any([1; 16])), any(1))
}

#[inline(always)]
pub fn keepalive() -> Option<Keepalive> {
    any(true).then(|| Keepalive {
        idle: span(),
        interval: span(),
        count: any(8),
    })
}
