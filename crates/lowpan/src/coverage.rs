//! The eight-byte units of a datagram that have arrived.

/// Number of eight-byte units of the longest datagram: 2,047 bytes, because a fragment header has
/// 11 bits for the size (RFC 4944 §5.3).
const UNITS: usize = 256;

/// A bitmap with one bit for each eight-byte unit. Received data cannot enlarge it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Coverage {
    words: [u32; UNITS / 32],
    covered: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Overlap {
    None,
    Part,
    All,
}

impl Coverage {
    pub(crate) const EMPTY: Coverage = Coverage {
        words: [0; UNITS / 32],
        covered: 0,
    };

    /// Returns how much of the bytes `offset..offset + len` has already arrived. `offset` is a
    /// multiple of eight; `len` is rounded up to a multiple of eight.
    pub(crate) fn overlap(&self, offset: usize, len: usize) -> Overlap {
        let mut seen = 0usize;
        let mut units = 0usize;
        for (word, mask) in masks(offset, len) {
            units = units.saturating_add(mask.count_ones() as usize);
            let present = self.words.get(word).map_or(0, |bits| bits & mask);
            seen = seen.saturating_add(present.count_ones() as usize);
        }
        match seen {
            0 => Overlap::None,
            n if n == units => Overlap::All,
            _ => Overlap::Part,
        }
    }

    /// Records that the bytes `offset..offset + len` have arrived.
    pub(crate) fn insert(&mut self, offset: usize, len: usize) {
        for (word, mask) in masks(offset, len) {
            if let Some(bits) = self.words.get_mut(word) {
                let new = (mask & !*bits).count_ones();
                *bits |= mask;
                // `covered` counts units of eight bytes. The map has one bit for each unit of a
                // datagram of at most 2,047 bytes, so there are at most 256 units.
                self.covered = self.covered.saturating_add(new as u16);
            }
        }
    }

    pub(crate) fn is_complete(&self, size: usize) -> bool {
        usize::from(self.covered) >= size.div_ceil(8)
    }
}

/// Returns the index of each word with units of `offset..offset + len`, and their mask in the word.
fn masks(offset: usize, len: usize) -> impl Iterator<Item = (usize, u32)> {
    let first = (offset / 8).min(UNITS);
    let end = offset.saturating_add(len).div_ceil(8).min(UNITS);
    (0..UNITS / 32).filter_map(move |word| {
        let base = word.saturating_mul(32);
        let from = first.saturating_sub(base).min(32);
        let to = end.saturating_sub(base).min(32);
        let mask = low_bits(to) & !low_bits(from);
        (mask != 0).then_some((word, mask))
    })
}

/// Returns a word with its `n` low bits set; all bits if `n` is at least 32.
fn low_bits(n: usize) -> u32 {
    match 1u32.checked_shl(n as u32) {
        Some(bit) => bit.wrapping_sub(1),
        None => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_seen_whole_in_part_or_not_at_all() {
        let mut seen = Coverage::EMPTY;
        seen.insert(96, 104);
        assert_eq!(seen.overlap(0, 96), Overlap::None);
        assert_eq!(seen.overlap(200, 8), Overlap::None);
        assert_eq!(seen.overlap(96, 104), Overlap::All);
        assert_eq!(seen.overlap(104, 8), Overlap::All);
        assert_eq!(seen.overlap(88, 16), Overlap::Part);
        assert_eq!(seen.overlap(192, 16), Overlap::Part);
        assert_eq!(seen.overlap(0, 2047), Overlap::Part);
    }

    #[test]
    fn a_datagram_is_complete_with_its_last_odd_bytes() {
        let mut seen = Coverage::EMPTY;
        seen.insert(0, 104);
        seen.insert(104, 104);
        assert!(!seen.is_complete(211));
        seen.insert(208, 3);
        assert!(seen.is_complete(211));
        // A repeated unit counts once.
        let mut twice = Coverage::EMPTY;
        twice.insert(0, 8);
        twice.insert(0, 8);
        assert!(!twice.is_complete(16));
    }

    #[test]
    fn the_longest_datagram_fits() {
        let mut seen = Coverage::EMPTY;
        seen.insert(0, 2047);
        assert!(seen.is_complete(2047));
        assert_eq!(seen.overlap(2040, 7), Overlap::All);
    }
}
