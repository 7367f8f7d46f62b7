//! The events of a frame that is being sent: answers, silence, a busy channel, and the end of the
//! frame's service.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{Channel, Target};
use redpoll_wire::ieee802154::Address;

use super::config::Method;
use super::steps::Stage;
use super::{Duty, Move, is_broadcast};

impl Duty {
    /// Returns when the first attempt of a frame starts.
    pub(super) fn on_submitted(&mut self, now: Instant, target: &Target) -> Instant {
        self.stage = Stage::Fresh;
        match &self.layer {
            Some(layer) if !self.is_awake(target) => layer.first(now, &self.timing),
            _ => now,
        }
    }

    pub(super) fn on_sensed(&mut self, now: Instant, channel: Channel) -> Move {
        match (self.stage, channel) {
            (Stage::Sensing { left, locked }, Channel::Clear) => {
                let left = left.saturating_sub(1);
                self.stage = Stage::Sensing { left, locked };
                Move::Wait(now + self.timing.pause)
            }
            _ => self.collide(),
        }
    }

    /// Handles a probe of `src`. Returns whether to send the waiting frame now, because `src` is
    /// its destination or because it is a broadcast.
    pub(super) fn on_probe(&mut self, src: Address, target: &Target) -> bool {
        let Stage::Awaiting { until } = self.stage else {
            return false;
        };
        let is_awaited = is_broadcast(target) || target.dst == src;
        if is_awaited {
            let until = is_broadcast(target).then_some(until);
            self.stage = Stage::Invited { until };
        }
        is_awaited
    }

    pub(super) fn on_strobe_answered(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Invited { until: None };
        if self.config.method == Method::CxMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    pub(super) fn on_answered(&mut self, now: Instant, target: &Target, begun_ago: Duration) {
        self.stage = Stage::Fresh;
        if self.is_awake(target) {
            return;
        }
        let at_us = now.as_micros().saturating_sub(begun_ago.as_micros());
        self.phases
            .on_answer(target.dst, Instant::from_micros(at_us));
    }

    pub(super) fn on_acked(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if self.config.method == Method::XMac {
            self.phases.on_answer(target.dst, now);
        }
    }

    pub(super) fn on_silence(&mut self, now: Instant, target: &Target) {
        self.stage = Stage::Fresh;
        self.receiver.on_sent();
        if !self.is_awake(target) && self.config.method == Method::ContikiMac {
            self.phases.on_silence(now, target.dst);
        }
    }

    /// Returns whether a broadcast waits for more probes.
    pub(super) fn goes_on(&mut self) -> bool {
        match self.stage {
            Stage::Invited { until: Some(until) } => {
                self.stage = Stage::Awaiting { until };
                true
            }
            _ => false,
        }
    }

    pub(super) fn on_blocked(&mut self, now: Instant) -> Move {
        if self.goes_on() {
            return Move::Wait(now);
        }
        let collision = self.collide();
        match self.config.method {
            Method::CxMac => self.yields = self.yields.saturating_add(1),
            Method::Lpp => return Move::Silence,
            Method::NullRdc | Method::ContikiMac | Method::XMac => {}
        }
        collision
    }

    /// Applies the rules of Contiki's CSMA layer, if there is one.
    pub(super) fn on_failed(&self, now: Instant, transmissions: u8, rng: &mut Rng) -> Option<Move> {
        let layer = self.layer.as_ref()?;
        Some(match layer.gives_up(transmissions) {
            true => Move::Done,
            false => Move::Wait(layer.again(now, transmissions, &self.timing, rng)),
        })
    }

    pub(super) fn on_ended(&mut self, now: Instant) {
        self.stage = Stage::Fresh;
        if let Some(layer) = &mut self.layer {
            layer.on_end(now);
        }
    }
}
