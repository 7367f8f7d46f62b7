//! What is between a service and its connection.

/// Bytes that are on their way from a service to its connection, or back.
pub(crate) const HELD: usize = 512;
/// Bytes that are held for the connection: of these, what has been sent and where they end.
pub(crate) struct Held {
    pub(crate) bytes: [u8; HELD],
    pub(crate) sent: usize,
    pub(crate) end: usize,
}

/// What a service does next.
pub(crate) enum Next {
    /// It sends what is held.
    Send,
    /// It waits for more.
    Wait,
    /// It has said all.
    Close,
}

impl Held {
    /// Replaces what is held by what `write` writes; it says how much.
    pub(crate) fn fill(&mut self, write: impl FnOnce(&mut [u8; HELD]) -> usize) {
        self.sent = 0;
        self.end = write(&mut self.bytes).min(HELD);
    }

    pub(crate) fn rest(&self) -> &[u8] {
        self.bytes.get(self.sent..self.end).unwrap_or_default()
    }
}
