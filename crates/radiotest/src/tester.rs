//! The tester, which is the other station. It needs no address filter and sends only on request,
//! but it must keep the requested times and receive every frame.

use redpoll_base::{Duration, Instant};

/// The station that sent a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The tester.
    Tester,
    /// The radio under test.
    Radio,
}

/// A frame that was on the air.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Station that sent the frame.
    pub by: By,
    /// Start of the frame's preamble by the tester's clock.
    pub began: Instant,
    /// End of the frame's last symbol by the tester's clock.
    pub ended: Instant,
    /// The frame without its FCS; `None` if it was damaged.
    pub frame: Option<Vec<u8>>,
}

/// The tester's reply to each frame that requests an acknowledgment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Delay from the end of the frame to the start of the reply.
    pub after: Duration,
    /// The frame that is sent as reply.
    pub what: What,
}

/// The frame that is sent as reply, see [`Reply::what`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// An Imm-ACK.
    Ack {
        /// Frame-pending bit of the acknowledgement.
        pending: bool,
        /// Sequence number of the Imm-ACK minus that of the acknowledged frame, modulo 256.
        off_by: u8,
    },
    /// Another frame.
    Frame(Vec<u8>),
}

/// The other station.
pub trait Tester {
    /// Sends `frame`, given without FCS, even if the channel is busy; it begins after `delay`.
    fn send_after(&mut self, delay: Duration, frame: &[u8]);

    /// Sends `frame` after `delay` so that every receiver gets it damaged: with a wrong FCS, or
    /// together with another frame.
    fn spoil_after(&mut self, delay: Duration, frame: &[u8]);

    /// Sets the reply to frames that request an acknowledgment; initially `None`, which sends none.
    fn reply(&mut self, reply: Option<Reply>);

    /// Returns the next complete frame, including frames that the tester sent.
    fn poll_seen(&mut self) -> Option<Seen>;
}
