//! What is asked of a driver, and of a clock.

use core::task::{Context, Poll};

use redpoll_base::Instant;
use redpoll_mac::RxInfo;

/// How a channel is assessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assessment {
    /// By what the standard has for it: carrier, energy, or both.
    Channel,
    /// In a way in which it is always free: for frames that are sent without an assessment,
    /// where the driver does not leave it out.
    AlwaysFree,
}

/// A driver with a receiver and a transmitter. Frames have no FCS here: the chip makes and
/// checks it.
pub trait Transceiver {
    /// Receives one frame; whether its FCS was right. Whoever drops this before it has come to
    /// its end stops the receiver, and what it was receiving is lost.
    fn receive(&mut self) -> impl Future<Output = bool>;

    /// The frame that was received last and intact, until the next [`Self::receive`] or
    /// [`Self::try_send`]; `None` if its length is none that a frame has, 125 bytes at most.
    fn received(&self) -> Option<(&[u8], RxInfo)>;

    /// Has channels assessed so from now on.
    fn assess_by(&mut self, assessment: Assessment);

    /// Assesses the channel, for 128 µs as the standard has it, and sends `frame` if it is
    /// free; whether it was. Comes to its end when the last bit has left. It is not dropped
    /// before that.
    fn try_send(&mut self, frame: &[u8]) -> impl Future<Output = bool>;

    /// Switches receiver and transmitter off, until the next [`Self::receive`] or
    /// [`Self::try_send`].
    fn disable(&mut self);
}

/// A clock, and an alarm by it.
pub trait Ticker {
    /// The time, since any moment. It never goes back.
    fn now(&self) -> Instant;

    /// Ready when [`Self::now`] is not before `at`; else wakes whom `cx` says when it is. The
    /// last call counts.
    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()>;
}
