//! Parameters that the application may change while the connection is open.

use redpoll_base::{Bytes, Duration, Instant};

use super::Connection;
use super::marks::Marks;
use crate::config::{LEAST_PROBES, Millis};
use crate::send::SendStore;
use crate::state::Synchronized;
use crate::timers::Timer;
use crate::{Algorithms, Keepalive, UserTimeout};

/// How much longer than the user timeout a connection is idle before it is
/// probed, in milliseconds.
const KEEPALIVE_LATER: u32 = 1_000;

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Whether small segments wait for company from now on.
    ///
    /// RFC 9293 §3.7.4, MUST-17: the algorithm can be disabled on an
    /// individual connection.
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.timers.enter(now);
        self.marks.put(Marks::NAGLE, on);
        self.settle();
    }

    /// Whether small segments wait for company.
    pub fn has_nagle(&self) -> bool {
        self.marks.has(Marks::NAGLE)
    }

    /// How long sent data may stay unacknowledged from now on; see
    /// [`Config::user_timeout`](crate::Config::user_timeout). The peer no longer
    /// changes it, and hears of it if the option is in use (RFC 5482 §3).
    pub fn set_user_timeout(&mut self, now: Instant, timeout: Option<Duration>) {
        self.timers.enter(now);
        self.uto.on_set(timeout);
        self.params.user_timeout = timeout.map(Millis::from);
        self.timers.cancel(Timer::User);
        self.settle();
    }

    /// The user timeout in force, if there is one.
    pub fn user_timeout(&self) -> Option<Duration> {
        self.params.user_timeout.map(Millis::duration)
    }

    /// RFC 5482 §3.1: on a connection that is established `theirs` counts, if
    /// the peer said any.
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
        // RFC 5482 §4.2: keep-alives begin later than that, rounded as it is.
        let later = adopted.get().wrapping_add(KEEPALIVE_LATER);
        let idle = self.params.keepalive_idle.get().max(later);
        self.params.keepalive_idle = Millis::new(idle);
    }

    /// How many milliseconds a keep-alive probe may be late: half the time
    /// between two.
    pub(super) fn keepalive_slack_ms(&self) -> u32 {
        self.params.keepalive_interval.get() / 2
    }

    /// Where the timestamps of this connection begin: a value that nobody can
    /// guess ([`IsnGenerator::timestamp_offset`](crate::IsnGenerator::timestamp_offset)).
    /// To be called before the first segment is polled. Zero if it is not.
    ///
    /// RFC 7323 §7.1: a random offset for each connection.
    pub fn set_timestamp_offset(&mut self, offset: u32) {
        self.ts.set_offset(offset);
    }

    /// How the connection is probed when it is idle, if at all. The silence
    /// before the first probe counts from now.
    ///
    /// RFC 9293 §3.8.4, MUST-24: it can be turned on or off for each
    /// connection.
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
        // Before and after these states there is nobody to probe.
        let is_open = !matches!(self.synchronized(), Some(Synchronized::TimeWait) | None);
        if let Some(idle) = idle.filter(|_| is_open) {
            self.timers.start(Timer::Keepalive, idle);
        }
    }
}
