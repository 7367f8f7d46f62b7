//! When the receiver of CX-MAC is on: for a tick of the clock each cycle, and after a strobe
//! for this node until the frame has come that it announces.
//!
//! Its timers wait while the node sends: the processor does nothing else. The cycle then goes
//! on from where it is fired late, so a node that sends wakes up at other times than before.

use redpoll_base::Instant;

use super::Timing;
use super::clock::Clock;

/// Ends of the time on, of which the first two are waited for the frame that a strobe announced.
const PATIENCE: u8 = 2;

/// The cycle of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerCycle {
    clock: Clock,
    /// When the receiver is switched next.
    next: Instant,
    /// What comes next is the end of the time on.
    ends: bool,
    is_on: bool,
    /// An announced frame is waited for, and this often the time on has ended since, and once.
    waited: u8,
}

impl PowerCycle {
    /// The first cycle begins with the tick behind `first`.
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

    /// Switches the receiver if it is time; whether a cycle has begun.
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

    /// A strobe for this node has come.
    pub(super) fn on_strobe(&mut self) {
        self.waited = 1;
        self.is_on = true;
    }

    /// A frame for this node has come.
    pub(super) fn on_frame(&mut self) {
        self.waited = 0;
        self.is_on = false;
    }

    /// The node begins to send: its receiver is off between its cycles' beginnings.
    pub(super) fn on_send(&mut self) {
        self.is_on = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DutyConfig, Method, Release};

    /// A tick of the clock, of which this node's begin with the run.
    const TICK_US: u64 = 7_812;

    fn timing() -> Timing {
        Timing::of(&DutyConfig::of(Method::CxMac, Release::Contiki25))
    }

    /// In which tick a moment is, to the nearest one.
    fn tick(at: Instant) -> u64 {
        (at.as_micros() + TICK_US / 2) / TICK_US
    }

    /// cxmac.c, cpowercycle: one tick of sixteen; its timer is set when it has fired, so one that
    /// fires late shifts all that comes.
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

    /// cxmac.c: awake for the second end of the time on behind a strobe, and no longer.
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
        // One that does ends it at once.
        cycle.on_strobe();
        cycle.on_frame();
        assert!(!cycle.listens());
    }
}
