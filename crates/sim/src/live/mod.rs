//! Interface for viewers and scripts that observe and change a run in progress.
//!
//! - [`World::live_sample`] returns the present state of nodes and connections.
//! - [`World::live_changes`] returns the frames since the last call with their outcomes, and the
//!   packets between the border router and its host.
//! - [`World::command`] kills or moves a node, drops frames, adds an interferer, or starts a
//!   transfer or an attack.
//!
//! Recording starts with [`World::set_live`] and does not change the run: its digest stays the same
//! until the first command. Up to 4,096 frames are recorded between two calls; further frames are
//! only counted.

mod sample;
#[cfg(test)]
mod tests;

pub use sample::{ConnectionSample, NodeSample, Sample};

pub use crate::air::{Addressee, Changes, Fate, Frame, FrameClass, HostPacket, Outcome};
pub use crate::world::{Command, Refusal};

use crate::drill::Siege;
use crate::world::World;

impl World {
    /// Starts or stops recording for [`live_changes`](Self::live_changes).
    pub fn set_live(&mut self, records: bool) {
        let tape = self.air_mut().tape_mut();
        if records != tape.is_some() {
            *tape = records.then(Box::default);
        }
    }

    /// Returns the name, sending and receiving node of each flow, in the order of
    /// [`Sample::flows`].
    pub fn flows(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.oracle().names()
    }

    /// Carries out the command of a viewer. Returns a sentence that describes the effect.
    /// After a [`Refusal`] the world is unchanged.
    pub fn command(&mut self, command: &Command) -> Result<String, Refusal> {
        let said = self.obey(command)?;
        let Command::Attack { node, name } = command else {
            return Ok(said);
        };
        let Some(name) = name else {
            self.set_driver(None);
            return Ok("the attack has ended".to_owned());
        };
        let siege = Siege::on(self, name, *node as usize);
        let siege = siege.ok_or_else(|| Refusal::NoAttack(name.clone()))?;
        self.set_driver(Some(Box::new(siege)));
        Ok(format!("{said} is under attack: {name}"))
    }

    /// Returns the changes since the last call; empty while recording is stopped.
    pub fn live_changes(&mut self) -> Changes {
        let now = self.now();
        let tape = self.air_mut().tape_mut().as_mut();
        tape.map(|tape| tape.take(now)).unwrap_or_default()
    }
}
