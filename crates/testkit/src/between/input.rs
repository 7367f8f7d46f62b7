//! The input, whose bytes determine the adversary's actions.

use redpoll_tcp::SeqNum;

/// The bytes that determine the events, read from the front; zeros follow them.
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl Input<'_> {
    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub(super) fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    /// Returns a sequence number, near `origin` or arbitrary.
    pub(super) fn near(&mut self, origin: SeqNum) -> SeqNum {
        match self.byte() % 8 {
            0 => SeqNum(u32::from(self.word()) << 16 | u32::from(self.word())),
            1 => origin,
            _ => SeqNum(origin.0.wrapping_add_signed((self.word() as i16).into())),
        }
    }
}
