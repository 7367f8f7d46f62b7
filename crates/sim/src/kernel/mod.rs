//! The discrete-event kernel: virtual time in whole microseconds, the clocks of nodes, a queue of
//! events ordered by time and then by the order of scheduling, a stream of random numbers for each
//! purpose, and a digest of all events.

mod digest;
mod oscillator;
mod queue;
mod secrets;
mod stopwatch;

pub use digest::Digest;
pub use oscillator::Oscillator;
pub use queue::Queue;
pub use secrets::Secrets;
pub use stopwatch::Stopwatch;

use redpoll_base::Rng;

/// Seed of a run, from which every stream of random numbers follows.
#[derive(Clone, Copy, Debug)]
pub struct Seed(pub u64);

impl Seed {
    pub fn stream(self, purpose: &str) -> Rng {
        Rng::named(self.0, purpose)
    }

    /// Returns the stream for one purpose of one node, by the node's index. An additional node or
    /// purpose does not change the numbers of the existing ones.
    pub fn node_stream(self, purpose: &str, node: usize) -> Rng {
        let mut base = Rng::named(self.0, purpose);
        Rng::stream(base.next_u64(), node as u64)
    }
}
