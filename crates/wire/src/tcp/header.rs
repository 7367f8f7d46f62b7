//! A TCP header in place (RFC 9293 §3.1).

use redpoll_base::Addr;
use redpoll_base::checksum::Checksum;

use super::{Flags, OptionList, SeqNum};
use crate::Error;
use crate::ipv6::next_header;

/// A TCP header at the beginning of some bytes (RFC 9293 §3.1), with checked lengths: the data
/// offset is at least 5 words, and at most the length of the segment. The checksum is not checked:
/// see [`is_checksum_valid`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderView<'a> {
    fixed: &'a [u8; HeaderView::MIN_LEN],
    options: &'a [u8],
    payload: &'a [u8],
    payload_len: usize,
}

impl<'a> HeaderView<'a> {
    /// Bytes of a header without options.
    pub const MIN_LEN: usize = 20;
    /// Bytes of the longest header: the data offset is at most 15 words.
    pub const MAX_LEN: usize = 60;

    /// Reads the header of a whole segment, which is an IP packet's whole payload.
    ///
    /// # Errors
    /// [`Error::Truncated`] for fewer than 20 bytes, [`Error::Length`] for a data offset
    /// below 5 words or beyond the end of the segment.
    pub fn parse(segment: &'a [u8]) -> Result<HeaderView<'a>, Error> {
        let (fixed, _) = segment.split_first_chunk().ok_or(Error::Truncated)?;
        let (header, payload) = segment
            .split_at_checked(data_offset(fixed))
            .ok_or(Error::Length)?;
        Ok(HeaderView {
            fixed,
            options: header.get(Self::MIN_LEN..).ok_or(Error::Length)?,
            payload,
            payload_len: payload.len(),
        })
    }

    /// Reads the header of a segment of `segment_len` bytes that begins with `bytes`.
    /// The other bytes are missing, for example because they are in another fragment.
    ///
    /// If some of the options are missing, [`is_complete`](Self::is_complete) is false
    /// and [`options`](Self::options) is empty.
    ///
    /// # Errors
    /// [`Error::Truncated`] for fewer than 20 bytes, [`Error::Length`] for a data offset
    /// below 5 words or above `segment_len`.
    pub fn parse_partial(bytes: &'a [u8], segment_len: usize) -> Result<HeaderView<'a>, Error> {
        let (fixed, _) = bytes.split_first_chunk().ok_or(Error::Truncated)?;
        let header_len = data_offset(fixed);
        let payload_len = segment_len.checked_sub(header_len).ok_or(Error::Length)?;
        if header_len < Self::MIN_LEN {
            return Err(Error::Length);
        }
        let payload = bytes.get(header_len..).unwrap_or(&[]);
        Ok(HeaderView {
            fixed,
            options: bytes.get(Self::MIN_LEN..header_len).unwrap_or(&[]),
            payload: payload.get(..payload_len).unwrap_or(payload),
            payload_len,
        })
    }

    /// Returns the data offset in bytes of the header at the start of `bytes`, valid or not: 0 to
    /// 60. `None` for fewer than 20 bytes.
    pub fn announced_len(bytes: &[u8]) -> Option<usize> {
        bytes.first_chunk().map(data_offset)
    }

    /// Returns the source port.
    pub fn src_port(&self) -> u16 {
        let [a, b, ..] = *self.fixed;
        u16::from_be_bytes([a, b])
    }

    /// Returns the destination port.
    pub fn dst_port(&self) -> u16 {
        let [_, _, a, b, ..] = *self.fixed;
        u16::from_be_bytes([a, b])
    }

    /// Returns SEG.SEQ: the sequence number of the first data byte, or of the SYN.
    pub fn seq(&self) -> SeqNum {
        let [_, _, _, _, a, b, c, d, ..] = *self.fixed;
        SeqNum(u32::from_be_bytes([a, b, c, d]))
    }

    /// Returns SEG.ACK if the ACK bit is set: the next sequence number that the sender expects.
    pub fn ack(&self) -> Option<SeqNum> {
        self.flags().ack().then(|| self.ack_field())
    }

    /// Returns the field of SEG.ACK, which is meaningless without the ACK bit.
    pub fn ack_field(&self) -> SeqNum {
        let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *self.fixed;
        SeqNum(u32::from_be_bytes([a, b, c, d]))
    }

    /// Returns SEG.SEQ, and the field of SEG.ACK.
    pub fn numbers(&self) -> (SeqNum, SeqNum) {
        let [_, _, _, _, numbers @ .., _, _, _, _, _, _, _, _] = self.fixed;
        let (seq, ack) = two_words(numbers);
        (SeqNum(seq), SeqNum(ack))
    }

    /// Returns the data offset in bytes: 20 to 60, a multiple of 4.
    pub fn header_len(&self) -> usize {
        data_offset(self.fixed)
    }

    /// Returns Rsrvd: the four reserved bits, 0 to 15. A sender sets them to 0.
    pub fn reserved(&self) -> u8 {
        let [.., offset, _, _, _, _, _, _, _] = *self.fixed;
        offset & 0x0f
    }

    /// Returns the control bits.
    pub fn flags(&self) -> Flags {
        let [.., flags, _, _, _, _, _, _] = *self.fixed;
        Flags(flags)
    }

    /// Returns SEG.WND of the header, in bytes before the window scale (RFC 7323 §2.3).
    pub fn window(&self) -> u16 {
        let [.., a, b, _, _, _, _] = *self.fixed;
        u16::from_be_bytes([a, b])
    }

    /// Returns the checksum field; see [`is_checksum_valid`].
    pub fn checksum(&self) -> u16 {
        let [.., a, b, _, _] = *self.fixed;
        u16::from_be_bytes([a, b])
    }

    /// Returns the urgent pointer: an offset from SEG.SEQ in bytes; meaningless without URG.
    pub fn urgent_pointer(&self) -> u16 {
        let [.., a, b] = *self.fixed;
        u16::from_be_bytes([a, b])
    }

    /// Returns the options, 0 to 40 bytes.
    pub fn options(&self) -> OptionList<'a> {
        OptionList(self.options)
    }

    /// Returns whether the bytes contain the whole header.
    pub fn is_complete(&self) -> bool {
        self.options.len() == self.header_len().wrapping_sub(Self::MIN_LEN)
    }

    /// Returns the data; of a [partial](Self::parse_partial) segment, the available bytes.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns the length of the whole segment's data in bytes.
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }
}

/// Returns the data offset in bytes, 0 to 60.
fn data_offset(fixed: &[u8; HeaderView::MIN_LEN]) -> usize {
    let [.., offset, _, _, _, _, _, _, _] = *fixed;
    // The field has the number of 32-bit words, in the upper half of its byte.
    usize::from(offset >> 4).wrapping_mul(4)
}

/// Returns two numbers, most significant byte first: sequence numbers of a header, timestamps, or
/// the edges of a SACK block.
#[inline(never)] // size
pub fn two_words(&[a, b, c, d, e, f, g, h]: &[u8; 8]) -> (u32, u32) {
    let (first, second) = ([a, b, c, d], [e, f, g, h]);
    (u32::from_be_bytes(first), u32::from_be_bytes(second))
}

/// Returns whether the checksum over pseudo-header and `segment`, an IPv6 packet's whole payload,
/// is correct (RFC 9293 §3.1).
pub fn is_checksum_valid(src: &Addr, dst: &Addr, segment: &[u8]) -> bool {
    Checksum::of_payload(src, dst, next_header::TCP, segment).is_valid()
}
