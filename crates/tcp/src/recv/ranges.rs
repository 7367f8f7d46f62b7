//! The list of text ranges that have arrived beyond RCV.NXT.

/// Maximum number of ranges. A window of four segments cannot have more than two. With the feature
/// `large-windows`, one more than a SACK option can report (RFC 2018 §3).
pub(super) const RANGES: usize = if cfg!(feature = "large-windows") {
    5
} else {
    3
};

/// A range of text from `start` to `end`, exclusive, counted from RCV.NXT. Windows are not scaled,
/// so 16 bits suffice.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct TextSpan {
    pub(super) start: u16,
    pub(super) end: u16,
}

impl TextSpan {
    fn touches(self, other: TextSpan) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    fn common(self, other: TextSpan) -> Option<TextSpan> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end).then_some(TextSpan { start, end })
    }
}

/// Disjoint spans with gaps between them. The last span is the one that changed last.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    list: [TextSpan; RANGES],
    len: u8,
}

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.len)
    }

    fn known(&self) -> &[TextSpan] {
        self.list.get(..self.len()).unwrap_or(&[])
    }

    /// Returns the spans, the most recent first, which is the order of a SACK option (RFC 2018 §4).
    pub(super) fn iter(&self) -> impl Iterator<Item = TextSpan> + '_ {
        self.known().iter().rev().copied()
    }

    #[inline(never)] // size
    fn push(&mut self, span: TextSpan) {
        if let Some(slot) = self.list.get_mut(usize::from(self.len)) {
            *slot = span;
            self.len = self.len.wrapping_add(1);
        }
    }

    /// Returns whether `span` can be added: it touches a known span, or an entry is free.
    pub(super) fn can_add(&self, span: TextSpan) -> bool {
        self.len() < RANGES || self.iter().any(|known| known.touches(span))
    }

    /// Returns the part of `span` that the first overlapping entry covers.
    pub(super) fn known_part(&self, span: TextSpan) -> Option<TextSpan> {
        let mut first: Option<TextSpan> = None;
        for &known in self.known() {
            if let Some(part) = known.common(span)
                && first.is_none_or(|first| part.start < first.start)
            {
                first = Some(part);
            }
        }
        first
    }

    /// Removes the spans that `span` touches, and returns their union with it. Known spans do not
    /// touch each other. So the union cannot touch a span that `span` did not.
    fn join(&mut self, span: TextSpan) -> TextSpan {
        let mut joined = span;
        let old = self.clone();
        self.clear();
        for &known in old.known() {
            if known.touches(span) {
                joined.start = joined.start.min(known.start);
                joined.end = joined.end.max(known.end);
            } else {
                self.push(known);
            }
        }
        joined
    }

    pub(super) fn add(&mut self, span: TextSpan) {
        let joined = self.join(span);
        self.push(joined);
    }

    /// Moves RCV.NXT over `next` bytes received in order and over the spans that touch them.
    /// Removes these spans, counts the others from the new RCV.NXT, and returns the distance that
    /// RCV.NXT moved.
    pub(super) fn absorb(&mut self, next: u16) -> u16 {
        let TextSpan { end, .. } = self.join(TextSpan {
            start: 0,
            end: next,
        });
        for known in self.list.iter_mut().take(usize::from(self.len)) {
            known.start = known.start.wrapping_sub(end);
            known.end = known.end.wrapping_sub(end);
        }
        end
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn range(start: u16, end: u16) -> TextSpan {
        TextSpan { start, end }
    }

    fn of(list: &[(u16, u16)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(start, end) in list {
            ranges.add(range(start, end));
        }
        ranges
    }

    fn listed(ranges: &Ranges) -> Vec<(u16, u16)> {
        ranges.iter().map(|r| (r.start, r.end)).collect()
    }

    #[test]
    fn ranges_join_and_the_latest_is_in_front() {
        assert_eq!(listed(&of(&[(30, 40), (10, 20)])), [(10, 20), (30, 40)]);
        assert_eq!(listed(&of(&[(10, 20), (30, 40), (20, 30)])), [(10, 40)]);
        assert_eq!(listed(&of(&[(10, 20), (30, 40), (15, 32)])), [(10, 40)]);
        assert_eq!(
            listed(&of(&[(10, 20), (50, 60), (30, 40), (60, 65)])),
            [(50, 65), (30, 40), (10, 20)]
        );
        assert_eq!(listed(&of(&[(10, 20), (12, 15)])), [(10, 20)]);
    }

    #[test]
    fn a_full_list_takes_only_adjacent_ranges() {
        let mut full = Ranges::default();
        for n in 0..RANGES as u16 {
            assert!(full.can_add(range(20 * n + 10, 20 * n + 20)));
            full.add(range(20 * n + 10, 20 * n + 20));
        }
        let end = 20 * RANGES as u16;
        assert!(!full.can_add(range(end + 5, end + 10)));
        assert!(full.can_add(range(end, end + 10)) && full.can_add(range(25, 30)));
    }

    #[test]
    fn the_known_part_is_where_it_overlaps() {
        let ranges = of(&[(10, 20), (30, 40)]);
        assert_eq!(ranges.known_part(range(15, 25)), Some(range(15, 20)));
        assert_eq!(ranges.known_part(range(20, 30)), None);
        for order in [[(10, 20), (30, 40)], [(30, 40), (10, 20)]] {
            assert_eq!(
                of(&order).known_part(range(15, 35)),
                Some(range(15, 20)),
                "the first of two, whichever arrived last"
            );
        }
    }

    #[test]
    fn absorbing_includes_the_adjacent_ranges() {
        let mut ranges = of(&[(10, 20), (30, 40)]);
        assert_eq!(ranges.absorb(5), 5);
        assert_eq!(listed(&ranges), [(25, 35), (5, 15)]);
        assert_eq!(ranges.absorb(5), 15);
        assert_eq!(listed(&ranges), [(10, 20)]);
        assert_eq!(ranges.absorb(13), 20);
        assert!(ranges.is_empty());
    }
}
