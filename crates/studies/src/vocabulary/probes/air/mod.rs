//! Probes of the frames on the air: header lengths, times of an exchange, and the behaviour of TCP
//! that segments show.

mod exchange;
mod frame;
mod headers;
mod pieces;
mod segments;

use std::cell::RefCell;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::World;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_wire::sixlowpan::Contexts;

use redpoll_experiments::Look;

pub use exchange::{Course, Exchange};
pub use headers::{Bytes, HeaderBytes, Headers, Range};
pub use pieces::Pieces;
pub use segments::{Seen, Segments};

/// An observer of each frame of a run, which returns its result at the end.
trait Sight: 'static {
    type Found;

    fn frame(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts);
    fn found(&self) -> Self::Found;
}

struct Eye<S> {
    sight: Rc<RefCell<S>>,
    contexts: Contexts,
}

struct Watch<S>(Rc<RefCell<S>>);

fn watch<S: Sight>(world: &mut World, sight: S) -> Box<dyn Look<S::Found>> {
    let sight = Rc::new(RefCell::new(sight));
    let prefix = world.scenario().border.prefix;
    world.add_trace(Box::new(Eye {
        sight: Rc::clone(&sight),
        contexts: Contexts::with_prefix(prefix),
    }));
    Box::new(Watch(sight))
}

impl<S: Sight> FrameTrace for Eye<S> {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        self.sight.borrow_mut().frame(frame, &self.contexts);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

impl<S: Sight> Look<S::Found> for Watch<S> {
    fn end(self: Box<Self>, _: &mut World) -> S::Found {
        self.0.borrow().found()
    }
}

fn ms(from: Instant, until: Instant) -> f64 {
    (until - from).as_micros() as f64 / 1_000.0
}
