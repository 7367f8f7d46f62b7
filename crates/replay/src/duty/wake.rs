//! Receiver of ContikiMAC.
//!
//! Each cycle the receiver assesses the channel twice. If it detects energy, another node may be
//! repeating a frame for this node, so the receiver stays on. It returns to sleep when the frame
//! has arrived, when silence lasts longer than the gap between two copies, or (*fast sleep*) when
//! energy lasts longer than a frame, but no frame has started.

use redpoll_base::{Duration, Instant};

use super::{DutyConfig, Timing};
use redpoll_mac::Channel;

const ASSESSMENTS: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WakeState {
    Off,
    /// The receiver is off until the next assessment of this wake-up, after `done` assessments.
    Pause {
        until: Instant,
        done: u8,
    },
    /// The radio assesses the channel, after `done` assessments.
    Assessing {
        done: u8,
    },
    /// The receiver is on, because the channel is busy.
    Awake(Awake),
    /// The receiver is on, because the sender has announced another frame.
    Burst {
        until: Instant,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Awake {
    since: Instant,
    /// Time of the next assessment; `None` while the radio assesses.
    look_at: Option<Instant>,
    looks: u8,
    silent: u8,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    next: Instant,
    state: WakeState,
    fast_sleep: bool,
    bursts: bool,
}

impl Wake {
    pub(super) fn new(config: &DutyConfig, first: Instant) -> Self {
        Wake {
            next: first,
            state: WakeState::Off,
            fast_sleep: config.fast_sleep,
            bursts: config.bursts,
        }
    }

    pub(super) fn listens(&self) -> bool {
        matches!(self.state, WakeState::Awake(_) | WakeState::Burst { .. })
    }

    /// Returns whether the receiver is off until the next cycle.
    pub(super) fn is_off(&self) -> bool {
        self.state == WakeState::Off
    }

    /// Returns whether an announced frame has not arrived yet.
    pub(super) fn is_in_burst(&self, now: Instant) -> bool {
        matches!(self.state, WakeState::Burst { until } if now < until)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        match self.state {
            WakeState::Off => Some(self.next),
            WakeState::Pause { until, .. } | WakeState::Burst { until } => Some(until),
            WakeState::Awake(awake) => awake.look_at,
            WakeState::Assessing { .. } => None,
        }
    }

    /// Returns whether the radio must assess the channel now. An assessment that is late because
    /// this node was sending is skipped together with its cycle.
    pub(super) fn poll(&mut self, now: Instant, timing: &Timing) -> bool {
        match &mut self.state {
            WakeState::Off if self.next <= now => {
                let began = super::skip(&mut self.next, now, timing.cycle);
                let late = is_late(began, now, timing);
                if !late {
                    self.state = WakeState::Assessing { done: 0 };
                }
                !late
            }
            WakeState::Pause { until, done } if *until <= now => {
                let late = is_late(*until, now, timing);
                self.state = match late {
                    true => WakeState::Off,
                    false => WakeState::Assessing { done: *done },
                };
                !late
            }
            WakeState::Awake(awake) if awake.look_at.is_some_and(|at| at <= now) => {
                awake.look_at = None;
                true
            }
            WakeState::Burst { until } if *until <= now => {
                self.state = WakeState::Off;
                false
            }
            _ => false,
        }
    }

    pub(super) fn on_assessed(&mut self, now: Instant, channel: Channel, timing: &Timing) {
        match self.state {
            WakeState::Assessing { done } if channel == Channel::Clear => {
                let done = done.saturating_add(1);
                self.state = match done < ASSESSMENTS {
                    true => WakeState::Pause {
                        until: now + timing.pause,
                        done,
                    },
                    false => WakeState::Off,
                };
            }
            WakeState::Assessing { .. } => {
                self.state = WakeState::Awake(Awake {
                    since: now,
                    look_at: Some(now + timing.look),
                    looks: 1,
                    silent: 0,
                });
            }
            WakeState::Awake(awake) => {
                self.state = self
                    .look(now, awake, channel, timing)
                    .map_or(WakeState::Off, WakeState::Awake);
            }
            WakeState::Off | WakeState::Pause { .. } | WakeState::Burst { .. } => {}
        }
    }

    /// Returns the state after an assessment while awake; `None` if the receiver goes to sleep.
    fn look(&self, now: Instant, awake: Awake, channel: Channel, timing: &Timing) -> Option<Awake> {
        let silent = match channel {
            Channel::Clear => awake.silent.saturating_add(1),
            Channel::Busy | Channel::Receiving => 0,
        };
        let looks = awake.looks.saturating_add(1);
        let fruitless = looks > timing.fruitless_looks && channel != Channel::Receiving;
        let sleeps = silent > timing.silent_looks
            || (self.fast_sleep && fruitless)
            || now >= awake.since + timing.listen;
        (!sleeps).then_some(Awake {
            look_at: Some(now + timing.look.minus(ASSESSMENT)),
            looks,
            silent,
            ..awake
        })
    }

    /// Handles a frame for this node; `more` is whether its sender has another frame.
    pub(super) fn on_frame(&mut self, now: Instant, more: bool, timing: &Timing) {
        self.state = match more && self.bursts {
            true => WakeState::Burst {
                until: now + timing.burst,
            },
            false => WakeState::Off,
        };
    }
}

/// Duration of an assessment: 8 symbols. The interval [`Timing::look`] includes it.
const ASSESSMENT: Duration = Duration::from_micros(redpoll_wire::ieee802154::timing::CCA_US);

/// Returns whether an assessment that was due at `due` is more than two intervals late.
fn is_late(due: Instant, now: Instant, timing: &Timing) -> bool {
    now > due + timing.look.times(2)
}
