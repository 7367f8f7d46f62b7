//! Half a sequence number, for states with little room.

use redpoll_wire::tcp::SeqNum;

/// The lower half of a [`SeqNum`]. With a window that is not scaled, that is
/// enough to know a number again, by one that is known to come before or after.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Low(u16);

impl Low {
    /// The lower half of `seq`.
    pub(crate) fn of(seq: SeqNum) -> Low {
        Low(seq.0 as u16)
    }

    /// The first number from `seq` on that ends in this half: the number that the half
    /// was made of if that is less than 65,536 away.
    pub(crate) fn first_from(self, seq: SeqNum) -> SeqNum {
        seq + u32::from(self.0.wrapping_sub(seq.0 as u16))
    }

    /// The last number up to `seq` that ends in this half.
    pub(crate) fn last_up_to(self, seq: SeqNum) -> SeqNum {
        seq - u32::from((seq.0 as u16).wrapping_sub(self.0))
    }

    /// Whether this number is `other` or comes behind it: of two that are less than
    /// 32,768 apart.
    pub(crate) fn is_at_or_behind(self, other: Low) -> bool {
        self.0.wrapping_sub(other.0) as i16 >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_finds_its_number_on_either_side() {
        for number in [0, 7, 0xffff, 0x1_0000, 0xffff_fff0] {
            let seq = SeqNum(number);
            for way in [0, 1, 300, 0xffff] {
                assert_eq!(Low::of(seq).first_from(seq - way), seq);
                assert_eq!(Low::of(seq).last_up_to(seq + way), seq);
            }
            assert!(Low::of(seq + 0x7fff).is_at_or_behind(Low::of(seq)));
            assert!(!Low::of(seq).is_at_or_behind(Low::of(seq + 0x7fff)));
        }
    }
}
