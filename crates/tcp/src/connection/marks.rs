//! Yes or no, in a bit each.

/// What is true of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Marks(u8);

impl Marks {
    /// CLOSE was called: a FIN follows the last byte of `outbox`.
    pub(super) const CLOSING: Marks = Marks(1 << 0);
    /// `send` took less than it was offered.
    pub(super) const STARVED: Marks = Marks(1 << 1);
    /// The application has let go.
    pub(super) const ORPHANED: Marks = Marks(1 << 2);
    /// Both SYNs carried SACK-permitted (RFC 2018 §2). Before the handshake is
    /// over: ours does.
    pub(super) const SACK: Marks = Marks(1 << 3);

    /// Small segments wait for company (RFC 9293 §3.7.4).
    pub(super) const NAGLE: Marks = Marks(1 << 4);
    /// Our SYN carries timestamps, or did if the peer's did (RFC 7323 §3.2).
    pub(super) const TIMESTAMPS: Marks = Marks(1 << 5);
    /// Taken up from what was written down, and the peer was not heard since.
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

    /// Sets or clears `mark`.
    pub(super) fn put(&mut self, mark: Marks, on: bool) {
        self.clear(mark);
        if on {
            self.set(mark);
        }
    }
}
