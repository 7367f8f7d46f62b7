//! Nodes with the firmware of another stack: the calls of the firmware by the simulator.
//!
//! The firmware never blocks and reads no clock: a call runs it and returns its requests and the
//! time of the next call. A program that can load such nodes passes
//! [`WorldOptions::loader`](crate::world::WorldOptions::loader). This crate has no loader, because
//! loading firmware needs unsafe code.

use std::path::Path;

use redpoll_base::{Duration, Instant};
use redpoll_mac::RxInfo;

#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// The node's clock reached [`Wish::wakes_at`].
    Due,
    /// The node's radio begins to receive a frame.
    FrameBegins { info: RxInfo },
    FrameEnds {
        /// The frame without its check sequence; `None` if it was damaged.
        frame: Option<&'a [u8]>,
    },
    /// The node's transmission has ended.
    Sent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// Latest time of the next run by the node's clock; `None` to wait for the radio only.
    pub wakes_at: Option<Instant>,
    pub listens: bool,
    /// Whether the node begins to send [`ForeignNode::frame`] now.
    pub sends: bool,
}

/// A node with the firmware of another stack.
pub trait ForeignNode: Send {
    /// Runs the node at `now` by its own clock until it waits. `busy`: the channel is busy.
    fn run(&mut self, now: Instant, busy: bool, occasion: Occasion<'_>) -> Wish;

    /// Returns the frame to send, without its check sequence.
    fn frame(&self) -> &[u8];

    /// Moves the output since the last call to the end of `text`.
    fn take_text(&mut self, text: &mut Vec<u8>);
}

#[derive(Clone, Copy, Debug)]
pub struct ForeignSpec<'a> {
    pub name: &'a str,
    /// File with the firmware of the node.
    pub module: &'a Path,
    /// Number from which the node derives its addresses.
    pub number: u16,
    pub seed: u64,
    /// Time between two checks of a condition that the firmware waits for.
    pub quantum: Duration,
    /// Longest real time for which the firmware may run without waiting.
    pub patience: std::time::Duration,
}

/// Loads a node, see [`WorldOptions::loader`](crate::WorldOptions::loader).
pub(crate) type Loader<'a> = dyn Fn(&ForeignSpec<'_>) -> Result<Box<dyn ForeignNode>, String> + 'a;

/// Returns the extended address that the firmware derives from its node number.
pub(crate) const fn eui64(number: u16) -> [u8; 8] {
    let [high, low] = number.to_be_bytes();
    [high, low, high, low, high, low, high, low]
}
