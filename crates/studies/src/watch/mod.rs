//! What is seen of a run on the air, frame by frame: header lengths, the course
//! of an exchange, and what TCP's segments show of the engines behind them.

mod exchange;
mod frame;
mod headers;
mod segments;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use redpoll_base::Instant;
use redpoll_sim::trace::{FrameTrace, TraceError, TracedFrame};
use redpoll_sim::world::World;
use redpoll_wire::sixlowpan::Contexts;

use exchange::Exchange;
use headers::Headers;
use segments::Segments;

/// What was found, by name.
pub type Found = BTreeMap<String, f64>;

/// Which frames are looked at, and for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// Bytes of each layer's headers in frames with TCP's data: least and most,
    /// as `first.mac.least` or `next.total.most`. Layers are `mac` (with the frame
    /// check sequence), `lowpan`, `ip` and `tcp`; `lowpan` is the fragment header
    /// and the first byte of a compressed header, whose others are `ip`'s. What a
    /// full frame leaves for all above the MAC is `room.least` and `room.most`, and
    /// `share` what headers take of frames that hold a whole segment of the length
    /// that is met most.
    Headers,
    /// The course of full frames from one node: milliseconds `air`, `ack` (from
    /// the frame's end to that of its acknowledgment) and `whole` (from one frame's
    /// beginning to the next one's), and their `frames`. Only frames that are
    /// acknowledged and followed by the next one without a repetition count.
    Exchange {
        /// Index of the node.
        from: usize,
    },
    /// What the segments between two neighbours show, see `Segments`.
    Segments {
        /// Index of the one that connects and sends data.
        from: usize,
        /// Index of the other.
        to: usize,
    },
}

trait Look {
    fn look(&mut self, frame: &TracedFrame<'_>, contexts: &Contexts);
    fn found(&self) -> Found;
}

/// Looks at each frame of a run.
pub struct Watch {
    look: Rc<RefCell<Box<dyn Look>>>,
}

struct Eye {
    look: Rc<RefCell<Box<dyn Look>>>,
    contexts: Contexts,
}

impl Watch {
    /// Begins to look at the frames of `world`.
    pub fn over(world: &mut World, view: View) -> Watch {
        let look: Box<dyn Look> = match view {
            View::Headers => Box::new(Headers::default()),
            View::Exchange { from } => Box::new(Exchange::of(from)),
            View::Segments { from, to } => Box::new(Segments::between(from, to)),
        };
        let look = Rc::new(RefCell::new(look));
        let prefix = world.scenario().border.prefix;
        world.add_trace(Box::new(Eye {
            look: Rc::clone(&look),
            contexts: Contexts::with_prefix(prefix),
        }));
        Watch { look }
    }

    /// What was found so far.
    pub fn found(&self) -> Found {
        self.look.borrow().found()
    }
}

impl FrameTrace for Eye {
    fn frame(&mut self, frame: &TracedFrame<'_>) -> Result<(), TraceError> {
        self.look.borrow_mut().look(frame, &self.contexts);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        Ok(())
    }
}

fn ms(from: Instant, until: Instant) -> f64 {
    (until - from).as_micros() as f64 / 1_000.0
}
