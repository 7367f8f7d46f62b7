//! The bytes of a datagram that have arrived, in ranges of any size.

/// Maximum number of separate ranges: enough for 16 fragments if every other fragment is missing. A
/// fragment without a free range is not acknowledged, so it is retransmitted.
const RANGES: usize = 8;

/// Ranges of bytes that do not touch one another.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ranges {
    list: [(u16, u16); RANGES],
    len: u8,
}

impl Ranges {
    /// Adds the bytes `start..end`. Returns `false` and changes nothing if no range is free.
    pub(crate) fn insert(&mut self, mut start: u16, mut end: u16) -> bool {
        let mut merged = Ranges::default();
        for (from, to) in self.iter() {
            if from <= end && start <= to {
                (start, end) = (start.min(from), end.max(to));
            } else {
                merged.push((from, to));
            }
        }
        let has_room = merged.push((start, end));
        if has_room {
            *self = merged;
        }
        has_room
    }

    pub(crate) fn is_complete(&self, size: u16) -> bool {
        self.len == 1 && self.list.first() == Some(&(0, size))
    }

    fn iter(&self) -> impl Iterator<Item = (u16, u16)> {
        self.list.iter().copied().take(self.len.into())
    }

    fn push(&mut self, range: (u16, u16)) -> bool {
        let Some(free) = self.list.get_mut(usize::from(self.len)) else {
            return false;
        };
        *free = range;
        self.len = self.len.saturating_add(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_in_any_order_and_overlapping_are_complete_together() {
        let mut seen = Ranges::default();
        for (start, end) in [(300, 400), (0, 101), (390, 499), (150, 300)] {
            assert!(seen.insert(start, end));
            assert!(!seen.is_complete(499));
        }
        assert!(seen.insert(100, 160));
        assert!(seen.is_complete(499));
        assert!(!seen.is_complete(500));
    }

    #[test]
    fn a_range_beyond_the_table_is_refused_without_a_change() {
        let mut seen = Ranges::default();
        for i in 0..RANGES as u16 {
            assert!(seen.insert(20 * i, 20 * i + 10));
        }
        assert!(!seen.insert(1_000, 1_010));
        // A range that closes a gap still fits.
        for i in 0..RANGES as u16 - 1 {
            assert!(seen.insert(20 * i + 10, 20 * i + 20));
        }
        assert!(seen.is_complete(20 * RANGES as u16 - 10));
    }
}
