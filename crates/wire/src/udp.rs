//! UDP (RFC 768) over IPv6 (RFC 8200 §8.1).

#[cfg(test)]
mod tests;

use crate::cursor::Reader;
use crate::ipv6::next_header;
use crate::{Cursor, Error, NoRoom};
use redpoll_base::{Addr, checksum::Checksum};

/// The header of a UDP datagram (RFC 768).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UdpHeader {
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// Bytes of header and payload, 8 or more.
    pub length: u16,
    /// Checksum over pseudo-header, header and payload; 0 is not allowed over IPv6.
    pub checksum: u16,
}

impl UdpHeader {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Returns a header for `payload`, with length and checksum; `None` when the payload is too
    /// long for a UDP datagram.
    pub fn for_payload(
        src: &Addr,
        src_port: u16,
        dst: &Addr,
        dst_port: u16,
        payload: &[u8],
    ) -> Option<UdpHeader> {
        let length = payload.len().checked_add(Self::LEN)?;
        let mut header = UdpHeader {
            src_port,
            dst_port,
            length: u16::try_from(length).ok()?,
            checksum: 0,
        };
        let mut sum = Checksum::pseudo_header(src, dst, next_header::UDP, u32::from(header.length));
        sum.add(&header.to_bytes());
        sum.add(payload);
        header.checksum = match sum.finish() {
            // RFC 8200 §8.1: zero would mean that there is no checksum. 0xffff, the other form of
            // zero, is sent instead.
            0 => 0xffff,
            checksum => checksum,
        };
        Some(header)
    }

    /// Parses the header; returns it and the payload of the announced length.
    ///
    /// # Errors
    /// [`Error::Length`] for a length below 8, [`Error::Truncated`] when there are fewer bytes than
    /// announced.
    pub fn parse(bytes: &[u8]) -> Result<(UdpHeader, &[u8]), Error> {
        let mut input = Reader::new(bytes);
        let header = UdpHeader {
            src_port: input.u16()?,
            dst_port: input.u16()?,
            length: input.u16()?,
            checksum: input.u16()?,
        };
        let payload_len = usize::from(header.length)
            .checked_sub(Self::LEN)
            .ok_or(Error::Length)?;
        Ok((header, input.take(payload_len)?))
    }

    /// Writes the header.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put(&self.to_bytes())
    }

    /// Returns the encoded header.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let [a, b] = self.src_port.to_be_bytes();
        let [c, d] = self.dst_port.to_be_bytes();
        let [e, f] = self.length.to_be_bytes();
        let [g, h] = self.checksum.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }

    /// Returns whether the checksum over pseudo-header, this header and `payload` is correct. A
    /// zero checksum never is (RFC 8200 §8.1).
    pub fn verify(&self, src: &Addr, dst: &Addr, payload: &[u8]) -> bool {
        let mut sum = Checksum::pseudo_header(src, dst, next_header::UDP, u32::from(self.length));
        sum.add(&self.to_bytes());
        sum.add(payload);
        self.checksum != 0 && sum.is_valid()
    }
}
