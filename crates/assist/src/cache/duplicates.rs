//! Duplicate acknowledgments that the cache answers with a copy (DTC).

use redpoll_base::{Instant, Memory as Kinds};

use super::Cache;
use super::held::Stage;
use super::packet::{Beyond, Segment};

impl<M: Kinds> Cache<M> {
    /// Returns whether to drop a duplicate acknowledgment, because it requests only a copied
    /// segment. The first one makes the copy due at once. Further ones are dropped until the copy
    /// is released.
    pub(super) fn stands_in(&mut self, now: Instant, flow: usize, segment: &Segment) -> bool {
        if !self.params.answers_duplicates {
            return false;
        }
        let to = !segment.from_upper;
        let is_it = |it: &super::Copied| {
            let fills = match segment.beyond {
                Beyond::Nothing => true,
                Beyond::From(left) => left == it.end,
                Beyond::Else => false,
            };
            it.is_of(flow, to) && Some(it.seq) == segment.ack && fills
        };
        let found = self.held.iter().find(|(_, it)| is_it(it));
        let Some(place) = found.map(|(place, _)| place) else {
            return false;
        };
        if let Some(copied) = self.held.get_mut(place)
            && copied.stage == Stage::Passed
        {
            (copied.due, copied.deadline) = (now, now);
        }
        true
    }
}
