//! The lower half of a sequence number, to save memory.

use redpoll_wire::tcp::SeqNum;

/// The lower half of a [`SeqNum`]. Windows are not scaled, so a nearby number suffices to restore
/// the whole number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Low(u16);

impl Low {
    pub(crate) fn of(seq: SeqNum) -> Low {
        Low(seq.0 as u16)
    }

    /// Returns the first number at or after `seq` whose lower 16 bits are these. It is the original
    /// number if that is less than 65,536 ahead.
    pub(crate) fn first_from(self, seq: SeqNum) -> SeqNum {
        seq + u32::from(self.0.wrapping_sub(seq.0 as u16))
    }

    /// Returns the last number at or before `seq` whose lower 16 bits are these.
    pub(crate) fn last_up_to(self, seq: SeqNum) -> SeqNum {
        seq - u32::from((seq.0 as u16).wrapping_sub(self.0))
    }

    /// Returns whether this number is `other` or follows it; the two must be less than 32,768
    /// apart.
    pub(crate) fn is_at_or_behind(self, other: Low) -> bool {
        self.0.wrapping_sub(other.0) as i16 >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_half_restores_the_number_on_either_side() {
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
