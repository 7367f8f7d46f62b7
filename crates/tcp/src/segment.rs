//! Received segments: a view of the bytes, valid by construction.

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Ecn, Instant};

use crate::header::{self, Flags};
use crate::options::two_words;
use crate::{Options, ParseError, SeqNum};

/// What the IP layer knows about a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpMeta {
    /// Source address.
    pub src: Addr,
    /// Destination address.
    pub dst: Addr,
    /// The ECN field as it arrived.
    pub ecn: Ecn,
    /// The hop limit as it arrived.
    pub hop_limit: u8,
}

/// A received segment with a correct length and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// In this order on purpose, small things first: see `Connection`.
#[repr(C)]
pub struct Segment<'a> {
    /// Control bits.
    pub flags: Flags,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// SEG.WND in bytes.
    pub window: u16,
    /// SEG.SEQ.
    pub seq: SeqNum,
    /// SEG.ACK; meaningless without the ACK flag.
    pub ack: SeqNum,
    /// The data.
    pub payload: &'a [u8],
    /// Options.
    pub options: Options,
}

/// A segment, when it arrived and where.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// When.
    pub now: Instant,
    /// At which of the node's addresses.
    pub local: u8,
    /// What its packet says.
    pub meta: &'a IpMeta,
    /// The segment.
    pub seg: &'a Segment<'a>,
}

impl<'a> Segment<'a> {
    /// Reads the segment in `bytes`, an IP packet's whole payload.
    ///
    /// # Errors
    ///
    /// [`ParseError`] if the header is cut short, its data offset is
    /// impossible, or the checksum is wrong (RFC 9293 §3.1, MUST-3).
    pub fn parse(meta: &IpMeta, bytes: &'a [u8]) -> Result<Segment<'a>, ParseError> {
        let (fixed, _) = bytes
            .split_first_chunk::<{ header::BASE_LEN }>()
            .ok_or(ParseError::Truncated)?;
        let &[
            sp0,
            sp1,
            dp0,
            dp1,
            ref numbers @ ..,
            offset,
            flags,
            w0,
            w1,
            _,
            _,
            _,
            _,
        ] = fixed;
        let (seq, ack) = two_words(numbers);
        let header_len = usize::from(offset >> 4).wrapping_mul(4);
        let (header, payload) = bytes
            .split_at_checked(header_len)
            .ok_or(ParseError::DataOffset)?;
        let options = header
            .get(header::BASE_LEN..)
            .ok_or(ParseError::DataOffset)?;

        let mut sum =
            Checksum::pseudo_header(&meta.src, &meta.dst, header::PROTOCOL, bytes.len() as u32);
        sum.add(bytes);
        if !sum.is_valid() {
            return Err(ParseError::Checksum);
        }

        Ok(Segment {
            src_port: u16::from_be_bytes([sp0, sp1]),
            dst_port: u16::from_be_bytes([dp0, dp1]),
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            flags: Flags(flags),
            window: u16::from_be_bytes([w0, w1]),
            options: Options::parse(options),
            payload,
        })
    }

    /// SEG.LEN: the sequence numbers that the segment occupies, those of SYN
    /// and FIN included (RFC 9293 §3.4).
    pub fn len(&self) -> u32 {
        let controls = u32::from(self.flags.syn()).wrapping_add(u32::from(self.flags.fin()));
        (self.payload.len() as u32).wrapping_add(controls)
    }

    /// Whether the segment occupies no sequence number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One past the last sequence number of the segment.
    pub fn end(&self) -> SeqNum {
        self.seq + self.len()
    }
}

#[cfg(test)]
mod tests;
