//! The end with the node: receives requests, and sends the answers.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioWork};

use crate::answer::{add, begin, kind};
use crate::cursor::Writer;
use crate::hdlc::{self, Deframer, Frame};
use crate::{MESSAGE_MAX, Request, RequestEvent, head};

/// Bytes of an answer before its operations.
const WORKS_AT: usize = 11;
const WORK_MAX: usize = 2 + FrameBuf::CAPACITY;
const TEXT_MAX: usize = 64;

/// The end with the node: receives requests, and sends the answers. It holds the request that is
/// being processed, and the latest answer, to repeat it. [`LineRadio`](crate::LineRadio) is a radio
/// based on it.
#[derive(Debug, Default)]
pub struct Answerer {
    deframer: Deframer,
    request: Buffer,
    answer: Buffer,
    /// The number of the latest answer; `None` before the first.
    answered: Option<u16>,
    damaged: u32,
}

#[derive(Debug)]
struct Buffer {
    bytes: [u8; MESSAGE_MAX],
    len: usize,
}

impl Default for Buffer {
    fn default() -> Self {
        Buffer {
            bytes: [0; MESSAGE_MAX],
            len: 0,
        }
    }
}

impl Buffer {
    fn message(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Answerer {
    /// Announces that the node has just been switched on.
    pub fn hello(put: impl FnMut(u8)) {
        hdlc::send(&[head(kind::HELLO)], put);
    }

    /// Sends text in one message, truncated to 63 bytes.
    pub fn text(text: &[u8], put: impl FnMut(u8)) {
        let mut message = [0; TEXT_MAX];
        let text = text.get(..TEXT_MAX.saturating_sub(1)).unwrap_or(text);
        let mut writer = Writer::new(&mut message);
        writer.byte(head(kind::TEXT));
        writer.put(text);
        let len = writer.finish().unwrap_or(0);
        hdlc::send(message.get(..len).unwrap_or_default(), put);
    }

    /// Handles a byte. Returns the request that the byte completes, if the node must process it. A
    /// repeated request, or one before the first `Begin`, is answered here; a damaged one is
    /// counted. [`Self::request`] returns the request until it is answered.
    pub fn input(&mut self, byte: u8, mut put: impl FnMut(u8)) -> Option<Request<'_>> {
        let message = match self.deframer.input(byte)? {
            Frame::Good(message) => message,
            Frame::Damaged => {
                self.damaged = self.damaged.wrapping_add(1);
                return None;
            }
        };
        let Some(Request { number, event, .. }) = Request::parse(message) else {
            self.damaged = self.damaged.wrapping_add(1);
            return None;
        };
        if self.answered == Some(number) {
            hdlc::send(self.answer.message(), put);
            return None;
        }
        if self.answered.is_none() && !matches!(event, RequestEvent::Begin(_)) {
            let [low, high] = number.to_le_bytes();
            hdlc::send(&[head(kind::NOT_BEGUN), low, high], &mut put);
            return None;
        }
        self.request.len = redpoll_base::copy(message, &mut self.request.bytes);
        self.answer.len = 0;
        self.request()
    }

    /// Returns the request that waits for an answer.
    #[inline(never)] // size
    pub fn request(&self) -> Option<Request<'_>> {
        Request::parse(self.request.message())
    }

    /// Returns whether the node has started.
    pub fn has_begun(&self) -> bool {
        self.answered.is_some()
    }

    /// Returns the number of damaged frames and invalid messages.
    pub fn damaged(&self) -> u32 {
        self.damaged
    }

    /// Returns whether a request waits, and its answer has room for any operation.
    pub fn has_room(&self) -> bool {
        self.request.len > 0 && !self.is_full()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.answer.len > MESSAGE_MAX - WORK_MAX
    }

    /// Adds an operation to the answer to the pending request; [`RadioWork::Load`] loads `frame`.
    /// Returns `false` if the answer has no room for it.
    pub fn add(&mut self, work: RadioWork, frame: &[u8]) -> bool {
        let len = self.answer.len.max(WORKS_AT);
        let mut writer = Writer::new(self.answer.bytes.get_mut(len..).unwrap_or_default());
        add(&mut writer, work, frame);
        let Some(more) = writer.finish() else {
            return false;
        };
        self.answer.len = len.saturating_add(more);
        true
    }

    /// Answers the pending request, if any, with the [added](Self::add) operations and with
    /// `wakes_at`, the latest time of the next request.
    pub fn answer(&mut self, wakes_at: Option<Instant>, put: impl FnMut(u8)) {
        let Some(number) = self.request().map(|request| request.number) else {
            return;
        };
        self.request.len = 0;
        let mut writer = Writer::new(&mut self.answer.bytes);
        begin(&mut writer, number, wakes_at);
        self.answer.len = self.answer.len.max(WORKS_AT);
        self.answered = Some(number);
        hdlc::send(self.answer.message(), put);
    }
}
