//! The seam for whoever looks at a run while it goes on, and changes it: a viewer, a
//! script.
//!
//! - [`World::live_sample`]: how nodes and their connections are at this moment;
//! - [`World::live_changes`]: the frames since the last call and what became of them, and
//!   the packets that the border router has exchanged with its host;
//! - [`World::command`]: kill or move a node, lose frames, add an interferer, start a
//!   transfer.
//!
//! Nothing is written down unless [`World::live_begin`] has asked for it, and nothing that
//! is written down changes the run: with and without a viewer it has the same digest, until
//! somebody commands. What is written down has a bound (4,096 frames); what is beyond
//! it is counted.

mod sample;
#[cfg(test)]
mod tests;

pub use sample::{ConnectionSample, NodeSample, Sample};

pub use crate::air::{Addressee, Changes, Fate, Frame, HostPacket, Kind, Outcome};
pub use crate::world::{Command, Refusal};

use crate::world::World;

impl World {
    /// From now on what happens on the air is written down, for
    /// [`live_changes`](Self::live_changes).
    pub fn live_begin(&mut self) {
        let tape = self.air_mut().tape_mut();
        if tape.is_none() {
            *tape = Some(Box::default());
        }
    }

    /// From now on nothing is.
    pub fn live_end(&mut self) {
        *self.air_mut().tape_mut() = None;
    }

    /// Whether it is being written down.
    pub fn is_live(&self) -> bool {
        self.air().tape().is_some()
    }

    /// Name, sending and receiving node of each flow, in the order of [`Sample::flows`].
    pub fn flows(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.oracle().names()
    }

    /// What has been written down since the last call.
    pub fn live_changes(&mut self) -> Changes {
        let now = self.now();
        let tape = self.air_mut().tape_mut().as_mut();
        tape.map(|tape| tape.take(now)).unwrap_or_default()
    }
}
