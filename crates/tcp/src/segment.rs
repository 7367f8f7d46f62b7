//! Received segments: a view of the bytes, valid by construction.

use redpoll_base::{Addr, Ecn, Instant};
use redpoll_wire::tcp::{HeaderView, is_checksum_valid};

use crate::{Flags, Options, ParseError, SeqNum};

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
        let header = HeaderView::parse(bytes).map_err(|error| match error {
            redpoll_wire::Error::Truncated => ParseError::Truncated,
            _ => ParseError::DataOffset,
        })?;
        if !is_checksum_valid(&meta.src, &meta.dst, bytes) {
            return Err(ParseError::Checksum);
        }
        Ok(Segment::unverified(&header))
    }

    /// The segment of a header whose checksum the caller has checked, or does not need.
    pub fn unverified(header: &HeaderView<'a>) -> Segment<'a> {
        let (seq, ack) = header.numbers();
        Segment {
            flags: header.flags(),
            src_port: header.src_port(),
            dst_port: header.dst_port(),
            window: header.window(),
            seq,
            ack,
            payload: header.payload(),
            options: Options::parse(header.options()),
        }
    }

    /// SEG.LEN: the sequence numbers that the segment occupies, those of SYN
    /// and FIN included (RFC 9293 §3.4).
    pub fn len(&self) -> u32 {
        let controls = u32::from(self.flags.syn()).wrapping_add(u32::from(self.flags.fin()));
        (self.payload.len() as u32).wrapping_add(controls)
    }

    /// Returns whether the segment occupies no sequence number.
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
