//! Which sequence numbers beyond RCV.NXT have arrived.

use crate::{SeqNum, SeqRange};

/// How many separate stretches beyond a gap are remembered. With a window of
/// four segments there cannot be more than two; a larger window may have to
/// see the data of one more hole twice.
const RANGES: usize = 3;

/// Disjoint ranges with gaps between them, the one that grew last in front:
/// the order of a SACK option (RFC 2018 §4).
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    starts: [SeqNum; RANGES],
    /// No window is larger than two bytes can say, as it is not scaled.
    lens: [u16; RANGES],
    len: u8,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// The ranges, the most recent first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SeqRange> + '_ {
        let known = self.starts.iter().zip(self.lens);
        known
            .take(usize::from(self.len))
            .map(|(&start, len)| SeqRange::new(start, start + u32::from(len)))
    }

    fn push(&mut self, range: SeqRange) {
        let free = usize::from(self.len);
        if let (Some(start), Some(len)) = (self.starts.get_mut(free), self.lens.get_mut(free)) {
            *start = range.start;
            *len = u16::try_from(range.len()).unwrap_or(u16::MAX);
            self.len = self.len.saturating_add(1);
        }
    }

    /// Whether `range` could be added: it touches a known one or there is a
    /// free place.
    pub(crate) fn can_add(&self, range: SeqRange) -> bool {
        usize::from(self.len) < RANGES || self.iter().any(|known| touches(known, range))
    }

    /// The first part of `range` that is known, if any is.
    pub(crate) fn known_part(&self, range: SeqRange) -> Option<SeqRange> {
        self.iter()
            .map(|known| SeqRange::new(known.start.max(range.start), known.end.min(range.end)))
            .find(|part| !part.is_empty())
    }

    /// Adds `range`, joining it with those that it touches.
    ///
    /// What is known never touches each other, so that a range joined on the
    /// way can touch none that was left aside before.
    pub(crate) fn add(&mut self, range: SeqRange) {
        let mut joined = range;
        for known in self.iter().filter(|known| touches(*known, range)) {
            joined = SeqRange::new(joined.start.min(known.start), joined.end.max(known.end));
        }
        let mut result = Ranges::default();
        result.push(joined);
        for known in self.iter().filter(|known| !touches(*known, range)) {
            result.push(known);
        }
        *self = result;
    }

    /// Everything before `nxt` has arrived in order. Removes the ranges that
    /// this reaches; returns where the next gap begins.
    pub(crate) fn absorb(&mut self, nxt: SeqNum) -> SeqNum {
        if self.is_empty() {
            return nxt;
        }
        // No two ranges touch: one at most reaches beyond `nxt`.
        let end = self
            .iter()
            .filter(|range| range.start <= nxt)
            .fold(nxt, |end, range| end.max(range.end));
        let mut rest = Ranges::default();
        for range in self.iter().filter(|range| end < range.start) {
            rest.push(range);
        }
        *self = rest;
        end
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}

fn touches(a: SeqRange, b: SeqRange) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec::Vec;

    fn range(start: u32, end: u32) -> SeqRange {
        SeqRange::new(SeqNum(start), SeqNum(end))
    }

    fn of(list: &[(u32, u32)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(start, end) in list {
            ranges.add(range(start, end));
        }
        ranges
    }

    fn listed(ranges: &Ranges) -> Vec<(u32, u32)> {
        ranges.iter().map(|r| (r.start.0, r.end.0)).collect()
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
    fn a_full_list_takes_only_what_touches() {
        let full = of(&[(10, 20), (30, 40), (50, 60), (70, 80)]);
        assert!(!full.can_add(range(90, 95)));
        assert!(full.can_add(range(80, 95)) && full.can_add(range(25, 30)));
    }

    #[test]
    fn the_known_part_is_where_it_overlaps() {
        let ranges = of(&[(10, 20), (30, 40)]);
        assert_eq!(ranges.known_part(range(15, 25)), Some(range(15, 20)));
        assert_eq!(ranges.known_part(range(20, 30)), None);
    }

    #[test]
    fn absorbing_reaches_over_ranges_that_follow() {
        let mut ranges = of(&[(10, 20), (30, 40)]);
        assert_eq!(ranges.absorb(SeqNum(5)), SeqNum(5));
        assert_eq!(ranges.absorb(SeqNum(10)), SeqNum(20));
        assert_eq!(listed(&ranges), [(30, 40)]);
        assert_eq!(ranges.absorb(SeqNum(35)), SeqNum(40));
        assert!(ranges.is_empty());
    }
}
