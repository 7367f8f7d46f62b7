//! The older compression of headers, HC1 and HC2 (RFC 4944 §10).

use redpoll_base::{Addr, Ecn};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::expand::{Expander, Identifiers, Unknown};
use crate::layer::Layer;

/// Base of a compressed port, to which four bits are added (RFC 4944 §10.2).
const PORTS: u16 = 0xf0b0;

/// Reads fields whose lengths are not multiples of eight bits.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn read(&mut self, count: usize) -> Option<u64> {
        let mut value = 0;
        for _ in 0..count {
            let byte = *self.bytes.get(self.at / 8)?;
            value = value << 1 | u64::from(byte >> (7 - self.at % 8) & 1);
            self.at += 1;
        }
        Some(value)
    }
}

/// Expands an HC1 header and HC2 for UDP; `None` if a header is truncated or has a reserved value.
pub(super) fn expand(
    expander: &mut Expander<'_>,
    identifiers: Identifiers,
    layer: &mut Layer,
) -> Option<()> {
    expander.input.u8()?;
    let encoding = expander.input.u8()?;
    layer.hex("6lowpan.hc1.encoding", encoding, 2);
    for (name, bit) in [
        ("6lowpan.hc1.src_prefix", 0x80),
        ("6lowpan.hc1.src_ifc", 0x40),
        ("6lowpan.hc1.dst_prefix", 0x20),
        ("6lowpan.hc1.dst_ifc", 0x10),
        ("6lowpan.hc1.class", 0x08),
        ("6lowpan.hc1.more", 0x01),
    ] {
        layer.flag(name, encoding & bit != 0);
    }
    layer.number("6lowpan.hc1.next", encoding >> 1 & 0b11);
    let next = match encoding >> 1 & 0b11 {
        1 => Some(next_header::UDP),
        2 => Some(next_header::ICMPV6),
        3 => Some(next_header::TCP),
        _ => None,
    };
    let hc2 = match (encoding & 1 != 0, next) {
        (true, Some(next_header::UDP)) => Some(expander.input.u8()?),
        (true, _) => return None,
        (false, _) => None,
    };
    let mut bits = Bits {
        bytes: expander.input.0,
        at: 0,
    };
    let mut header = Ipv6Header {
        hop_limit: bits.read(8)? as u8,
        ..Ipv6Header::default()
    };
    layer.number("6lowpan.hops", header.hop_limit);
    header.src = address(encoding >> 6, identifiers.src, &mut bits)?;
    header.dst = address(encoding >> 4 & 0b11, identifiers.dst, &mut bits)?;
    layer.addr("6lowpan.src", header.src);
    layer.addr("6lowpan.dst", header.dst);
    if encoding & 0x08 == 0 {
        let class = bits.read(8)? as u8;
        header.dscp = class >> 2;
        header.ecn = Ecn::from_bits(class);
        header.flow_label = bits.read(20)? as u32;
        layer.hex("6lowpan.flow", header.flow_label, 6);
    }
    header.next_header = match next {
        Some(next) => next,
        None => {
            let next = bits.read(8)? as u8;
            layer.hex("6lowpan.next", next, 2);
            next
        }
    };
    expander.put_ip(header.to_bytes(), Unknown::default());
    if let Some(hc2) = hc2 {
        udp(hc2, &mut bits, expander, layer)?;
    }
    expander.input.take(bits.at.div_ceil(8))?;
    Some(())
}

/// Reads an address, whose prefix and interface identifier are each in-line or elided.
fn address(mode: u8, iid: Option<[u8; 8]>, bits: &mut Bits<'_>) -> Option<Addr> {
    let prefix = match mode & 0b10 {
        0 => bits.read(64)?,
        _ => 0xfe80 << 48,
    };
    let iid = match mode & 0b01 {
        0 => bits.read(64)?,
        _ => u64::from_be_bytes(iid?),
    };
    Some(Addr(
        (u128::from(prefix) << 64 | u128::from(iid)).to_be_bytes(),
    ))
}

fn udp(
    encoding: u8,
    bits: &mut Bits<'_>,
    expander: &mut Expander<'_>,
    layer: &mut Layer,
) -> Option<()> {
    layer.hex("6lowpan.hc2.udp.encoding", encoding, 2);
    let mut port = |is_short: bool| {
        Some(match is_short {
            true => PORTS + bits.read(4)? as u16,
            false => bits.read(16)? as u16,
        })
    };
    let src = port(encoding & 0x80 != 0)?;
    let dst = port(encoding & 0x40 != 0)?;
    let is_length_elided = encoding & 0x20 != 0;
    let length = match is_length_elided {
        true => 0,
        false => bits.read(16)? as u16,
    };
    let checksum = bits.read(16)? as u16;
    layer.number("6lowpan.udp.src", src);
    layer.number("6lowpan.udp.dst", dst);
    layer.hex("6lowpan.udp.checksum", checksum, 4);
    if is_length_elided {
        expander.udp_at = Some(expander.out.len());
    }
    for word in [src, dst, length, checksum] {
        expander.out.extend(word.to_be_bytes());
    }
    Some(())
}
