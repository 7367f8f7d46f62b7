//! IPv6 (RFC 8200): the fixed header, a search past extension headers, and the changes that a
//! router makes in place: the hop limit and the congestion mark.
//!
//! This module implements neither jumbograms nor fragments. [`mpl`] implements MPL's IPv6 option,
//! and [`rpl`](crate::rpl) that of RPL.

pub mod addr;
mod hop_by_hop;
pub mod mpl;
#[cfg(test)]
mod tests;

pub use hop_by_hop::hop_by_hop_len;

use crate::cursor::Reader;
use crate::{Cursor, Error, NoRoom};
use redpoll_base::{Addr, Ecn};

/// Next-header numbers (IANA "Protocol Numbers").
pub mod next_header {
    /// Hop-by-hop options (RFC 8200 §4.3).
    pub const HOP_BY_HOP: u8 = 0;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// An IPv6 packet inside an IPv6 packet (RFC 2473).
    pub const IPV6: u8 = 41;
    /// Routing header (RFC 8200 §4.4).
    pub const ROUTING: u8 = 43;
    /// Fragment header (RFC 8200 §4.5).
    pub const FRAGMENT: u8 = 44;
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// No next header (RFC 8200 §4.7).
    pub const NONE: u8 = 59;
    /// Destination options (RFC 8200 §4.6).
    pub const DST_OPTIONS: u8 = 60;
    /// Mobility header (RFC 6275).
    pub const MOBILITY: u8 = 135;
}

/// The smallest MTU a link may offer to IPv6, in bytes (RFC 8200 §5).
pub const MIN_MTU: usize = 1280;

const HOP_LIMIT_AT: usize = 7;
const ECN_SHIFT: u32 = 4;

/// The fixed IPv6 header (RFC 8200 §3), its traffic class split into DSCP and
/// ECN (RFC 2474 §3, RFC 3168 §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ipv6Header {
    /// Differentiated-services codepoint, 0 to 63.
    pub dscp: u8,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// Flow label, 20 bits (RFC 6437).
    pub flow_label: u32,
    /// Number of bytes after this header.
    pub payload_len: u16,
    /// The next header; see [`next_header`].
    pub next_header: u8,
    /// Number of links that the packet may still cross.
    pub hop_limit: u8,
    /// Source address.
    pub src: Addr,
    /// Destination address.
    pub dst: Addr,
}

impl Ipv6Header {
    /// Length of the header in bytes.
    pub const LEN: usize = 40;

    /// Parses the header; returns it and the payload that it announces, without later bytes.
    ///
    /// # Errors
    /// [`Error::Version`] when the version is not 6, and [`Error::Truncated`] when there are fewer
    /// bytes than the header and the announced payload length.
    pub fn parse(bytes: &[u8]) -> Result<(Ipv6Header, &[u8]), Error> {
        let mut input = Reader::new(bytes);
        let header = Self::read(&mut input)?;
        Ok((header, input.take(usize::from(header.payload_len))?))
    }

    /// Parses only the header, for a packet whose end is missing, such as a first fragment or the
    /// quotation of an ICMPv6 error.
    ///
    /// # Errors
    /// As [`Ipv6Header::parse`], but the payload may be missing.
    pub fn parse_partial(bytes: &[u8]) -> Result<(Ipv6Header, &[u8]), Error> {
        let mut input = Reader::new(bytes);
        let header = Self::read(&mut input)?;
        Ok((header, input.rest()))
    }

    fn read(input: &mut Reader<'_>) -> Result<Ipv6Header, Error> {
        let first = input.u32()?;
        if first >> 28 != 6 {
            return Err(Error::Version);
        }
        let traffic_class = (first >> 20) as u8;
        Ok(Ipv6Header {
            dscp: traffic_class >> 2,
            ecn: Ecn::from_bits(traffic_class),
            flow_label: first & 0xf_ffff,
            payload_len: input.u16()?,
            next_header: input.u8()?,
            hop_limit: input.u8()?,
            src: Addr(input.array()?),
            dst: Addr(input.array()?),
        })
    }

    /// Writes the header. Excess bits of `dscp` and `flow_label` are ignored.
    pub fn emit(&self, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
        out.put(&self.to_bytes())
    }

    /// Returns the encoded header.
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let first =
            (6 << 28) | (u32::from(self.traffic_class()) << 20) | self.flow_label & 0xf_ffff;
        let mut bytes = [0; Self::LEN];
        let (fixed, addresses) = bytes.split_at_mut(8);
        let (src, dst) = addresses.split_at_mut(16);
        let [a, b, c, d] = first.to_be_bytes();
        let [e, f] = self.payload_len.to_be_bytes();
        fixed.copy_from_slice(&[a, b, c, d, e, f, self.next_header, self.hop_limit]);
        src.copy_from_slice(&self.src.0);
        dst.copy_from_slice(&self.dst.0);
        bytes
    }

    /// Returns the byte of DSCP and ECN.
    pub fn traffic_class(&self) -> u8 {
        (self.dscp << 2) | self.ecn.bits()
    }
}

/// Skips extension headers. Returns the next-header number of the upper layer and its offset in
/// `payload`, the bytes after the fixed header.
///
/// The function skips hop-by-hop, routing and destination-option headers, and fragment headers of
/// unfragmented packets (RFC 6946 §2.1). It stops, and returns the header's own number, at the
/// fragment header of a fragmented packet, at a hop-by-hop header that is not the first (RFC 8200
/// §4.1) and at an unknown header.
///
/// # Errors
/// [`Error::Truncated`] when a header runs past the end of `payload`.
pub fn skip_extension_headers(first: u8, payload: &[u8]) -> Result<(u8, usize), Error> {
    let mut next = first;
    let mut offset = 0usize;
    loop {
        let rest = payload.get(offset..).ok_or(Error::Truncated)?;
        let units = match next {
            next_header::HOP_BY_HOP if offset != 0 => return Ok((next, offset)),
            // RFC 8200 §4.3: the length is in units of 8 octets, not including the first 8.
            next_header::HOP_BY_HOP | next_header::ROUTING | next_header::DST_OPTIONS => {
                usize::from(*rest.get(1).ok_or(Error::Truncated)?).saturating_add(1)
            }
            next_header::FRAGMENT => match rest {
                // Offset zero and no more fragments: the packet is not fragmented.
                [_, _, 0, flags, _, _, _, _, ..] if flags & 0xf9 == 0 => 1,
                [_, _, _, _, _, _, _, _, ..] => return Ok((next, offset)),
                _ => return Err(Error::Truncated),
            },
            _ => return Ok((next, offset)),
        };
        next = *rest.first().ok_or(Error::Truncated)?;
        let len = units.saturating_mul(8);
        if rest.len() < len {
            return Err(Error::Truncated);
        }
        offset = offset.saturating_add(len);
    }
}

/// Decrements the hop limit of a raw packet and returns the new value. Returns `None` without a
/// change if that would be 0 or the packet ends before the hop limit. RFC 8200 §3: decremented by 1
/// by each node that forwards the packet; when it reaches zero, the packet is discarded.
pub fn decrement_hop_limit(packet: &mut [u8]) -> Option<u8> {
    let hop_limit = packet.get_mut(HOP_LIMIT_AT)?;
    let left = hop_limit.checked_sub(1).filter(|left| *left > 0)?;
    *hop_limit = left;
    Some(left)
}

/// Returns the ECN codepoint of a raw packet; `None` if it is not an IPv6 packet.
pub fn ecn(packet: &[u8]) -> Option<Ecn> {
    match packet {
        [first, second, ..] if first >> 4 == 6 => Some(Ecn::from_bits(second >> ECN_SHIFT)),
        _ => None,
    }
}

/// Marks a raw packet "congestion experienced" if its sender takes part in ECN: RFC 3168 §5 allows
/// this only for an ECT codepoint. Returns whether the packet carries the mark now.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    let capable = ecn(packet).is_some_and(Ecn::is_capable);
    match packet.get_mut(1) {
        Some(second) if capable => {
            *second |= Ecn::Ce.bits() << ECN_SHIFT;
            true
        }
        _ => false,
    }
}
