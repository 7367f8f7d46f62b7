//! The handover of segments from TCP to the link.

/// When a segment is made, and what TCP learns from the link about it.
pub trait Handover {
    /// Whether a segment is made as soon as TCP may send it, and copied to a slot of 6LoWPAN,
    /// where it waits behind earlier packets. TCP takes it for sent at that moment and learns no
    /// more about it. While no slot is free, no segment is made. By default a segment is made
    /// when the link has room for it.
    fn queues(&self) -> bool {
        false
    }

    /// Whether TCP learns that the link has given up a segment. Otherwise TCP takes it for sent.
    fn reports(&self) -> bool {
        true
    }
}

/// A segment is made when the link has room for it, and TCP learns whether it has left.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pull;

impl Handover for Pull {}
