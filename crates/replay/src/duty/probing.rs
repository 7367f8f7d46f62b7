//! Receiver of LPP: each cycle it sends a probe, and then listens for a tick of the clock.

use redpoll_base::{Instant, Rng};

use super::Timing;
use super::clock::Clock;
use redpoll_mac::Channel;

/// Exclusive upper bound, in ticks, of the random reduction of the off time after a busy channel.
const SHORTER_TICKS: u64 = 7;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProbingState {
    Off,
    Assessing,
    /// The channel is clear, and the probe must be loaded and sent.
    Due,
    Sending,
    On {
        until: Instant,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    Assess,
    Probe,
}

const SHORTEST_TICKS: u64 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct Probing {
    clock: Clock,
    next: Instant,
    state: ProbingState,
    /// Ticks by which a busy channel shortens the next off time.
    shorter: u64,
    /// Whether a frame was received or sent since the cycle began, which switches the radio off.
    is_off: bool,
}

impl Probing {
    /// Returns a receiver whose first cycle begins at the tick after `first`.
    pub(super) fn new(first: Instant, clock: Clock) -> Self {
        Probing {
            clock,
            next: clock.after(first, 1),
            state: ProbingState::Off,
            shorter: 0,
            is_off: false,
        }
    }

    pub(super) fn listens(&self) -> bool {
        let is_time = matches!(
            self.state,
            ProbingState::On { .. } | ProbingState::Due | ProbingState::Sending
        );
        is_time && !self.is_off
    }

    /// Returns whether the radio is off until the next cycle, even if a frame waits for a probe.
    pub(super) fn is_off(&self) -> bool {
        self.is_off
    }

    /// Switches the radio on because a frame waits, or off after a frame was received or sent.
    pub(super) fn switch(&mut self, on: bool) {
        self.is_off = !on;
    }

    pub(super) fn next(&self) -> Option<Instant> {
        match self.state {
            ProbingState::Off => Some(self.next),
            ProbingState::On { until } => Some(until),
            ProbingState::Due => Some(Instant::ZERO),
            ProbingState::Assessing | ProbingState::Sending => None,
        }
    }

    /// Returns the job that the radio must do now. `waits` is whether a frame waits for a probe.
    pub(super) fn poll(&mut self, now: Instant, waits: bool, timing: &Timing) -> Option<Need> {
        match self.state {
            ProbingState::Off if self.next <= now => {
                self.is_off = false;
                self.state = ProbingState::Assessing;
                Some(Need::Assess)
            }
            ProbingState::Due => {
                self.state = ProbingState::Sending;
                Some(Need::Probe)
            }
            ProbingState::On { until } if until <= now => {
                let mut ticks = timing.cycle_ticks.saturating_sub(1);
                if !waits {
                    let shorter = core::mem::take(&mut self.shorter);
                    ticks = ticks.saturating_sub(shorter).max(SHORTEST_TICKS);
                }
                self.next = self.clock.after(now, ticks);
                self.state = ProbingState::Off;
                None
            }
            _ => None,
        }
    }

    pub(super) fn on_assessed(&mut self, now: Instant, channel: Channel, rng: &mut Rng) {
        if self.state != ProbingState::Assessing {
            return;
        }
        if channel == Channel::Clear {
            self.state = ProbingState::Due;
        } else {
            self.shorter = rng.below_u64(SHORTER_TICKS);
            self.on_probed(now);
        }
    }

    /// Starts listening until the next tick, after the probe was sent or failed.
    pub(super) fn on_probed(&mut self, now: Instant) {
        let until = self.clock.after(now, 1);
        self.state = ProbingState::On { until };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DutyConfig, Method, Release};

    fn tick(at: Instant) -> u64 {
        (at.as_micros() + 3_906) / 7_812
    }

    fn timing() -> Timing {
        Timing::of(&DutyConfig::of(Method::Lpp, Release::Contiki25))
    }

    /// Runs a cycle: after 3 ms the probe is sent or the channel is busy, and then the node
    /// listens. Returns when the next cycle begins.
    fn cycle(probing: &mut Probing, channel: Channel, waits: bool) -> u64 {
        let timing = timing();
        let mut rng = Rng::new(5);
        let begun = probing.next().unwrap();
        assert_eq!(probing.poll(begun, waits, &timing), Some(Need::Assess));
        let sent = Instant::from_micros(begun.as_micros() + 3_000);
        probing.on_assessed(sent, channel, &mut rng);
        if channel == Channel::Clear {
            assert_eq!(probing.poll(sent, waits, &timing), Some(Need::Probe));
            probing.on_probed(sent);
        }
        assert!(probing.listens());
        let until = probing.next().unwrap();
        assert_eq!(tick(until), tick(begun) + 1);
        assert_eq!(probing.poll(until, waits, &timing), None);
        tick(probing.next().unwrap())
    }

    /// lpp.c, dutycycle: sixteen ticks from probe to probe, whatever the duration of a probe. After
    /// a busy channel there are fewer ticks, unless a frame waits.
    #[test]
    fn cycles_go_by_the_clock() {
        let mut probing = Probing::new(Instant::ZERO, Clock::with_offset(0));
        assert_eq!(cycle(&mut probing, Channel::Clear, false), 17);
        assert_eq!(cycle(&mut probing, Channel::Clear, true), 33);
        assert_eq!(cycle(&mut probing, Channel::Busy, true), 49);
        let next = cycle(&mut probing, Channel::Clear, false);
        assert!((59..65).contains(&next), "{next}");
        assert_eq!(cycle(&mut probing, Channel::Clear, false), next + 16);
    }

    /// lpp.c, input_packet: a received frame switches the radio off until the next cycle.
    #[test]
    fn a_frame_ends_the_listening() {
        let mut probing = Probing::new(Instant::ZERO, Clock::with_offset(0));
        let begun = probing.next().unwrap();
        let _ = probing.poll(begun, false, &timing());
        probing.on_probed(begun);
        probing.switch(false);
        assert!(!probing.listens() && probing.is_off());
        let until = probing.next().unwrap();
        let _ = probing.poll(until, false, &timing());
        let _ = probing.poll(probing.next().unwrap(), false, &timing());
        assert!(!probing.is_off());
    }
}
