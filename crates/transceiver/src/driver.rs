//! The required functions of a driver and of a clock.

use core::task::{Context, Poll};

use redpoll_base::Instant;
use redpoll_mac::RxInfo;

/// Method of the channel assessment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assessment {
    /// The standard's methods: carrier, energy, or both.
    Channel,
    /// The channel always counts as free: for frames that are sent without an assessment, if the
    /// driver cannot leave the assessment out.
    AlwaysFree,
}

/// A driver with a receiver and a transmitter. Frames lack the FCS: the chip makes and checks it.
pub trait Transceiver {
    /// Receives one frame and returns whether its FCS was correct. Dropping the future stops
    /// the receiver and loses the frame.
    fn receive(&mut self) -> impl Future<Output = bool>;

    /// Returns the last intact frame, until the next [`Self::receive`] or [`Self::try_send`];
    /// `None` if its length is invalid. A frame has at most 125 bytes.
    fn received(&self) -> Option<(&[u8], RxInfo)>;

    /// Sets the method of channel assessments from now on.
    fn assess_by(&mut self, assessment: Assessment);

    /// Assesses the channel for 128 µs, as the standard requires, and sends `frame` if the channel
    /// is clear. Returns whether `frame` was sent. Completes when the last bit has left; the caller
    /// does not drop the future earlier.
    fn try_send(&mut self, frame: &[u8]) -> impl Future<Output = bool>;

    /// Switches receiver and transmitter off, until the next [`Self::receive`] or
    /// [`Self::try_send`].
    fn disable(&mut self);
}

/// A clock, and an alarm at a time of this clock.
pub trait Ticker {
    /// Returns the time since an arbitrary moment. It never decreases.
    fn now(&self) -> Instant;

    /// Returns ready when [`Self::now`] has reached `at`; otherwise `cx` is woken at that time.
    /// Each call replaces the time of the previous call.
    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()>;
}
