//! The value of a Block option (RFC 7959 §2.2).

use alloc::vec::Vec;
use coap_lite::{CoapOption, Packet};

/// Bytes of a block: a power of two from 16 to 1024 (RFC 7959 §2.2: SZX from 0 to 6).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockSize(u8);

impl BlockSize {
    /// 1024 bytes.
    pub const LARGEST: BlockSize = BlockSize(6);

    /// Returns the largest size that does not exceed `bytes`; 16 if that is less.
    pub fn at_most(bytes: usize) -> BlockSize {
        let szx = (1..=6).take_while(|szx| 16 << szx <= bytes).last();
        BlockSize(szx.unwrap_or(0))
    }

    /// Returns the size of the block in bytes.
    pub const fn bytes(self) -> usize {
        16 << self.0
    }
}

/// A block of a body that its application sends or receives in parts. Each part is a separate
/// request (RFC 7959 §2.3: blocks that are processed one by one, without the others).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The number of the block, below 2^20; the block begins at `num` times `size`.
    pub num: u32,
    /// Whether other blocks follow.
    pub more: bool,
    /// Size of the blocks; all except the last are full.
    pub size: BlockSize,
}

impl Part {
    /// Returns the position of the part in its body, in bytes.
    pub const fn offset(self) -> usize {
        self.num as usize * self.size.bytes()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    /// NUM: the block's number, below 2^20.
    pub(crate) num: u32,
    /// M: more blocks follow.
    pub(crate) more: bool,
    pub(crate) size: BlockSize,
}

impl From<Part> for Block {
    fn from(Part { num, more, size }: Part) -> Block {
        let num = num & LAST_NUM;
        Block { num, more, size }
    }
}

/// A Block option with a reserved size: RFC 7959 §2.2 requires the answer 4.00 (Bad Request).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReservedSize;

/// NUM has 20 bits.
const LAST_NUM: u32 = (1 << 20) - 1;

impl Block {
    pub(crate) fn at(offset: usize, size: BlockSize, body_len: usize) -> Option<Block> {
        let num = u32::try_from(offset / size.bytes()).ok()?;
        (num <= LAST_NUM).then_some(Block {
            num,
            more: offset + size.bytes() < body_len,
            size,
        })
    }

    /// Returns whether a payload may be this block. RFC 7959 §2.3: "The block size implied by SZX
    /// MUST match the size of the payload in bytes, if the M bit is set."
    pub(crate) fn fits(self, payload: &[u8]) -> bool {
        match self.more {
            true => payload.len() == self.size.bytes(),
            false => payload.len() <= self.size.bytes(),
        }
    }

    pub(crate) fn offset(self) -> usize {
        self.num as usize * self.size.bytes()
    }

    /// Returns this block's part of `body`; `None` if the block starts after the end of `body`.
    pub(crate) fn of(self, body: &[u8]) -> Option<&[u8]> {
        let start = self.offset();
        let end = body.len().min(start + self.size.bytes());
        body.get(start..end)
            .filter(|slice| !slice.is_empty() || start == 0)
    }

    pub(crate) fn read(packet: &Packet, which: CoapOption) -> Result<Option<Block>, ReservedSize> {
        let Some(value) = packet.get_first_option(which) else {
            return Ok(None);
        };
        let value = value
            .iter()
            .fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
        let size = BlockSize((value & 7) as u8);
        if size > BlockSize::LARGEST {
            return Err(ReservedSize);
        }
        Ok(Some(Block {
            num: (value >> 4) & LAST_NUM,
            more: value & 8 != 0,
            size,
        }))
    }

    pub(crate) fn write(self, packet: &mut Packet, which: CoapOption) {
        let value = self.num << 4 | u32::from(self.more) << 3 | u32::from(self.size.0);
        packet.add_option(which, uint(value));
    }
}

/// Returns an option value of the format uint: no leading zero bytes (RFC 7252 §3.2).
pub(crate) fn uint(value: u32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

pub(crate) fn read_uint(packet: &Packet, which: CoapOption) -> Option<u32> {
    let value = packet.get_first_option(which)?;
    let number = |value: u32, byte: &u8| value.wrapping_shl(8) | u32::from(*byte);
    Some(value.iter().fold(0, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_powers_of_two() {
        for (bytes, size) in [
            (0, 16),
            (31, 16),
            (32, 32),
            (469, 256),
            (512, 512),
            (9999, 1024),
        ] {
            assert_eq!(BlockSize::at_most(bytes).bytes(), size, "{bytes}");
        }
    }

    /// RFC 7959 §2.2: the option's value has 0 to 3 bytes; the value 0 is encoded without a byte.
    #[test]
    fn values_survive_the_wire() {
        for (num, more, bytes, len) in [
            (0, false, 16, 0),
            (0, true, 64, 1),
            (15, true, 1024, 1),
            (16, false, 32, 2),
            (4_096, false, 512, 3),
            (LAST_NUM, true, 1024, 3),
        ] {
            let block = Block {
                num,
                more,
                size: BlockSize::at_most(bytes),
            };
            let mut packet = Packet::new();
            block.write(&mut packet, CoapOption::Block2);
            assert_eq!(
                packet.get_first_option(CoapOption::Block2).unwrap().len(),
                len
            );
            assert_eq!(Block::read(&packet, CoapOption::Block2), Ok(Some(block)));
        }
    }

    #[test]
    fn the_reserved_size_is_refused() {
        let mut packet = Packet::new();
        packet.add_option(CoapOption::Block1, vec![0x07]);
        assert_eq!(Block::read(&packet, CoapOption::Block1), Err(ReservedSize));
        assert_eq!(Block::read(&packet, CoapOption::Block2), Ok(None));
    }

    #[test]
    fn a_body_has_blocks_up_to_its_end() {
        let body = [7; 40];
        let size = BlockSize::at_most(16);
        let block = |num| Block {
            num,
            more: false,
            size,
        };
        assert_eq!(block(2).of(&body), Some(&body[32..]));
        assert_eq!(block(3).of(&body), None);
        assert_eq!(block(1).of(&body[..16]), None);
        assert_eq!(block(0).of(&[]), Some(&[][..]));
        assert!(Block::at(16, size, 40).unwrap().more);
        assert!(!Block::at(32, size, 40).unwrap().more);
    }
}
