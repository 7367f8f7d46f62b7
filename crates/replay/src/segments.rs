//! The handover of segments in stacks whose TCP passes whole packets to the link.

use redpoll_stack::Handover;

/// The handover of segments, chosen when a node is made. The default is that of Redpoll.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Segments {
    /// [`Handover::queues`].
    pub are_queued: bool,
    /// The opposite of [`Handover::reports`].
    pub are_unreported: bool,
}

impl Handover for Segments {
    fn queues(&self) -> bool {
        self.are_queued
    }

    fn reports(&self) -> bool {
        !self.are_unreported
    }
}
