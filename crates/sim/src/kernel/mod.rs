//! The discrete-event kernel: virtual time in whole microseconds, nodes' clocks
//! beside it, a queue of events ordered by time and then by the order in which
//! they were asked for, one stream of random numbers a purpose, and the digest of everything that
//! happened.

mod digest;
mod oscillator;
mod queue;
mod secrets;

pub use digest::Digest;
pub use oscillator::Oscillator;
pub use queue::Queue;
pub use secrets::Secrets;

use redpoll_base::Rng;

/// The seed of a run, from which every stream of random numbers comes.
#[derive(Clone, Copy, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream for one purpose.
    pub fn stream(self, purpose: &str) -> Rng {
        Rng::named(self.0, purpose)
    }

    /// The stream for one purpose of one node, by the node's index.
    ///
    /// Adding a node or a purpose does not change the numbers of others.
    pub fn node_stream(self, purpose: &str, node: usize) -> Rng {
        let mut base = Rng::named(self.0, purpose);
        Rng::stream(base.next_u64(), node as u64)
    }
}
