//! Sequence numbers as distances from SND.UNA, in half the memory.

use crate::{SeqNum, SeqRange};

/// A sequence number at or beyond SND.UNA: how many bytes beyond. What SND.UNA
/// has passed counts as at it.
///
/// Windows are not scaled, so SND.NXT is at most 65,535 bytes ahead (and the
/// number behind a window probe one more, which counts as this). Whoever keeps
/// one must hear of every advance of SND.UNA; then it is as good as a whole
/// number, and cannot grow old.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Ahead(u16);

impl Ahead {
    /// SND.UNA itself.
    pub(crate) const UNA: Ahead = Ahead(0);

    /// The number behind it.
    pub(crate) const NEXT: Ahead = Ahead(1);

    /// `bytes` beyond SND.UNA; 65,535 at most.
    pub(crate) fn by(bytes: u32) -> Ahead {
        Ahead(window(bytes))
    }

    /// How many bytes beyond SND.UNA.
    pub(crate) fn bytes(self) -> u32 {
        u32::from(self.0)
    }

    /// SND.UNA advanced by so many bytes.
    pub(crate) fn on_advance(&mut self, bytes: u32) {
        *self = Ahead::by(self.bytes().saturating_sub(bytes));
    }
}

/// The bytes from `start` up to, not including, `end`, counted from SND.UNA.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Whatever is out.
    pub(crate) const ALL: Span = Span::new(0, u32::MAX);

    pub(crate) const fn new(start: u32, end: u32) -> Span {
        Span { start, end }
    }

    /// The part of `range` at and beyond SND.UNA.
    pub(crate) fn beyond(una: SeqNum, range: SeqRange) -> Span {
        Span::new(range.start - una, range.end - una)
    }

    /// Where `range` lies, of which no part is before SND.UNA.
    pub(crate) fn from(una: SeqNum, range: SeqRange) -> Span {
        Span::new(range.start.since(una), range.end.since(una))
    }

    /// The sequence numbers.
    pub(crate) fn range(self, una: SeqNum) -> SeqRange {
        SeqRange::new(una + self.start, una + self.end)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.start >= self.end
    }

    pub(crate) fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }

    /// Whether `at` is in here.
    pub(crate) fn contains(self, at: u32) -> bool {
        self.start <= at && at < self.end
    }

    /// Whether all of `other` is in here.
    pub(crate) fn covers(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A count of bytes no larger than a window, which is not scaled.
pub(crate) fn window(bytes: u32) -> u16 {
    bytes.min(u32::from(u16::MAX)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_passed_is_not_ahead() {
        let mut end = Ahead::by(100);
        end.on_advance(60);
        assert_eq!(end, Ahead::by(40));
        end.on_advance(41);
        assert_eq!(end, Ahead::UNA);
        end.on_advance(u32::MAX);
        assert_eq!(end, Ahead::UNA);
    }

    #[test]
    fn a_whole_window_is_told_apart() {
        let mut end = Ahead::by(65_536);
        assert_eq!(end.bytes(), 65_535);
        end.on_advance(65_534);
        assert_eq!(end.bytes(), 1);
    }
}
