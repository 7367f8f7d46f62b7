//! Mutation of frames and packets.

use redpoll_base::Rng;

/// Values that replace a byte: first bytes of protocol headers, and extreme lengths.
const TELLING: [u8; 12] = [
    0x00, 0xff, 0x41, 0x60, 0x7f, 0xc0, 0xc4, 0xe0, 0xe8, 0xea, 0x80, 0x01,
];

/// Changes, cuts or lengthens `bytes`, or appends a part of `other`; keeps at most `limit` bytes.
pub fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8], limit: usize) {
    for _ in 0..=rng.below(3) {
        let len = bytes.len() as u32;
        let at = rng.below(len.max(1)) as usize;
        match rng.below(7) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = TELLING[rng.below(12) as usize];
                }
            }
            3 => bytes.truncate(at),
            4 => bytes.extend((0..rng.below(20)).map(|_| rng.next_u32() as u8)),
            5 => {
                let from = rng.below(other.len().max(1) as u32) as usize;
                bytes.truncate(at);
                bytes.extend(other.get(from..).unwrap_or_default());
            }
            _ => {
                let end = (at + rng.below(8) as usize).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
        }
    }
    bytes.truncate(limit);
}
