//! Received bytes in a ring in the caller's memory.

use redpoll_base::Bytes;

/// The receive store: bytes in order, ready to be read, and behind them free
/// space into which bytes beyond a gap are written where they will belong.
///
/// Of a longer buffer the first 65,535 bytes serve: no window is larger.
#[derive(Debug)]
pub(crate) struct RecvRing<B> {
    buf: B,
    /// Where in `buf` the next byte to read lies.
    head: u16,
    /// Bytes ready to be read.
    ready: u16,
}

impl<B: Bytes> RecvRing<B> {
    pub(crate) fn new(buf: B) -> Self {
        RecvRing {
            buf,
            head: 0,
            ready: 0,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.buf.as_ref().len().min(usize::from(u16::MAX))
    }

    /// Bytes ready to be read.
    pub(crate) fn ready(&self) -> usize {
        usize::from(self.ready)
    }

    /// Bytes that can still arrive.
    pub(crate) fn room(&self) -> usize {
        self.capacity().saturating_sub(self.ready())
    }

    /// Writes `bytes` so that the first one lies `offset` bytes behind the
    /// last one that is ready. What does not fit is cut off.
    pub(crate) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        let count = bytes.len().min(self.room().saturating_sub(offset));
        let at = self.position(self.ready().saturating_add(offset));
        let tail = self.capacity().saturating_sub(at);
        let (Some(bytes), Some((before, after))) = (
            bytes.get(..count),
            self.buf.as_mut().split_at_mut_checked(at),
        ) else {
            return;
        };
        let (first, second) = bytes.split_at(count.min(tail));
        if let Some(to) = after.get_mut(..first.len()) {
            to.copy_from_slice(first);
        }
        if let Some(to) = before.get_mut(..second.len()) {
            to.copy_from_slice(second);
        }
    }

    /// The next `count` bytes have arrived in order.
    pub(crate) fn commit(&mut self, count: usize) {
        self.ready = self.ready().saturating_add(count).min(self.capacity()) as u16;
    }

    /// The ready bytes, in up to two pieces.
    pub(crate) fn peek(&self) -> (&[u8], &[u8]) {
        let buf = self.buf.as_ref();
        let tail = buf.get(usize::from(self.head)..self.capacity());
        let first = tail.unwrap_or(&[]);
        let first = first.get(..self.ready()).unwrap_or(first);
        let second = buf.get(..self.ready().saturating_sub(first.len()));
        (first, second.unwrap_or(&[]))
    }

    /// The first `len` bytes of the memory, while nothing was ever ready.
    pub(crate) fn stashed(&self, len: usize) -> &[u8] {
        self.buf.as_ref().get(..len).unwrap_or(&[])
    }

    /// Frees up to `count` ready bytes; says how many.
    pub(crate) fn consume(&mut self, count: usize) -> usize {
        let count = count.min(self.ready());
        self.head = self.position(count) as u16;
        self.ready = self.ready.saturating_sub(count as u16);
        count
    }

    pub(crate) fn clear(&mut self) {
        self.ready = 0;
    }

    pub(crate) fn into_buffer(self) -> B {
        self.buf
    }

    /// Where in `buf` the byte `offset` behind the next one to read lies.
    fn position(&self, offset: usize) -> usize {
        let position = usize::from(self.head).saturating_add(offset);
        position.checked_sub(self.capacity()).unwrap_or(position)
    }
}
