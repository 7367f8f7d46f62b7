//! When the receiver of LPP is on: each cycle it says by a probe that it listens, and then
//! does so for a tick of the clock.

use redpoll_base::{Instant, Rng};

use super::Timing;
use super::constants::ct;
use crate::Channel;

/// Behind a busy channel the time off is shorter by less than so many ticks.
const SHORTER_TICKS: u64 = 7;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbingState {
    /// Off until the next cycle.
    Off,
    /// The radio assesses the channel.
    Assessing,
    /// The channel is clear: the probe is to be loaded and sent.
    Due,
    /// The radio has the probe.
    Sending,
    /// On until then.
    On { until: Instant },
}

/// What a receiver needs its radio for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// An assessment of the channel.
    Assess,
    /// To send a probe.
    Probe,
}

/// The cycle of one receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    next: Instant,
    state: ProbingState,
}

impl Probing {
    /// The first cycle begins at `first`.
    pub(super) fn new(first: Instant) -> Self {
        Probing {
            next: first,
            state: ProbingState::Off,
        }
    }

    pub(super) fn listens(&self) -> bool {
        matches!(
            self.state,
            ProbingState::On { .. } | ProbingState::Due | ProbingState::Sending
        )
    }

    pub(super) fn next(&self) -> Option<Instant> {
        match self.state {
            ProbingState::Off => Some(self.next),
            ProbingState::On { until } => Some(until),
            ProbingState::Due => Some(Instant::ZERO),
            ProbingState::Assessing | ProbingState::Sending => None,
        }
    }

    /// What the receiver needs now; the radio must do it.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Need> {
        match self.state {
            ProbingState::Off if self.next <= now => {
                self.state = ProbingState::Assessing;
                Some(Need::Assess)
            }
            ProbingState::Due => {
                self.state = ProbingState::Sending;
                Some(Need::Probe)
            }
            ProbingState::On { until } if until <= now => {
                self.state = ProbingState::Off;
                None
            }
            _ => None,
        }
    }

    /// The channel has been assessed.
    pub(super) fn on_assessed(
        &mut self,
        now: Instant,
        channel: Channel,
        timing: &Timing,
        rng: &mut Rng,
    ) {
        if self.state != ProbingState::Assessing {
            return;
        }
        if channel == Channel::Clear {
            self.state = ProbingState::Due;
        } else {
            let shorter = ct(rng.below_u64(SHORTER_TICKS));
            self.listen(now, timing);
            let next_us = self.next.as_micros().saturating_sub(shorter.as_micros());
            self.next = Instant::from_micros(next_us);
        }
    }

    /// The probe has been sent, or could not be.
    pub(super) fn on_probed(&mut self, now: Instant, timing: &Timing) {
        self.listen(now, timing);
    }

    fn listen(&mut self, now: Instant, timing: &Timing) {
        let until = now + timing.listen_tick;
        self.state = ProbingState::On { until };
        self.next = until + timing.cycle.minus(timing.listen_tick);
    }
}
