//! Transaction IDs: the comparison of two registrations by age (RFC 8505 §5.2).

use core::cmp::Ordering;

/// SEQUENCE_WINDOW (RFC 8505 §5.2.1): within one part of the counter, numbers further apart are not
/// comparable.
const WINDOW: u8 = 16;
/// The straight part of the counter starts at this value; the values below are the circular part.
const LINE: u8 = 128;

/// The transaction ID of a registration, a counter that its node increments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tid(pub u8);

impl Tid {
    /// First value of a counter (RFC 8505 §5.2.1: 240 is recommended).
    pub const FIRST: Tid = Tid(0_u8.wrapping_sub(WINDOW));

    /// Returns the ID of the next registration.
    pub const fn next(self) -> Tid {
        self.advanced(1)
    }

    /// Returns the ID to use after this one was found stale. In the straight part the ID advances
    /// by 16, the greatest distance by which it can be behind. From the circular part it goes to
    /// [`FIRST`](Self::FIRST), which is newer than all values of the circular part except 0. After
    /// at most two calls the ID is not stale.
    pub const fn skip(self) -> Tid {
        match self.0 < LINE {
            true => Tid::FIRST,
            false => self.advanced(WINDOW),
        }
    }

    const fn advanced(self, by: u8) -> Tid {
        let sum = self.0.wrapping_add(by);
        // RFC 8505 §5.2.1 (2): the straight part ends at 255, the circular one at 127; both
        // continue at 0.
        match self.0 < LINE {
            true => Tid(sum & (LINE - 1)),
            false => Tid(sum),
        }
    }

    /// Returns the order of this ID and `other` (RFC 8505 §5.2.1 (3)); `None` if their distance is
    /// ambiguous.
    pub const fn compare(self, other: Tid) -> Option<Ordering> {
        let (a, b) = (self.0, other.0);
        let ahead = match (a < LINE, b < LINE) {
            // One ID is in the straight part, the other in the circular part.
            (false, true) => {
                return Some(match b.wrapping_sub(a) <= WINDOW {
                    true => Ordering::Less,
                    false => Ordering::Greater,
                });
            }
            (true, false) => {
                return Some(match a.wrapping_sub(b) <= WINDOW {
                    true => Ordering::Greater,
                    false => Ordering::Less,
                });
            }
            (true, true) => [
                a.wrapping_sub(b) & (LINE - 1),
                b.wrapping_sub(a) & (LINE - 1),
            ],
            (false, false) => [a.wrapping_sub(b), b.wrapping_sub(a)],
        };
        match ahead {
            [0, _] => Some(Ordering::Equal),
            [more, _] if more <= WINDOW => Some(Ordering::Greater),
            [_, less] if less <= WINDOW => Some(Ordering::Less),
            _ => None,
        }
    }

    /// Returns whether a registration with this ID is older than the one with `known`. If the IDs
    /// cannot be compared, the later arrival is newer (RFC 8505 §5.2.1 (4)).
    pub const fn is_stale_after(self, known: Tid) -> bool {
        matches!(self.compare(known), Some(Ordering::Less))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    /// Tests the examples of RFC 8505 §5.2.1, and the edges of both parts.
    #[test]
    fn numbers_compare_as_the_rfc_has_it() {
        for (a, b, expected) in [
            (240, 5, Some(Greater)),
            (250, 5, Some(Less)),
            (240, 0, Some(Less)),
            (239, 0, Some(Greater)),
            (128, 127, Some(Greater)),
            (255, 15, Some(Less)),
            (255, 16, Some(Greater)),
            (7, 7, Some(Equal)),
            (240, 240, Some(Equal)),
            (10, 26, Some(Less)),
            (10, 27, None),
            (120, 8, Some(Less)),
            (120, 9, None),
            (250, 240, Some(Greater)),
            (255, 130, None),
            // The straight part does not wrap.
            (255, 128, None),
        ] {
            assert_eq!(Tid(a).compare(Tid(b)), expected, "{a} and {b}");
            let opposite = expected.map(Ordering::reverse);
            assert_eq!(Tid(b).compare(Tid(a)), opposite, "{b} and {a}");
        }
    }

    #[test]
    fn each_number_is_greater_than_those_before_it_within_the_window() {
        let mut numbers = [Tid::FIRST; 400];
        for at in 1..numbers.len() {
            numbers[at] = numbers[at - 1].next();
        }
        assert_eq!(numbers[16], Tid(0));
        assert_eq!(numbers[16 + 127].next(), Tid(0));
        for (at, number) in numbers.iter().enumerate() {
            for before in &numbers[at.saturating_sub(16)..at] {
                assert_eq!(number.compare(*before), Some(Greater));
                assert!(before.is_stale_after(*number) && !number.is_stale_after(*before));
            }
            assert!(!number.is_stale_after(*number));
        }
    }

    #[test]
    fn after_three_skips_at_most_no_number_is_stale() {
        for (a, b) in (0..=255).flat_map(|a| (0..=255).map(move |b| (Tid(a), Tid(b)))) {
            let tries = [a, a.skip(), a.skip().skip(), a.skip().skip().skip()];
            assert!(
                tries.iter().any(|tid| !tid.is_stale_after(b)),
                "{a:?} {b:?}"
            );
        }
    }
}
