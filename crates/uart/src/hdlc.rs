//! HDLC-like framing (RFC 1662 §4) with a check sequence of 32 bits (appendix C.3), without
//! its address and control fields.

use crate::MESSAGE_MAX;

/// Before and behind each frame.
pub const FLAG: u8 = 0x7e;
/// Before a byte that is not itself.
const ESCAPE: u8 = 0x7d;
/// What an escaped byte is combined with.
const FLIP: u8 = 0x20;

/// Bytes of the check sequence.
const FCS_LEN: usize = 4;
/// What a frame with its own check sequence sums up to (RFC 1662 appendix C.3).
const GOOD: u32 = 0xdebb_20e3;

/// FCS-32, one byte further.
const fn fcs(sum: u32, byte: u8) -> u32 {
    let mut sum = sum ^ byte as u32;
    let mut bit = 0u8;
    while bit < 8 {
        // The lowest bit is that of the highest power.
        sum = match sum & 1 {
            0 => sum >> 1,
            _ => sum >> 1 ^ 0xedb8_8320,
        };
        bit = bit.wrapping_add(1);
    }
    sum
}

/// Sends `message` as a frame, byte for byte.
pub fn send(message: &[u8], mut put: impl FnMut(u8)) {
    let mut sum = u32::MAX;
    put(FLAG);
    for byte in message {
        sum = fcs(sum, *byte);
        escape(*byte, &mut put);
    }
    for byte in (!sum).to_le_bytes() {
        escape(byte, &mut put);
    }
    put(FLAG);
}

fn escape(byte: u8, put: &mut impl FnMut(u8)) {
    if matches!(byte, FLAG | ESCAPE) {
        put(ESCAPE);
        put(byte ^ FLIP);
    } else {
        put(byte);
    }
}

/// What has come in between two flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A message.
    Good(&'a [u8]),
    /// Bytes that are none: garbage, or a message that some bytes of are wrong or missing.
    Damaged,
}

/// Finds frames among bytes.
#[derive(Clone, Debug)]
pub struct Deframer {
    bytes: [u8; MESSAGE_MAX + FCS_LEN],
    len: usize,
    sum: u32,
    escaped: bool,
    /// It is too long or ends in an escape, and nothing until the next flag counts.
    spoilt: bool,
}

impl Default for Deframer {
    fn default() -> Self {
        Deframer {
            bytes: [0; MESSAGE_MAX + FCS_LEN],
            len: 0,
            sum: u32::MAX,
            escaped: false,
            spoilt: false,
        }
    }
}

impl Deframer {
    /// A byte has come; the frame, if it ends with this one. Flags in a row have nothing
    /// between them, and are no frames.
    pub fn input(&mut self, byte: u8) -> Option<Frame<'_>> {
        match byte {
            FLAG => return self.end(),
            ESCAPE if self.escaped => self.spoilt = true,
            ESCAPE => self.escaped = true,
            _ => {
                let flip = if self.escaped { FLIP } else { 0 };
                self.escaped = false;
                self.take(byte ^ flip);
            }
        }
        None
    }

    fn take(&mut self, byte: u8) {
        match self.bytes.get_mut(self.len) {
            Some(place) => {
                *place = byte;
                self.len = self.len.saturating_add(1);
                self.sum = fcs(self.sum, byte);
            }
            None => self.spoilt = true,
        }
    }

    fn end(&mut self) -> Option<Frame<'_>> {
        let (len, sum) = (self.len, self.sum);
        let spoilt = self.spoilt || self.escaped;
        self.len = 0;
        self.sum = u32::MAX;
        self.escaped = false;
        self.spoilt = false;
        if len == 0 && !spoilt {
            return None;
        }
        let message = self.bytes.get(..len.saturating_sub(FCS_LEN));
        match message {
            Some(message) if !spoilt && sum == GOOD && !message.is_empty() => {
                Some(Frame::Good(message))
            }
            _ => Some(Frame::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn framed(message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        send(message, |byte| bytes.push(byte));
        bytes
    }

    /// Good messages among `bytes`, and how many were damaged.
    fn deframed(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let mut deframer = Deframer::default();
        let (mut good, mut damaged) = (Vec::new(), 0);
        for byte in bytes {
            match deframer.input(*byte) {
                Some(Frame::Good(message)) => good.push(message.to_vec()),
                Some(Frame::Damaged) => damaged += 1,
                None => {}
            }
        }
        (good, damaged)
    }

    /// The check value of CRC-32 that every catalogue has.
    #[test]
    fn the_check_sequence_is_the_usual_one() {
        let sum = b"123456789".iter().fold(u32::MAX, |sum, b| fcs(sum, *b));
        assert_eq!(!sum, 0xcbf4_3926);
    }

    #[test]
    fn flags_and_escapes_travel_in_two_bytes() {
        let bytes = framed(&[0x7e, 0x7d, 0x11]);
        assert_eq!(&bytes[..6], &[0x7e, 0x7d, 0x5e, 0x7d, 0x5d, 0x11]);
        assert_eq!(deframed(&bytes), (vec![vec![0x7e, 0x7d, 0x11]], 0));
    }

    #[test]
    fn what_is_too_long_costs_nothing_behind_it() {
        let mut bytes = framed(&[7; MESSAGE_MAX + 1]);
        bytes.extend(framed(&[7; MESSAGE_MAX]));
        assert_eq!(deframed(&bytes), (vec![vec![7; MESSAGE_MAX]], 1));
    }

    proptest! {
        #[test]
        fn a_message_comes_through_garbage(
            garbage in prop::collection::vec(any::<u8>(), 0..64),
            message in prop::collection::vec(any::<u8>(), 1..MESSAGE_MAX),
            behind in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = garbage;
            bytes.extend(framed(&message));
            bytes.extend(behind);
            bytes.extend(framed(&message));
            let (good, _) = deframed(&bytes);
            prop_assert_eq!(good.iter().filter(|it| **it == message).count(), 2);
        }

        #[test]
        fn a_damaged_message_is_none(
            message in prop::collection::vec(any::<u8>(), 1..MESSAGE_MAX),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            let mut bytes = framed(&message);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            let (good, _) = deframed(&bytes);
            prop_assert!(good.iter().all(|it| *it == message));
        }
    }
}
