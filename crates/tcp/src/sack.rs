//! The blocks of a SACK option (RFC 2018 §3, RFC 2883 §4).

use crate::{SeqNum, SeqRange};

/// Maximum number of blocks in a header (RFC 2018 §3); with timestamps, three fit.
const BLOCKS: usize = 4;

/// Up to four blocks, in the order of the option.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    list: [SeqRange; BLOCKS],
    len: u8,
}

impl SackBlocks {
    /// No blocks, hence no option.
    pub(crate) const NONE: SackBlocks = SackBlocks {
        list: [SeqRange::new(SeqNum(0), SeqNum(0)); BLOCKS],
        len: 0,
    };

    pub(crate) const MOST: usize = BLOCKS;

    /// Length of one block in the option, in bytes.
    pub(crate) const BLOCK_LEN: usize = 8;

    /// Appends a block, or drops it if there are four already.
    #[inline(never)] // size
    pub fn push(&mut self, block: SeqRange) {
        if let Some(slot) = self.list.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len = self.len.wrapping_add(1);
        }
    }

    /// Returns the blocks, in the order of the option.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = SeqRange> + '_ {
        self.list.get(..self.len()).unwrap_or(&[]).iter().copied()
    }

    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the first block if it reports a segment that arrived twice: the block lies below the
    /// cumulative acknowledgment `ack` or inside the second block (RFC 2883 §4).
    pub(crate) fn duplicate(&self, ack: SeqNum) -> Option<SeqRange> {
        let mut blocks = self.iter();
        let first = blocks.next()?;
        let inside = |second: SeqRange| second.start <= first.start && first.end <= second.end;
        (first.end <= ack || blocks.next().is_some_and(inside)).then_some(first)
    }
}

impl core::fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(list: &[(u32, u32)]) -> SackBlocks {
        let mut blocks = SackBlocks::NONE;
        for &(start, end) in list {
            blocks.push(SeqRange::new(SeqNum(start), SeqNum(end)));
        }
        blocks
    }

    #[test]
    fn a_fifth_block_is_left_out() {
        let five = blocks(&[(1, 2), (3, 4), (5, 6), (7, 8), (9, 10)]);
        assert_eq!(five, blocks(&[(1, 2), (3, 4), (5, 6), (7, 8)]));
    }

    /// The examples of RFC 2883 §4.1 and §4.2, shortened.
    #[test]
    fn a_duplicate_is_below_the_ack_or_inside_the_second_block() {
        let first = |list: &[(u32, u32)], ack| {
            blocks(list)
                .duplicate(SeqNum(ack))
                .map(|block| (block.start.0, block.end.0))
        };
        assert_eq!(first(&[(3000, 3500)], 4000), Some((3000, 3500)));
        assert_eq!(
            first(&[(5000, 5500), (4500, 6000)], 4000),
            Some((5000, 5500))
        );
        assert_eq!(first(&[(5000, 5500)], 4000), None);
        assert_eq!(first(&[(5000, 5500), (6000, 6500)], 4000), None);
        assert_eq!(first(&[], 4000), None);
    }
}
