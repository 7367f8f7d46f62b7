//! The state that all occupants of a world share, and an occupant's view of it during a call.

use std::sync::Arc;

use redpoll_base::Instant;
use redpoll_wire::ieee802154::{FrameHeader, FrameType};

use super::stall::{Calls, Loop};
use super::{Event, PrintedLine};
use crate::air::{Air, AirWork};
use crate::external::Pace;
use crate::kernel::{Digest, Oscillator, Queue, Seed};
use crate::oracle::Oracle;
use crate::scenario::Scenario;

/// Time, future events, the air, and the observers of a run.
pub(super) struct Environment {
    pub(super) now: Instant,
    pub(super) queue: Queue<Event>,
    pub(super) air: Air,
    pub(super) oracle: Oracle,
    pub(super) digest: Digest,
    pub(super) scenario: Arc<Scenario>,
    pub(super) seed: Seed,
    pub(super) pace: Pace,
    /// Time and reason of an early end of the run.
    pub(super) stall: Option<(Instant, String)>,
    /// Lines printed by firmware of other stacks and by external nodes.
    pub(super) printed: Vec<PrintedLine>,
    pub(super) notices: Vec<PrintedLine>,
    /// Failures of guests' firmware.
    pub(super) failed: Vec<PrintedLine>,
}

pub(super) struct Timing {
    pub(super) clock: Oscillator,
    /// Earliest wake-up in the queue. The occupant may since have requested a later one.
    pub(super) wakes_at: Instant,
    /// Number of calls at the latest instant at which the place was called.
    pub(super) calls: Calls,
}

impl Timing {
    pub(super) fn new(clock: Oscillator) -> Timing {
        Timing {
            clock,
            wakes_at: Instant::FAR_FUTURE,
            calls: Calls::default(),
        }
    }

    /// Returns whether a wake-up is still current: an earlier one may have replaced it.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.wakes_at <= now;
        if is_due {
            self.wakes_at = Instant::FAR_FUTURE;
        }
        is_due
    }
}

/// A place during a call of its occupant.
pub(super) struct Seat<'a> {
    pub(super) index: usize,
    pub(super) timing: &'a mut Timing,
    pub(super) env: &'a mut Environment,
}

impl Seat<'_> {
    pub(super) fn local_now(&self) -> Instant {
        self.timing.clock.local(self.env.now)
    }

    pub(super) fn start_work(&mut self, work: AirWork, frame: &[u8]) {
        let env = &mut *self.env;
        env.air
            .start_work(env.now, self.index, work, frame, &mut env.queue);
    }

    /// Records the payload of a frame that this place has encrypted and is about to load.
    pub(super) fn on_sealed(&mut self, frame: &[u8], payload: &[u8]) {
        if let Ok((header, _)) = FrameHeader::parse(frame)
            && header.frame_type == FrameType::Data
        {
            self.env.air.on_sealed(self.index, header.dst, payload);
        }
    }

    /// Records that this place encrypted a frame with a counter that does not exceed `latest`: the
    /// nonce may be one that was in use before.
    pub(super) fn on_repeated_counter(&mut self, latest: u32, counter: u32) {
        let env = &mut *self.env;
        let node = env.scenario.nodes.get(self.index);
        let name = node.map_or("the host", |node| node.name.as_str());
        env.oracle.violated(format!(
            "{:?}: {name} encrypted a frame with frame counter {counter} after a frame with frame \
             counter {latest}",
            env.now
        ));
    }

    /// Schedules a wake-up at `at` by the clock of this place, unless an earlier one is queued. A
    /// time in the past means now.
    pub(super) fn wake_at(&mut self, at: Instant) {
        self.wake_at_global(self.timing.clock.global(at));
    }

    /// Schedules a wake-up like [`wake_at`](Self::wake_at), by the clock of the world.
    pub(super) fn wake_at_global(&mut self, at: Instant) {
        if at < self.timing.wakes_at {
            let at = self.no_earlier(at, Loop::Node);
            self.timing.wakes_at = at;
            let node = self.index as u32;
            self.env.queue.schedule(at, Event::Wake { node });
        }
    }
}
