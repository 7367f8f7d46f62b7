//! Nodes with the firmware of another stack: the calls of a simulation, and their results.
//!
//! The firmware never blocks and reads no clock: it is run, says what it wants and when it
//! is to run again. A program that can load such nodes passes a [`Loader`] to
//! [`WorldBuilder::loader`](crate::world::WorldBuilder::loader); this crate has none, since to
//! load one takes unsafe code.

use std::path::Path;

use redpoll_base::{Duration, Instant};
use redpoll_mac::RxInfo;

/// Why a node is run.
#[derive(Clone, Copy, Debug)]
pub enum Occasion<'a> {
    /// It has asked for this time.
    Due,
    /// Its radio begins to follow a frame.
    FrameBegins {
        /// The radio's information about it.
        info: RxInfo,
    },
    /// The frame that its radio followed has ended.
    FrameEnds {
        /// The frame without its check sequence; `None` if it is destroyed.
        frame: Option<&'a [u8]>,
    },
    /// The frame that it had its radio send has ended.
    Sent,
}

/// The wishes of a node after it has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wish {
    /// When it is to run again at the latest, by its own clock; `None` if only its
    /// radio can have it run.
    pub wakes_at: Option<Instant>,
    /// Its receiver is on.
    pub listens: bool,
    /// [`ForeignNode::frame`] is to be sent from now on.
    pub sends: bool,
}

/// A node whose firmware is not ours.
pub trait ForeignNode: Send {
    /// Lets the node run at `now` by its own clock until it waits for something. `busy`
    /// says whether there is energy in the channel.
    fn run(&mut self, now: Instant, busy: bool, occasion: Occasion<'_>) -> Wish;

    /// The frame that it sends, without its check sequence.
    fn frame(&self) -> &[u8];

    /// Moves what it has printed since the last call to the end of `text`.
    fn take_text(&mut self, text: &mut Vec<u8>);
}

/// The specification of a node.
#[derive(Clone, Copy, Debug)]
pub struct ForeignSpec<'a> {
    /// The name of the node in the scenario.
    pub name: &'a str,
    /// The file with its firmware.
    pub module: &'a Path,
    /// The number from which it makes its addresses.
    pub number: u16,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Time between two checks of a condition that the firmware waits for.
    pub quantum: Duration,
    /// Longest real time for which the firmware may run without waiting.
    pub patience: std::time::Duration,
}

/// Loads nodes. Each call gives a node of its own, which shares nothing with others.
pub trait Loader {
    /// Loads the node `spec`.
    ///
    /// # Errors
    /// What is wrong with the module, in a line.
    fn load(&self, spec: &ForeignSpec<'_>) -> Result<Box<dyn ForeignNode>, String>;
}

/// Loads nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&self, _: &ForeignSpec<'_>) -> Result<Box<dyn ForeignNode>, String> {
        Err("nodes of the kind module are not in this build; allowed: a program that was built with the feature `modules`".to_owned())
    }
}

/// The extended address of the node with this number, as its firmware makes it.
pub(crate) const fn eui64(number: u16) -> [u8; 8] {
    let [high, low] = number.to_be_bytes();
    [high, low, high, low, high, low, high, low]
}
