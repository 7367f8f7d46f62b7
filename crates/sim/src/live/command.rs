//! What a viewer may change.

use serde::Deserialize;

use crate::world::World;

/// Something to change. Nodes are indices.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// The node's radio is switched off.
    Kill {
        /// Which node.
        node: u32,
    },
}

/// What has been done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commanded {
    /// In words.
    pub said: String,
}

/// Why something is not done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such node.
    #[error("there is no node number {0}")]
    NoNode(u32),
}

impl World {
    /// Does what a viewer wants.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has changed then.
    pub fn command(&mut self, command: &Command) -> Result<Commanded, Refusal> {
        match *command {
            Command::Kill { node } => Err(Refusal::NoNode(node)),
        }
    }
}
