//! Frames on a serial line: Spinel's HDLC-lite, which is RFC 1662 §4 with a check sequence of 16
//! bits and more bytes that are escaped.

use redpoll_wire::hdlc::{Deframer, Fcs16, send};

/// Bytes that only Spinel escapes: XON, XOFF, and 0xf8, to which some bootloaders react.
const SPECIAL: [u8; 3] = [0x11, 0x13, 0xf8];

/// The longest frame that is accepted, its check sequence included.
pub const MAX_FRAME: usize = 2_048;

/// Decoder that finds frames among the bytes of a line.
pub type Decoder = Deframer<Fcs16, [u8; MAX_FRAME]>;

pub fn encode(frame: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(frame.len() + 8);
    let is_special = |byte| SPECIAL.contains(&byte);
    send::<Fcs16>(frame, is_special, |byte| line.push(byte));
    line
}

#[cfg(test)]
mod tests {
    use redpoll_wire::hdlc::Frame;

    use super::*;

    fn decode(line: &[u8]) -> (Vec<Vec<u8>>, usize) {
        let mut decoder = Decoder::default();
        let (mut good, mut damaged) = (Vec::new(), 0);
        for byte in line {
            match decoder.input(*byte) {
                Some(Frame::Good(frame)) => good.push(frame.to_vec()),
                Some(Frame::Damaged) => damaged += 1,
                None => {}
            }
        }
        (good, damaged)
    }

    #[test]
    fn frames_are_as_openthread_writes_them() {
        assert_eq!(encode(&[0x80, 1]), [0x7e, 0x80, 0x01, 0x02, 0x92, 0x7e]);
    }

    #[test]
    fn every_byte_survives_the_line() {
        let frame: Vec<u8> = (0..=255).collect();
        let line = encode(&frame);
        assert!(
            line[1..line.len() - 1]
                .iter()
                .all(|byte| ![0x7e, 0x11, 0x13, 0xf8].contains(byte))
        );
        assert_eq!(decode(&line), (vec![frame], 0));
    }

    #[test]
    fn the_longest_frame_is_taken_and_a_longer_one_is_damaged() {
        let longest = vec![7; MAX_FRAME - 2];
        let line = [encode(&longest), encode(&[&longest[..], &[7]].concat())].concat();
        assert_eq!(decode(&line), (vec![longest], 1));
    }
}
