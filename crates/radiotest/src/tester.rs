//! The other station. It needs no filter and does nothing by itself, but it must keep its times
//! and receive every frame.

use redpoll_base::{Duration, Instant};

/// The sender of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The tester.
    Tester,
    /// The radio that is examined.
    Radio,
}

/// A frame that was on the air.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Station that sent the frame.
    pub by: By,
    /// The beginning of the frame's preamble, by the tester's clock.
    pub began: Instant,
    /// The end of the frame's last symbol.
    pub ended: Instant,
    /// The frame without its FCS; `None` if it was damaged.
    pub frame: Option<Vec<u8>>,
}

/// The answer to each frame that requests an acknowledgement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Delay from the end of the frame to the first symbol of the answer.
    pub after: Duration,
    /// The answer.
    pub what: What,
}

/// See [`Reply::what`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// An Imm-ACK.
    Ack {
        /// Frame-pending bit of the acknowledgement.
        pending: bool,
        /// Sequence number of the Imm-ACK less that of the answered frame, modulo 256.
        off_by: u8,
    },
    /// Another frame.
    Frame(Vec<u8>),
}

/// The other station.
pub trait Tester {
    /// Sends `frame`, without its FCS, whatever is on the air; its preamble begins after `delay`.
    fn send_after(&mut self, delay: Duration, frame: &[u8]);

    /// Sends `frame` after `delay` such that no receiver has it intact: with a wrong FCS, or with
    /// another frame at the same time.
    fn spoil_after(&mut self, delay: Duration, frame: &[u8]);

    /// Sets the answer to frames that request an acknowledgement; `None`, at first: no answer.
    fn reply(&mut self, reply: Option<Reply>);

    /// Returns the next frame that has ended, including its own.
    fn poll_seen(&mut self) -> Option<Seen>;
}
