//! External nodes: firmware in an emulator or on a board, whose radio is simulated.
//!
//! Simulator and firmware exchange bytes over a [`Line`], which the caller of the simulation opens.
//! The protocol is that of [`redpoll_uart`].

use std::time::Duration;

use crate::scenario::NodeSpec;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    Nothing,
    /// A peer connected at the other end. The simulator discards the bytes of the previous peer.
    Peer,
    Bytes,
    Gone,
}

/// A byte stream to an external node, with one peer at a time. After a disconnection, the line
/// waits for another peer, or connects again.
pub trait Line: Send {
    /// Sends bytes. The simulator repeats a request whose bytes are lost.
    fn send(&mut self, bytes: &[u8]);

    /// Waits at most `wait` for bytes, and appends them to `bytes`.
    fn receive(&mut self, wait: Duration, bytes: &mut Vec<u8>) -> Arrival;
}

/// Opens a line, see [`WorldOptions::lines`](crate::WorldOptions::lines).
pub(crate) type Lines<'a> = dyn Fn(&NodeSpec, &str) -> Result<Box<dyn Line>, String> + 'a;

/// Relation of virtual time to external nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// Virtual time stops until the nodes have answered, so every run is the same on any computer.
    Waits,
    /// Virtual time continues. The caller runs the world at the pace of a real clock, and
    /// [`World::run_until`] handles the bytes that have arrived.
    ///
    /// [`World::run_until`]: crate::world::World::run_until
    Goes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExternalFigures {
    pub asked: u64,
    pub repeated: u64,
    pub damaged: u64,
    pub begun: u64,
    pub gone: u64,
    /// Number of reports to the node that were dropped because its queue was full.
    pub overrun: u64,
    /// Radio operations that could not start: another was in progress, or no frame was loaded.
    pub impossible: u64,
}
