//! The end with the radio: sends requests one at a time, and receives the answers.

use redpoll_base::Instant;

use crate::hdlc::{self, Deframer, Frame};
use crate::{Answer, MESSAGE_MAX, Reply, Request, RequestEvent};

/// A message of the node.
#[derive(Clone, Copy, Debug)]
pub enum AskerEvent<'a> {
    /// The node has been switched on.
    Hello,
    /// The node received a request before [`Begin`](crate::Begin), so it has restarted.
    NotBegun,
    /// The answer to the current request.
    Answer(Answer<'a>),
    /// Text for the operator.
    Text(&'a [u8]),
}

/// Counters of messages in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AskerCounters {
    /// Requests, without repetitions.
    pub asked: u64,
    /// Repeated requests.
    pub repeated: u64,
    /// Damaged frames, and messages that are invalid or of another version.
    pub damaged: u64,
    /// Answers to a request other than the current one, usually the second answer to a repeated
    /// request.
    pub late: u64,
}

/// The end with the radio: sends requests one at a time, and receives the answers.
#[derive(Debug)]
pub struct Asker {
    deframer: Deframer,
    request: [u8; MESSAGE_MAX],
    len: usize,
    number: u16,
    waits: bool,
    counters: AskerCounters,
}

impl Asker {
    /// Creates the radio's end. The first request has the message number `number` + 1. `number`
    /// should be random, so that an old answer is not mistaken for that of the first request.
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

    /// Returns the counters, which begin at 0 with [`Asker::new`].
    pub fn counters(&self) -> &AskerCounters {
        &self.counters
    }

    /// Sends a request, and forgets an unanswered one. If the frame of the event is too long, does
    /// neither and returns `false`.
    pub fn ask(&mut self, at: Instant, event: RequestEvent<'_>, put: impl FnMut(u8)) -> bool {
        let number = self.number.wrapping_add(1);
        let request = Request { number, at, event };
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

    /// Abandons the current request because the node no longer answers.
    pub fn give_up(&mut self) {
        self.waits = false;
        self.deframer = Deframer::default();
    }

    /// Handles a received byte; returns the message that ends with it.
    pub fn input(&mut self, byte: u8) -> Option<AskerEvent<'_>> {
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
            Reply::Hello => Some(AskerEvent::Hello),
            Reply::Text(text) => Some(AskerEvent::Text(text)),
            Reply::NotBegun(to) if *waits && to == *number => Some(AskerEvent::NotBegun),
            Reply::Answer(answer) if *waits && answer.number == *number => {
                *waits = false;
                Some(AskerEvent::Answer(answer))
            }
            Reply::NotBegun(_) | Reply::Answer(_) => {
                counters.late = counters.late.wrapping_add(1);
                None
            }
        }
    }
}
