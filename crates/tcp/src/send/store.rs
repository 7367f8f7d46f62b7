//! The interface of send stores.

use redpoll_base::checksum::Checksum;

use crate::{SeqNum, SeqRange};
use redpoll_base::copy;

/// Stores the bytes that wait to be sent or acknowledged.
///
/// The connection reads bytes by sequence number, once for each transmission. It frees them when
/// they are acknowledged and no segment that the link holds needs them. The link reads the bytes of
/// a segment at the time of transmission, so they must not move until then.
///
/// Each store has its own way to add data: [`SendRing`](crate::SendRing) copies into a buffer, and
/// [`Chain`](crate::Chain) keeps the application's buffers.
pub trait SendStore {
    /// Empties the store; the next byte will have the number `start`.
    fn begin(&mut self, start: SeqNum);

    /// Returns the sequence numbers of the stored bytes.
    fn range(&self) -> SeqRange;

    /// Passes the stored bytes of `range` to `see`, in order, in contiguous pieces. `range` never
    /// starts before the stored bytes.
    fn show(&self, range: SeqRange, see: impl FnMut(&[u8]));

    /// Frees the bytes before `seq`. Returns whether this makes room or frees a buffer.
    fn free_before(&mut self, seq: SeqNum) -> bool;

    /// Returns the sequence number after the last byte, which the FIN will have.
    fn end(&self) -> SeqNum {
        self.range().end
    }
}

pub(crate) trait SendStoreExt: SendStore {
    fn clear(&mut self) {
        self.free_before(self.end());
    }

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
