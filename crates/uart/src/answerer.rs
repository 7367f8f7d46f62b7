//! The end with the node: takes requests, and gives its answers.

use redpoll_base::{Instant, Memory};
use redpoll_stack::assist::Assist;
use redpoll_stack::{Node, StreamTransport};

use crate::answer::{add, begin, has_result, kind};
use crate::cursor::Writer;
use crate::hdlc::{self, Deframer, Frame};
use crate::{MESSAGE_MAX, News, Request, head};

/// Works in one answer at most; a node that has more is asked again at once.
const WORKS_MAX: u8 = 8;
/// Bytes of an answer before its works.
const WORKS_AT: usize = 11;
/// Bytes of text in one message.
const TEXT_MAX: usize = 64;

/// The end with the node: takes requests, and gives its answers. It holds a request while the node is served, and the last answer
/// to repeat it.
#[derive(Debug, Default)]
pub struct Answerer {
    deframer: Deframer,
    request: Buffer,
    answer: Buffer,
    /// The number that the last answer has; `None` before the first.
    answered: Option<u16>,
    damaged: u32,
}

/// A message.
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
    /// Says that the node has just been switched on.
    pub fn hello(put: impl FnMut(u8)) {
        hdlc::send(&[head(kind::HELLO)], put);
    }

    /// Sends a piece of text, as much of it as fits into a message.
    pub fn text(text: &[u8], put: impl FnMut(u8)) {
        let mut message = [0; TEXT_MAX];
        let text = text.get(..TEXT_MAX.saturating_sub(1)).unwrap_or(text);
        let mut writer = Writer::new(&mut message);
        writer.byte(head(kind::TEXT));
        writer.put(text);
        let len = writer.finish().unwrap_or(0);
        hdlc::send(message.get(..len).unwrap_or_default(), put);
    }

    /// A byte has come. The request that ends with it, if the node has to be told of it;
    /// others are answered here, by `put`. It stays [`Self::request`] until the answer.
    pub fn input(&mut self, byte: u8, mut put: impl FnMut(u8)) -> Option<Request<'_>> {
        let message = match self.deframer.input(byte)? {
            Frame::Good(message) => message,
            Frame::Damaged => {
                self.damaged = self.damaged.wrapping_add(1);
                return None;
            }
        };
        let Some(Request { number, news, .. }) = Request::parse(message) else {
            self.damaged = self.damaged.wrapping_add(1);
            return None;
        };
        if self.answered == Some(number) {
            hdlc::send(self.answer.message(), put);
            return None;
        }
        if self.answered.is_none() && !matches!(news, News::Begin(_)) {
            let [low, high] = number.to_le_bytes();
            hdlc::send(&[head(kind::STRANGER), low, high], &mut put);
            return None;
        }
        self.request.len = redpoll_base::copy(message, &mut self.request.bytes);
        self.request()
    }

    /// The request that waits for its answer.
    pub fn request(&self) -> Option<Request<'_>> {
        Request::parse(self.request.message())
    }

    /// Whether the node has been told to begin.
    pub fn has_begun(&self) -> bool {
        self.answered.is_some()
    }

    /// Frames and messages that made no sense.
    pub fn damaged(&self) -> u32 {
        self.damaged
    }

    /// Answers the request that waits, if one does: with what the radio of `node` is to do,
    /// and that the node and whatever runs on it want to be asked again, the latter at
    /// `wakes_at`.
    pub fn answer<M: Memory + 'static, A: Assist, T: StreamTransport>(
        &mut self,
        node: &mut Node<M, A, T>,
        wakes_at: Option<Instant>,
        put: impl FnMut(u8),
    ) {
        let Some(Request { number, at, .. }) = self.request() else {
            return;
        };
        self.request.len = 0;
        // The works first: they have a say in when the node wants to be called.
        let mut more = true;
        let works = self.answer.bytes.get_mut(WORKS_AT..).unwrap_or_default();
        let mut writer = Writer::new(works);
        for _ in 0..WORKS_MAX {
            let Some(work) = node.poll_radio(at) else {
                more = false;
                break;
            };
            add(&mut writer, work, node.frame());
            if has_result(work) {
                more = false;
                break;
            }
        }
        let len = writer.finish().unwrap_or(0);
        let node_wakes_at = node.poll_at().map(|wake| wake.at);
        let wakes_at = match more {
            true => Some(at),
            false => [node_wakes_at, wakes_at].into_iter().flatten().min(),
        };
        let mut writer = Writer::new(&mut self.answer.bytes);
        begin(&mut writer, number, wakes_at);
        self.answer.len = len.saturating_add(WORKS_AT);
        self.answered = Some(number);
        hdlc::send(self.answer.message(), put);
    }
}

/// Tells `node` what a request says, but [`News::Begin`].
pub fn tell<M: Memory + 'static, A: Assist, T: StreamTransport>(
    node: &mut Node<M, A, T>,
    request: &Request<'_>,
) {
    let now = request.at;
    match request.news {
        News::Begin(_) => {}
        News::Time => {
            if node.poll_at().is_some_and(|wake| wake.at <= now) {
                node.on_timeout(now);
            }
        }
        News::Frame { info, frame } => node.input_frame(now, frame, info),
        News::Done(result) => node.on_radio_done(now, result),
    }
}
