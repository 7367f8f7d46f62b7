//! Ends a run whose time no longer advances.
//!
//! A node or an application may request calls at the same instant without end, for example with
//! Python's `wake_in(0)`. The world counts these calls and ends the run at a limit for each place.

use redpoll_base::Instant;

use super::World;
use super::environment::Seat;

/// Number of calls of one place at one instant after which the run ends. The largest built-in
/// scenarios need fewer than a hundred.
const CALLS_AN_INSTANT: u32 = 10_000;

/// Number of calls of one place at the latest instant at which the place was called.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calls {
    at: Instant,
    count: u32,
}

impl Calls {
    /// Counts a call at `now`, and returns whether the limit is reached.
    fn add(&mut self, now: Instant) -> bool {
        if self.at != now {
            *self = Calls { at: now, count: 0 };
        }
        self.count = self.count.saturating_add(1);
        self.count >= CALLS_AN_INSTANT
    }
}

/// An activity that a place repeats, so that the simulated time does not advance.
#[derive(Clone, Copy, Debug)]
pub(super) enum Loop {
    Node,
    Application,
    /// The node has events or radio work without end.
    Work,
}

impl World {
    /// Returns why the run ended early: a place requested calls at one instant without end, or a
    /// simulated second had more events than the scenario allows. `None` if the run did not end
    /// early.
    pub fn stall(&self) -> Option<&str> {
        self.env.stall.as_ref().map(|(_, why)| why.as_str())
    }

    /// Returns the end of the time that was simulated: now, or the instant of the stall.
    pub(super) fn simulated_until(&self) -> Instant {
        self.env.stall.as_ref().map_or(self.env.now, |(at, _)| *at)
    }
}

impl Seat<'_> {
    pub(super) fn no_earlier(&mut self, at: Instant, what: Loop) -> Instant {
        if at > self.env.now {
            return at;
        }
        self.count_call(what);
        self.env.now
    }

    /// Counts a call of this place at this instant. Returns false once the run has ended.
    pub(super) fn count_call(&mut self, what: Loop) -> bool {
        if self.env.stall.is_some() {
            return false;
        }
        let now = self.env.now;
        if !self.timing.calls.add(now) {
            return true;
        }
        let place = self.env.scenario.place(self.index);
        let name = place.map_or_else(
            || format!("place {}", self.index),
            |place| place.name.clone(),
        );
        let asked = match what {
            Loop::Node => "requested its timer",
            Loop::Application => "has an application that requested its timer",
            Loop::Work => "had events or radio operations",
        };
        let why = format!(
            "{now:?}: {name} {asked} {CALLS_AN_INSTANT} times at this instant, so the run \
             ends here"
        );
        self.env.oracle.violated(why.clone());
        self.env.stall = Some((now, why));
        false
    }
}
