//! The trait that every radio implements, so that one driver (`Node::drive` of `redpoll-stack`) and
//! one test suite (the crate `redpoll-radiotest`) serve all radios.

use core::task::{Context, Poll};

use redpoll_base::Instant;

use crate::{MacConfig, RadioCaps, RadioResult, RadioWork, RxInfo};

/// The addresses whose frames a radio accepts, and acknowledges if it sends Imm-ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadioIdentity {
    /// PAN identifier. Frames to 0xffff are for all PANs.
    pub pan_id: u16,
    /// Short address; 0xfffe and 0xffff mean none.
    pub short: u16,
    /// EUI-64 in printed order; the order on the air is the reverse.
    pub extended: [u8; 8],
}

/// The addresses of a MAC, for its radio.
impl From<&MacConfig> for RadioIdentity {
    fn from(config: &MacConfig) -> Self {
        RadioIdentity {
            pan_id: config.pan_id,
            short: config.short,
            extended: config.extended,
        }
    }
}

/// An event of a radio, or of its clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RadioEvent {
    /// The requested time was reached.
    Time,
    /// An intact frame has arrived; [`Radio::frame`] returns it.
    Frame(RxInfo),
    /// The last started job that ends in a result has ended.
    Done(RadioResult),
}

/// A radio, and the clock of all times at this interface.
///
/// A driver, such as `Node::drive` of `redpoll-stack`, passes the jobs of a [`Mac`](crate::Mac) or
/// a node to the radio, and waits for the radio's events. `docs/porting.md` states the requirements
/// of an implementation, and `redpoll-radiotest` tests them.
///
/// A radio need not deliver frames that its address filter rejects. It must not deliver a frame
/// with a wrong check sequence, nor, with [`auto_ack`](RadioCaps::auto_ack), the Imm-ACKs of the
/// frames that it sends.
pub trait Radio {
    /// Returns the radio's functions, which do not change.
    fn caps(&self) -> RadioCaps;

    /// Sets the radio's addresses. Until then it accepts no frame.
    fn set_identity(&mut self, identity: RadioIdentity);

    /// Returns the time, in microseconds since power-on or any other origin. It never decreases.
    fn now(&self) -> Instant;

    /// Returns whether a job may start now. Always true, except for a radio at the other end of a
    /// serial line. Such a radio sends requests, and receives jobs only in the answers to them. For
    /// it, this function returns true if a request waits and the answer has room for a job.
    fn is_ready(&self) -> bool {
        true
    }

    /// Starts `work` and returns at once. `frame`, at most 125 bytes without the FCS, is the
    /// content for [`RadioWork::Load`]; other jobs ignore it. Jobs with a result are sequential:
    /// the next one starts after [`RadioEvent::Done`]. The others may start at any time.
    fn start(&mut self, work: RadioWork, frame: &[u8]);

    /// Returns the radio's next event, or [`RadioEvent::Time`] from the time `until` on. If there
    /// is none yet, returns [`Poll::Pending`], and wakes `cx` later. A caller without an executor
    /// polls repeatedly with `Context::from_waker(Waker::noop())`, and lets the processor sleep
    /// between calls.
    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent>;

    /// Returns the frame of the last [`RadioEvent::Frame`], without its FCS, until the next call of
    /// [`Self::poll_event`].
    fn frame(&self) -> &[u8];
}
