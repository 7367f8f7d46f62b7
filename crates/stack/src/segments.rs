//! The handover of segments from TCP to the link.

/// Decides when the node makes a segment, and whether TCP learns that the link has lost a segment.
pub trait Handover {
    /// Returns whether the node makes a segment as soon as TCP may send it. The segment is then
    /// copied to a slot of 6LoWPAN and waits there behind earlier packets. TCP considers it sent at
    /// that moment, and learns no more about it. Without a free slot, no segment is made. By
    /// default a segment is made when the link has room for it.
    fn queues(&self) -> bool {
        false
    }

    /// Returns whether TCP learns that the link gave up a segment. If not, TCP considers it sent.
    fn reports(&self) -> bool {
        true
    }
}

/// Makes a segment when the link has room for it, and reports to TCP whether the link has sent it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Pull;

impl Handover for Pull {}
