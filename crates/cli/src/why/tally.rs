//! The cost of a cause so far, and the frames that are evidence of it.

use super::air::Place;

/// Number of events of each cause that the output names.
const SHOWN_MAX: usize = 3;
/// Number of events of each cause that are kept for plots.
const KEPT_MAX: usize = 48;

/// An event that delayed a flow.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The two frames that show the event.
    pub frames: [Place; 2],
    pub cost_us: u64,
    /// Another value in microseconds, whose meaning depends on the cause.
    pub detail_us: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub count: u64,
    pub cost_us: u64,
    pub details_us: Option<(u64, u64)>,
    /// The most costly events, the most costly one first.
    pub kept: Vec<Event>,
}

impl Tally {
    pub fn add(&mut self, event: Event) {
        self.count += 1;
        self.cost_us += event.cost_us;
        let detail = event.detail_us;
        let (least, most) = self.details_us.unwrap_or((detail, detail));
        self.details_us = Some((least.min(detail), most.max(detail)));
        self.keep([event]);
    }

    pub fn join(&mut self, other: Tally) {
        self.count += other.count;
        self.cost_us += other.cost_us;
        self.details_us = match (self.details_us, other.details_us) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        self.keep(other.kept);
    }

    /// Returns the events that the output names.
    pub fn shown(&self) -> &[Event] {
        self.kept.get(..SHOWN_MAX).unwrap_or(&self.kept)
    }

    fn keep(&mut self, events: impl IntoIterator<Item = Event>) {
        self.kept.extend(events);
        self.kept
            .sort_by_key(|event| std::cmp::Reverse(event.cost_us));
        self.kept.truncate(KEPT_MAX);
    }
}
