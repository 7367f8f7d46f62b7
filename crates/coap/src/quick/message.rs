//! The messages of Q-Block1: options 19 and 292 (RFC 9177 §4.1, RFC 9175 §3.2), and the list
//! of missing blocks (§5).

use alloc::vec::Vec;
use coap_lite::{CoapOption, Packet};

use crate::block::Block;
use crate::options;

/// Q-Block1 (RFC 9177 §4.1).
pub(super) const Q_BLOCK1: CoapOption = CoapOption::Unknown(19);
/// Request-Tag (RFC 9175 §3.2.1).
pub(super) const REQUEST_TAG: CoapOption = CoapOption::Unknown(292);
/// "application/missing-blocks+cbor-seq" (RFC 9177 §12.3).
pub(super) const MISSING_BLOCKS: u16 = 272;

/// Options of a Q-Block message in addition to those that every message may have.
const OPTIONS: [options::Known; 2] = [(19, 0, 3, false), (292, 0, 8, false)];

/// Checks `packet` as [`options::check`] does, with the options of Q-Block1 in addition.
pub(super) fn check(packet: &mut Packet) -> Result<(), u16> {
    options::check_with(packet, &OPTIONS)
}

pub(super) fn block(packet: &Packet) -> Option<Block> {
    Block::read(packet, Q_BLOCK1).ok().flatten()
}

/// Returns a CBOR Sequence of unsigned integers (RFC 9177 §5, RFC 8949 §3.1).
pub(super) fn write_missing(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in numbers {
        match number {
            0..24 => bytes.push(number as u8),
            24..0x100 => bytes.extend([24, number as u8]),
            0x100..0x1_0000 => {
                bytes.push(25);
                bytes.extend((number as u16).to_be_bytes());
            }
            _ => {
                bytes.push(26);
                bytes.extend(number.to_be_bytes());
            }
        }
    }
    bytes
}

/// Returns the numbers of the missing blocks, at most `most` of them; `None` if the sequence is
/// malformed or not ascending (RFC 9177 §5: such a response is dropped).
pub(super) fn read_missing(mut bytes: &[u8], most: usize) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        let (number, rest) = match first {
            0..24 => (u32::from(*first), rest),
            24 => (u32::from(*rest.first()?), rest.get(1..)?),
            25 => {
                let (value, rest) = rest.split_first_chunk()?;
                (u16::from_be_bytes(*value).into(), rest)
            }
            26 => {
                let (value, rest) = rest.split_first_chunk()?;
                (u32::from_be_bytes(*value), rest)
            }
            _ => return None,
        };
        match numbers.last().copied() {
            Some(last) if last > number => return None,
            // RFC 9177 §5: "the client MUST ignore any duplicates".
            Some(last) if last == number => {}
            _ if numbers.len() >= most => return Some(numbers),
            _ => numbers.push(number),
        }
        bytes = rest;
    }
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_blocks_survive_the_wire() {
        let numbers = [0, 1, 23, 24, 255, 256, 65_535, 65_536, 1 << 19];
        let bytes = write_missing(numbers.into_iter());
        assert_eq!(read_missing(&bytes, 99).unwrap(), numbers);
        assert_eq!(read_missing(&bytes, 3).unwrap(), [0, 1, 23]);
        assert_eq!(write_missing([300, 9].into_iter()), [25, 1, 44, 9]);
    }

    #[test]
    fn malformed_lists_of_missing_blocks_are_refused() {
        for bytes in [
            &[][..],
            &[5, 4],
            &[24],
            &[25, 1],
            &[26, 0, 0, 0],
            &[27, 0, 0, 0, 0, 0, 0, 0, 1],
            &[0x20],
            &[0x81, 1],
            &[0xff],
        ] {
            assert_eq!(read_missing(bytes, 99), None, "{bytes:?}");
        }
        assert_eq!(read_missing(&[3, 3, 24, 3, 4], 99).unwrap(), [3, 4]);
    }
}
