//! The buffer between a service and its connection.

/// Size in bytes of the buffer between a service and its connection, for either direction.
pub(crate) const HELD: usize = 512;
/// A buffer of bytes for the connection: bytes up to `sent` were sent, those up to `end` wait.
pub(crate) struct Held {
    pub(crate) bytes: [u8; HELD],
    pub(crate) sent: usize,
    pub(crate) end: usize,
}

pub(crate) enum Next {
    Send,
    Wait,
    /// The answer is complete: close the connection.
    Close,
}

impl Held {
    pub(crate) fn fill(&mut self, write: impl FnOnce(&mut [u8; HELD]) -> usize) {
        self.sent = 0;
        self.end = write(&mut self.bytes).min(HELD);
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..self.end).unwrap_or_default()
    }
}
