//! Requests of a flow's client: how many, and how long their answers took.

use redpoll_base::{Duration, Instant};
use serde::Serialize;

use super::percentiles::Percentiles;
use super::readings::LatencyMs;

/// The figures of a client's requests.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RequestFigures {
    /// Requests begun.
    pub made: u64,
    /// Of those, how many were answered.
    pub answered: u64,
    /// Of those, how many failed; the others are under way.
    pub failed: u64,
    /// From the beginning of a request to the last byte of its answer, a
    /// connection's opening included.
    pub latency_ms: LatencyMs,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Requests {
    made: u64,
    answered: u64,
    failed: u64,
    latency: Percentiles,
    longest: Duration,
}

impl Requests {
    pub(super) fn made(&mut self) {
        self.made += 1;
    }

    pub(super) fn answered(&mut self, now: Instant, asked: Instant) {
        let latency = now.since(asked);
        self.answered += 1;
        self.latency.add(latency.as_micros());
        self.longest = self.longest.max(latency);
    }

    pub(super) fn failed(&mut self) {
        self.failed += 1;
    }

    /// `None` where nobody asks.
    pub(super) fn figures(&self) -> Option<RequestFigures> {
        let latency_ms = LatencyMs::of(&self.latency, self.longest);
        (self.made > 0).then_some(RequestFigures {
            made: self.made,
            answered: self.answered,
            failed: self.failed,
            latency_ms,
        })
    }
}
