//! Receiver of CX-MAC: on for a tick of the clock per cycle, and from a strobe for this node until
//! the announced frame arrives.
//!
//! The node's timers wait while it sends, because its processor is busy. The cycle continues from
//! the delayed timer, so a node that has sent wakes up at other times than before.

use redpoll_base::Instant;

use super::Timing;
use super::clock::Clock;

/// Number of ends of the on time after which a receiver stops waiting for the announced frame.
const PATIENCE: u8 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct PowerCycle {
    clock: Clock,
    /// Time at which the receiver is switched next.
    next: Instant,
    /// Whether the next switch ends the on time.
    ends: bool,
    is_on: bool,
    /// 0 if no announced frame is expected; otherwise one more than the number of ends of the on
    /// time since the strobe.
    waited: u8,
}

impl PowerCycle {
    /// Returns a receiver whose first cycle begins at the tick after `first`.
    pub(super) fn new(first: Instant, clock: Clock) -> Self {
        PowerCycle {
            clock,
            next: clock.after(first, 1),
            ends: false,
            is_on: false,
            waited: 0,
        }
    }

    pub(super) fn listens(&self) -> bool {
        self.is_on
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Switches the receiver if `next` has come; returns whether a cycle has begun.
    pub(super) fn poll(&mut self, now: Instant, timing: &Timing) -> bool {
        if self.next > now {
            return false;
        }
        if !self.ends {
            self.ends = true;
            self.is_on = true;
            self.next = self.clock.after(now, 1);
            return true;
        }
        self.ends = false;
        self.next = self.clock.after(now, timing.cycle_ticks.saturating_sub(1));
        self.waited = match self.waited {
            1..PATIENCE => self.waited.saturating_add(1),
            _ => 0,
        };
        if self.waited == 0 {
            self.is_on = false;
        }
        false
    }

    /// Keeps the receiver on after a strobe for this node.
    pub(super) fn on_strobe(&mut self) {
        self.waited = 1;
        self.is_on = true;
    }

    /// Switches the receiver off after a frame for this node.
    pub(super) fn on_frame(&mut self) {
        self.waited = 0;
        self.is_on = false;
    }

    /// Switches the receiver off, because the node starts to send; the next cycle switches it on.
    pub(super) fn on_send(&mut self) {
        self.is_on = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DutyConfig, Method, Release};

    /// Duration of a tick of the clock in microseconds; tick 0 of this node is at time zero.
    const TICK_US: u64 = 7_812;

    fn timing() -> Timing {
        Timing::of(&DutyConfig::of(Method::CxMac, Release::Contiki25))
    }

    fn tick(at: Instant) -> u64 {
        (at.as_micros() + TICK_US / 2) / TICK_US
    }

    /// cxmac.c, cpowercycle: the receiver is on for one tick of sixteen. The timer restarts when it
    /// fires, so one late timer shifts all later ones.
    #[test]
    fn a_node_that_has_sent_wakes_up_at_other_times() {
        let timing = timing();
        let mut cycle = PowerCycle::new(Instant::ZERO, Clock::with_offset(0));
        assert_eq!(tick(cycle.next()), 1);
        assert!(cycle.poll(cycle.next(), &timing) && cycle.listens());
        assert_eq!(tick(cycle.next()), 2);
        assert!(!cycle.poll(cycle.next(), &timing) && !cycle.listens());
        assert_eq!(tick(cycle.next()), 17);
        // The node sends until the middle of tick 24.
        let late = Instant::from_micros(24 * TICK_US + TICK_US / 2);
        assert!(cycle.poll(late, &timing) && cycle.listens());
        assert_eq!(tick(cycle.next()), 25);
        let _ = cycle.poll(cycle.next(), &timing);
        assert_eq!(tick(cycle.next()), 40);
    }

    /// cxmac.c: awake until the second end of the on time after a strobe.
    #[test]
    fn a_frame_that_does_not_come_is_waited_for_until_the_next_cycle() {
        let timing = timing();
        let mut cycle = PowerCycle::new(Instant::ZERO, Clock::with_offset(0));
        assert!(cycle.poll(cycle.next(), &timing));
        cycle.on_strobe();
        let _ = cycle.poll(cycle.next(), &timing);
        assert!(cycle.listens());
        assert!(cycle.poll(cycle.next(), &timing));
        let _ = cycle.poll(cycle.next(), &timing);
        assert!(!cycle.listens());
        // The announced frame ends the wait at once.
        cycle.on_strobe();
        cycle.on_frame();
        assert!(!cycle.listens());
    }
}
