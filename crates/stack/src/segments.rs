//! How a node's TCP and its link work together, chosen while the program runs:
//! for simulations of other stacks.

/// When segments are made, and what TCP hears of them from the link
/// ([`Node::choose_segments`](crate::Node::choose_segments)).
///
/// The default is that a segment is made when the link has room for it, and that
/// TCP is told whether it has left.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SegmentChoice {
    queued: bool,
    unreported: bool,
}

impl SegmentChoice {
    /// A segment is made as soon as TCP may send it, and copied to a slot of
    /// 6LoWPAN, where it waits for the radio behind what came before: as in stacks
    /// whose TCP hands whole packets down. TCP takes it for sent at that moment and
    /// hears no more of it. While no slot is free no segment is made.
    #[must_use]
    pub const fn queued(self) -> Self {
        SegmentChoice {
            queued: true,
            ..self
        }
    }

    /// TCP is not told that the link has given a segment up: it takes it for sent.
    #[must_use]
    pub const fn unreported(self) -> Self {
        SegmentChoice {
            unreported: true,
            ..self
        }
    }

    pub(crate) const fn are_queued(self) -> bool {
        self.queued
    }

    pub(crate) const fn are_reported(self) -> bool {
        !self.unreported
    }
}
