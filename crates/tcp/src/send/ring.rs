//! The send store in a ring in the caller's memory.

use redpoll_base::{Bytes, Ring};

use super::SendStore;
use crate::{SeqNum, SeqRange};

/// The default send store of a [`Connection`](crate::Connection), which copies the application's
/// data into one buffer. It uses at most the first 65,535 bytes of the buffer, because windows are
/// not larger.
#[derive(Debug)]
pub struct SendRing<B> {
    ring: Ring<B>,
    start: SeqNum,
}

impl<B: Bytes> SendRing<B> {
    /// Creates an empty ring in this buffer.
    pub fn new(buf: B) -> Self {
        SendRing {
            ring: Ring::new(buf),
            start: SeqNum(0),
        }
    }

    /// Returns how many bytes can be appended now.
    pub(crate) fn room(&self) -> usize {
        self.ring.room()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let count = self.ring.write_at(0, bytes);
        self.ring.keep(count);
        count
    }

    pub(crate) fn into_buffer(self) -> B {
        self.ring.into_buffer()
    }
}

impl<B: Bytes> SendStore for SendRing<B> {
    fn begin(&mut self, start: SeqNum) {
        self.ring.free(usize::MAX);
        self.start = start;
    }

    fn range(&self) -> SeqRange {
        SeqRange::new(self.start, self.end())
    }

    fn end(&self) -> SeqNum {
        self.start + self.ring.len() as u32
    }

    fn show(&self, range: SeqRange, mut see: impl FnMut(&[u8])) {
        let len = range.end.min(self.end()) - range.start;
        let offset = range.start - self.start;
        for piece in self.ring.pieces(offset as usize, len as usize) {
            see(piece);
        }
    }

    fn free_before(&mut self, seq: SeqNum) -> bool {
        let count = self.ring.free((seq - self.start) as usize);
        self.start += count as u32;
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::send::SendStoreExt;

    fn read(ring: &SendRing<[u8; 8]>, start: SeqNum, len: u32) -> ([u8; 8], usize) {
        let mut out = [0; 8];
        let count = ring.read(SeqRange::new(start, start + len), &mut out);
        (out, count)
    }

    #[test]
    fn bytes_survive_every_position_in_the_ring_and_the_sequence_wrap() {
        let mut start = SeqNum(u32::MAX - 20);
        let mut ring = SendRing::new([0u8; 8]);
        ring.begin(start);
        for round in 0..40u8 {
            let bytes = [round, round + 1, round + 2, round + 3, round + 4];
            assert_eq!(ring.write(&bytes), 5);
            assert_eq!(ring.write(&[99; 9]), 3);
            assert_eq!(ring.room(), 0);
            let (out, count) = read(&ring, start, 8);
            assert_eq!(count, 8);
            assert_eq!(out[..5], bytes);
            assert_eq!(out[5..], [99; 3]);
            let (out, count) = read(&ring, start + 3, 2);
            assert_eq!((count, &out[..2]), (2, &bytes[3..]));
            assert!(ring.free_before(start + 8));
            start += 8;
            assert_eq!(ring.end(), start);
            // Moves the ring's head by one for the next round.
            ring.write(&[0]);
            ring.free_before(start + 1);
            start += 1;
        }
    }

    #[test]
    fn positions_outside_the_store_are_neither_read_nor_freed() {
        let mut ring = SendRing::new([0u8; 8]);
        ring.begin(SeqNum(100));
        ring.write(b"abc");
        assert_eq!(read(&ring, SeqNum(102), 5).1, 1);
        assert_eq!(read(&ring, SeqNum(103), 5).1, 0);
        assert_eq!(read(&ring, SeqNum(200), 5).1, 0);
        assert!(!ring.free_before(SeqNum(90)));
        assert!(ring.free_before(SeqNum(104)));
        assert_eq!(ring.end(), SeqNum(103));
        let mut nothing = SendRing::new([0u8; 0]);
        assert_eq!(nothing.write(b"abc"), 0);
    }
}
