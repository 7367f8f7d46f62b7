//! Compressed IPv6 headers, LOWPAN_IPHC (RFC 6282 §3).
//!
//! [`compress`] is lossless: traffic class, flow label and hop limit arrive as they were sent. The
//! payload length is always elided and computed from the datagram's size. UDP headers are
//! compressed, and extension headers are sent in-line. [`decompress`] accepts compressed UDP
//! headers and compressed extension headers.
//!
//! [`ecn`] and [`mark_ce`] work on compressed packets in place, so that a router can mark a packet
//! that it has already compressed.

#[cfg(test)]
mod tests;

use super::address::{self, Mode};
use super::traffic::{self, Tf};
use super::{Contexts, nhc};
use crate::cursor::Reader;
use crate::ieee802154::Address;
use crate::ipv6::{Ipv6Header, next_header};
use crate::udp::UdpHeader;
use crate::{Cursor, Error, NoRoom};
use redpoll_base::Ecn;

/// Bits of the two encoding bytes (§3.1.1).
mod bits {
    pub const DISPATCH: u16 = 0b011 << 13;
    pub const DISPATCH_MASK: u16 = 0b111 << 13;
    pub const TF_SHIFT: u32 = 11;
    pub const NH: u16 = 1 << 10;
    pub const HLIM_SHIFT: u32 = 8;
    pub const CID: u16 = 1 << 7;
    pub const SAC: u16 = 1 << 6;
    pub const SAM_SHIFT: u32 = 4;
    pub const M: u16 = 1 << 3;
    pub const DAC: u16 = 1 << 2;
}

/// The maximum length in bytes that [`compress`] writes: encoding, traffic class and flow label,
/// hop limit, two addresses in-line, and a compressed UDP header, which is longer than a
/// next-header number.
pub const MAX_COMPRESSED_LEN: usize = 2 + 4 + 1 + 16 + 16 + 7;

/// The part of a packet after the IPv6 header.
#[derive(Clone, Copy, Debug)]
pub enum Upper<'a> {
    /// A UDP header, which is compressed too.
    Udp(&'a UdpHeader),
    /// Any other protocol, whose header stays unchanged.
    Other,
}

/// The result of [`compress`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compressed {
    /// Number of packet bytes that the compressed header replaces: 40, or 48 with UDP. The rest of
    /// the packet follows unchanged.
    pub uncompressed_len: usize,
}

/// The result of [`decompress`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decompressed {
    /// Length of the compressed headers in bytes. The rest of the packet follows unchanged.
    pub consumed: usize,
    /// Length of the written headers in bytes: 40, or 48 with UDP, or more with compressed
    /// extension headers.
    pub written: usize,
}

/// Writes `ip`, and `upper` if it is UDP, in the shortest form.
///
/// `link_src` and `link_dst` are the addresses of the frame that carries the packet over this hop.
/// A UDP header whose length field does not span the IPv6 payload stays uncompressed, since
/// compression would change it. A UDP header that `ip` does not announce stays uncompressed, too.
///
/// # Errors
/// [`NoRoom`] when `out` is too short; it may then hold part of the header.
/// [`MAX_COMPRESSED_LEN`] bytes always suffice.
pub fn compress(
    ip: &Ipv6Header,
    upper: Upper<'_>,
    link_src: Address,
    link_dst: Address,
    contexts: &Contexts,
    out: &mut Cursor<'_>,
) -> Result<Compressed, NoRoom> {
    let udp = match upper {
        Upper::Udp(udp) if ip.next_header == next_header::UDP && udp.length == ip.payload_len => {
            Some(udp)
        }
        _ => None,
    };
    let tf = Tf::of(ip);
    let src = address::encode_source(&ip.src, link_src, contexts);
    let dst = if ip.dst.is_multicast() {
        address::encode_multicast(&ip.dst, contexts)
    } else {
        address::encode_unicast(&ip.dst, link_dst, contexts)
    };
    let hlim = match ip.hop_limit {
        1 => 0b01,
        64 => 0b10,
        255 => 0b11,
        _ => 0b00,
    };
    let cids = src.mode.cid << 4 | dst.mode.cid;

    let flag = |set: bool, bit: u16| if set { bit } else { 0 };
    out.put_u16(
        bits::DISPATCH
            | tf.bits() << bits::TF_SHIFT
            | flag(udp.is_some(), bits::NH)
            | hlim << bits::HLIM_SHIFT
            | flag(cids != 0, bits::CID)
            | flag(src.mode.stateful, bits::SAC)
            | src.mode.bits << bits::SAM_SHIFT
            | flag(ip.dst.is_multicast(), bits::M)
            | flag(dst.mode.stateful, bits::DAC)
            | dst.mode.bits,
    )?;
    if cids != 0 {
        out.put_u8(cids)?;
    }
    tf.emit(ip, out)?;
    if udp.is_none() {
        out.put_u8(ip.next_header)?;
    }
    if hlim == 0 {
        out.put_u8(ip.hop_limit)?;
    }
    out.put(src.inline())?;
    out.put(dst.inline())?;
    let mut uncompressed_len = Ipv6Header::LEN;
    if let Some(udp) = udp {
        nhc::emit_udp(udp, out)?;
        uncompressed_len = uncompressed_len.saturating_add(UdpHeader::LEN);
    }
    Ok(Compressed { uncompressed_len })
}

/// Writes the headers that `bytes` starts with into `out`, uncompressed.
///
/// `link_src` and `link_dst` are the addresses of the frame that carried `bytes`. `datagram_len` is
/// the size of the whole uncompressed datagram that a first fragment announces; `None` means that
/// `bytes` holds all of it. The IPv6 payload length and the UDP length follow from it.
///
/// # Errors
/// [`Error::Truncated`], [`Error::Reserved`], [`Error::UnknownContext`], [`Error::NoLinkAddress`]
/// and [`Error::Unsupported`] (not IPHC, an unknown next-header compression, IPv6 in IPv6) for the
/// content of `bytes`; [`Error::Length`] if the result exceeds `datagram_len`; [`Error::NoRoom`] if
/// `out` is too short. [`Error::Checksum`] if the UDP checksum is elided: RFC 6282 §4.3.2 allows
/// this only with another integrity check, which this receiver does not have.
pub fn decompress(
    bytes: &[u8],
    link_src: Address,
    link_dst: Address,
    contexts: &Contexts,
    datagram_len: Option<usize>,
    out: &mut [u8],
) -> Result<Decompressed, Error> {
    let whole = match datagram_len {
        Some(len) => Whole::Expanded(len),
        None => Whole::Here,
    };
    expand(bytes, (link_src, link_dst), contexts, out, whole)
}

/// Decompresses the start of a datagram like [`decompress`], from the size of the *compressed*
/// datagram (RFC 8931 §5.1).
///
/// # Errors
/// As [`decompress`]; [`Error::Length`] if the headers are longer than `compressed_len`.
pub fn decompress_of(
    bytes: &[u8],
    link_src: Address,
    link_dst: Address,
    contexts: &Contexts,
    compressed_len: usize,
    out: &mut [u8],
) -> Result<Decompressed, Error> {
    let whole = Whole::Compressed(compressed_len);
    expand(bytes, (link_src, link_dst), contexts, out, whole)
}

enum Whole {
    /// Unknown in advance: the input holds the whole datagram.
    Here,
    /// Length of the uncompressed form in bytes.
    Expanded(usize),
    /// Length of the compressed form in bytes.
    Compressed(usize),
}

fn expand(
    bytes: &[u8],
    (link_src, link_dst): (Address, Address),
    contexts: &Contexts,
    out: &mut [u8],
    whole: Whole,
) -> Result<Decompressed, Error> {
    let mut input = Reader::new(bytes);
    let ip = read_header(&mut input, link_src, link_dst, contexts)?;
    let mut out = Cursor::new(out);
    ip.header.emit(&mut out)?;
    let udp_at = if ip.next_is_compressed {
        nhc::expand(&mut input, &mut out)?
    } else {
        None
    };

    let written = out.position();
    let done = Decompressed {
        consumed: bytes.len().saturating_sub(input.rest().len()),
        written,
    };
    let available = written.saturating_add(input.rest().len());
    let total = match whole {
        Whole::Here => available,
        Whole::Expanded(len) => len,
        Whole::Compressed(len) => {
            let rest = len.checked_sub(done.consumed).ok_or(Error::Length)?;
            written.saturating_add(rest)
        }
    };
    if available > total {
        return Err(Error::Length);
    }
    // RFC 6282 §3.2, §4.3.3: lengths are inferred from the lower layer.
    let length_from = |start: usize| {
        let length = total.checked_sub(start).ok_or(Error::Length)?;
        u16::try_from(length).map_err(|_| Error::Length)
    };
    out.patch_u16(4, length_from(Ipv6Header::LEN)?)?;
    if let Some(at) = udp_at {
        out.patch_u16(at.saturating_add(4), length_from(at)?)?;
    }
    Ok(done)
}

/// An IPv6 header whose payload length is not known yet.
struct Partial {
    header: Ipv6Header,
    next_is_compressed: bool,
}

fn read_header(
    input: &mut Reader<'_>,
    link_src: Address,
    link_dst: Address,
    contexts: &Contexts,
) -> Result<Partial, Error> {
    let encoding = input.u16()?;
    if encoding & bits::DISPATCH_MASK != bits::DISPATCH {
        return Err(Error::Unsupported);
    }
    let set = |bit: u16| encoding & bit != 0;
    let cids = if set(bits::CID) { input.u8()? } else { 0 };
    let mut header = Ipv6Header::default();
    Tf::from_bits(encoding >> bits::TF_SHIFT).parse(input, &mut header)?;
    let next_is_compressed = set(bits::NH);
    if !next_is_compressed {
        header.next_header = input.u8()?;
    }
    header.hop_limit = match encoding >> bits::HLIM_SHIFT & 0b11 {
        0b01 => 1,
        0b10 => 64,
        0b11 => 255,
        _ => input.u8()?,
    };
    let src = Mode {
        stateful: set(bits::SAC),
        bits: encoding >> bits::SAM_SHIFT & 0b11,
        cid: cids >> 4,
    };
    let dst = Mode {
        stateful: set(bits::DAC),
        bits: encoding & 0b11,
        cid: cids & 0x0f,
    };
    header.src = address::decode_source(src, link_src, contexts, input)?;
    header.dst = if set(bits::M) {
        address::decode_multicast(dst, contexts, input)?
    } else {
        address::decode_unicast(dst, link_dst, contexts, input)?
    };
    if next_is_compressed {
        header.next_header = nhc::next_header_of(input.peek()?)?;
    }
    Ok(Partial {
        header,
        next_is_compressed,
    })
}

/// Returns the ECN codepoint of a compressed packet, which begins with the IPHC dispatch; `None` if
/// it is another packet. An elided traffic class is [`Ecn::NotEct`].
pub fn ecn(packet: &[u8]) -> Option<Ecn> {
    match class_position(packet)? {
        Some(at) => Some(Ecn::from_bits(packet.get(at)? >> traffic::ECN_SHIFT)),
        None => Some(Ecn::NotEct),
    }
}

/// Marks a compressed packet "congestion experienced" in place if its sender takes part in ECN: RFC
/// 3168 §5 allows this only for an ECT codepoint. Returns whether the packet carries the mark now.
/// An elided traffic class cannot be marked, and need not be: its sender does not take part.
pub fn mark_ce(packet: &mut [u8]) -> bool {
    let capable = ecn(packet).is_some_and(Ecn::is_capable);
    match class_position(packet).flatten() {
        Some(at) if capable => {
            if let Some(class) = packet.get_mut(at) {
                *class |= Ecn::Ce.bits() << traffic::ECN_SHIFT;
            }
            true
        }
        _ => false,
    }
}

/// Returns the offset of the byte with the ECN bits; `None` when this is not IPHC, `Some(None)`
/// when the byte is elided.
fn class_position(packet: &[u8]) -> Option<Option<usize>> {
    let encoding = u16::from_be_bytes(*packet.first_chunk()?);
    if encoding & bits::DISPATCH_MASK != bits::DISPATCH {
        return None;
    }
    if Tf::from_bits(encoding >> bits::TF_SHIFT) == Tf::Elided {
        return Some(None);
    }
    Some(Some(if encoding & bits::CID != 0 { 3 } else { 2 }))
}
