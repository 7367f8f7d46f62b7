//! A ring of bytes in the caller's memory.

use crate::{Bytes, copy};

/// A queue of bytes in a buffer, followed by free space that can be written out of order. The ring
/// uses at most the first 65,535 bytes of the buffer.
#[derive(Debug)]
pub struct Ring<B> {
    buf: B,
    /// Offset in `buf` of the first queued byte.
    head: u16,
    len: u16,
}

impl<B: Bytes> Ring<B> {
    /// Creates an empty ring in `buf`.
    pub fn new(buf: B) -> Self {
        Ring {
            buf,
            head: 0,
            len: 0,
        }
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.buf.as_ref().len().min(usize::from(u16::MAX))
    }

    /// Returns the number of queued bytes.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of free bytes after the queued bytes.
    pub fn room(&self) -> usize {
        self.capacity().wrapping_sub(self.len())
    }

    /// Copies `bytes` into the free space, starting `offset` bytes after the last queued byte, and
    /// returns how many bytes fitted. The copied bytes are not queued before [`keep`](Self::keep).
    pub fn write_at(&mut self, offset: usize, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room().saturating_sub(offset));
        let at = self.position(self.len().wrapping_add(offset));
        let capacity = self.capacity();
        let buf = self.buf.as_mut().get_mut(..capacity).unwrap_or(&mut []);
        if let (Some(bytes), Some((before, after))) =
            (bytes.get(..count), buf.split_at_mut_checked(at))
        {
            let first = copy(bytes, after);
            copy(bytes.get(first..).unwrap_or(&[]), before);
        }
        count
    }

    /// Appends the first `count` bytes of the free space, which were written before, to the queue.
    pub fn keep(&mut self, count: usize) {
        self.len = self.len().wrapping_add(count).min(self.capacity()) as u16;
    }

    /// Returns `count` bytes from `offset` bytes after the first queued byte, in up to two pieces.
    pub fn pieces(&self, offset: usize, count: usize) -> [&[u8]; 2] {
        let buf = self.buf.as_ref();
        let first = buf.get(self.position(offset)..self.capacity());
        let first = first.unwrap_or(&[]);
        let first = first.get(..count).unwrap_or(first);
        let second = buf.get(..count.wrapping_sub(first.len()));
        [first, second.unwrap_or(&[])]
    }

    /// Removes the first `count` queued bytes, or all if there are fewer, and returns how many
    /// were removed.
    #[inline(never)] // size
    pub fn free(&mut self, count: usize) -> usize {
        let count = count.min(self.len());
        self.head = self.position(count) as u16;
        self.len = self.len.wrapping_sub(count as u16);
        count
    }

    /// Returns the buffer that [`new`](Self::new) received; the queue is lost.
    pub fn into_buffer(self) -> B {
        self.buf
    }

    /// Returns the position in `buf` of the byte `offset` bytes after the first queued byte.
    fn position(&self, offset: usize) -> usize {
        let position = usize::from(self.head).wrapping_add(offset);
        position.checked_sub(self.capacity()).unwrap_or(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(ring: &Ring<[u8; 5]>) -> ([u8; 5], usize) {
        let mut out = [0; 5];
        let mut len = 0;
        for piece in ring.pieces(0, ring.len()) {
            out[len..len + piece.len()].copy_from_slice(piece);
            len += piece.len();
        }
        (out, len)
    }

    #[test]
    fn bytes_come_out_as_they_went_in_at_every_position() {
        for head in 0..5 {
            let mut ring = Ring::new([0; 5]);
            assert!(ring.is_empty());
            ring.keep(head);
            assert_eq!(ring.free(head), head);
            // These bytes are out of order, and the last one does not fit.
            assert_eq!(ring.write_at(2, &[3, 4, 5, 6]), 3);
            assert_eq!(ring.write_at(0, &[1, 2]), 2);
            ring.keep(9);
            assert_eq!((ring.len(), ring.room(), ring.capacity()), (5, 0, 5));
            assert_eq!(queued(&ring), ([1, 2, 3, 4, 5], 5));
            assert_eq!(ring.write_at(0, &[9]), 0);
            assert_eq!(ring.pieces(3, 1).concat(), [4]);
            assert_eq!(ring.free(2), 2);
            assert_eq!(queued(&ring), ([3, 4, 5, 0, 0], 3));
            assert_eq!((ring.free(9), ring.free(1)), (3, 0));
            assert_eq!(ring.into_buffer().len(), 5);
        }
    }

    #[test]
    fn a_ring_without_memory_holds_nothing() {
        let mut ring = Ring::new([0; 0]);
        assert_eq!((ring.write_at(0, &[1]), ring.free(1)), (0, 0));
        assert!(ring.pieces(0, 1).iter().all(|piece| piece.is_empty()));
    }
}
