//! The end with the radio: asks, one request at a time, and takes the answers.

use redpoll_base::Instant;

use crate::hdlc::{self, Deframer, Frame};
use crate::{Answer, MESSAGE_MAX, News, Reply, Request};

/// A message of the node.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// The node has been switched on.
    Hello,
    /// The node has not begun, so it has been switched on since it was last asked.
    Stranger,
    /// The answer to the request that is under way.
    Answer(Answer<'a>),
    /// A piece of text.
    Text(&'a [u8]),
}

/// Counters of messages in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AskerCounters {
    /// Requests, without repetitions.
    pub asked: u64,
    /// Repeated requests.
    pub repeated: u64,
    /// Frames that were damaged, or no messages of this version.
    pub damaged: u64,
    /// Answers to another request than the current one, usually to repeated ones.
    pub late: u64,
}

/// The end with the radio: asks, one request at a time, and takes the answers.
#[derive(Debug)]
pub struct Asker {
    deframer: Deframer,
    /// The request that is under way, or was last.
    request: [u8; MESSAGE_MAX],
    len: usize,
    number: u16,
    waits: bool,
    counters: AskerCounters,
}

impl Asker {
    /// Nothing has been asked. The first request has the number behind `number`, which is
    /// best random: so is an answer from before no answer to it.
    pub fn new(number: u16) -> Asker {
        Asker {
            deframer: Deframer::default(),
            request: [0; MESSAGE_MAX],
            len: 0,
            number,
            waits: false,
            counters: AskerCounters::default(),
        }
    }

    /// Returns whether a request is in progress.
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Returns the counters.
    pub fn counters(&self) -> &AskerCounters {
        &self.counters
    }

    /// Asks; a request that was under way is forgotten. `false` if these news have no place
    /// in a message.
    pub fn ask(&mut self, at: Instant, news: News<'_>, put: impl FnMut(u8)) -> bool {
        let number = self.number.wrapping_add(1);
        let request = Request { number, at, news };
        let Some(len) = request.write(&mut self.request) else {
            return false;
        };
        (self.len, self.number, self.waits) = (len, number, true);
        self.counters.asked = self.counters.asked.wrapping_add(1);
        self.send(put);
        true
    }

    /// Repeats the current request, if any.
    pub fn repeat(&mut self, put: impl FnMut(u8)) {
        if !self.waits {
            return;
        }
        self.counters.repeated = self.counters.repeated.wrapping_add(1);
        self.send(put);
    }

    fn send(&self, put: impl FnMut(u8)) {
        hdlc::send(self.request.get(..self.len).unwrap_or_default(), put);
    }

    /// Abandons the current request, because the node is gone.
    pub fn give_up(&mut self) {
        self.waits = false;
        self.deframer = Deframer::default();
    }

    /// Handles a received byte; returns the message that ends with it.
    pub fn input(&mut self, byte: u8) -> Option<Heard<'_>> {
        let Asker {
            deframer,
            number,
            waits,
            counters,
            ..
        } = self;
        let reply = match deframer.input(byte)? {
            Frame::Good(message) => Reply::parse(message),
            Frame::Damaged => None,
        };
        let Some(reply) = reply else {
            counters.damaged = counters.damaged.wrapping_add(1);
            return None;
        };
        match reply {
            Reply::Hello => Some(Heard::Hello),
            Reply::Text(text) => Some(Heard::Text(text)),
            Reply::Stranger(to) if *waits && to == *number => Some(Heard::Stranger),
            Reply::Answer(answer) if *waits && answer.number == *number => {
                *waits = false;
                Some(Heard::Answer(answer))
            }
            Reply::Stranger(_) | Reply::Answer(_) => {
                counters.late = counters.late.wrapping_add(1);
                None
            }
        }
    }
}
