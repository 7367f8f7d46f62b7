//! The rate at which a border router lets multicast packets into the mesh.

use redpoll_base::Instant;

use super::Params;

/// A token bucket: at most [`Params::burst`] permits, and a new permit each [`Params::interval`].
#[derive(Debug)]
pub(super) struct Limit {
    permits: u8,
    /// Time when the latest permit was added, or when the bucket was last seen full.
    since: Instant,
}

impl Limit {
    pub(super) fn new(burst: u8) -> Self {
        Limit {
            permits: burst,
            since: Instant::ZERO,
        }
    }

    /// Uses up a permit, if there is one. Returns whether there was one, so that a packet may pass.
    pub(super) fn admit(&mut self, now: Instant, params: &Params) -> bool {
        while self.permits < params.burst && now.since(self.since) >= params.interval {
            self.permits = self.permits.saturating_add(1);
            self.since += params.interval;
        }
        if self.permits >= params.burst {
            self.since = now;
        }
        let Some(left) = self.permits.checked_sub(1) else {
            return false;
        };
        self.permits = left;
        true
    }
}
