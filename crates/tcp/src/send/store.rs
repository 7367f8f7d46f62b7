//! What every send store can do.

use crate::{SeqNum, SeqRange};

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

    /// The bytes of `range` that lie in memory behind its first one, that one
    /// included; none if `range` begins behind what is kept. It never begins
    /// before that.
    fn piece(&self, range: SeqRange) -> &[u8];

    /// Frees the bytes before `seq`. Whether the application gets something
    /// back by that: room, or a buffer.
    fn free_before(&mut self, seq: SeqNum) -> bool;

    /// One past the last byte's sequence number: where the FIN will be.
    fn end(&self) -> SeqNum {
        self.range().end
    }

    /// Frees everything.
    fn clear(&mut self) {
        self.free_before(self.end());
    }

    /// The bytes of `range` that are kept, piece by piece.
    fn pieces(&self, mut range: SeqRange) -> impl Iterator<Item = &[u8]> {
        core::iter::from_fn(move || {
            if range.is_empty() {
                return None;
            }
            let piece = self.piece(range);
            range.start += piece.len() as u32;
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// Copies the bytes of `range` to the front of `out`; says how many.
    fn read(&self, range: SeqRange, out: &mut [u8]) -> usize {
        let mut done = 0usize;
        for piece in self.pieces(range) {
            let rest = out.get_mut(done..).unwrap_or(&mut []);
            let count = piece.len().min(rest.len());
            if let (Some(from), Some(to)) = (piece.get(..count), rest.get_mut(..count)) {
                to.copy_from_slice(from);
            }
            done = done.saturating_add(count);
            if count < piece.len() {
                break;
            }
        }
        done
    }
}
