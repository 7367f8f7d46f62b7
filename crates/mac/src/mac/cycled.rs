//! The MAC with a [`Cycle`]: the receiver's wake-ups between the MAC's jobs, and frames that are
//! repeated until their receiver has woken up.

use redpoll_base::{Instant, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};

use super::{Content, Mac, OutgoingFrame, Progress, Rest, Work};
use crate::access::{
    Access, Cargo, Channel, Cycle, CycleEvent, CycleProperties, CycleStatus, Cycled, CycledResult,
    Errand, Meaning, Move, Target,
};
use crate::counters::count;
use crate::{RadioResult, RadioWork, TxStatus};

impl<A: Access> Mac<A> {
    fn properties(&self) -> Option<&CycleProperties> {
        self.access.cycle().map(|it| &it.properties)
    }

    fn status(&self) -> Option<CycleStatus> {
        let target = self.target();
        self.access.cycle().map(|it| it.cycle.status(&target))
    }

    pub(super) fn tell_cycle(
        &mut self,
        now: Instant,
        event: CycleEvent<'_>,
    ) -> Option<Move<A::Work>> {
        let cycled = self.access.cycle_mut()?;
        cycled.cycle.on_event(now, event, &mut self.rng)
    }

    pub(super) fn asks_for_ack(&self, dst: Address) -> bool {
        let asks = self.properties().is_none_or(|it| it.asks_for_acks);
        crate::filter::asks_for_ack(dst) && (asks || self.kind == OutgoingFrame::Request)
    }

    /// Returns whether the cycle handles the submitted frame. It does not handle a frame that a
    /// sleepy child has just requested, because the child listens.
    pub(super) fn is_cycled(&self) -> bool {
        let is_asked_for = self.retry.is_quick() && self.kind == OutgoingFrame::Data;
        self.access.cycle().is_some() && !is_asked_for
    }

    fn target(&self) -> Target {
        Target {
            dst: self.dst,
            continues: self.burst.continues(),
        }
    }

    pub(super) fn on_submit_cycled(&mut self, now: Instant) {
        let event = CycleEvent::Submitted(self.target());
        let not_before = match self.tell_cycle(now, event) {
            Some(Move::Wait(until)) => until,
            _ => now,
        };
        if let Some(cycled) = self.access.cycle_mut() {
            cycled.not_before = not_before;
        }
    }

    pub(super) fn start_cycled(&mut self, now: Instant) {
        let Some(Cycled {
            not_before: until, ..
        }) = self.access.cycle()
        else {
            return;
        };
        let until = *until;
        self.progress = match until > now {
            true => Progress::Backoff { until },
            false => Progress::Ready,
        };
    }

    pub(super) fn poll_with_cycle(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        if self.is_probing() {
            return self.poll_probe();
        }
        if self.progress == Progress::Load && self.is_cycled() && self.cargo().is_none() {
            self.start_cycled(now);
        }
        if self.progress == Progress::Ready && !self.is_cycled() {
            self.yield_channel(now);
        }
        match self.progress {
            Progress::Load if self.listens_in_vain() => self.poll_rest(),
            Progress::Load => Some(self.load(self.cargo().unwrap_or(Content::Frame))),
            Progress::Ready if self.is_cycled() => self.poll_cycled(now),
            Progress::Ready if self.loaded != Some(Content::Frame) => {
                Some(self.load(Content::Frame))
            }
            Progress::Ready => {
                self.progress = Progress::OnAir;
                self.work = Some(Work::Transmit(Content::Frame));
                Some(RadioWork::Transmit { cca: true })
            }
            _ => self.poll_receiver(now).or_else(|| self.poll_rest()),
        }
    }

    fn cargo(&self) -> Option<Content> {
        let Some(status) = self.status().filter(|_| self.is_cycled()) else {
            return Some(Content::Frame);
        };
        match status.cargo {
            Cargo::Frame => Some(Content::Frame),
            Cargo::Short => Some(Content::Short),
            Cargo::Nothing => None,
        }
    }

    /// Returns the next job of the radio for a submitted frame that is ready.
    fn poll_cycled(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        let cargo = self.cargo();
        if let Some(content) = cargo
            && self.loaded != cargo
        {
            return Some(self.load(content));
        }
        let content = cargo.unwrap_or(Content::Frame);
        let step = self.tell_cycle(now, CycleEvent::Ready(self.target()));
        let (work, radio) = match step.unwrap_or(Move::Send { cca: true }) {
            Move::Wait(until) | Move::Await(until) => {
                self.progress = Progress::Backoff { until };
                return self.poll_rest();
            }
            Move::Collision => {
                self.on_collision(now);
                return self.poll_rest();
            }
            Move::Silence => {
                self.on_silence(now);
                return self.poll_rest();
            }
            Move::Done => {
                self.finish(now, TxStatus::Delivered);
                return self.poll_rest();
            }
            Move::Assess(work) => {
                let for_frame = true;
                (Work::Assess { for_frame }, RadioWork::Cycled(work))
            }
            Move::Send { cca } => (Work::Transmit(content), RadioWork::Transmit { cca }),
            Move::Repeat(work) => (Work::Transmit(content), RadioWork::Cycled(work)),
        };
        self.progress = Progress::OnAir;
        self.work = Some(work);
        Some(radio)
    }

    fn on_silence(&mut self, now: Instant) {
        self.tell_cycle(now, CycleEvent::Silence(self.target()));
        count(&mut self.counters.no_ack);
        self.burst.on_failure();
        self.try_cycled_again(now, TxStatus::NoAck);
    }

    /// Fails the attempt on a busy channel. The attempt does not count as a transmission.
    fn on_collision(&mut self, now: Instant) {
        count(&mut self.counters.channel_busy);
        self.burst.on_failure();
        self.try_cycled_again(now, TxStatus::ChannelAccessFailure);
    }

    pub(super) fn on_cycled_transmitted(&mut self, now: Instant, result: RadioResult<A::Done>) {
        let target = self.target();
        if result == RadioResult::ChannelBusy {
            return match self.tell_cycle(now, CycleEvent::Blocked) {
                Some(Move::Wait(_)) => self.progress = Progress::Ready,
                Some(Move::Silence) => self.on_silence(now),
                _ => self.on_collision(now),
            };
        }
        count(&mut self.counters.frames_sent);
        match result {
            RadioResult::Cycled(done) => match done.into() {
                CycledResult::Answered {
                    frame_pending,
                    begun_ago,
                } => {
                    self.tell_cycle(now, CycleEvent::Answered { target, begun_ago });
                    self.on_ack(now, frame_pending);
                }
                CycledResult::Assessed(_) => {
                    count(&mut self.counters.radio_faults);
                    self.on_silence(now);
                }
            },
            RadioResult::Acked { frame_pending } => {
                self.tell_cycle(now, CycleEvent::Acked(target));
                self.on_ack(now, frame_pending);
            }
            RadioResult::Sent => match self.tell_cycle(now, CycleEvent::Sent) {
                Some(_) => self.progress = Progress::Ready,
                None => self.finish(now, TxStatus::Delivered),
            },
            RadioResult::NoAck => self.on_silence(now),
            _ => {
                count(&mut self.counters.radio_faults);
                self.on_silence(now);
            }
        }
    }

    /// Handles the end of the transmission of a repeated strobe or a probe.
    pub(super) fn on_short_sent(&mut self, now: Instant, result: RadioResult<A::Done>) {
        if self.access.cycle().is_none() {
            return;
        }
        if self.progress != Progress::OnAir {
            self.tell_cycle(now, CycleEvent::Probed);
            return;
        }
        match result {
            RadioResult::Cycled(done) if matches!(done.into(), CycledResult::Answered { .. }) => {
                self.tell_cycle(now, CycleEvent::StrobeAnswered(self.target()));
                self.progress = Progress::Ready;
            }
            RadioResult::ChannelBusy => {
                self.tell_cycle(now, CycleEvent::Blocked);
                self.on_collision(now);
            }
            _ => self.on_silence(now),
        }
    }

    pub(super) fn short_frame(&self) -> &[u8] {
        let cycle = self.access.cycle();
        cycle.map_or(&[], |it| &it.short)
    }

    /// Writes the short frame that the method needs now: a strobe for the receiver of the submitted
    /// frame, or a probe.
    pub(super) fn write_short(&mut self) {
        let Some(cycle) = self.access.cycle() else {
            return;
        };
        let (content, len) = cycle.cycle.short(self.config.address());
        let dst = match self.is_probing() {
            true => Address::BROADCAST,
            false => self.dst,
        };
        let header = FrameHeader {
            frame_type: FrameType::Data,
            ack_request: crate::filter::asks_for_ack(dst),
            dsn: self.dsn,
            ..self.header(dst)
        };
        let Some(Cycled { short, .. }) = self.access.cycle_mut() else {
            return;
        };
        let mut cursor = Cursor::new(short.room_mut());
        // The buffer has room for the longest header and the six bytes of content.
        let _ = header.emit(&mut cursor);
        let _ = cursor.put(content.get(..len).unwrap_or_default());
        let len = cursor.position();
        short.set_len(len);
    }

    // --- the method's own header ---

    pub(super) fn access_header_len(&self) -> usize {
        let properties = self.properties();
        let properties = properties.filter(|_| self.kind == OutgoingFrame::Data);
        properties.map_or(0, |it| it.header_len)
    }

    /// Writes the method's header into a frame of `len` bytes; returns the frame's new length.
    pub(super) fn write_access_header(&mut self, len: usize, payload_len: usize) -> usize {
        let (src, dst) = (self.config.address(), self.dst);
        let cycled = self.access.cycle();
        let Some(Cycled {
            cycle, properties, ..
        }) = cycled.filter(|_| self.kind == OutgoingFrame::Data)
        else {
            return len;
        };
        let mac_header_len = self.header_len.saturating_sub(properties.header_len);
        let room = self.frame.room_mut().get_mut(mac_header_len..);
        let area = room.unwrap_or_default();
        let behind = cycle.write_header(src, dst, mac_header_len, area, payload_len);
        mac_header_len.saturating_add(behind)
    }

    /// Retries a failed frame as the cycle decides, or otherwise by the MAC's own rules.
    fn try_cycled_again(&mut self, now: Instant, status: TxStatus) {
        let begun = self.retry.attempts();
        let transmissions = match status {
            TxStatus::NoAck => begun,
            _ => begun.saturating_sub(1),
        };
        let until = match self.tell_cycle(now, CycleEvent::Failed { transmissions }) {
            None => return self.on_attempt_failed(now, status),
            Some(Move::Wait(until)) => until,
            Some(_) => return self.finish(now, status),
        };
        if status == TxStatus::NoAck {
            self.retry.on_attempt();
        }
        count(&mut self.counters.frame_retries);
        if let Some(cycled) = self.access.cycle_mut() {
            cycled.not_before = until;
        }
        self.progress = Progress::RetryDelay {
            until,
            asleep: self.sleeps_for(until.since(now)),
        };
    }

    pub(super) fn on_assessed(
        &mut self,
        now: Instant,
        for_frame: bool,
        result: RadioResult<A::Done>,
    ) {
        let found = match result {
            RadioResult::Cycled(done) => match done.into() {
                CycledResult::Assessed(channel) => Some(channel),
                CycledResult::Answered { .. } => None,
            },
            _ => None,
        };
        let channel = found.unwrap_or_else(|| {
            count(&mut self.counters.radio_faults);
            Channel::Clear
        });
        if self.access.cycle().is_none() {
            return;
        }
        if !for_frame {
            self.tell_cycle(now, CycleEvent::Assessed(channel));
            return;
        }
        match self.tell_cycle(now, CycleEvent::Sensed(channel)) {
            Some(Move::Wait(until)) => self.progress = Progress::Backoff { until },
            _ => self.on_collision(now),
        }
    }

    // --- this node's receiver ---

    /// Handles an overheard frame; most radios do not deliver frames for other nodes. An access
    /// method that hears a strobe for another node can yield to its sender. Returns the payload of
    /// a data frame whose destination is not this node's address, unless the frame is secured.
    pub fn on_overheard<'f>(&mut self, now: Instant, frame: &'f [u8]) -> Option<&'f [u8]> {
        let (header, payload) = FrameHeader::parse(frame).ok()?;
        if header.frame_type != FrameType::Data || header.dst == self.config.address() {
            return None;
        }
        self.tell_cycle(now, CycleEvent::Overheard(payload));
        (!header.security).then_some(payload)
    }

    /// Returns a data frame's payload without the method's header, if it is for the upper layer.
    pub(super) fn unwrap_cycled<'f>(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        payload: &'f [u8],
    ) -> Option<&'f [u8]> {
        let Some(Cycled { cycle, .. }) = self.access.cycle() else {
            return Some(payload);
        };
        match cycle.read(payload) {
            Meaning::Data(payload) => {
                let more = header.frame_pending;
                self.tell_cycle(now, CycleEvent::Frame { more });
                return Some(payload);
            }
            Meaning::Strobe => {
                self.tell_cycle(now, CycleEvent::Strobe);
            }
            Meaning::Probe if matches!(self.progress, Progress::Backoff { .. }) => {
                let (src, target) = (header.src, self.target());
                if self
                    .tell_cycle(now, CycleEvent::Probe { src, target })
                    .is_some()
                {
                    self.progress = Progress::Ready;
                }
            }
            Meaning::Probe => {}
            Meaning::Malformed => count(&mut self.counters.rx_malformed),
        }
        None
    }

    pub(super) fn repeats_broadcasts(&self) -> bool {
        self.properties().is_some_and(|it| it.repeats_all)
    }

    /// Returns the cycle's demands if the cycle may use the radio between the jobs of a frame.
    fn has_turn(&self) -> Option<CycleStatus> {
        let status = self.status()?;
        let is_free = self.work.is_none() && !self.is_probing() && !status.has_channel;
        (self.rest == Rest::Cycle && is_free).then_some(status)
    }

    pub(super) fn cycle_at(&self) -> Option<Wake> {
        self.has_turn()?.next.map(Wake::exactly)
    }

    fn poll_receiver(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        self.has_turn()?;
        let Cycled { cycle, probes, .. } = self.access.cycle_mut()?;
        match cycle.poll(now)? {
            Errand::Assess(work) => {
                let for_frame = false;
                self.work = Some(Work::Assess { for_frame });
                Some(RadioWork::Cycled(work))
            }
            Errand::Probe => {
                *probes = true;
                self.poll_probe()
            }
        }
    }

    fn is_probing(&self) -> bool {
        self.access.cycle().is_some_and(|it| it.probes)
    }

    fn poll_probe(&mut self) -> Option<RadioWork<A::Work>> {
        let Cycled { probes, .. } = self.access.cycle_mut()?;
        let short = Content::Short;
        if self.loaded != Some(short) {
            return Some(self.load(short));
        }
        *probes = false;
        self.work = Some(Work::Transmit(short));
        Some(RadioWork::Transmit { cca: true })
    }

    pub(super) fn awaits_probe(&self) -> bool {
        self.status().is_some_and(|it| it.awaits_probe)
    }

    pub(super) fn cycle_rest(&self) -> RadioWork<A::Work> {
        match self.status().is_none_or(|it| it.listens) {
            true => RadioWork::Listen,
            false => RadioWork::Doze,
        }
    }
}
