//! The record of a datagram that waits in its slot for a sleepy node; `indirect.rs` determines the
//! order of such datagrams.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::Address;

use crate::Note;

/// How far a suspended datagram was sent: a copy of fields of
/// [`InService`](crate::transmit::InService).
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendProgress {
    pub(crate) covered: u16,
    pub(crate) tag: u16,
    pub(crate) repeats: Option<Note>,
}

#[derive(Clone, Debug)]
pub(crate) struct Indirect {
    pub(crate) next_hop: Address,
    /// The caller's handle, if the caller wants an event when the datagram ends.
    pub(crate) handle: Option<u32>,
    pub(crate) expires: Instant,
    /// Time until which the sleepy node listens; `None` if it does not listen.
    pub(crate) awake_until: Option<Instant>,
    /// This and the next two fields state the progress of a datagram that is not being sent now, as
    /// in [`SendProgress`].
    pub(crate) covered: u16,
    pub(crate) tag: u16,
    pub(crate) repeats: Option<Note>,
    /// Number of consecutive requests after which the next frame was not delivered.
    pub(crate) vain: u8,
}

impl Indirect {
    pub(crate) fn listens(&self, now: Instant) -> bool {
        self.awake_until.is_some_and(|until| now <= until)
    }

    pub(crate) fn resume_at(&mut self, progress: SendProgress) {
        self.covered = progress.covered;
        self.tag = progress.tag;
        self.repeats = progress.repeats;
    }
}
