//! The radio that a node sees at its end of a line.

use core::task::{Context, Poll};

use redpoll_base::Instant;
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioIdentity, RadioWork};

use crate::{Answerer, Begin, RequestEvent};

/// A node's end of a line.
pub trait Port {
    /// Returns a received byte, if there is one.
    fn read(&mut self) -> Option<u8>;

    /// Sends a byte.
    fn write(&mut self, byte: u8);

    /// Restarts, as the other end requests: a microcontroller resets itself. If this function
    /// returns, the radio has no further events.
    fn restart(&mut self);
}

/// A radio at the other end of a line, with the clock of that end: time advances with each request.
/// [`Begin`], the first request, contains its abilities and identity.
#[derive(Debug)]
pub struct LineRadio<P> {
    port: P,
    answerer: Answerer,
    caps: RadioCaps,
    now: Instant,
    awaits_result: bool,
    /// Whether the other end has requested a restart; the radio then has no further events.
    is_over: bool,
    lost: u32,
}

impl<P: Port> LineRadio<P> {
    /// Announces the node on the line.
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

    /// Returns the [`Begin`] that starts the node, if it has arrived. The node calls this
    /// repeatedly until then.
    pub fn poll_begin(&mut self) -> Option<Begin> {
        while self.receive() {
            if let Some(request) = self.answerer.request()
                && let RequestEvent::Begin(begin) = request.event
            {
                (self.caps, self.now) = (begin.caps, request.at);
                return Some(begin);
            }
        }
        None
    }

    /// Receives a request; returns `false` if the line has no more bytes.
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

    /// Returns the number of damaged frames and invalid messages.
    pub fn damaged(&self) -> u32 {
        self.answerer.damaged()
    }

    /// Returns the number of operations that did not fit into a message.
    pub fn lost(&self) -> u32 {
        self.lost
    }

    /// Returns the port of the line.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }
}

impl<P: Port> Radio for LineRadio<P> {
    fn caps(&self) -> RadioCaps {
        self.caps
    }

    /// Does nothing: the other end knows the identity and sent it in [`Begin`].
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

    /// Answers the latest request, and waits for the next.
    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        // If the answer is full, ask for a request at once, to send more operations. After a load
        // or a transmission, no operation may follow until its result arrives.
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
            match request.event {
                RequestEvent::Time => return Poll::Ready(RadioEvent::Time),
                RequestEvent::Done(result) => return Poll::Ready(RadioEvent::Done(result)),
                RequestEvent::Frame { info, .. } => return Poll::Ready(RadioEvent::Frame(info)),
                RequestEvent::Begin(_) => {
                    self.port.restart();
                    self.is_over = true;
                }
            }
        }
        // The port does not announce bytes, so poll again.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn frame(&self) -> &[u8] {
        match self.answerer.request().map(|request| request.event) {
            Some(RequestEvent::Frame { frame, .. }) => frame,
            _ => &[],
        }
    }
}
