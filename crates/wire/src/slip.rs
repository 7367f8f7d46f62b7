//! SLIP (RFC 1055): packets on a serial line.
//!
//! A packet ends with END; an END within it is sent as ESC ESC_END, an ESC as ESC ESC_ESC. The line
//! does not detect lost or damaged bytes: the checksums of the packets do.

const END: u8 = 0xc0;
const ESC: u8 = 0xdb;
const ESC_END: u8 = 0xdc;
const ESC_ESC: u8 = 0xdd;

/// Returns the encoded bytes of a packet. They also begin with an END, which ends a preceding
/// packet of line noise (RFC 1055, "Protocol").
pub fn encode(packet: &[u8]) -> impl Iterator<Item = u8> {
    let body = packet.iter().flat_map(|byte| {
        let (first, second) = match *byte {
            END => (ESC, Some(ESC_END)),
            ESC => (ESC, Some(ESC_ESC)),
            byte => (byte, None),
        };
        core::iter::once(first).chain(second)
    });
    core::iter::once(END)
        .chain(body)
        .chain(core::iter::once(END))
}

/// Decoder that finds the packets in the bytes of a line.
#[derive(Debug)]
pub struct Decoder<'b> {
    room: &'b mut [u8],
    len: usize,
    is_escaped: bool,
    /// Whether the packet is invalid; its remaining bytes are then skipped.
    is_broken: bool,
    broken: u32,
}

impl<'b> Decoder<'b> {
    /// Returns a decoder for packets that fit into `room`.
    pub fn new(room: &'b mut [u8]) -> Self {
        Decoder {
            room,
            len: 0,
            is_escaped: false,
            is_broken: false,
            broken: 0,
        }
    }

    /// Handles the next byte of the line; returns the packet that this byte ends.
    pub fn push(&mut self, byte: u8) -> Option<&[u8]> {
        if byte == END {
            return self.end();
        }
        let is_escaped = core::mem::take(&mut self.is_escaped);
        let byte = match byte {
            _ if self.is_broken => return None,
            ESC_END if is_escaped => END,
            ESC_ESC if is_escaped => ESC,
            // RFC 1055 defines no meaning of an ESC before a byte other than ESC_END and ESC_ESC.
            _ if is_escaped => {
                self.is_broken = true;
                return None;
            }
            ESC => {
                self.is_escaped = true;
                return None;
            }
            byte => byte,
        };
        match self.room.get_mut(self.len) {
            Some(place) => {
                *place = byte;
                self.len = self.len.saturating_add(1);
            }
            None => self.is_broken = true,
        }
        None
    }

    fn end(&mut self) -> Option<&[u8]> {
        let len = core::mem::take(&mut self.len);
        let is_cut = core::mem::take(&mut self.is_escaped);
        if core::mem::take(&mut self.is_broken) || is_cut {
            self.broken = self.broken.saturating_add(1);
            return None;
        }
        // Ignore empty packets: one END may end a packet and another may begin the next.
        self.room.get(..len).filter(|packet| !packet.is_empty())
    }

    /// Returns the number of packets that were too long, or had an ESC before a byte other than
    /// ESC_END and ESC_ESC.
    pub fn broken(&self) -> u32 {
        self.broken
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn decode(line: &[u8], room: usize) -> (Vec<Vec<u8>>, u32) {
        let mut room = std::vec![0; room];
        let mut decoder = Decoder::new(&mut room);
        let mut packets = Vec::new();
        for byte in line {
            packets.extend(decoder.push(*byte).map(<[u8]>::to_vec));
        }
        (packets, decoder.broken())
    }

    #[test]
    fn special_bytes_are_escaped() {
        let line: Vec<u8> = encode(&[1, 0xc0, 0xdb, 2]).collect();
        assert_eq!(line, [0xc0, 1, 0xdb, 0xdc, 0xdb, 0xdd, 2, 0xc0]);
        assert_eq!(
            decode(&line, 4),
            (std::vec![std::vec![1, 0xc0, 0xdb, 2]], 0)
        );
    }

    #[test]
    fn packets_of_every_byte_pass() {
        let all: Vec<u8> = (0..=255).collect();
        let twice: Vec<u8> = encode(&all).chain(encode(&all)).collect();
        assert_eq!(
            decode(&twice, 256),
            (std::vec![all.clone(), all.clone()], 0)
        );
        // A single END between the packets is enough.
        let joined: Vec<u8> = encode(&all).chain(encode(&all).skip(1)).collect();
        assert_eq!(decode(&joined, 256).0.len(), 2);
    }

    #[test]
    fn noise_spoils_no_more_than_one_packet() {
        let whole: Vec<u8> = encode(&[7, 8]).collect();
        for noise in [
            &[0xdb, 1, 2][..],
            &[9; 40],
            &[0xdb],
            &[0xdb, 0xdb],
            &[0xc0, 0xdb, 0x00, 0xc0],
        ] {
            let line = [noise, &whole].concat();
            let (packets, broken) = decode(&line, 8);
            assert_eq!(packets, [std::vec![7, 8]], "{noise:?}");
            assert_eq!(broken, 1, "{noise:?}");
        }
    }
}
