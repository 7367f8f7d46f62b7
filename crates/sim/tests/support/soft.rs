//! A radio whose chip has no automatic functions: acknowledgments, their timeout, CSMA-CA,
//! repetitions, source match and filter are software over a raw radio, as the standard specifies,
//! or with one fault.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{
    FrameBuf, Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo,
};
use redpoll_sim::testing::ether::{RawEvent, RawRadio};
use redpoll_wire::ieee802154::{Address, DATA_REQUEST, FrameHeader, FrameType, imm_ack, timing};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    TimeComesEarly,
    DropsBroadcasts,
    DropsShort,
    IgnoresExtended,
    CutsLongFrames,
    KeepsFcs,
    HearsTwice,
    HandsOverDamaged,
    LosesEverySecond,
    AckLate,
    AckEarly,
    AckMissing,
    AckOfAnother,
    AcksEverybody,
    AcksUnasked,
    AlwaysPending,
    NeverPending,
    PendingForAll,
    PendingUntold,
    PendingForEver,
    SendsTwice,
    DropsLastByte,
    ForgetsFrame,
    ReceivedOverwrites,
    SentTooEarly,
    SentTooLate,
    AlwaysLooks,
    NeverLooks,
    BusyForEver,
    NeverGivesUp,
    TakesAnyAck,
    LosesPendingBit,
    HandsOverAck,
    GivesUpTooEarly,
    GivesUpTooLate,
    NeverRepeats,
    DeafAfterwards,
    HearsAsleep,
    SleepsForEver,
    CannotSendAsleep,
    NoEnd,
    ClaimsAck,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Assess the channel, at the first or the second of two checks.
    Look {
        first: bool,
    },
    Send,
    /// End the wait for the acknowledgment.
    GiveUp,
    End(RadioResult),
}

pub struct SoftRadio {
    raw: RawRadio,
    caps: RadioCaps,
    fault: Option<Fault>,
    identity: RadioIdentity,
    rng: Rng,
    frame: FrameBuf,
    loaded: FrameBuf,
    events: VecDeque<(RadioEvent, Option<Vec<u8>>)>,
    step: Option<(Instant, Step)>,
    /// Whether the transmission is the loaded frame rather than an acknowledgment.
    sends: bool,
    cca: bool,
    backoffs: u8,
    attempts: u8,
    matches: Vec<u16>,
    rest: RadioWork,
    heard: u32,
    deaf_until: Instant,
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

impl SoftRadio {
    pub fn new(raw: RawRadio, caps: RadioCaps, fault: Option<Fault>) -> SoftRadio {
        SoftRadio {
            raw,
            caps,
            fault,
            identity: RadioIdentity {
                pan_id: 0xffff,
                short: 0xffff,
                extended: [0; 8],
            },
            rng: Rng::new(5),
            frame: FrameBuf::new(),
            loaded: FrameBuf::new(),
            events: VecDeque::new(),
            step: None,
            sends: false,
            cca: false,
            backoffs: 0,
            attempts: 0,
            matches: Vec::new(),
            rest: RadioWork::Listen,
            heard: 0,
            deaf_until: Instant::ZERO,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn at(&mut self, after: Duration, step: Step) {
        self.step = Some((self.raw.now() + after, step));
    }

    fn done(&mut self, result: RadioResult) {
        self.step = None;
        if !self.has(Fault::NoEnd) {
            self.events.push_back((RadioEvent::Done(result), None));
        }
    }

    /// Begins a transmission, with CSMA-CA, one assessment, or neither.
    fn begin(&mut self) {
        let looks = (self.cca || self.has(Fault::AlwaysLooks)) && !self.has(Fault::NeverLooks);
        let backoff = match self.caps.csma && self.cca {
            true => {
                let exponent = (3 + self.backoffs).min(5);
                let periods = self.rng.below(1 << exponent);
                us(u64::from(periods) * timing::UNIT_BACKOFF_US)
            }
            false => Duration::ZERO,
        };
        match looks {
            true => self.at(backoff, Step::Look { first: true }),
            false => self.at(us(timing::TURNAROUND_US), Step::Send),
        }
    }

    fn on_step(&mut self, step: Step) {
        match step {
            Step::Look { first } => self.look(first),
            Step::Send => {
                let frame = &self.loaded;
                let cut = usize::from(self.has(Fault::DropsLastByte));
                let frame = frame[..frame.len() - cut].to_vec();
                self.raw.send_at(self.raw.now(), &frame);
                self.sends = true;
                if self.has(Fault::SentTooEarly) && !self.wants_ack() {
                    self.done(RadioResult::Sent);
                }
            }
            Step::GiveUp => {
                let most = if self.has(Fault::NeverRepeats) { 0 } else { 3 };
                if self.caps.retries && self.attempts < most {
                    self.attempts += 1;
                    return self.begin();
                }
                self.done(RadioResult::NoAck);
            }
            Step::End(result) => self.done(result),
        }
    }

    fn look(&mut self, first: bool) {
        let busy = self.raw.is_busy() || self.has(Fault::BusyForEver);
        if busy {
            let goes_on = self.has(Fault::NeverGivesUp) || self.backoffs < 4;
            if self.caps.csma && goes_on {
                self.backoffs += 1;
                return self.begin();
            }
            return self.done(RadioResult::ChannelBusy);
        }
        match first {
            true => self.at(us(timing::CCA_US), Step::Look { first: false }),
            false => self.at(us(timing::TURNAROUND_US), Step::Send),
        }
    }

    fn header(frame: &[u8]) -> Option<FrameHeader> {
        FrameHeader::parse(frame).ok().map(|(header, _)| header)
    }

    fn wants_ack(&self) -> bool {
        Self::header(&self.loaded).is_some_and(|header| header.ack_request)
    }

    fn on_sent(&mut self) {
        if !std::mem::take(&mut self.sends) || self.has(Fault::SentTooEarly) && !self.wants_ack() {
            return;
        }
        if self.has(Fault::SendsTwice) && self.attempts == 0 && !self.wants_ack() {
            self.attempts = 1;
            return self.at(us(200), Step::Send);
        }
        let late = if self.has(Fault::SentTooLate) {
            5_000
        } else {
            0
        };
        if self.has(Fault::DeafAfterwards) {
            self.deaf_until = self.raw.now() + us(4_000);
        }
        if self.caps.auto_ack && self.wants_ack() {
            let wait = match self.fault {
                Some(Fault::GivesUpTooEarly) => 600,
                Some(Fault::GivesUpTooLate) => 8_000,
                _ => timing::ACK_WAIT_US,
            };
            return self.at(us(wait), Step::GiveUp);
        }
        let result = match self.has(Fault::ClaimsAck) {
            true => RadioResult::NoAck,
            false => RadioResult::Sent,
        };
        match late {
            0 => self.done(result),
            _ => self.at(us(late), Step::End(result)),
        }
        if self.has(Fault::ForgetsFrame) {
            let _ = self.loaded.copy_from(&[0; 20]);
        }
    }

    fn on_heard(&mut self, frame: Option<Vec<u8>>, info: RxInfo) {
        let asleep = self.rest != RadioWork::Listen && self.step.is_none();
        if asleep && !self.has(Fault::HearsAsleep) || self.raw.now() < self.deaf_until {
            return;
        }
        let Some(frame) = frame else {
            if self.has(Fault::HandsOverDamaged) {
                let garbage = Some(vec![0x41, 0x88, 1, 2, 3]);
                self.events.push_back((RadioEvent::Frame(info), garbage));
            }
            return;
        };
        let Some(header) = Self::header(&frame) else {
            return;
        };
        if header.frame_type == FrameType::Ack {
            return self.on_ack(&frame, &header, info);
        }
        let is_broadcast = header.dst == Address::Short(0xffff);
        let is_short = header.dst == Address::Short(self.identity.short);
        let is_extended = header.dst == Address::Extended(self.identity.extended);
        let is_own = is_short || is_extended && !self.has(Fault::IgnoresExtended);
        let in_pan = [Some(self.identity.pan_id), Some(0xffff)].contains(&header.dst_pan);
        let everybody = self.has(Fault::AcksEverybody);
        if !everybody && !(in_pan && (is_own || is_broadcast)) {
            return;
        }
        let mut told = info;
        let asked = header.ack_request || self.has(Fault::AcksUnasked);
        if self.caps.auto_ack && asked && (is_own && !is_broadcast && in_pan || everybody) {
            told.ack_sent_pending = self.acknowledge(&header, &frame);
        }
        self.hand_over(frame, told, is_broadcast, is_short);
    }

    fn acknowledge(&mut self, header: &FrameHeader, frame: &[u8]) -> bool {
        let is_request = frame.last() == Some(&DATA_REQUEST);
        let is_request = is_request && header.frame_type == FrameType::Command;
        let known = matches!(header.src, Address::Short(it) if self.matches.contains(&it));
        let mut pending = self.caps.source_match && is_request && known;
        match self.fault {
            Some(Fault::AlwaysPending) => pending = true,
            Some(Fault::NeverPending) => pending = false,
            Some(Fault::PendingForAll) => pending = known,
            _ => {}
        }
        let after = match self.fault {
            Some(Fault::AckLate) => 320,
            Some(Fault::AckEarly) => 128,
            Some(Fault::AckMissing) => return pending,
            _ => timing::TURNAROUND_US,
        };
        let off_by = u8::from(self.has(Fault::AckOfAnother));
        let ack = imm_ack(header.dsn.wrapping_add(off_by), pending);
        self.raw.send_at(self.raw.now() + us(after), &ack);
        pending && !self.has(Fault::PendingUntold)
    }

    fn hand_over(&mut self, mut frame: Vec<u8>, info: RxInfo, is_broadcast: bool, is_short: bool) {
        self.heard += 1;
        let lost = match self.fault {
            Some(Fault::DropsBroadcasts) => is_broadcast,
            Some(Fault::DropsShort) => is_short,
            Some(Fault::LosesEverySecond) => self.heard.is_multiple_of(2),
            _ => false,
        };
        if lost {
            return;
        }
        match self.fault {
            Some(Fault::KeepsFcs) => frame.extend([0xaa, 0xbb]),
            Some(Fault::CutsLongFrames) => frame.truncate(120),
            Some(Fault::ReceivedOverwrites) => {
                let _ = self.loaded.copy_from(&frame);
            }
            _ => {}
        }
        let event = (RadioEvent::Frame(info), Some(frame));
        if self.has(Fault::HearsTwice) {
            self.events.push_back(event.clone());
        }
        self.events.push_back(event);
    }

    fn on_ack(&mut self, frame: &[u8], header: &FrameHeader, info: RxInfo) {
        if !self.caps.auto_ack {
            let event = (RadioEvent::Frame(info), Some(frame.to_vec()));
            return self.events.push_back(event);
        }
        let waits = matches!(self.step, Some((_, Step::GiveUp)));
        let is_own = Self::header(&self.loaded).map(|own| own.dsn) == Some(header.dsn);
        if waits && (is_own || self.has(Fault::TakesAnyAck)) {
            let frame_pending = header.frame_pending && !self.has(Fault::LosesPendingBit);
            self.done(RadioResult::Acked { frame_pending });
            if self.has(Fault::HandsOverAck) {
                let event = (RadioEvent::Frame(info), Some(frame.to_vec()));
                self.events.push_back(event);
            }
        }
    }
}

impl Radio for SoftRadio {
    fn caps(&self) -> RadioCaps {
        self.caps
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        self.identity = identity;
    }

    fn now(&self) -> Instant {
        self.raw.now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        match work {
            RadioWork::Load => {
                self.loaded
                    .copy_from(frame)
                    .expect("the frame fits into the buffer");
                self.at(Duration::ZERO, Step::End(RadioResult::Loaded));
            }
            RadioWork::Transmit { cca } => {
                let asleep = self.rest != RadioWork::Listen;
                if asleep && self.has(Fault::CannotSendAsleep) {
                    return self.at(us(400), Step::End(RadioResult::ChannelBusy));
                }
                (self.cca, self.backoffs, self.attempts) = (cca, 0, 0);
                self.begin();
            }
            RadioWork::SourceMatch { neighbour, pending } => {
                if !self.has(Fault::PendingForEver) {
                    self.matches.retain(|known| *known != neighbour);
                }
                if pending {
                    self.matches.push(neighbour);
                }
            }
            RadioWork::Listen if self.has(Fault::SleepsForEver) => {}
            rest => self.rest = rest,
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        loop {
            if let Some((event, frame)) = self.events.pop_front() {
                if let Some(frame) = frame {
                    let len = frame.len().min(FrameBuf::CAPACITY);
                    self.frame
                        .copy_from(&frame[..len])
                        .expect("the frame fits into the buffer");
                }
                return Poll::Ready(event);
            }
            let due = self.step.map(|(at, _)| at);
            if let Some((at, step)) = self.step
                && at <= self.raw.now()
            {
                self.step = None;
                self.on_step(step);
                continue;
            }
            let early = if self.has(Fault::TimeComesEarly) {
                400
            } else {
                0
            };
            let now = self.raw.now();
            if until.is_some_and(|until| until <= now + us(early)) {
                return Poll::Ready(RadioEvent::Time);
            }
            let wake = due.into_iter().chain(until).min();
            match self.raw.poll_event(cx, wake) {
                Poll::Ready(Some(RawEvent::Sent(_))) => self.on_sent(),
                Poll::Ready(Some(RawEvent::Heard { frame, info, .. })) => {
                    self.on_heard(frame, info);
                }
                Poll::Ready(None) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }
}
