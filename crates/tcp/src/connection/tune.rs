//! Parameters that the application may change while the connection is open.

use redpoll_base::{Bytes, Instant};

use super::Connection;
use crate::Keepalive;
use crate::config::Millis;
use crate::send::SendStore;
use crate::state::Synchronized;
use crate::timers::Timer;

impl<B: Bytes, S: SendStore> Connection<B, S> {
    /// Whether small segments wait for company from now on.
    ///
    /// RFC 9293 §3.7.4, MUST-17: the algorithm can be disabled on an
    /// individual connection.
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.params.nagle = on;
        self.settle(now);
    }

    /// How the connection is probed when it is idle, if at all. The silence
    /// before the first probe counts from now.
    ///
    /// RFC 9293 §3.8.4, MUST-24: it can be turned on or off for each
    /// connection.
    pub fn set_keepalive(&mut self, now: Instant, keepalive: Option<Keepalive>) {
        match keepalive {
            Some(keepalive) => {
                self.params.keepalive_idle = Millis::from(keepalive.idle);
                self.params.keepalive_interval = Millis::from(keepalive.interval);
                self.params.keepalive_count = keepalive.count;
            }
            None => self.params.keepalive_count = 0,
        }
        self.timers.cancel(Timer::Keepalive);
        let idle = self.keepalive.on_heard(&self.params);
        // Before and after these states there is nobody to probe.
        let is_open = !matches!(self.synchronized(), Some(Synchronized::TimeWait) | None);
        if let Some(idle) = idle.filter(|_| is_open) {
            self.timers.start(Timer::Keepalive, now, idle);
        }
    }
}
