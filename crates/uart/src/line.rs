//! The radio that a node sees at its end of a line.

use core::task::{Context, Poll};

use redpoll_base::Instant;
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioIdentity, RadioWork};

use crate::{Answerer, Begin, News};

/// A node's end of a line.
pub trait Port {
    /// A byte that has come, if one has.
    fn read(&mut self) -> Option<u8>;

    /// Sends a byte.
    fn write(&mut self, byte: u8);

    /// The other end wants the node to begin anew: a microcontroller resets itself. Where
    /// this comes back, the radio has no events from then on.
    fn begin_anew(&mut self);
}

/// A radio at the other end of a line, with its clock: time passes here when a request says
/// so. What it can and who it is stands in [`Begin`], which comes first.
#[derive(Debug)]
pub struct LineRadio<P> {
    port: P,
    answerer: Answerer,
    caps: RadioCaps,
    now: Instant,
    /// The work that was begun last has a result.
    awaits_result: bool,
    /// There is nobody to talk to any more.
    is_over: bool,
    lost: u32,
}

impl<P: Port> LineRadio<P> {
    /// Says hello.
    pub fn new(mut port: P) -> Self {
        Answerer::hello(|byte| port.write(byte));
        LineRadio {
            port,
            answerer: Answerer::default(),
            caps: RadioCaps::default(),
            now: Instant::ZERO,
            awaits_result: false,
            is_over: false,
            lost: 0,
        }
    }

    /// Whether the node has been told to begin, and as what. It is asked for again and again
    /// until it has.
    pub fn poll_begin(&mut self) -> Option<Begin> {
        while self.receive() {
            if let Some(request) = self.answerer.request()
                && let News::Begin(begin) = request.news
            {
                (self.caps, self.now) = (begin.caps, request.at);
                return Some(begin);
            }
        }
        None
    }

    /// Whether a request has come; else there are no bytes any more.
    #[inline(never)] // size
    fn receive(&mut self) -> bool {
        let LineRadio { port, answerer, .. } = self;
        while let Some(byte) = port.read() {
            if answerer.input(byte, |byte| port.write(byte)).is_some() {
                return true;
            }
        }
        false
    }

    /// Frames and messages that made no sense.
    pub fn damaged(&self) -> u32 {
        self.answerer.damaged()
    }

    /// Works that found no room in a message, or have no place in this protocol.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// What carries the bytes.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }
}

impl<P: Port> Radio for LineRadio<P> {
    fn caps(&self) -> RadioCaps {
        self.caps
    }

    /// The other end knows who this is, and has said so.
    fn set_identity(&mut self, _: RadioIdentity) {}

    fn now(&self) -> Instant {
        self.now
    }

    fn is_ready(&self) -> bool {
        self.answerer.has_room()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        self.awaits_result = matches!(work, RadioWork::Load | RadioWork::Transmit { .. });
        if !self.answerer.add(work, frame) {
            self.lost = self.lost.wrapping_add(1);
        }
    }

    /// Answers the request whose news came last, and reads on.
    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        // What had no room is asked for at once; behind a work with a result there is no more.
        let until = match self.answerer.is_full() && !self.awaits_result {
            true => Some(self.now),
            false => until,
        };
        self.answerer.answer(until, |byte| self.port.write(byte));
        if !self.is_over
            && self.receive()
            && let Some(request) = self.answerer.request()
        {
            self.now = request.at;
            match request.news {
                News::Time => return Poll::Ready(RadioEvent::Time),
                News::Done(result) => return Poll::Ready(RadioEvent::Done(result)),
                News::Frame { info, .. } => return Poll::Ready(RadioEvent::Frame(info)),
                News::Begin(_) => {
                    self.port.begin_anew();
                    self.is_over = true;
                }
            }
        }
        // Nobody says when a byte comes.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn frame(&self) -> &[u8] {
        match self.answerer.request().map(|request| request.news) {
            Some(News::Frame { frame, .. }) => frame,
            _ => &[],
        }
    }
}
