//! Duty cycles: the receiver's wake-ups between the MAC's works, and frames that are
//! repeated until their receiver has woken up.

use redpoll_base::{Instant, Wake};
use redpoll_wire::ieee802154::Address;

use super::{Content, Kind, Mac, Phase, Rest, Work};
use crate::access::{Duty, Move, Target};
use crate::counters::count;
use crate::{Channel, DutyCounters, RadioResult, RadioWork, TxStatus};

/// By how much the feature `duty-cycled` lengthens a [`Mac`], in bytes, to a multiple of
/// its owner's alignment: a node without a duty-cycled MAC is built without it.
pub const DUTY_BYTES: usize = (size_of::<Option<Duty>>()
    .saturating_add(size_of::<Instant>())
    .saturating_add(size_of::<RadioWork>()))
.next_multiple_of(16);

impl Mac {
    /// What a duty-cycled MAC has counted; `None` for every other.
    pub fn duty_counters(&self) -> Option<&DutyCounters> {
        self.duty.as_ref().map(|duty| &duty.counters)
    }

    /// What the radio does between works from the beginning.
    pub(super) fn first_rest(duty: Option<&Duty>) -> Rest {
        match duty.is_some_and(Duty::sleeps) {
            true => Rest::Cycle,
            false => Rest::Listen,
        }
    }

    /// Whether frames to `dst` ask for an acknowledgement.
    pub(super) fn asks_for_ack(&self, dst: Address) -> bool {
        let asks = self.duty.as_ref().is_none_or(Duty::asks_for_acks);
        crate::filter::asks_for_ack(dst) && (asks || self.kind == Kind::Request)
    }

    /// Whether the frame in service goes the way of duty-cycled MACs. One to a sleepy
    /// child that has just asked for it does not: the child listens.
    pub(super) fn is_cycled(&self) -> bool {
        let is_asked_for = self.retry.is_quick() && self.kind == Kind::Data;
        self.duty.is_some() && !is_asked_for
    }

    fn target(&self) -> Target {
        Target {
            dst: self.dst,
            continues: self.burst.continues(),
        }
    }

    /// A frame comes into service.
    pub(super) fn on_submit_cycled(&mut self, now: Instant) {
        let target = self.target();
        if let Some(duty) = &mut self.duty {
            self.not_before = duty.on_submit(now, &target);
        }
    }

    /// An attempt begins.
    pub(super) fn start_cycled(&mut self, now: Instant) {
        self.phase = match self.not_before > now {
            true => Phase::Backoff {
                until: self.not_before,
            },
            false => Phase::Ready,
        };
    }

    /// As [`Mac::poll_radio`], when the radio has no work.
    pub(super) fn poll_duty(&mut self, now: Instant) -> Option<RadioWork> {
        if self.phase == Phase::Ready && !self.is_cycled() {
            self.yield_channel(now);
        }
        match self.phase {
            Phase::Load if self.listens_in_vain() => self.poll_rest(),
            Phase::Load => Some(self.load(Content::Frame)),
            Phase::Ready if self.loaded != Some(Content::Frame) => Some(self.load(Content::Frame)),
            Phase::Ready if self.is_cycled() => self.poll_cycled(now),
            Phase::Ready => {
                self.phase = Phase::OnAir;
                self.work = Some(Work::Transmit(Content::Frame));
                Some(RadioWork::Transmit { cca: true })
            }
            _ => self.poll_cycle(now).or_else(|| self.poll_rest()),
        }
    }

    /// The next work for a frame in service that is ready, if it is one for the radio.
    fn poll_cycled(&mut self, now: Instant) -> Option<RadioWork> {
        let target = self.target();
        let step = self.duty.as_mut()?.advance(now, &target);
        self.make(now, step)
    }

    fn make(&mut self, now: Instant, step: Move) -> Option<RadioWork> {
        let (work, radio) = match step {
            Move::Wait(until) => {
                self.phase = Phase::Backoff { until };
                return self.poll_rest();
            }
            Move::Collision => {
                self.on_collision(now);
                return self.poll_rest();
            }
            Move::Assess => (Work::Assess { for_frame: true }, RadioWork::Assess),
            Move::Send => (
                Work::Transmit(Content::Frame),
                RadioWork::Transmit { cca: true },
            ),
            Move::Strobe(strobe) => (Work::Transmit(Content::Frame), RadioWork::Strobe(strobe)),
        };
        self.phase = Phase::OnAir;
        self.work = Some(work);
        Some(radio)
    }

    /// Something else was in the channel. That fails no transmission.
    fn on_collision(&mut self, now: Instant) {
        count(&mut self.counters.channel_busy);
        self.burst.on_failure();
        self.try_cycled_again(now, TxStatus::ChannelAccessFailure);
    }

    /// The transmission of a frame has ended.
    pub(super) fn on_cycled_transmitted(&mut self, now: Instant, result: RadioResult) {
        let target = self.target();
        let Some(duty) = &mut self.duty else { return };
        if result == RadioResult::ChannelBusy {
            duty.on_collision();
            return self.on_collision(now);
        }
        count(&mut self.counters.frames_sent);
        match result {
            RadioResult::Answered {
                frame_pending,
                begun_ago,
            } => {
                duty.on_answer(now, &target, begun_ago, self.frame.len());
                self.on_ack(now, frame_pending);
            }
            RadioResult::Acked { frame_pending } => self.on_ack(now, frame_pending),
            RadioResult::Sent => self.finish(now, TxStatus::Delivered),
            RadioResult::NoAck => {
                duty.on_silence(now, &target);
                count(&mut self.counters.no_ack);
                self.burst.on_failure();
                self.try_cycled_again(now, TxStatus::NoAck);
            }
            _ => {
                count(&mut self.counters.radio_faults);
                self.try_cycled_again(now, TxStatus::NoAck);
            }
        }
    }

    /// Another attempt after a failed one, by the rules of the layer above the method.
    fn try_cycled_again(&mut self, now: Instant, status: TxStatus) {
        let Some(duty) = self.duty.as_ref().filter(|duty| duty.has_layer()) else {
            return self.on_attempt_failed(now, status);
        };
        let begun = self.retry.attempts();
        let made = match status {
            TxStatus::NoAck => begun,
            _ => begun.saturating_sub(1),
        };
        let Some(until) = duty.again(now, made, &mut self.rng) else {
            return self.finish(now, status);
        };
        if status == TxStatus::NoAck {
            self.retry.on_attempt();
        }
        count(&mut self.counters.frame_retries);
        self.not_before = until;
        self.phase = Phase::RetryDelay {
            until,
            asleep: self.sleeps_for(until.since(now)),
        };
    }

    /// An assessment of the channel is done.
    pub(super) fn on_assessed(&mut self, now: Instant, for_frame: bool, result: RadioResult) {
        let channel = match result {
            RadioResult::Assessed(channel) => channel,
            _ => {
                count(&mut self.counters.radio_faults);
                Channel::Clear
            }
        };
        let Some(duty) = &mut self.duty else { return };
        if !for_frame {
            return duty.on_assessed(now, channel);
        }
        match duty.on_sensed(now, channel) {
            Move::Wait(until) => self.phase = Phase::Backoff { until },
            _ => self.on_collision(now),
        }
    }

    // --- this node's receiver ---

    /// A frame for this node has come; `more`: its sender has another.
    pub(super) fn on_cycled_frame(&mut self, now: Instant, more: bool) {
        if let Some(duty) = &mut self.duty {
            duty.on_frame(now, more);
        }
    }

    /// Whether a broadcast comes more than once.
    pub(super) fn repeats_broadcasts(&self) -> bool {
        self.duty.as_ref().is_some_and(Duty::repeats_all)
    }

    /// Whether the receiver's cycle may have the radio between the works of a frame.
    fn has_turn(&self) -> Option<&Duty> {
        let duty = self.duty.as_ref()?;
        let is_free = self.work.is_none() && !duty.is_sensing();
        (self.rest == Rest::Cycle && is_free).then_some(duty)
    }

    /// When the receiver's cycle goes on.
    pub(super) fn cycle_at(&self) -> Option<Wake> {
        self.has_turn()?.next().map(Wake::exactly)
    }

    /// The work that the receiver's cycle has for the radio now.
    pub(super) fn poll_cycle(&mut self, now: Instant) -> Option<RadioWork> {
        self.has_turn()?;
        let needs = self.duty.as_mut()?.poll(now);
        needs.then(|| {
            self.work = Some(Work::Assess { for_frame: false });
            RadioWork::Assess
        })
    }

    /// What the radio does between works while the receiver's cycle goes on.
    pub(super) fn cycle_rest(&self) -> RadioWork {
        match self.duty.as_ref().is_none_or(Duty::listens) {
            true => RadioWork::Listen,
            false => RadioWork::Doze,
        }
    }
}
