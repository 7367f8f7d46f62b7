//! Requests of a flow's client, and the latency of their answers.

use redpoll_base::{Duration, Instant};
use serde::Serialize;

use super::percentiles::Percentiles;
use super::readings::LatencyMs;

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct RequestFigures {
    /// Requests that the client started.
    pub made: u64,
    /// Requests answered with success.
    pub answered: u64,
    /// Requests that were refused or not answered, and requests that were open when the client's
    /// node restarted. Requests in `made` that are neither `answered` nor `failed` are under way.
    pub failed: u64,
    /// Time from the start of a request, before its connection opens, to the last byte of its
    /// answer, in milliseconds.
    pub latency_ms: LatencyMs,
}

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

    /// Records that the open requests have failed.
    pub(super) fn fail_open(&mut self) {
        self.failed = self.made - self.answered;
    }

    /// Returns the number of requests that were answered or have failed.
    pub(super) fn ended(&self) -> u64 {
        self.answered + self.failed
    }

    pub(super) fn are_open(&self) -> bool {
        self.made > self.ended()
    }

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
