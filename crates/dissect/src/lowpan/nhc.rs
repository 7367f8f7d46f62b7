//! Compressed next headers (RFC 6282 §4).

use redpoll_wire::ipv6::next_header;

use super::expand::Expander;
use crate::layer::Layer;

const CUT: &str = "truncated";

pub(super) fn number(encoding: u8) -> Result<u8, String> {
    Ok(match encoding {
        0xf0..=0xf7 => next_header::UDP,
        0xe0..=0xef => match encoding >> 1 & 0b111 {
            0 => next_header::HOP_BY_HOP,
            1 => next_header::ROUTING,
            2 => next_header::FRAGMENT,
            3 => next_header::DST_OPTIONS,
            4 => next_header::MOBILITY,
            7 => next_header::IPV6,
            _ => return Err("a reserved extension header".to_owned()),
        },
        0xb0..=0xbf | 0xd0..=0xdf => {
            return Err("a next header compressed as in RFC 7400, which is not decoded".to_owned());
        }
        other => return Err(format!("an unknown compressed next header 0x{other:02x}")),
    })
}

/// Expands compressed headers up to the first uncompressed header. Returns whether a compressed
/// IPv6 header follows.
pub(super) fn expand(expander: &mut Expander<'_>, layer: &mut Layer) -> Result<bool, String> {
    loop {
        let encoding = expander.input.u8().ok_or(CUT)?;
        match number(encoding)? {
            next_header::UDP => {
                udp(encoding, expander, layer).ok_or(CUT)?;
                return Ok(false);
            }
            kind => {
                let is_more = encoding & 1 != 0;
                layer.hex("6lowpan.nhc.ext.eid", encoding >> 1 & 0b111, 2);
                layer.flag("6lowpan.nhc.ext.nh", is_more);
                if kind == next_header::IPV6 {
                    return Ok(true);
                }
                extension(kind, is_more, expander, layer)?;
                if !is_more {
                    return Ok(false);
                }
            }
        }
    }
}

/// Expands a UDP header (RFC 6282 §4.3.3).
fn udp(encoding: u8, expander: &mut Expander<'_>, layer: &mut Layer) -> Option<()> {
    let input = &mut expander.input;
    let is_elided = encoding & 0b100 != 0;
    let (src, dst) = match encoding & 0b11 {
        0b00 => (input.u16()?, input.u16()?),
        0b01 => (input.u16()?, 0xf000 | u16::from(input.u8()?)),
        0b10 => (0xf000 | u16::from(input.u8()?), input.u16()?),
        _ => {
            let ports = u16::from(input.u8()?);
            (0xf0b0 | ports >> 4, 0xf0b0 | ports & 0x0f)
        }
    };
    let checksum = match is_elided {
        true => 0,
        false => input.u16()?,
    };
    layer.flag("6lowpan.nhc.udp.checksum", is_elided);
    layer.number("6lowpan.nhc.udp.ports", encoding & 0b11);
    layer.number("6lowpan.udp.src", src);
    layer.number("6lowpan.udp.dst", dst);
    if !is_elided {
        layer.hex("6lowpan.udp.checksum", checksum, 4);
    }
    expander.done.is_udp_elided |= is_elided;
    expander.udp_at = Some(expander.out.len());
    for word in [src, dst, 0, checksum] {
        expander.out.extend(word.to_be_bytes());
    }
    Some(())
}

/// Expands an extension header (RFC 6282 §4.2); if `is_more`, the next one is compressed as well.
fn extension(
    kind: u8,
    is_more: bool,
    expander: &mut Expander<'_>,
    layer: &mut Layer,
) -> Result<(), String> {
    let input = &mut expander.input;
    let inline = match is_more {
        true => None,
        false => Some(input.u8().ok_or(CUT)?),
    };
    if let Some(next) = inline {
        layer.hex("6lowpan.nhc.ext.next", next, 2);
    }
    let (second, content) = if kind == next_header::FRAGMENT {
        (0, input.take(7).ok_or(CUT)?.get(1..).unwrap_or_default())
    } else {
        let len = input.u8().ok_or(CUT)?;
        layer.number("6lowpan.nhc.ext.length", len);
        let units = (usize::from(len) + 2).div_ceil(8).max(1) - 1;
        let second = u8::try_from(units).unwrap_or(u8::MAX);
        (second, input.take(len.into()).ok_or(CUT)?)
    };
    let next = match inline {
        Some(next) => next,
        None => number(*input.0.first().ok_or(CUT)?)?,
    };
    let start = expander.out.len();
    expander.out.extend([next, second]);
    expander.out.extend_from_slice(content);
    let pad = (expander.out.len() - start).next_multiple_of(8) - (expander.out.len() - start);
    let has_options = matches!(kind, next_header::HOP_BY_HOP | next_header::DST_OPTIONS);
    if pad != 0 && !has_options {
        return Err("an extension header whose length is not a multiple of 8 bytes".to_owned());
    }
    // RFC 6282 §4.2: the padding that was elided is Pad1 or PadN.
    match pad {
        0 => {}
        1 => expander.out.push(0),
        _ => {
            expander.out.extend([1, (pad - 2) as u8]);
            expander.out.extend(std::iter::repeat_n(0, pad - 2));
        }
    }
    Ok(())
}
