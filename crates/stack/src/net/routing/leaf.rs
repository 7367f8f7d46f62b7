//! The routes of a leaf: all packets go through a parent, one of several neighbours that the
//! program has given. The leaf changes to the next one after a number of consecutive failures, or
//! if the parent does not answer a registration (RFC 6775 §5.5.3).

use redpoll_wire::ieee802154::Address;

use super::Quality;
use crate::{PARENTS_MAX, SleepyConfig};

#[derive(Debug)]
pub(super) struct Leaf {
    candidates: [Option<u16>; PARENTS_MAX],
    chosen: usize,
    failures: u8,
    /// The number of consecutive failures after which the leaf changes its parent.
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

    pub(super) fn knows(&self, link: Address) -> bool {
        let mut candidates = self.candidates.iter().flatten();
        candidates.any(|candidate| link == Address::Short(*candidate))
    }

    /// Processes the result of a frame or data request. Returns whether the parent changes.
    pub(super) fn on_link(&mut self, quality: Quality) -> bool {
        self.failures = match quality.ok {
            true => 0,
            false => self.failures.saturating_add(1),
        };
        self.failures >= self.limit
    }

    /// Makes the next candidate the parent; after the last one, the first.
    pub(super) fn next_parent(&mut self) -> Address {
        let next = self.chosen.saturating_add(1);
        let is_one = self.candidates.get(next).is_some_and(Option::is_some);
        self.chosen = if is_one { next } else { 0 };
        self.failures = 0;
        let parent = self.candidates.get(self.chosen).copied().flatten();
        parent.map_or(Address::Absent, Address::Short)
    }
}
