//! Sequence numbers: 32-bit, modulo 2^32 (RFC 9293 §3.4).

use core::cmp::Ordering;
use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// A point in a connection's sequence space.
///
/// Addition wraps. `a < b` means that `a` comes before `b` on the shorter way round the circle, as
/// RFC 9293 §3.4 defines `=<`; numbers exactly 2^31 apart are not ordered. Compare only numbers of
/// one connection that lie within a window of each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNum(pub u32);

impl SeqNum {
    /// Returns the later of two numbers.
    pub fn max(self, other: SeqNum) -> SeqNum {
        if self < other { other } else { self }
    }

    /// Returns the earlier of two numbers.
    pub fn min(self, other: SeqNum) -> SeqNum {
        if other < self { other } else { self }
    }

    /// Returns the distance from `earlier` forward to `self`, modulo 2^32. Unlike `-`, it is large
    /// if `earlier` is the later one.
    pub fn since(self, earlier: SeqNum) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl PartialOrd for SeqNum {
    fn partial_cmp(&self, other: &SeqNum) -> Option<Ordering> {
        match self.0.wrapping_sub(other.0) as i32 {
            i32::MIN => None,
            difference => Some(difference.cmp(&0)),
        }
    }

    // These comparisons replace the default ones, which are slower because they construct an
    // `Option`.

    fn lt(&self, other: &SeqNum) -> bool {
        other > self
    }

    fn le(&self, other: &SeqNum) -> bool {
        other >= self
    }

    fn gt(&self, other: &SeqNum) -> bool {
        self.0.wrapping_sub(other.0) as i32 > 0
    }

    fn ge(&self, other: &SeqNum) -> bool {
        self.0.wrapping_sub(other.0) as i32 >= 0
    }
}

impl Add<u32> for SeqNum {
    type Output = SeqNum;
    fn add(self, n: u32) -> SeqNum {
        SeqNum(self.0.wrapping_add(n))
    }
}

impl AddAssign<u32> for SeqNum {
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}

impl Sub<u32> for SeqNum {
    type Output = SeqNum;
    fn sub(self, n: u32) -> SeqNum {
        SeqNum(self.0.wrapping_sub(n))
    }
}

/// The distance from `earlier` forward to `self`; 0 if `earlier` is later.
impl Sub for SeqNum {
    type Output = u32;
    fn sub(self, earlier: SeqNum) -> u32 {
        if self < earlier {
            0
        } else {
            self.0.wrapping_sub(earlier.0)
        }
    }
}

impl fmt::Debug for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The sequence numbers from `start` up to, not including, `end`.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SeqRange {
    /// The first number.
    pub start: SeqNum,
    /// The sequence number after the last number of the range.
    pub end: SeqNum,
}

impl SeqRange {
    /// Returns the range from `start` up to, and without, `end`.
    pub const fn new(start: SeqNum, end: SeqNum) -> Self {
        SeqRange { start, end }
    }

    /// Returns the number of sequence numbers in the range; 0 if `end` is before `start`.
    pub fn len(&self) -> u32 {
        self.end - self.start
    }

    /// Returns whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether `seq` is in the range.
    pub fn contains(&self, seq: SeqNum) -> bool {
        self.start <= seq && seq < self.end
    }
}

impl fmt::Debug for SeqRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}..{:?}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_agree_with_the_order() {
        const HALF: u32 = 1 << 31;
        let ways = [0, 1, 2, HALF - 1, HALF, HALF + 1, u32::MAX];
        for start in ways {
            for way in ways {
                let (a, b) = (SeqNum(start), SeqNum(start) + way);
                let order = a.partial_cmp(&b);
                assert_eq!(a < b, order.is_some_and(Ordering::is_lt));
                assert_eq!(a <= b, order.is_some_and(Ordering::is_le));
                assert_eq!(a > b, order.is_some_and(Ordering::is_gt));
                assert_eq!(a >= b, order.is_some_and(Ordering::is_ge));
            }
        }
    }

    #[test]
    fn order_and_distance_cross_the_wrap() {
        let before = SeqNum(u32::MAX - 2);
        let after = before + 5;
        assert_eq!(after, SeqNum(2));
        assert!(before < after && before <= after);
        assert_eq!(before.partial_cmp(&before), Some(Ordering::Equal));
        assert_eq!(after - before, 5);
        assert_eq!(before - after, 0);
        assert_eq!(after - 5, before);
        assert_eq!(before.max(after), after);
        assert_eq!(before.min(after), before);
    }

    #[test]
    fn opposite_numbers_are_not_ordered() {
        let (a, b) = (SeqNum(7), SeqNum(7) + (1 << 31));
        assert_eq!(a.partial_cmp(&b), None);
        assert_eq!(b.partial_cmp(&a), None);
    }

    #[test]
    fn ranges_are_half_open() {
        let range = SeqRange::new(SeqNum(u32::MAX), SeqNum(1));
        assert_eq!(range.len(), 2);
        assert!(range.contains(SeqNum(0)));
        assert!(!range.contains(SeqNum(1)));
        assert!(SeqRange::new(SeqNum(3), SeqNum(3)).is_empty());
    }

    #[test]
    fn a_forward_distance_does_not_depend_on_the_order() {
        let (before, after) = (SeqNum(u32::MAX - 2), SeqNum(2));
        assert_eq!(after.since(before), 5);
        assert_eq!(before.since(after), u32::MAX - 4);
        let mut moved = before;
        moved += 5;
        assert_eq!(moved, after);
    }

    #[test]
    fn numbers_and_ranges_are_printed_as_decimals() {
        let range = SeqRange::new(SeqNum(u32::MAX), SeqNum(1));
        assert_eq!(std::format!("{range:?}"), "4294967295..1");
        assert_eq!(std::format!("{} {:>3?}", SeqNum(70), SeqNum(7)), "70   7");
    }
}
