//! Offers a [`Radio`] over a line, such as a board's radio that another computer uses. This is
//! the radio's end.

use core::task::{Context, Poll, ready};

use redpoll_base::Instant;
use redpoll_mac::{Radio, RadioEvent, RadioIdentity};

use crate::{Asker, AskerEvent, Begin, RequestEvent, Work};

/// A radio that is offered over a line.
#[derive(Debug)]
pub struct LineServer<R> {
    radio: R,
    asker: Asker,
    begin: Begin,
    has_begun: bool,
    /// The latest time of the next request.
    wakes_at: Option<Instant>,
}

impl<R: Radio> LineServer<R> {
    /// Offers `radio` to a node that begins with `begin`, except for `caps`, which are those of the
    /// [radio](Radio::caps). The request numbers begin at `number` + 1; `number` should be random
    /// (see [`Asker::new`]).
    pub fn new(mut radio: R, begin: Begin, number: u16, put: impl FnMut(u8)) -> Self {
        radio.set_identity(RadioIdentity {
            pan_id: begin.pan_id,
            short: begin.short,
            extended: begin.extended,
        });
        let caps = radio.caps();
        let mut server = LineServer {
            radio,
            asker: Asker::new(number),
            begin: Begin { caps, ..begin },
            has_begun: false,
            wakes_at: None,
        };
        server.begin(put);
        server
    }

    fn begin(&mut self, put: impl FnMut(u8)) {
        self.has_begun = false;
        self.asker
            .ask(self.radio.now(), RequestEvent::Begin(self.begin), put);
    }

    /// Handles a byte from the node.
    pub fn input(&mut self, byte: u8, put: impl FnMut(u8)) {
        match self.asker.input(byte) {
            Some(AskerEvent::Answer(answer)) => {
                self.has_begun = true;
                self.wakes_at = answer.wakes_at;
                for work in answer.works {
                    match work {
                        Work::Load(frame) => {
                            self.radio.start(redpoll_mac::RadioWork::Load, frame);
                        }
                        Work::Order(work) => self.radio.start(work, &[]),
                    }
                }
            }
            Some(AskerEvent::Hello | AskerEvent::NotBegun) if self.has_begun => self.begin(put),
            // Repeat the request, because the node may have been switched on after the request.
            Some(AskerEvent::Hello | AskerEvent::NotBegun) => self.asker.repeat(put),
            Some(AskerEvent::Text(_)) | None => {}
        }
    }

    /// Reports the next event to the node, if it has answered the previous one; ready when an
    /// event was reported.
    pub fn poll(&mut self, cx: &mut Context<'_>, put: impl FnMut(u8)) -> Poll<()> {
        if self.asker.waits() {
            return Poll::Pending;
        }
        let event = ready!(self.radio.poll_event(cx, self.wakes_at));
        let event = match event {
            RadioEvent::Time => RequestEvent::Time,
            RadioEvent::Done(result) => RequestEvent::Done(result),
            RadioEvent::Frame(info) => RequestEvent::Frame {
                info,
                frame: self.radio.frame(),
            },
        };
        self.asker.ask(self.radio.now(), event, put);
        Poll::Ready(())
    }

    /// Repeats the current request. Call it when the node has not answered for about 300 ms.
    pub fn repeat(&mut self, put: impl FnMut(u8)) {
        self.asker.repeat(put);
    }
}
