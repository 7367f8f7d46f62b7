//! When the receiver of X-MAC is on: at the beginning of each cycle, and after a strobe
//! for this node until the frame has come that it announces.

use redpoll_base::Instant;

use super::Timing;

/// Cycles that a receiver waits at most for the frame that a strobe announced.
const PATIENCE: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OnOffState {
    /// Off until the next cycle.
    Off,
    /// On until then.
    On { until: Instant },
}

/// The cycle of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnOff {
    next: Instant,
    state: OnOffState,
}

impl OnOff {
    /// The first cycle begins at `first`.
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

    /// Switches the receiver if it is time; whether it has been switched on.
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

    /// A strobe for this node has come.
    pub(super) fn on_strobe(&mut self, now: Instant, timing: &Timing) {
        self.state = OnOffState::On {
            until: now + timing.cycle.times(PATIENCE),
        };
    }

    /// A frame for this node has come.
    pub(super) fn on_frame(&mut self) {
        self.state = OnOffState::Off;
    }
}
