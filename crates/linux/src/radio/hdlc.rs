//! Frames on a serial line: HDLC-lite, as Spinel has it (RFC 1662 §4 and appendix C.2:
//! flags, escapes, a check sequence of 16 bits).

const FLAG: u8 = 0x7e;
const ESCAPE: u8 = 0x7d;
const ESCAPED: u8 = 0x20;
/// What a frame may not hold unescaped: both of the above, XON and XOFF, and a byte that
/// some bootloaders take for theirs.
const SPECIAL: [u8; 5] = [FLAG, ESCAPE, 0x11, 0x13, 0xf8];

/// The longest frame that is taken, its check sequence included.
pub const MAX_FRAME: usize = 2_048;

/// `frame` as it goes over the line.
pub fn encode(frame: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(frame.len() + 8);
    line.push(FLAG);
    let check = (!check(frame)).to_le_bytes();
    for &byte in frame.iter().chain(&check) {
        if SPECIAL.contains(&byte) {
            line.extend([ESCAPE, byte ^ ESCAPED]);
        } else {
            line.push(byte);
        }
    }
    line.push(FLAG);
    line
}

/// The check sequence before it is inverted.
fn check(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xffff, |mut crc, byte| {
        crc ^= u16::from(*byte);
        for _ in 0..8 {
            let carry = crc & 1 != 0;
            crc >>= 1;
            if carry {
                crc ^= 0x8408;
            }
        }
        crc
    })
}

/// What a line has lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCounters {
    /// Frames whose check sequence was wrong, or that were too short to have one.
    pub bad_check: u64,
    /// Frames that went on for too long.
    pub too_long: u64,
}

/// Takes a line apart into frames. Garbage between frames costs the frame that it touches.
#[derive(Debug, Default)]
pub struct Decoder {
    frame: Vec<u8>,
    escaped: bool,
    overflown: bool,
    counters: LineCounters,
}

impl Decoder {
    /// What was lost so far.
    pub fn counters(&self) -> LineCounters {
        self.counters
    }

    /// Takes the next byte; the frame that it ends, if it ends one.
    pub fn input(&mut self, byte: u8) -> Option<Vec<u8>> {
        match byte {
            FLAG => return self.end(),
            ESCAPE => self.escaped = true,
            _ if self.frame.len() >= MAX_FRAME => self.overflown = true,
            _ => {
                let mask = if self.escaped { ESCAPED } else { 0 };
                self.frame.push(byte ^ mask);
                self.escaped = false;
            }
        }
        None
    }

    /// Forgets what has come of the frame that is under way.
    pub fn reset(&mut self) {
        self.frame.clear();
        self.escaped = false;
        self.overflown = false;
    }

    fn end(&mut self) -> Option<Vec<u8>> {
        let (overflown, escaped) = (self.overflown, self.escaped);
        let mut frame = std::mem::take(&mut self.frame);
        self.reset();
        if overflown {
            self.counters.too_long += 1;
            return None;
        }
        // Between two flags there may be nothing.
        if frame.is_empty() && !escaped {
            return None;
        }
        /// What [`check`] gives of a frame with its check sequence.
        const GOOD: u16 = 0xf0b8;
        if escaped || frame.len() < 3 || check(&frame) != GOOD {
            self.counters.bad_check += 1;
            return None;
        }
        frame.truncate(frame.len() - 2);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(decoder: &mut Decoder, line: &[u8]) -> Vec<Vec<u8>> {
        line.iter()
            .filter_map(|byte| decoder.input(*byte))
            .collect()
    }

    #[test]
    fn the_check_sequence_is_that_of_the_rfc() {
        // The check value of CRC-16/X-25.
        assert_eq!(!check(b"123456789"), 0x906e);
        // A reset command of Spinel.
        assert_eq!(encode(&[0x80, 1]), [0x7e, 0x80, 0x01, 0x02, 0x92, 0x7e]);
    }

    #[test]
    fn every_byte_survives_the_line() {
        let frame: Vec<u8> = (0..=255).collect();
        let line = encode(&frame);
        assert!(
            line[1..line.len() - 1]
                .iter()
                .all(|byte| ![FLAG, 0x11, 0x13].contains(byte))
        );
        let mut decoder = Decoder::default();
        assert_eq!(decode(&mut decoder, &line), std::slice::from_ref(&frame));
        // Two frames may share a flag.
        let both = [&line[..], &line[1..]].concat();
        assert_eq!(decode(&mut decoder, &both), [frame.clone(), frame]);
        assert_eq!(decoder.counters(), LineCounters::default());
    }

    #[test]
    fn garbage_costs_the_frame_that_it_touches_and_no_other() {
        let mut decoder = Decoder::default();
        let good = encode(b"good");
        let mut bad = encode(b"evil");
        bad[2] ^= 1;
        let noise = [
            &b"boot: \x00\xff\xfe"[..],
            &good,
            &bad,
            &[FLAG, ESCAPE, FLAG],
            &good,
        ]
        .concat();
        assert_eq!(decode(&mut decoder, &noise), [b"good", b"good"]);
        assert_eq!(decoder.counters().bad_check, 3);
        // A line that never ends takes no more memory than one frame.
        for _ in 0..100_000 {
            assert_eq!(decoder.input(b'x'), None);
        }
        assert!(decoder.frame.capacity() <= 2 * MAX_FRAME);
        // The flag before the next frame ends it.
        assert_eq!(decode(&mut decoder, &good), [b"good"]);
        assert_eq!(decoder.counters().too_long, 1);
    }
}
