//! A radio co-processor that speaks Spinel, such as a stick with OpenThread's RCP firmware: the
//! order of requests, and the handling of answers. Without I/O: bytes go in and out, and the
//! time is an argument.
//!
//! The set-up is a sequence of requests. After it, a reset of the radio or a missing report of a
//! transmission's outcome ends the transmission, is reported as [`Event::Trouble`], and leads to
//! another set-up. Late and invalid messages are only counted.

mod frames;
mod set_up;

use std::collections::{BTreeSet, VecDeque};

use redpoll_base::{Duration, Instant};
use redpoll_stack::mac::{RadioCaps, RadioResult, RxInfo};
use redpoll_stack::wire::hdlc::Frame;

use super::hdlc::{Decoder, encode};
use super::spinel::{Command, Fields, Message, property, put_packed, status};
use frames::Transmission;
use set_up::STEPS;

/// Retries of an unanswered request before the set-up starts again.
const PATIENCE: u8 = 3;
/// Maximum number of bytes that wait for the line. A radio that reads takes them within a second.
const OUTPUT: usize = 16 * 1_024;
/// Maximum number of reports of trouble in [`REPORT_WINDOW`]; more reports are only counted.
const REPORTS: u32 = 8;
const REPORT_WINDOW: Duration = Duration::from_millis(10_000);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// IEEE 802.15.4 channel, 11 to 26.
    pub channel: u8,
    pub pan_id: u16,
    pub short: u16,
    /// EUI-64, big-endian as printed.
    pub extended: [u8; 8],
    /// macMaxCSMABackoffs, for radios that perform CSMA themselves.
    pub max_csma_backoffs: u8,
    /// macMaxFrameRetries, for radios that retransmit by themselves.
    pub max_frame_retries: u8,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The radio is set up, for the first time or again.
    Ready {
        version: String,
        /// Functions that the radio performs by itself.
        caps: RadioCaps,
    },
    /// The radio has received an intact frame for this node.
    Received {
        /// The MPDU without its check sequence.
        mpdu: Vec<u8>,
        /// Signal strength and link quality of the frame.
        info: RxInfo,
    },
    Done(RadioResult),
    Trouble(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RcpCounters {
    pub sent: u64,
    pub received: u64,
    pub set_up: u64,
    /// Resets of the radio that the host did not ask for.
    pub resets: u64,
    /// Reset notices, including those during the set-up.
    pub reset_notices: u64,
    /// Messages that were dropped because the output buffer was full: the radio reads too slowly.
    pub unsent: u64,
    /// Reports of trouble that were suppressed.
    pub unreported: u64,
    /// Requests and transmissions that the radio has not answered in time.
    pub unanswered: u64,
    pub late_answers: u64,
    /// Frames of the line that are not messages, and invalid messages.
    pub nonsense: u64,
    /// Frames of the line that have a wrong check sequence or are too long.
    pub damaged: u64,
    /// Received frames with a wrong FCS.
    pub bad_fcs: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Gone,
    /// A reset was requested, and its notice has not arrived.
    Beginning {
        until: Instant,
    },
    /// The host requests the radio's properties step by step.
    Asked {
        step: usize,
        tid: u8,
        until: Instant,
        tries: u8,
    },
    Ready,
    /// The radio cannot be used: it speaks another version of the protocol.
    Useless,
}

/// The host's side of a radio co-processor.
#[derive(Debug)]
pub struct Rcp {
    identity: Identity,
    decoder: Decoder,
    phase: Phase,
    tid: u8,
    version: String,
    caps: RadioCaps,
    transmission: Option<Transmission>,
    /// Neighbours with waiting data, kept for the next set-up.
    pending: BTreeSet<u16>,
    output: VecDeque<u8>,
    events: VecDeque<Event>,
    /// Reset notices since the last reset command or set-up.
    notices: u32,
    /// Time at which the window of reports began, and number of reports in it.
    reports: (Instant, u32),
    counters: RcpCounters,
}

impl Rcp {
    pub fn new(identity: Identity) -> Rcp {
        Rcp {
            identity,
            decoder: Decoder::default(),
            phase: Phase::Gone,
            tid: 0,
            version: String::new(),
            caps: RadioCaps::default(),
            transmission: None,
            pending: BTreeSet::new(),
            output: VecDeque::new(),
            events: VecDeque::new(),
            notices: 0,
            reports: (Instant::ZERO, 0),
            counters: RcpCounters::default(),
        }
    }

    pub fn on_connected(&mut self, now: Instant) {
        self.decoder.reset();
        self.begin(now);
    }

    pub fn on_disconnected(&mut self) {
        self.output.clear();
        self.phase = Phase::Gone;
        self.give_up();
    }

    /// Handles bytes from the line, which may be arbitrary.
    pub fn input(&mut self, now: Instant, bytes: &[u8]) {
        for byte in bytes {
            match self.decoder.input(*byte) {
                Some(Frame::Good(frame)) => {
                    let frame = frame.to_vec();
                    self.on_frame(now, &frame);
                }
                Some(Frame::Damaged) => self.counters.damaged += 1,
                None => {}
            }
        }
    }

    fn on_frame(&mut self, now: Instant, frame: &[u8]) {
        match Message::parse(frame) {
            Some(message) => self.on_message(now, &message),
            None => self.counters.nonsense += 1,
        }
    }

    /// Returns the bytes to be written to the line, which are framed.
    pub fn output(&mut self) -> &mut VecDeque<u8> {
        &mut self.output
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Sets whether the radio's Imm-ACKs to data requests of this neighbour announce a waiting
    /// frame.
    pub fn set_pending(&mut self, neighbour: u16, pending: bool) {
        let command = if pending {
            self.pending.insert(neighbour).then_some(Command::Insert)
        } else {
            self.pending.remove(&neighbour).then_some(Command::Remove)
        };
        if let Some(command) = command.filter(|_| self.phase == Phase::Ready) {
            self.say_pending(command, neighbour);
        }
    }

    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    pub fn is_useless(&self) -> bool {
        self.phase == Phase::Useless
    }

    pub fn counters(&self) -> &RcpCounters {
        &self.counters
    }

    /// Returns the time at which [`Rcp::on_timeout`] is due.
    pub fn poll_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Beginning { until } | Phase::Asked { until, .. } => Some(until),
            Phase::Ready => self.transmission.map(|it| it.until),
            Phase::Gone | Phase::Useless => None,
        }
    }

    /// Handles a timeout; a call that is too early has no effect.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.poll_at().is_none_or(|at| at > now) {
            return;
        }
        match self.phase {
            // Some radios send no notice; the answers to the requests show whether the radio works.
            Phase::Beginning { .. } => self.ask(now, 0, 0),
            Phase::Asked { step, tries, .. } => {
                self.counters.unanswered += 1;
                if tries < PATIENCE {
                    self.ask(now, step, tries + 1);
                } else {
                    let which = STEPS[step];
                    self.trouble(
                        now,
                        format!("the radio does not answer the request {which:?}"),
                    );
                    self.begin(now);
                }
            }
            Phase::Ready => {
                self.counters.unanswered += 1;
                self.trouble(
                    now,
                    "the radio does not report the outcome of a frame".to_owned(),
                );
                self.give_up();
                self.begin(now);
            }
            Phase::Gone | Phase::Useless => {}
        }
    }

    fn say_pending(&mut self, command: Command, neighbour: u16) {
        let property = property::MAC_SRC_MATCH_SHORT_ADDRESSES;
        self.say(command, property, &neighbour.to_le_bytes());
    }

    fn say(&mut self, command: Command, property: u32, value: &[u8]) -> u8 {
        // 1 to 15, because 0 is for unsolicited messages.
        self.tid = self.tid % 15 + 1;
        let message = Message {
            tid: self.tid,
            command,
            property,
            value,
        };
        self.put(&message);
        self.tid
    }

    /// Appends a message to the bytes that wait for the line, if there is room.
    fn put(&mut self, message: &Message<'_>) {
        let frame = encode(&message.to_frame());
        if self.output.len() + frame.len() > OUTPUT {
            self.counters.unsent += 1;
            return;
        }
        self.output.extend(frame);
    }

    fn on_message(&mut self, now: Instant, message: &Message<'_>) {
        let is_status = message.property == property::LAST_STATUS;
        let code = is_status.then(|| Fields(message.value).packed()).flatten();
        let is_reset = |code: &u32| (status::RESET_BEGIN..status::RESET_END).contains(code);
        match message {
            _ if code.as_ref().is_some_and(is_reset) => self.on_reset(now),
            Message {
                tid: 0,
                command: Command::Is,
                property: property::STREAM_RAW,
                value,
            } => self.on_received(value),
            // Unsolicited messages, such as the radio's log, are ignored.
            Message { tid: 0, .. } => {}
            _ if self.is_awaited(message.tid) => match code {
                Some(code) if self.transmission.is_some() && self.phase == Phase::Ready => {
                    self.on_transmitted(now, code, message.value);
                }
                _ if self.phase == Phase::Ready => self.counters.nonsense += 1,
                _ => self.on_answer(now, code, message),
            },
            // Ignores the radio's answer to a change of one of its lists.
            Message {
                command: Command::Inserted | Command::Removed,
                ..
            } => {}
            _ => self.counters.late_answers += 1,
        }
    }

    fn is_awaited(&self, tid: u8) -> bool {
        match self.phase {
            Phase::Asked { tid: asked, .. } => asked == tid,
            Phase::Ready => self.transmission.is_some_and(|it| it.tid == tid),
            _ => false,
        }
    }

    /// Reports trouble, with a limited number of reports per interval.
    fn trouble(&mut self, now: Instant, text: String) {
        if now.since(self.reports.0) >= REPORT_WINDOW {
            self.reports = (now, 0);
        }
        self.reports.1 = self.reports.1.saturating_add(1);
        match self.reports.1 {
            ..=REPORTS => self.events.push_back(Event::Trouble(text)),
            _ => self.counters.unreported += 1,
        }
    }
}

/// Returns a value that consists of one packed number, for tests and fakes.
pub fn packed(number: u32) -> Vec<u8> {
    let mut out = Vec::new();
    put_packed(&mut out, number);
    out
}
