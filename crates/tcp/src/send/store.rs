//! What every send store can do.

use redpoll_base::checksum::Checksum;

use crate::{SeqNum, SeqRange};
use redpoll_base::copy;

/// Holds the bytes that wait to be sent or acknowledged.
///
/// The connection asks for bytes by sequence number, each as often as it is
/// sent, and frees them once they are acknowledged and no segment with the link
/// needs them: the link reads a segment's bytes in the moment it sends them, so
/// until then they must stay where they are.
///
/// The application fills the store by ways of its own: [`SendRing`] copies into
/// a buffer, [`Chain`] keeps what it is given.
///
/// [`SendRing`]: crate::SendRing
/// [`Chain`]: crate::Chain
pub trait SendStore {
    /// Empties the store; the next byte given to it will have number `start`.
    fn begin(&mut self, start: SeqNum);

    /// The sequence numbers of the bytes that are kept.
    fn range(&self) -> SeqRange;

    /// Shows the bytes of `range` that are kept to `see`, in order, in pieces as
    /// they lie in memory. `range` never begins before what is kept.
    fn show(&self, range: SeqRange, see: impl FnMut(&[u8]));

    /// Frees the bytes before `seq`. Whether the application gets something
    /// back by that: room, or a buffer.
    fn free_before(&mut self, seq: SeqNum) -> bool;

    /// One past the last byte's sequence number: where the FIN will be.
    fn end(&self) -> SeqNum {
        self.range().end
    }
}

/// What the engine derives from a [`SendStore`].
pub(crate) trait SendStoreExt: SendStore {
    /// Frees all bytes.
    fn clear(&mut self) {
        self.free_before(self.end());
    }

    /// Copies the bytes of `range` to the start of `out`, and returns how many were copied.
    fn read(&self, range: SeqRange, out: &mut [u8]) -> usize {
        let mut done = 0usize;
        self.show(range, |piece| {
            let rest = out.get_mut(done..).unwrap_or(&mut []);
            done = done.wrapping_add(copy(piece, rest));
        });
        done
    }

    /// Returns the one's-complement sum of the bytes of `range` (RFC 1071).
    fn sum(&self, range: SeqRange) -> Checksum {
        let mut sum = Checksum::new();
        self.show(range, |piece| sum.add(piece));
        sum
    }
}

impl<S: SendStore> SendStoreExt for S {}
