//! Bytes waiting to be sent or acknowledged, in a ring in the caller's memory.

use redpoll_base::Bytes;

use super::SendStore;
use crate::{SeqNum, SeqRange};
use redpoll_base::copy;

/// The send store of a [`Connection`](crate::Connection) unless another one is
/// asked for: what the application gives is copied into one buffer.
///
/// Byte number `start` of the sequence space is the oldest one kept. Of a longer
/// buffer the first 65,535 bytes serve: no window is larger.
#[derive(Debug)]
pub struct SendRing<B> {
    buf: B,
    /// Where in `buf` the oldest byte lies.
    head: u16,
    len: u16,
    /// Sequence number of the oldest byte.
    start: SeqNum,
}

impl<B: Bytes> SendRing<B> {
    /// An empty ring in this buffer.
    pub fn new(buf: B) -> Self {
        SendRing {
            buf,
            head: 0,
            len: 0,
            start: SeqNum(0),
        }
    }

    fn capacity(&self) -> usize {
        self.buf.as_ref().len().min(usize::from(u16::MAX))
    }

    /// Bytes that could be appended now.
    pub(crate) fn room(&self) -> usize {
        self.capacity().saturating_sub(usize::from(self.len))
    }

    /// Appends what fits of `bytes`, and says how much that was.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> usize {
        let count = bytes.len().min(self.room());
        let at = self.position(usize::from(self.len));
        let tail = self.capacity().saturating_sub(at);
        let (Some(bytes), Some((before, after))) = (
            bytes.get(..count),
            self.buf.as_mut().split_at_mut_checked(at),
        ) else {
            return 0;
        };
        let (first, second) = bytes.split_at(count.min(tail));
        copy(first, after);
        copy(second, before);
        self.len = self.len.saturating_add(count as u16);
        count
    }

    /// The bytes of `range` that are kept, in up to two pieces.
    fn slices(&self, range: SeqRange) -> [&[u8]; 2] {
        let from = (range.start - self.start) as usize;
        let to = ((range.end.min(self.end())) - self.start) as usize;
        let len = to.saturating_sub(from);
        let buf = self.buf.as_ref();
        let at = self.position(from);
        let first = buf.get(at..self.capacity()).unwrap_or(&[]);
        let first = first.get(..len.min(first.len())).unwrap_or(&[]);
        let second = buf.get(..len.saturating_sub(first.len())).unwrap_or(&[]);
        [first, second]
    }

    pub(crate) fn into_buffer(self) -> B {
        self.buf
    }

    /// Where in `buf` the byte `offset` behind the oldest one lies.
    fn position(&self, offset: usize) -> usize {
        let position = usize::from(self.head).saturating_add(offset);
        position.checked_sub(self.capacity()).unwrap_or(position)
    }
}

impl<B: Bytes> SendStore for SendRing<B> {
    fn begin(&mut self, start: SeqNum) {
        (self.head, self.len, self.start) = (0, 0, start);
    }

    fn range(&self) -> SeqRange {
        SeqRange::new(self.start, self.end())
    }

    fn end(&self) -> SeqNum {
        self.start + u32::from(self.len)
    }

    fn show(&self, range: SeqRange, mut see: impl FnMut(&[u8])) {
        let [first, second] = self.slices(range);
        see(first);
        see(second);
    }

    fn free_before(&mut self, seq: SeqNum) -> bool {
        let count = ((seq.min(self.end())) - self.start) as usize;
        self.head = self.position(count) as u16;
        self.len = self.len.saturating_sub(count as u16);
        self.start += count as u32;
        count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            // Shift the ring's head by one for the next round.
            ring.write(&[0]);
            ring.free_before(start + 1);
            start += 1;
        }
    }

    #[test]
    fn nothing_outside_the_store_is_read_or_freed() {
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
