//! Random choices.

use redpoll_base::Rng;

pub(crate) struct Draw(Rng);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(Rng::named(seed, "chaos"))
    }

    /// Returns true once in `times` on average.
    pub(crate) fn one_in(&mut self, times: u32) -> bool {
        self.0.below(times) == 0
    }

    /// Returns a number from `least` to `most`, both inclusive.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.0.below_u64(most - least + 1)
    }

    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.0.below_u64(len as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.index(of.len())]
    }
}
