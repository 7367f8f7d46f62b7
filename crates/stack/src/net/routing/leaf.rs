//! The way of a leaf: all packets go through a parent, one of several neighbours
//! that the leaf was told. It turns to the next one when too many frames in a row
//! fail, or when the parent does not answer a registration (RFC 6775 §5.5.3).

use redpoll_wire::ieee802154::Address;

use super::Quality;
use crate::{PARENTS_MAX, SleepyConfig};

/// A leaf's parents.
#[derive(Debug)]
pub(super) struct Leaf {
    candidates: [Option<u16>; PARENTS_MAX],
    /// Which of them is the parent.
    chosen: usize,
    /// Failures in a row.
    failures: u8,
    /// So many are too many.
    limit: u8,
}

impl Leaf {
    pub(super) fn new(config: &SleepyConfig) -> Self {
        Leaf {
            candidates: config.parents,
            chosen: 0,
            failures: 0,
            limit: config.parent_failures.max(1),
        }
    }

    /// Whether this neighbour is one of those that may be the parent.
    pub(super) fn knows(&self, link: Address) -> bool {
        let mut candidates = self.candidates.iter().flatten();
        candidates.any(|candidate| link == Address::Short(*candidate))
    }

    /// A frame or data request has ended; whether the parent is to be given up.
    pub(super) fn on_link(&mut self, quality: Quality) -> bool {
        self.failures = match quality.ok {
            true => 0,
            false => self.failures.saturating_add(1),
        };
        self.failures >= self.limit
    }

    /// The next candidate is the parent; behind the last comes the first.
    pub(super) fn next_parent(&mut self) -> Address {
        let next = self.chosen.saturating_add(1);
        let is_one = self.candidates.get(next).is_some_and(Option::is_some);
        self.chosen = if is_one { next } else { 0 };
        self.failures = 0;
        let parent = self.candidates.get(self.chosen).copied().flatten();
        parent.map_or(Address::Absent, Address::Short)
    }
}
