//! The MAC with a [`Cycle`]: the receiver's wake-ups between the MAC's jobs, and frames that are
//! repeated until their receiver has woken up.

use redpoll_base::{Instant, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};

use super::{Content, Mac, OutgoingFrame, Progress, Rest, Work};
use crate::access::{Access, Cargo, Channel, Cycle, CycledResult, Errand, Meaning, Move, Target};
use crate::counters::count;
use crate::{RadioResult, RadioWork, TxStatus};

impl<A: Access> Mac<A> {
    /// Returns the number of neighbours for which the upper layer may have packets at a time; 0 for
    /// no limit.
    pub fn neighbour_queues(&self) -> usize {
        self.access.cycle().map_or(0, Cycle::neighbour_queues)
    }

    /// Returns whether frames to `dst` request an acknowledgment.
    pub(super) fn asks_for_ack(&self, dst: Address) -> bool {
        let asks = self.access.cycle().is_none_or(Cycle::asks_for_acks);
        crate::filter::asks_for_ack(dst) && (asks || self.kind == OutgoingFrame::Request)
    }

    /// Returns whether the cycle handles the frame in service. It does not handle a frame that a
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
        let target = self.target();
        if let Some(cycle) = self.access.cycle_mut() {
            cycle.state_mut().not_before = cycle.on_submit(now, &target);
        }
    }

    pub(super) fn start_cycled(&mut self, now: Instant) {
        let Some(cycle) = self.access.cycle() else {
            return;
        };
        let until = cycle.state().not_before;
        self.progress = match until > now {
            true => Progress::Backoff { until },
            false => Progress::Ready,
        };
    }

    /// Returns the next job of [`Mac::poll_radio`] when the radio is free.
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
        let cycle = self.access.cycle().filter(|_| self.is_cycled());
        let Some(cycle) = cycle else {
            return Some(Content::Frame);
        };
        match cycle.cargo(&self.target()) {
            Cargo::Frame => Some(Content::Frame),
            Cargo::Short => Some(Content::Short),
            Cargo::Nothing => None,
        }
    }

    /// Returns the next job of the radio for a frame in service that is ready.
    fn poll_cycled(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        let cargo = self.cargo();
        if let Some(content) = cargo
            && self.loaded != cargo
        {
            return Some(self.load(content));
        }
        let content = cargo.unwrap_or(Content::Frame);
        let target = self.target();
        let cycle = self.access.cycle_mut()?;
        let (work, radio) = match cycle.advance(now, &target) {
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
        let target = self.target();
        if let Some(cycle) = self.access.cycle_mut() {
            cycle.on_silence(now, &target);
        }
        count(&mut self.counters.no_ack);
        self.burst.on_failure();
        self.try_cycled_again(now, TxStatus::NoAck);
    }

    /// Handles another signal in the channel, which does not fail a transmission.
    fn on_collision(&mut self, now: Instant) {
        count(&mut self.counters.channel_busy);
        self.burst.on_failure();
        self.try_cycled_again(now, TxStatus::ChannelAccessFailure);
    }

    pub(super) fn on_cycled_transmitted(&mut self, now: Instant, result: RadioResult<A::Done>) {
        let target = self.target();
        let Some(cycle) = self.access.cycle_mut() else {
            return;
        };
        if result == RadioResult::ChannelBusy {
            return if cycle.goes_on() {
                self.progress = Progress::Ready;
            } else if cycle.on_collision() {
                self.on_collision(now);
            } else {
                self.on_silence(now);
            };
        }
        count(&mut self.counters.frames_sent);
        match result {
            RadioResult::Cycled(done) => match done.into() {
                CycledResult::Answered {
                    frame_pending,
                    begun_ago,
                } => {
                    cycle.on_answer(now, &target, begun_ago);
                    self.on_ack(now, frame_pending);
                }
                CycledResult::Assessed(_) => {
                    count(&mut self.counters.radio_faults);
                    self.on_silence(now);
                }
            },
            RadioResult::Acked { frame_pending } => {
                cycle.on_ack(now, &target);
                self.on_ack(now, frame_pending);
            }
            RadioResult::Sent if cycle.goes_on() => self.progress = Progress::Ready,
            RadioResult::Sent => self.finish(now, TxStatus::Delivered),
            RadioResult::NoAck => self.on_silence(now),
            _ => {
                count(&mut self.counters.radio_faults);
                self.on_silence(now);
            }
        }
    }

    /// Handles the end of a repeated strobe or a probe.
    pub(super) fn on_short_sent(&mut self, now: Instant, result: RadioResult<A::Done>) {
        let target = self.target();
        let Some(cycle) = self.access.cycle_mut() else {
            return;
        };
        if self.progress != Progress::OnAir {
            return cycle.on_probed(now);
        }
        match result {
            RadioResult::Cycled(done) if matches!(done.into(), CycledResult::Answered { .. }) => {
                cycle.on_strobe_answer(now, &target);
                self.progress = Progress::Ready;
            }
            RadioResult::ChannelBusy => {
                cycle.on_collision();
                self.on_collision(now);
            }
            _ => self.on_silence(now),
        }
    }

    pub(super) fn short_frame(&self) -> &[u8] {
        let cycle = self.access.cycle();
        cycle.map_or(&[], |cycle| cycle.state().short.as_slice())
    }

    /// Writes the short frame that the method needs now: a strobe for the receiver of the frame in
    /// service, or a probe.
    pub(super) fn write_short(&mut self) {
        let Some(cycle) = self.access.cycle() else {
            return;
        };
        let (content, len) = cycle.short(self.address());
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
        let Some(cycle) = self.access.cycle_mut() else {
            return;
        };
        let short = &mut cycle.state_mut().short;
        let mut cursor = Cursor::new(short.room_mut());
        // The longest header and six bytes fit.
        let _ = header.emit(&mut cursor);
        let _ = cursor.put(content.get(..len).unwrap_or_default());
        let len = cursor.position();
        short.set_len(len);
    }

    // --- the method's own header ---

    pub(super) fn access_header_len(&self) -> usize {
        let cycle = self
            .access
            .cycle()
            .filter(|_| self.kind == OutgoingFrame::Data);
        cycle.map_or(0, Cycle::header_len)
    }

    /// Writes the method's header into a frame of `len` bytes; returns the frame's new length.
    pub(super) fn write_access_header(&mut self, len: usize, payload_len: usize) -> usize {
        let addresses = (self.address(), self.dst);
        let Some(cycle) = self
            .access
            .cycle()
            .filter(|_| self.kind == OutgoingFrame::Data)
        else {
            return len;
        };
        let mac_header_len = self.header_len.saturating_sub(cycle.header_len());
        let room = self.frame.room_mut().get_mut(mac_header_len..);
        let area = room.unwrap_or_default();
        let behind = cycle.write_header(addresses, mac_header_len, area, payload_len);
        mac_header_len.saturating_add(behind)
    }

    /// Retries a failed frame by the rules of the layer above the method.
    fn try_cycled_again(&mut self, now: Instant, status: TxStatus) {
        let Some(cycle) = self.access.cycle().filter(|cycle| cycle.has_layer()) else {
            return self.on_attempt_failed(now, status);
        };
        let begun = self.retry.attempts();
        let made = match status {
            TxStatus::NoAck => begun,
            _ => begun.saturating_sub(1),
        };
        let Some(until) = cycle.again(now, made, &mut self.rng) else {
            return self.finish(now, status);
        };
        if status == TxStatus::NoAck {
            self.retry.on_attempt();
        }
        count(&mut self.counters.frame_retries);
        if let Some(cycle) = self.access.cycle_mut() {
            cycle.state_mut().not_before = until;
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
        let Some(cycle) = self.access.cycle_mut() else {
            return;
        };
        if !for_frame {
            return cycle.on_assessed(now, channel, &mut self.rng);
        }
        match cycle.on_sensed(now, channel) {
            Move::Wait(until) => self.progress = Progress::Backoff { until },
            _ => self.on_collision(now),
        }
    }

    pub(super) fn on_cycled_preempted(&mut self) {
        if let Some(cycle) = self.access.cycle_mut() {
            cycle.on_preempted();
        }
    }

    // --- this node's receiver ---

    /// Handles an intact frame for another node: an access method with strobes yields to their
    /// senders. Most radios do not deliver such frames.
    pub fn on_overheard(&mut self, frame: &[u8]) {
        if let (Some(cycle), Ok((header, payload))) =
            (self.access.cycle_mut(), FrameHeader::parse(frame))
            && header.frame_type == FrameType::Data
            && header.dst != self.config.address()
        {
            cycle.on_overheard(payload);
        }
    }

    /// Returns the payload of a data frame without the method's header, if it is for the upper
    /// layer.
    pub(super) fn unwrap_cycled<'f>(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        payload: &'f [u8],
    ) -> Option<&'f [u8]> {
        let target = self.target();
        let Some(cycle) = self.access.cycle_mut() else {
            return Some(payload);
        };
        match cycle.read(payload) {
            Meaning::Data(payload) => {
                cycle.on_frame(now, header.frame_pending);
                return Some(payload);
            }
            Meaning::Strobe => cycle.on_strobe(now),
            Meaning::Probe => {
                let waits = matches!(self.progress, Progress::Backoff { .. });
                if waits && cycle.on_probe(header.src, &target) {
                    self.progress = Progress::Ready;
                }
            }
            Meaning::Malformed => count(&mut self.counters.rx_malformed),
        }
        None
    }

    pub(super) fn on_cycled_request(&mut self, now: Instant) {
        if let Some(cycle) = self.access.cycle_mut() {
            cycle.on_frame(now, false);
        }
    }

    pub(super) fn repeats_broadcasts(&self) -> bool {
        self.access.cycle().is_some_and(Cycle::repeats_all)
    }

    /// Returns the cycle if it may use the radio between the jobs of a frame.
    fn has_turn(&self) -> Option<&A::Cycle> {
        let cycle = self.access.cycle()?;
        let is_free = self.work.is_none() && !cycle.state().probes && !cycle.has_channel();
        (self.rest == Rest::Cycle && is_free).then_some(cycle)
    }

    pub(super) fn cycle_at(&self) -> Option<Wake> {
        self.has_turn()?.next().map(Wake::exactly)
    }

    /// Returns the job that the receiver's cycle has for the radio now.
    fn poll_receiver(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        self.has_turn()?;
        let cycle = self.access.cycle_mut()?;
        match cycle.poll(now)? {
            Errand::Assess(work) => {
                let for_frame = false;
                self.work = Some(Work::Assess { for_frame });
                Some(RadioWork::Cycled(work))
            }
            Errand::Probe => {
                cycle.state_mut().probes = true;
                self.poll_probe()
            }
        }
    }

    fn is_probing(&self) -> bool {
        let cycle = self.access.cycle();
        cycle.is_some_and(|cycle| cycle.state().probes)
    }

    fn poll_probe(&mut self) -> Option<RadioWork<A::Work>> {
        let cycle = self.access.cycle_mut()?;
        let short = Content::Short;
        if self.loaded != Some(short) {
            return Some(self.load(short));
        }
        cycle.state_mut().probes = false;
        self.work = Some(Work::Transmit(short));
        Some(RadioWork::Transmit { cca: true })
    }

    pub(super) fn awaits_probe(&self) -> bool {
        self.access.cycle().is_some_and(Cycle::awaits_probe)
    }

    pub(super) fn cycle_rest(&self) -> RadioWork<A::Work> {
        match self.access.cycle().is_none_or(Cycle::listens) {
            true => RadioWork::Listen,
            false => RadioWork::Doze,
        }
    }
}
