//! The seam between a radio and the driver of a node: one trait, so one driver and one test
//! (the crate `redpoll-radiotest`) serve all radios.

use core::task::{Context, Poll};

use redpoll_base::Instant;

use crate::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};

/// Whose frames a radio takes, and acknowledges if it does so by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadioIdentity {
    /// PAN identifier. Frames to 0xffff are for all PANs.
    pub pan_id: u16,
    /// Short address; 0xfffe and 0xffff: none.
    pub short: u16,
    /// EUI-64, first byte as printed: the reverse of the order on the air.
    pub extended: [u8; 8],
}

impl MacConfig {
    /// The addresses as a radio wants them.
    pub const fn identity(&self) -> RadioIdentity {
        RadioIdentity {
            pan_id: self.pan_id,
            short: self.short,
            extended: self.extended,
        }
    }
}

/// An event of a radio, or of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioEvent {
    /// The time has come that was waited for.
    Time,
    /// A frame has arrived intact: [`Radio::frame`].
    Frame(RxInfo),
    /// The work is done that was begun last and has a result.
    Done(RadioResult),
}

/// A radio, and the clock that its times are measured by.
///
/// A driver gives it the works of a [`Mac`](crate::Mac) or a node, and waits for what comes:
/// `Node::drive` of `redpoll-stack` is such a driver. `docs/porting.md` says what an
/// implementation must look after, `redpoll-radiotest` whether it does.
///
/// A radio may keep to itself what its address filter keeps back. It must not hand over a
/// frame whose check sequence was wrong, nor, with
/// [`auto_ack`](RadioCaps::auto_ack), the acknowledgements that it waited for.
pub trait Radio {
    /// Its own functions. They do not change.
    fn caps(&self) -> RadioCaps;

    /// Sets the radio's addresses. Until then it accepts no frame.
    fn set_identity(&mut self, identity: RadioIdentity);

    /// The time, in microseconds since it was switched on or any other moment. It never goes
    /// back.
    fn now(&self) -> Instant;

    /// Whether a work may begin now. Always true, except for radios at the end of a line, which
    /// accept works only in an answer to a message.
    fn is_ready(&self) -> bool {
        true
    }

    /// Begins `work` and returns at once. `frame`, at most 125 bytes without the FCS, is the
    /// content for [`RadioWork::Load`]; other works ignore it.
    ///
    /// Works that have a result come one at a time: the next one after [`RadioEvent::Done`].
    /// The others may come at any time.
    fn start(&mut self, work: RadioWork, frame: &[u8]);

    /// Returns the first event, or that the time is `until`; `None` waits for the radio alone.
    /// If there is neither, it wakes `cx` later.
    ///
    /// A caller without an executor polls repeatedly with `Context::from_waker(Waker::noop())`,
    /// and lets the processor rest between calls.
    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent>;

    /// The frame of the last [`RadioEvent::Frame`], without its FCS, until the next call of
    /// [`Self::poll_event`].
    fn frame(&self) -> &[u8];
}
