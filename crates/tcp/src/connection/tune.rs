//! Parameters that the application may change on an open connection.

use redpoll_base::{Bytes, Duration, Instant};

use super::Connection;
use super::marks::Marks;
use crate::config::{LEAST_PROBES, Millis};
use crate::send::SendStore;
use crate::state::Synchronized;
use crate::timers::Timer;
use crate::{Algorithms, Keepalive, UserTimeout};

/// Milliseconds by which the idle time before the first keep-alive probe exceeds an adopted user
/// timeout, at least.
const KEEPALIVE_LATER: u32 = 1_000;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Turns the Nagle algorithm on or off. RFC 9293 §3.7.4, MUST-17: the algorithm can be disabled
    /// on an individual connection.
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.timers.enter(now);
        self.marks.put(Marks::NAGLE, on);
        self.settle();
    }

    /// Returns whether the Nagle algorithm is on.
    pub fn has_nagle(&self) -> bool {
        self.marks.has(Marks::NAGLE)
    }

    /// Sets the user timeout; see [`Config::user_timeout`](crate::Config::user_timeout). The peer
    /// can no longer change it, and it is announced if the option is in use (RFC 5482 §3).
    pub fn set_user_timeout(&mut self, now: Instant, timeout: Option<Duration>) {
        self.timers.enter(now);
        self.uto.on_set(timeout);
        self.params.user_timeout = timeout.map(Millis::from);
        self.timers.cancel(Timer::User);
        self.settle();
    }

    /// Returns the current user timeout.
    pub fn user_timeout(&self) -> Option<Duration> {
        self.params.user_timeout.map(Millis::duration)
    }

    /// Adopts the peer's user timeout `theirs` on an established connection (RFC 5482 §3.1).
    pub(super) fn adopt_user_timeout(&mut self, theirs: Option<UserTimeout>) {
        let Some(ms) = self.uto.adopt(theirs) else {
            return;
        };
        let adopted = Millis::new(ms);
        if Some(adopted) == self.params.user_timeout {
            return;
        }
        self.params.user_timeout = Some(adopted);
        self.timers.cancel(Timer::User);
        // RFC 5482 §4.2: keep-alive starts after the user timeout, in its rounded form.
        let later = adopted.get().wrapping_add(KEEPALIVE_LATER);
        let idle = self.params.keepalive_idle.get().max(later);
        self.params.keepalive_idle = Millis::new(idle);
    }

    /// Returns how late a keep-alive probe may be, in milliseconds: half the interval.
    pub(super) fn keepalive_slack_ms(&self) -> u32 {
        self.params.keepalive_interval.get() / 2
    }

    /// Sets the start of the connection's timestamps, a number that cannot be guessed
    /// ([`IsnGenerator::timestamp_offset`](crate::IsnGenerator::timestamp_offset)). Call it before
    /// the first segment is polled; the default is 0. RFC 7323 §7.1: a random offset for each
    /// connection.
    pub fn set_timestamp_offset(&mut self, offset: u32) {
        self.ts.set_offset(offset);
    }

    /// Changes the keep-alive probes, or turns them off. The idle time counts from now. RFC 9293
    /// §3.8.4, MUST-24: keep-alive can be turned on or off for each connection.
    pub fn set_keepalive(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        self.timers.enter(now);
        match keepalive {
            Some(keepalive) => {
                self.params.keepalive_idle = Millis::from(keepalive.idle);
                self.params.keepalive_interval = Millis::from(keepalive.interval);
                self.params.keepalive_count = keepalive.count.max(LEAST_PROBES);
            }
            None => self.params.keepalive_count = 0,
        }
        self.timers.cancel(Timer::Keepalive);
        let idle = self.keepalive.on_heard(&self.params);
        // Start the timer only if there is a peer to probe.
        let is_open = !matches!(self.synchronized(), Some(Synchronized::TimeWait) | None);
        if let Some(idle) = idle.filter(|_| is_open) {
            self.timers.start(Timer::Keepalive, idle);
        }
    }
}
