//! Transmission: loading, channel access, transmission, acknowledgment, and retries.

use redpoll_base::{Duration, Instant};
use redpoll_wire::ieee802154;

use super::{Content, Mac, OutgoingFrame, Progress, Work};
use crate::access::{Access, AccessFailure, Contention, CycleEvent};
use crate::counters::count;
use crate::imm_ack::ACK_WAIT;
use crate::retry::Next;
use crate::{MacEvent, RadioResult, RadioWork, TxStatus};

impl<A: Access> Mac<A> {
    pub(super) fn load(&mut self, content: Content) -> RadioWork<A::Work> {
        match content {
            Content::ImmAck { dsn, pending } => {
                self.ack_frame = ieee802154::imm_ack(dsn, pending);
            }
            Content::Short => self.write_short(),
            Content::Frame => {}
        }
        self.loaded = None;
        self.work = Some(Work::Load(content));
        RadioWork::Load
    }

    pub(super) fn on_loaded(
        &mut self,
        now: Instant,
        content: Content,
        result: RadioResult<A::Done>,
    ) {
        if result != RadioResult::Loaded {
            count(&mut self.counters.radio_faults);
        }
        // The content counts as loaded even if the radio failed: repeated loading could loop
        // forever.
        self.loaded = Some(content);
        let is_ack = matches!(content, Content::ImmAck { .. });
        if !is_ack && self.progress == Progress::Load {
            self.start_attempt(now);
        }
    }

    pub(super) fn start_attempt(&mut self, now: Instant) {
        if self.is_cycled() {
            return self.start_cycled(now);
        }
        self.contention = Contention::start(&self.config, self.first_be());
        self.back_off(now);
    }

    fn back_off(&mut self, now: Instant) {
        let delay = match self.skips_backoff() {
            true => Duration::ZERO,
            false => self.contention.delay(&self.access, &mut self.rng),
        };
        let until = self.spacing.assess_from().max(now + delay);
        self.progress = match until > now {
            true => Progress::Backoff { until },
            false => Progress::Ready,
        };
    }

    pub(super) fn on_transmitted(&mut self, now: Instant, result: RadioResult<A::Done>) {
        if self.is_cycled() {
            return self.on_cycled_transmitted(now, result);
        }
        let (wants_ack, auto_ack) = (self.asks_for_ack(self.dst), self.config.caps.auto_ack);
        match result {
            RadioResult::ChannelBusy => return self.on_channel_busy(now),
            RadioResult::Loaded | RadioResult::Cycled(_) => {
                // The radio reported a wrong result; the frame was probably not sent.
                count(&mut self.counters.radio_faults);
                return self.on_access_failure(now);
            }
            RadioResult::Sent | RadioResult::Acked { .. } | RadioResult::NoAck => {}
        }
        count(&mut self.counters.frames_sent);
        match (result, wants_ack) {
            (RadioResult::Sent, false) => self.finish(now, TxStatus::Delivered),
            (RadioResult::Sent, true) if !auto_ack => {
                let until = now + ACK_WAIT;
                self.progress = Progress::AckWait { until };
            }
            (RadioResult::Acked { frame_pending }, true) if auto_ack => {
                self.on_ack(now, frame_pending);
            }
            (RadioResult::NoAck, true) if auto_ack => self.on_no_ack(now),
            // The radio reports an unrequested acknowledgment, or did not wait for a requested one.
            (_, wants_ack) => {
                count(&mut self.counters.radio_faults);
                match (result, wants_ack) {
                    (RadioResult::Acked { frame_pending }, true) => self.on_ack(now, frame_pending),
                    (_, true) => self.on_no_ack(now),
                    (_, false) => self.finish(now, TxStatus::Delivered),
                }
            }
        }
    }

    fn on_channel_busy(&mut self, now: Instant) {
        count(&mut self.counters.channel_busy);
        self.burst.on_failure();
        match self.contention.on_busy(&self.config) {
            Ok(()) => self.back_off(now),
            Err(AccessFailure) => self.on_access_failure(now),
        }
    }

    fn on_access_failure(&mut self, now: Instant) {
        count(&mut self.counters.channel_access_failures);
        self.on_attempt_failed(now, TxStatus::ChannelAccessFailure);
    }

    pub(super) fn on_no_ack(&mut self, now: Instant) {
        count(&mut self.counters.no_ack);
        self.on_attempt_failed(now, TxStatus::NoAck);
    }

    pub(super) fn on_ack(&mut self, now: Instant, frame_pending: bool) {
        count(&mut self.counters.acks_received);
        self.finish_as(now, TxStatus::Delivered, frame_pending);
    }

    pub(super) fn on_attempt_failed(&mut self, now: Instant, status: TxStatus) {
        self.burst.on_failure();
        match self
            .retry
            .on_failure(&self.config, self.access.retry_pause(), &mut self.rng)
        {
            Next::GiveUp => self.finish(now, status),
            Next::After(delay) => {
                count(&mut self.counters.frame_retries);
                if delay.is_zero() {
                    self.start_attempt(now);
                } else {
                    self.progress = Progress::RetryDelay {
                        until: now + delay,
                        asleep: self.sleeps_for(delay),
                    };
                }
            }
        }
    }

    pub(super) fn finish(&mut self, now: Instant, status: TxStatus) {
        self.finish_as(now, status, false);
    }

    fn finish_as(&mut self, now: Instant, status: TxStatus, frame_pending: bool) {
        count(match status {
            TxStatus::Delivered => &mut self.counters.delivered,
            TxStatus::NoAck => &mut self.counters.dropped_no_ack,
            TxStatus::Unsealed if cfg!(feature = "security") => &mut self.counters.dropped_unsealed,
            // `Unsealed` cannot occur without the feature `security`.
            TxStatus::ChannelAccessFailure | TxStatus::Unsealed => {
                &mut self.counters.dropped_channel_access
            }
        });
        self.progress = Progress::Idle;
        // After a failure no space is due: the wait for the acknowledgment was already longer than
        // the interframe space, or nothing was sent.
        if status == TxStatus::Delivered {
            self.spacing.on_exchange_end(now, self.frame.len());
        }
        self.burst.on_end(self.dst, status == TxStatus::Delivered);
        self.tell_cycle(now, CycleEvent::Ended);
        self.event = Some(
            match core::mem::replace(&mut self.kind, OutgoingFrame::Data) {
                OutgoingFrame::Data => MacEvent::Done {
                    dst: self.dst,
                    status,
                    attempts: self.retry.attempts(),
                },
                OutgoingFrame::Request => MacEvent::Polled {
                    parent: self.dst,
                    status,
                    frame_pending,
                },
            },
        );
    }
}
