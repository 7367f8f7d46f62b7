//! The sender's steps of a frame, for each method.

use redpoll_base::{Duration, Instant};
use redpoll_mac::Target;

use super::config::{Method, Release};
use super::{Duty, Move, is_broadcast};
use crate::count;
use crate::{Strobe, Work};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Fresh,
    /// The frame may start: the receiver is expected to wake up soon, or its phase is unknown.
    Timed {
        locked: bool,
    },
    /// CX-MAC: the processor waits for the start time with the radio off.
    Dozing {
        locked: bool,
    },
    /// ContikiMAC: the channel is assessed `left` times before the frame is sent.
    Sensing {
        left: u8,
        locked: bool,
    },
    /// The frame is sent, because a strobe was answered (X-MAC) or a probe arrived (LPP). A
    /// broadcast of LPP then waits for further probes.
    Invited {
        until: Option<Instant>,
    },
    Awaiting {
        until: Instant,
    },
}

impl Duty {
    pub(super) fn advance(&mut self, now: Instant, target: &Target) -> Move {
        match self.config.method {
            Method::NullRdc => Move::Send { cca: true },
            Method::ContikiMac => self.advance_contikimac(now, target),
            Method::XMac | Method::CxMac => self.advance_xmac(now, target),
            Method::Lpp => self.advance_lpp(now, target),
        }
    }

    fn advance_contikimac(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Timed { locked } => self.sense(self.timing.assessments, locked),
            Stage::Sensing { left, locked } => self.sense(left, locked),
            _ if self.receiver.is_in_burst(now) => self.collide(),
            _ if self.is_awake(target) => self.strobe(true),
            _ => match self.phase_start(now, target) {
                Some(at) => {
                    self.stage = Stage::Timed { locked: true };
                    Move::Wait(at)
                }
                None => self.sense(self.timing.assessments, false),
            },
        }
    }

    /// Returns the time at which to start a frame to a neighbour whose phase is known.
    pub(super) fn phase_start(&self, now: Instant, target: &Target) -> Option<Instant> {
        let is_locked = self.config.phase_lock && !is_broadcast(target);
        let (cycle, guard) = (self.timing.cycle, self.timing.guard);
        is_locked.then(|| self.phases.start(now, target.dst, cycle, guard))?
    }

    fn sense(&mut self, left: u8, locked: bool) -> Move {
        self.stage = Stage::Sensing { left, locked };
        match left {
            0 => self.strobe(locked),
            _ => {
                count(&mut self.counters.assessments);
                Move::Assess(Work::Assess)
            }
        }
    }

    fn strobe(&mut self, locked: bool) -> Move {
        self.count_train(locked);
        self.stage = Stage::Fresh;
        Move::Repeat(Work::Strobe(Strobe {
            gap: self.timing.gap,
            detect: self.timing.detect,
            period: Duration::ZERO,
            span: match locked {
                true => self.timing.locked_strobe,
                false => self.timing.strobe,
            },
            any_ack: self.config.release == Release::Contiki25,
            gives_way: true,
        }))
    }

    /// Advances a frame of X-MAC. Before the first strobe, the receiver is on for a strobe period.
    fn advance_xmac(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Invited { .. } => Move::Send { cca: false },
            Stage::Timed { locked } => {
                self.count_train(locked);
                Move::Repeat(Work::Strobe(Strobe {
                    gap: self.timing.gap,
                    detect: self.timing.detect,
                    period: self.timing.strobe_period,
                    span: self.timing.strobe,
                    any_ack: true,
                    gives_way: self.config.method == Method::CxMac,
                }))
            }
            Stage::Dozing { locked } => {
                self.stage = Stage::Timed { locked };
                Move::Wait(now + self.timing.strobe_period)
            }
            _ if self.yields > 0 => self.collide(),
            _ => {
                let start = self.encounter(now, target);
                let locked = start > now;
                if self.config.method == Method::CxMac {
                    self.receiver.on_send();
                    self.stage = Stage::Dozing { locked };
                    return Move::Wait(start);
                }
                self.stage = Stage::Timed { locked };
                Move::Wait(start + self.timing.strobe_period)
            }
        }
    }

    /// Returns when strobes begin: now, unless the neighbour has answered before. CX-MAC then uses
    /// the neighbour's phase; Contiki's X-MAC stores no phase and uses the sender's own cycle.
    fn encounter(&self, now: Instant, target: &Target) -> Instant {
        if !self.config.phase_lock || is_broadcast(target) || !self.phases.knows(target.dst) {
            return now;
        }
        if self.config.method == Method::CxMac {
            let next = self
                .phases
                .start(now, target.dst, self.timing.cycle, Duration::ZERO);
            let wait = next.unwrap_or(now).since(now).minus(self.timing.guard);
            return now + wait;
        }
        let cycle_us = self.timing.cycle.as_micros().max(1);
        let into_cycle = now.as_micros().checked_rem(cycle_us).unwrap_or(0);
        let mut wait_us = cycle_us.saturating_sub(into_cycle);
        if wait_us < self.timing.guard.as_micros() {
            wait_us = wait_us.saturating_add(cycle_us);
        }
        now + Duration::from_micros(wait_us).minus(self.timing.guard)
    }

    fn advance_lpp(&mut self, now: Instant, target: &Target) -> Move {
        match self.stage {
            Stage::Invited { .. } => {
                self.count_train(true);
                Move::Send { cca: true }
            }
            Stage::Awaiting { until } if until <= now => {
                self.stage = Stage::Fresh;
                self.receiver.on_sent();
                match is_broadcast(target) {
                    true => Move::Done,
                    false => Move::Silence,
                }
            }
            Stage::Awaiting { until } => Move::Await(until),
            _ => {
                let until = now
                    + match is_broadcast(target) {
                        true => self.timing.broadcast_lifetime,
                        false => self.timing.lifetime,
                    };
                self.stage = Stage::Awaiting { until };
                self.receiver.on_send();
                Move::Await(until)
            }
        }
    }

    fn count_train(&mut self, locked: bool) {
        count(&mut self.counters.trains);
        if locked {
            count(&mut self.counters.locked_trains);
        }
    }

    pub(super) fn collide(&mut self) -> Move {
        count(&mut self.counters.collisions);
        self.stage = Stage::Fresh;
        Move::Collision
    }
}
