//! HDLC-like framing of a serial line (RFC 1662 §4), without address and control fields.
//!
//! Each frame is between two flags; one flag may end a frame and begin the next. A flag and an
//! escape within a frame are escaped. A check sequence of 16 or 32 bits follows the message. Stray
//! bytes damage only the frame whose flags enclose them.

use redpoll_base::crc::{crc16, crc32};

/// Byte before and after each frame.
const FLAG: u8 = 0x7e;
/// Byte before an escaped byte.
const ESCAPE: u8 = 0x7d;
/// Bits that are inverted in an escaped byte.
const FLIP: u8 = 0x20;

/// Running value of a frame check sequence: [`Fcs16`] or [`Fcs32`].
pub trait Check: Copy + Eq {
    /// Length of the check sequence in bytes.
    const LEN: usize;
    /// Value before the first byte.
    const START: Self;
    /// Value after an undamaged message and its check sequence.
    const GOOD: Self;
    /// The check sequence as an array of bytes.
    type Bytes: IntoIterator<Item = u8>;

    /// Adds a byte.
    fn add(self, byte: u8) -> Self;

    /// Returns the check sequence in order of transmission.
    fn bytes(self) -> Self::Bytes;
}

/// Running value of the 16-bit check sequence (RFC 1662 appendix C.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcs16(u16);

impl Check for Fcs16 {
    const LEN: usize = 2;
    const START: Self = Fcs16(0xffff);
    const GOOD: Self = Fcs16(0xf0b8);
    type Bytes = [u8; 2];

    fn add(self, byte: u8) -> Self {
        Fcs16(crc16(self.0, byte))
    }

    fn bytes(self) -> [u8; 2] {
        (!self.0).to_le_bytes()
    }
}

/// Running value of the 32-bit check sequence (RFC 1662 appendix C.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcs32(u32);

impl Check for Fcs32 {
    const LEN: usize = 4;
    const START: Self = Fcs32(0xffff_ffff);
    const GOOD: Self = Fcs32(0xdebb_20e3);
    type Bytes = [u8; 4];

    fn add(self, byte: u8) -> Self {
        Fcs32(crc32(self.0, byte))
    }

    fn bytes(self) -> [u8; 4] {
        (!self.0).to_le_bytes()
    }
}

/// Calls `put` for each byte of the frame of `message`. Flags, escapes, and the bytes for which
/// `is_special` holds are escaped.
pub fn send<C: Check>(message: &[u8], is_special: impl Fn(u8) -> bool, mut put: impl FnMut(u8)) {
    let mut sum = C::START;
    put(FLAG);
    for byte in message {
        sum = sum.add(*byte);
        escape(*byte, &is_special, &mut put);
    }
    for byte in sum.bytes() {
        escape(byte, &is_special, &mut put);
    }
    put(FLAG);
}

fn escape(byte: u8, is_special: &impl Fn(u8) -> bool, put: &mut impl FnMut(u8)) {
    if matches!(byte, FLAG | ESCAPE) || is_special(byte) {
        put(ESCAPE);
        put(byte ^ FLIP);
    } else {
        put(byte);
    }
}

/// Result of the bytes between two flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame<'a> {
    /// A message that is not empty.
    Good(&'a [u8]),
    /// Garbage, a message of which some bytes are wrong or missing, or more bytes than the decoder
    /// has room for.
    Damaged,
}

/// Decoder that finds frames among bytes. `B` holds the longest message and the check sequence.
#[derive(Clone, Debug)]
pub struct Deframer<C, B> {
    bytes: B,
    /// Number of bytes of the frame so far, including those that did not fit.
    len: usize,
    sum: C,
    is_escaped: bool,
    /// Whether an escape followed an escape, which no sender writes.
    is_spoilt: bool,
}

impl<C: Check, const N: usize> Default for Deframer<C, [u8; N]> {
    fn default() -> Self {
        Deframer::new([0; N])
    }
}

impl<C: Check, B: AsRef<[u8]> + AsMut<[u8]>> Deframer<C, B> {
    /// Makes a decoder for frames that fit into `bytes`.
    pub fn new(bytes: B) -> Self {
        Deframer {
            bytes,
            len: 0,
            sum: C::START,
            is_escaped: false,
            is_spoilt: false,
        }
    }

    /// Discards the bytes of the frame in progress.
    pub fn reset(&mut self) {
        self.len = 0;
        self.sum = C::START;
        self.is_escaped = false;
        self.is_spoilt = false;
    }

    /// Handles the next byte; returns the frame that it ends. Consecutive flags contain no frame.
    pub fn input(&mut self, byte: u8) -> Option<Frame<'_>> {
        match byte {
            FLAG => return self.end(),
            ESCAPE if self.is_escaped => self.is_spoilt = true,
            ESCAPE => self.is_escaped = true,
            _ => {
                let flip = if self.is_escaped { FLIP } else { 0 };
                self.is_escaped = false;
                self.take(byte ^ flip);
            }
        }
        None
    }

    fn take(&mut self, byte: u8) {
        if let Some(place) = self.bytes.as_mut().get_mut(self.len) {
            *place = byte;
        }
        self.len = self.len.saturating_add(1);
        self.sum = self.sum.add(byte);
    }

    fn end(&mut self) -> Option<Frame<'_>> {
        let (len, sum) = (self.len, self.sum);
        let is_spoilt = self.is_spoilt || self.is_escaped;
        self.reset();
        if len == 0 && !is_spoilt {
            return None;
        }
        let frame = self.bytes.as_ref().get(..len).unwrap_or_default();
        match frame.get(..len.saturating_sub(C::LEN)) {
            Some(message) if !is_spoilt && sum == C::GOOD && !message.is_empty() => {
                Some(Frame::Good(message))
            }
            _ => Some(Frame::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const ROOM: usize = 64;

    /// XON and XOFF.
    fn is_special(byte: u8) -> bool {
        matches!(byte, 0x11 | 0x13)
    }

    fn framed<C: Check>(message: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        send::<C>(message, is_special, |byte| bytes.push(byte));
        bytes
    }

    /// Returns the good messages among bytes, and the number of damaged frames.
    fn deframed<C: Check>(bytes: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let mut deframer = Deframer::<C, [u8; ROOM]>::default();
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

    /// Runs a test for both check sequences.
    macro_rules! both {
        ($test:ident) => {
            $test::<Fcs16>();
            $test::<Fcs32>();
        };
    }

    #[test]
    fn frames_are_as_others_write_them() {
        // A reset command of Spinel.
        let reset = framed::<Fcs16>(&[0x80, 1]);
        assert_eq!(reset, [0x7e, 0x80, 0x01, 0x02, 0x92, 0x7e]);
        let digits = framed::<Fcs32>(b"123456789");
        assert_eq!(digits[10..], [0x26, 0x39, 0xf4, 0xcb, 0x7e]);
    }

    #[test]
    fn flags_escapes_and_special_bytes_travel_in_two_bytes() {
        fn test<C: Check>() {
            let message = [0x7e, 0x7d, 0x11, 0x12];
            let bytes = framed::<C>(&message);
            assert_eq!(bytes[1..8], [0x7d, 0x5e, 0x7d, 0x5d, 0x7d, 0x31, 0x12]);
            assert_eq!(deframed::<C>(&bytes), (std::vec![message.to_vec()], 0));
        }
        both!(test);
    }

    #[test]
    fn two_frames_may_share_a_flag_and_flags_alone_are_no_frame() {
        fn test<C: Check>() {
            let frame = framed::<C>(b"one");
            let both = [&frame[..], &frame[1..], &[FLAG; 3]].concat();
            let messages = std::vec![b"one".to_vec(); 2];
            assert_eq!(deframed::<C>(&both), (messages, 0));
        }
        both!(test);
    }

    #[test]
    fn a_frame_fills_the_room_and_a_longer_one_costs_nothing_behind_it() {
        fn test<C: Check>() {
            let longest = [7; ROOM].split_at(ROOM - C::LEN).0.to_vec();
            let mut bytes = framed::<C>(&[&longest[..], &[7]].concat());
            bytes.extend(framed::<C>(&longest));
            // Bytes without a flag never end a frame.
            bytes.extend([7; 100_000]);
            bytes.extend(framed::<C>(&longest));
            let messages = std::vec![longest; 2];
            assert_eq!(deframed::<C>(&bytes), (messages, 2));
        }
        both!(test);
    }

    #[test]
    fn an_escape_before_no_byte_damages_the_frame() {
        fn test<C: Check>() {
            let good = framed::<C>(b"~good");
            let open = &good[..good.len() - 1];
            // Three damaged frames: one ends with an escape byte, one consists of an escape byte,
            // and in one two escape bytes precede an escaped byte.
            let mut bytes = [open, &[ESCAPE, FLAG], &[ESCAPE, FLAG]].concat();
            bytes.extend([&[FLAG, ESCAPE][..], &good[1..]].concat());
            assert_eq!(deframed::<C>(&bytes), (std::vec![], 3));
            bytes.extend(&good);
            assert_eq!(deframed::<C>(&bytes).0, [b"~good"]);
        }
        both!(test);
    }

    #[test]
    fn an_empty_message_is_damaged() {
        fn test<C: Check>() {
            assert_eq!(deframed::<C>(&framed::<C>(&[])), (std::vec![], 1));
            for len in 1..C::LEN {
                let bytes = [&[FLAG][..], &std::vec![1; len], &[FLAG]].concat();
                assert_eq!(deframed::<C>(&bytes), (std::vec![], 1));
            }
        }
        both!(test);
    }

    #[test]
    fn after_a_reset_a_frame_starts_again() {
        fn test<C: Check>() {
            let mut deframer = Deframer::<C, [u8; ROOM]>::default();
            for rest in [&[1, 2, 3][..], &[ESCAPE], &[ESCAPE; 2], &[9; 2 * ROOM]] {
                rest.iter().for_each(|byte| {
                    assert_eq!(deframer.input(*byte), None);
                });
                deframer.reset();
                let frame = framed::<C>(b"new");
                let (last, rest) = frame.split_last().unwrap();
                rest.iter().for_each(|byte| {
                    assert_eq!(deframer.input(*byte), None);
                });
                assert_eq!(deframer.input(*last), Some(Frame::Good(b"new")));
            }
        }
        both!(test);
    }

    proptest! {
        #[test]
        fn a_message_between_random_bytes_is_received(
            garbage in prop::collection::vec(any::<u8>(), 0..2 * ROOM),
            message in prop::collection::vec(any::<u8>(), 1..ROOM - 4),
            behind in prop::collection::vec(any::<u8>(), 0..2 * ROOM),
        ) {
            fn test<C: Check>(garbage: &[u8], message: &[u8], behind: &[u8]) -> usize {
                let frame = framed::<C>(message);
                let bytes = [garbage, &frame, behind, &frame].concat();
                deframed::<C>(&bytes).0.iter().filter(|it| *it == message).count()
            }
            prop_assert_eq!(test::<Fcs16>(&garbage, &message, &behind), 2);
            prop_assert_eq!(test::<Fcs32>(&garbage, &message, &behind), 2);
        }

        #[test]
        fn a_damaged_message_is_discarded(
            message in prop::collection::vec(any::<u8>(), 1..ROOM - 4),
            at in any::<prop::sample::Index>(),
            bit in 0u8..8,
        ) {
            fn test<C: Check>(message: &[u8], at: prop::sample::Index, bit: u8) -> bool {
                let mut bytes = framed::<C>(message);
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
                deframed::<C>(&bytes).0.iter().all(|it| it == message)
            }
            prop_assert!(test::<Fcs32>(&message, at, bit));
        }
    }
}
