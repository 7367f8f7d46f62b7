//! Nodes that run elsewhere: firmware in an emulator or on a board, whose radio is here.
//!
//! Bytes between the two go over a [`Line`], which whoever runs the simulation opens; what
//! they say is the protocol of [`redpoll_uart`].

use std::time::Duration;

use crate::scenario::NodeSpec;

/// An arrival over a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrival {
    /// Nothing, within the time given.
    Nothing,
    /// Somebody has come to its other end; what was said before is gone with whoever said it.
    Peer,
    /// Bytes.
    Bytes,
    /// Whoever was at its other end has gone.
    Gone,
}

/// A stream of bytes to a node elsewhere, and back. It has one peer at a time; when that one
/// has gone it waits for another, or tries to reach it again.
pub trait Line: Send {
    /// Sends bytes. Bytes that cannot be sent are lost: the request is repeated.
    fn send(&mut self, bytes: &[u8]);

    /// Appends what has come to `bytes`, after waiting for it for at most `wait`.
    fn receive(&mut self, wait: Duration, bytes: &mut Vec<u8>) -> Arrival;
}

/// Opens lines.
pub trait Lines {
    /// Opens the line of `node`, whose address is `line`.
    ///
    /// # Errors
    /// What is wrong with it, in a line.
    fn open(&self, node: &NodeSpec, line: &str) -> Result<Box<dyn Line>, String>;
}

/// Opens nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoLines;

impl Lines for NoLines {
    fn open(&self, _: &NodeSpec, _: &str) -> Result<Box<dyn Line>, String> {
        Err("this command cannot simulate nodes of the kind external; allowed: redpoll up, redpoll run".into())
    }
}

/// How time goes on beside nodes that run elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// It stands still until they have answered, so that a run is the same each time,
    /// whatever computer they run on.
    Waits,
    /// It goes on: the caller lets the world run by a clock, and lets it
    /// [hear](crate::world::World::hear_lines) what has come.
    Goes,
}

/// Figures of a node elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExternalFigures {
    /// Requests to it, by the protocol.
    pub asked: u64,
    /// Requests repeated.
    pub repeated: u64,
    /// Frames on the line that were damaged.
    pub damaged: u64,
    /// How often it has begun.
    pub begun: u64,
    /// How often it has gone.
    pub gone: u64,
    /// Reports for it that found no room.
    pub overrun: u64,
    /// Works that its radio could not do: there was another, or no frame.
    pub impossible: u64,
}
