//! Cursors that write and read messages.

/// Writes to a buffer, and records whether everything fitted.
pub(crate) struct Writer<'a> {
    bytes: &'a mut [u8],
    len: usize,
    full: bool,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(bytes: &'a mut [u8]) -> Self {
        Writer {
            bytes,
            len: 0,
            full: false,
        }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        match self.bytes.get_mut(self.len..end) {
            Some(room) => {
                redpoll_base::copy(bytes, room);
                self.len = end;
            }
            None => self.full = true,
        }
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.put(&[byte]);
    }

    /// Returns the number of bytes written; `None` if some did not fit.
    pub(crate) fn finish(self) -> Option<usize> {
        (!self.full).then_some(self.len)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
