//! A ring of bytes in the caller's memory.

use redpoll_base::{Bytes, copy};

/// The bytes that are kept, and behind them free space, which can be written to
/// out of order.
///
/// Of a longer buffer the first 65,535 bytes serve: no window is larger.
#[derive(Debug)]
pub struct Ring<B> {
    buf: B,
    /// Where in `buf` the first byte that is kept lies.
    head: u16,
    /// How many are kept.
    len: u16,
}

impl<B: Bytes> Ring<B> {
    /// An empty ring in `buf`.
    pub fn new(buf: B) -> Self {
        Ring {
            buf,
            head: 0,
            len: 0,
        }
    }

    /// Bytes for which there is room in all.
    pub fn capacity(&self) -> usize {
        self.buf.as_ref().len().min(usize::from(u16::MAX))
    }

    /// Bytes that are kept.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes for which there is room behind them.
    pub fn room(&self) -> usize {
        self.capacity().wrapping_sub(self.len())
    }

    /// Writes what fits of `bytes` to the free space, from `offset` behind the
    /// last byte that is kept on. Says how much that was.
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

    /// Keeps `count` bytes more, which were written.
    pub fn keep(&mut self, count: usize) {
        self.len = self.len().wrapping_add(count).min(self.capacity()) as u16;
    }

    /// `count` bytes from `offset` behind the first one that is kept on, in up to
    /// two pieces.
    pub fn pieces(&self, offset: usize, count: usize) -> [&[u8]; 2] {
        let buf = self.buf.as_ref();
        let first = buf.get(self.position(offset)..self.capacity());
        let first = first.unwrap_or(&[]);
        let first = first.get(..count).unwrap_or(first);
        let second = buf.get(..count.wrapping_sub(first.len()));
        [first, second.unwrap_or(&[])]
    }

    /// Frees the first `count` bytes, or all if there are fewer; says how many.
    #[inline(never)] // size
    pub fn free(&mut self, count: usize) -> usize {
        let count = count.min(self.len());
        self.head = self.position(count) as u16;
        self.len = self.len.wrapping_sub(count as u16);
        count
    }

    /// Gives the memory back.
    pub fn into_buffer(self) -> B {
        self.buf
    }

    /// Where in `buf` the byte `offset` behind the first one lies.
    fn position(&self, offset: usize) -> usize {
        let position = usize::from(self.head).wrapping_add(offset);
        position.checked_sub(self.capacity()).unwrap_or(position)
    }
}
