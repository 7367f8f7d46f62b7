//! Sequence numbers stored in 16 bits, as distances from SND.UNA.

use crate::{SeqNum, SeqRange};

/// A sequence number at or beyond SND.UNA, as a distance in bytes. A sequence number that SND.UNA
/// has passed is stored as 0. Windows are not scaled, so SND.NXT is at most 65,535 bytes ahead. The
/// end of a window probe can be 65,536 bytes ahead and is then stored as 65,535. The owner must
/// report every advance of SND.UNA with [`on_advance`](Self::on_advance). The stored number then
/// never becomes ambiguous.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Ahead(u16);

impl Ahead {
    pub(crate) const UNA: Ahead = Ahead(0);

    pub(crate) const NEXT: Ahead = Ahead(1);

    /// Returns the sequence number `bytes` beyond SND.UNA, 65,535 at most.
    pub(crate) fn by(bytes: u32) -> Ahead {
        Ahead(window(bytes))
    }

    pub(crate) fn bytes(self) -> u32 {
        u32::from(self.0)
    }

    /// Adjusts the distance after SND.UNA advanced by `bytes`.
    pub(crate) fn on_advance(&mut self, bytes: u32) {
        *self = Ahead::by(self.bytes().saturating_sub(bytes));
    }
}

/// A range of bytes from `start` to `end`, exclusive, counted from SND.UNA.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) const ALL: Span = Span::new(0, u32::MAX);

    pub(crate) const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    pub(crate) fn beyond(una: SeqNum, range: SeqRange) -> Span {
        Span::new(range.start - una, range.end - una)
    }

    /// Returns the position of `range`, which must not start before SND.UNA.
    pub(crate) fn from(una: SeqNum, range: SeqRange) -> Span {
        Span::new(range.start.since(una), range.end.since(una))
    }

    pub(crate) fn range(self, una: SeqNum) -> SeqRange {
        SeqRange::new(una + self.start, una + self.end)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    pub(crate) fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    pub(crate) fn contains(self, at: u32) -> bool {
        self.start <= at && at < self.end
    }

    pub(crate) fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// Converts a byte count to the 16 bits of an unscaled window; larger counts become 65,535.
pub(crate) fn window(bytes: u32) -> u16 {
    bytes.min(u32::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledged_distance_is_zero() {
        let mut end = Ahead::by(100);
        end.on_advance(60);
        assert_eq!(end, Ahead::by(40));
        end.on_advance(41);
        assert_eq!(end, Ahead::UNA);
        end.on_advance(u32::MAX);
        assert_eq!(end, Ahead::UNA);
    }

    #[test]
    fn a_distance_saturates_at_65535_bytes() {
        let mut end = Ahead::by(65_536);
        assert_eq!(end.bytes(), 65_535);
        end.on_advance(65_534);
        assert_eq!(end.bytes(), 1);
    }
}
