//! Boolean state of a connection, one bit each.

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Marks(u8);

impl Marks {
    /// CLOSE was called: a FIN follows the last byte of `outbox`.
    pub(super) const CLOSING: Marks = Marks(1 << 0);
    /// Freed room raises an event: `send` accepted less data than the application offered, or
    /// `send_buffer` accepted a buffer.
    pub(super) const STARVED: Marks = Marks(1 << 1);
    pub(super) const ORPHANED: Marks = Marks(1 << 2);
    /// Both SYNs carried SACK-permitted (RFC 2018 §2). During the handshake: our SYN carries it.
    pub(super) const SACK: Marks = Marks(1 << 3);

    /// The Nagle algorithm is on (RFC 9293 §3.7.4).
    pub(super) const NAGLE: Marks = Marks(1 << 4);
    /// Our SYN carries timestamps, in an answer only if the peer's SYN did (RFC 7323 §3.2).
    pub(super) const TIMESTAMPS: Marks = Marks(1 << 5);
    /// The connection was restored, and no acknowledgment of the peer was accepted since.
    pub(super) const THAWED: Marks = Marks(1 << 6);
    /// A full-sized segment was acknowledged.
    pub(super) const PROVEN: Marks = Marks(1 << 7);

    pub(super) fn has(self, mark: Marks) -> bool {
        self.0 & mark.0 != 0
    }

    pub(super) fn set(&mut self, mark: Marks) {
        self.0 |= mark.0;
    }

    pub(super) fn clear(&mut self, mark: Marks) {
        self.0 &= !mark.0;
    }

    pub(super) fn put(&mut self, mark: Marks, on: bool) {
        self.clear(mark);
        if on {
            self.set(mark);
        }
    }
}
