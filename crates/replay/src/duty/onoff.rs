//! Receiver of X-MAC: on at the start of each cycle, and from a strobe for this node until the
//! announced frame arrives.

use redpoll_base::Instant;

use super::Timing;

const PATIENCE: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnOffState {
    Off,
    On { until: Instant },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OnOff {
    next: Instant,
    state: OnOffState,
}

impl OnOff {
    pub(super) fn new(first: Instant) -> Self {
        OnOff {
            next: first,
            state: OnOffState::Off,
        }
    }

    pub(super) fn listens(&self) -> bool {
        matches!(self.state, OnOffState::On { .. })
    }

    pub(super) fn next(&self) -> Instant {
        match self.state {
            OnOffState::Off => self.next,
            OnOffState::On { until } => until,
        }
    }

    /// Switches the receiver if `next` has come; returns whether it was switched on.
    pub(super) fn poll(&mut self, now: Instant, timing: &Timing) -> bool {
        match self.state {
            OnOffState::Off if self.next <= now => {
                let began = super::skip(&mut self.next, now, timing.cycle);
                let until = began + timing.on;
                let is_on = until > now;
                if is_on {
                    self.state = OnOffState::On { until };
                }
                is_on
            }
            OnOffState::On { until } if until <= now => {
                self.state = OnOffState::Off;
                false
            }
            _ => false,
        }
    }

    /// Keeps the receiver on after a strobe for this node.
    pub(super) fn on_strobe(&mut self, now: Instant, timing: &Timing) {
        self.state = OnOffState::On {
            until: now + timing.cycle.times(PATIENCE),
        };
    }

    /// Switches the receiver off after a frame for this node.
    pub(super) fn on_frame(&mut self) {
        self.state = OnOffState::Off;
    }
}
