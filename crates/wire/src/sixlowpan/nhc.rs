//! Compressed next headers (RFC 6282 §4): UDP in both directions, and extension headers on receipt.
//!
//! Not implemented: a whole IPv6 header after the first (EID 7), and sending compressed extension
//! headers, which are sent in-line.

#[cfg(test)]
mod tests;

use crate::cursor::Reader;
use crate::ipv6::next_header;
use crate::udp::UdpHeader;
use crate::{Cursor, Error, NoRoom};

const UDP: u8 = 0b1111_0000;
/// Bit C of the UDP encoding: the checksum is elided.
const CHECKSUM_ELIDED: u8 = 0b100;
/// Bit NH of the extension-header encoding: another encoding follows.
const NEXT_IS_COMPRESSED: u8 = 0b1;

enum EncodedHeader {
    Udp,
    Extension(u8),
}

fn kind(encoding: u8) -> Result<EncodedHeader, Error> {
    // RFC 6282 §4.2: the bits 1110, the EID in three bits, and NH.
    let number = match encoding {
        0b1111_0000..=0b1111_0111 => return Ok(EncodedHeader::Udp),
        0b1110_0000..=0b1110_1111 => match encoding >> 1 & 0b111 {
            0 => next_header::HOP_BY_HOP,
            1 => next_header::ROUTING,
            2 => next_header::FRAGMENT,
            3 => next_header::DST_OPTIONS,
            4 => next_header::MOBILITY,
            7 => return Err(Error::Unsupported),
            _ => return Err(Error::Reserved),
        },
        _ => return Err(Error::Unsupported),
    };
    Ok(EncodedHeader::Extension(number))
}

pub fn next_header_of(encoding: u8) -> Result<u8, Error> {
    Ok(match kind(encoding)? {
        EncodedHeader::Udp => next_header::UDP,
        EncodedHeader::Extension(number) => number,
    })
}

/// Writes a compressed UDP header, its checksum in-line; the length is elided.
pub fn emit_udp(udp: &UdpHeader, out: &mut Cursor<'_>) -> Result<(), NoRoom> {
    let [s0, s1] = udp.src_port.to_be_bytes();
    let [d0, d1] = udp.dst_port.to_be_bytes();
    // RFC 6282 §4.3.3
    match (s0, s1, d0, d1) {
        (0xf0, 0xb0..=0xbf, 0xf0, 0xb0..=0xbf) => {
            out.put(&[UDP | 0b11, s1 << 4 | d1 & 0x0f])?;
        }
        (0xf0, ..) => out.put(&[UDP | 0b10, s1, d0, d1])?,
        (_, _, 0xf0, _) => out.put(&[UDP | 0b01, s0, s1, d1])?,
        _ => out.put(&[UDP, s0, s1, d0, d1])?,
    }
    out.put_u16(udp.checksum)
}

/// Expands the chain of encodings at `input` into `out`, up to the first header that is not
/// compressed. Returns where in `out` a UDP header was written, whose length field is left zero.
pub fn expand(input: &mut Reader<'_>, out: &mut Cursor<'_>) -> Result<Option<usize>, Error> {
    // Every round consumes input, so the loop ends.
    loop {
        let encoding = input.u8()?;
        match kind(encoding)? {
            EncodedHeader::Udp => {
                let position = out.position();
                expand_udp(encoding, input)?.emit(out)?;
                return Ok(Some(position));
            }
            EncodedHeader::Extension(number) => {
                let more = encoding & NEXT_IS_COMPRESSED != 0;
                expand_extension(number, more, input, out)?;
                if !more {
                    return Ok(None);
                }
            }
        }
    }
}

fn expand_udp(encoding: u8, input: &mut Reader<'_>) -> Result<UdpHeader, Error> {
    let (src_port, dst_port) = match encoding & 0b11 {
        0b00 => (input.u16()?, input.u16()?),
        0b01 => (input.u16()?, 0xf000 | u16::from(input.u8()?)),
        0b10 => (0xf000 | u16::from(input.u8()?), input.u16()?),
        _ => {
            let ports = u16::from(input.u8()?);
            (0xf0b0 | ports >> 4, 0xf0b0 | ports & 0x0f)
        }
    };
    // RFC 6282 §4.3.2: a decompressor that cannot determine that another
    // integrity check covers the datagram must drop it. Redpoll has none.
    if encoding & CHECKSUM_ELIDED != 0 {
        return Err(Error::Checksum);
    }
    Ok(UdpHeader {
        src_port,
        dst_port,
        length: 0,
        checksum: input.u16()?,
    })
}

/// Expands an extension header. If `more`, another compressed header follows, so the next-header
/// number is elided.
fn expand_extension(
    number: u8,
    more: bool,
    input: &mut Reader<'_>,
    out: &mut Cursor<'_>,
) -> Result<(), Error> {
    let inline_next = if more { None } else { Some(input.u8()?) };
    if number == next_header::FRAGMENT {
        // This header always has eight bytes: it has a reserved byte in place of a length.
        let rest: [u8; 7] = input.array()?;
        out.put_u8(next_of(inline_next, input)?)?;
        return Ok(out.put(&rest)?);
    }
    // RFC 6282 §4.2: the length counts the octets after its field, not units of eight.
    let content = input.take(usize::from(input.peek()?).saturating_add(1))?;
    let (_, content) = content.split_first().ok_or(Error::Truncated)?;
    let len = content.len().saturating_add(2);
    let padded = len.next_multiple_of(8).max(8);
    let pad = padded.saturating_sub(len);
    let has_options = matches!(number, next_header::HOP_BY_HOP | next_header::DST_OPTIONS);
    if pad != 0 && !has_options {
        return Err(Error::Length);
    }
    let units = u8::try_from((padded / 8).saturating_sub(1)).map_err(|_| Error::Length)?;
    out.put(&[next_of(inline_next, input)?, units])?;
    out.put(content)?;
    // RFC 6282 §4.2: the header is padded with Pad1 or PadN (RFC 8200 §4.2).
    match pad {
        0 => {}
        1 => out.put_u8(0)?,
        _ => {
            let zeros = pad.saturating_sub(2);
            out.put(&[1, zeros as u8])?;
            out.put_zeros(zeros)?;
        }
    }
    Ok(())
}

/// Returns the next-header number: `inline`, or the number that the next encoding denotes.
fn next_of(inline: Option<u8>, input: &Reader<'_>) -> Result<u8, Error> {
    match inline {
        Some(number) => Ok(number),
        None => next_header_of(input.peek()?),
    }
}
