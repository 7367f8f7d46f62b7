//! Received segments as views of their bytes.

use redpoll_base::{Addr, Ecn, Instant};
use redpoll_wire::tcp::{HeaderView, is_checksum_valid};

use crate::{Flags, Options, ParseError, SeqNum};

/// Information from the IP layer about a received packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpMeta {
    /// Source address.
    pub src: Addr,
    /// Destination address.
    pub dst: Addr,
    /// ECN field of the received packet.
    pub ecn: Ecn,
    /// Hop limit of the received packet.
    pub hop_limit: u8,
}

/// A received segment with a correct length and checksum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
// This order, small fields first, makes the code smaller: see `Connection`.
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
    /// Payload.
    pub payload: &'a [u8],
    /// Options.
    pub options: Options,
}

/// A segment with its time of arrival and the information of the IP layer.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Time of arrival.
    pub now: Instant,
    /// Index of the destination among the node's addresses.
    pub local: u8,
    /// Information from the IP layer about the packet.
    pub meta: &'a IpMeta,
    /// The segment.
    pub seg: &'a Segment<'a>,
}

impl<'a> Segment<'a> {
    /// Parses the segment in `bytes`, the whole payload of an IP packet.
    ///
    /// # Errors
    /// [`ParseError`] if the header is truncated, its data offset is impossible, or the checksum is
    /// wrong (RFC 9293 §3.1, MUST-3).
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

    /// Makes a segment from a header whose checksum the caller has verified or does not need.
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

    /// Returns SEG.LEN, the number of sequence numbers, including SYN and FIN (RFC 9293 §3.4).
    pub fn len(&self) -> u32 {
        let controls = u32::from(self.flags.syn()).wrapping_add(u32::from(self.flags.fin()));
        (self.payload.len() as u32).wrapping_add(controls)
    }

    /// Returns whether the segment occupies no sequence number.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the sequence number after the segment's last one.
    pub fn end(&self) -> SeqNum {
        self.seq + self.len()
    }
}

#[cfg(test)]
mod tests;
