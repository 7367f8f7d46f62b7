//! The other station: another radio of which more is asked, and less. It needs no filter and
//! does nothing by itself but what it is told; it must keep its times and see everything.

use redpoll_base::{Duration, Instant};

/// Who sent a frame.
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
    /// Who sent it.
    pub by: By,
    /// The beginning of its preamble, by the tester's clock.
    pub began: Instant,
    /// The end of its last symbol.
    pub ended: Instant,
    /// Without its FCS; `None` if it was damaged.
    pub frame: Option<Vec<u8>>,
}

/// What is sent in answer to each frame that asks for an acknowledgement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// From the end of the frame to the first symbol of the answer.
    pub after: Duration,
    /// The answer.
    pub what: What,
}

/// See [`Reply::what`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// An Imm-ACK.
    Ack {
        /// Its frame-pending bit.
        pending: bool,
        /// Its sequence number is the frame's and so many more, modulo 256.
        off_by: u8,
    },
    /// Another frame.
    Frame(Vec<u8>),
}

/// The other station.
pub trait Tester {
    /// Sends `frame`, without its FCS, after so long from now, whatever is on the air: its
    /// preamble begins then.
    fn send_after(&mut self, delay: Duration, frame: &[u8]);

    /// Sends `frame` after so long, so that no receiver has it intact: with a wrong FCS, or with
    /// another frame at the same time.
    fn spoil_after(&mut self, delay: Duration, frame: &[u8]);

    /// What it answers from now on to frames that ask for an acknowledgement; `None`, as in the
    /// beginning: nothing.
    fn reply(&mut self, reply: Option<Reply>);

    /// The next frame that has ended, its own as well.
    fn poll_seen(&mut self) -> Option<Seen>;
}
