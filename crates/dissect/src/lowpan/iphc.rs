//! Compressed IPv6 headers (RFC 6282 §3).

use redpoll_base::{Addr, Ecn};
use redpoll_wire::ipv6::Ipv6Header;

use super::expand::{Expander, Identifiers, Unknown};
use super::nhc;
use crate::layer::{Bytes, Layer};

const CUT: &str = "truncated";
const RESERVED: &str = "a reserved address mode";

/// Returns whether a byte is the dispatch of a compressed header.
pub(super) fn is_dispatch(first: u8) -> bool {
    first >> 5 == 0b011
}

/// The two bytes of encoding, and the context identifiers.
struct Encoding {
    bits: u16,
    sci: u8,
    dci: u8,
}

impl Encoding {
    fn has(&self, bit: u32) -> bool {
        self.bits & 1 << bit != 0
    }

    fn field(&self, shift: u32) -> u16 {
        self.bits >> shift & 0b11
    }

    fn is_multicast(&self) -> bool {
        self.has(3)
    }

    fn show(&self, layer: &mut Layer) {
        layer.hex("6lowpan.iphc.tf", self.field(11), 4);
        layer.flag("6lowpan.iphc.nh", self.has(10));
        layer.hex("6lowpan.iphc.hlim", self.field(8), 4);
        layer.flag("6lowpan.iphc.cid", self.has(7));
        layer.flag("6lowpan.iphc.sac", self.has(6));
        layer.hex("6lowpan.iphc.sam", self.field(4), 4);
        layer.flag("6lowpan.iphc.m", self.is_multicast());
        layer.flag("6lowpan.iphc.dac", self.has(2));
        layer.hex("6lowpan.iphc.dam", self.field(0), 4);
        if self.has(7) {
            layer.hex("6lowpan.iphc.sci", self.sci, 2);
            layer.hex("6lowpan.iphc.dci", self.dci, 2);
        }
    }
}

/// Expands a compressed IPv6 header. Returns whether the next header is also compressed.
pub(super) fn expand(
    expander: &mut Expander<'_>,
    identifiers: Identifiers,
    layer: &mut Layer,
) -> Result<bool, String> {
    let input = &mut expander.input;
    let bits = input.u16().ok_or(CUT)?;
    if !is_dispatch((bits >> 8) as u8) {
        return Err("the inner IPv6 header does not begin with an IPHC dispatch".to_owned());
    }
    let mut encoding = Encoding {
        bits,
        sci: 0,
        dci: 0,
    };
    if encoding.has(7) {
        let cids = input.u8().ok_or(CUT)?;
        (encoding.sci, encoding.dci) = (cids >> 4, cids & 0x0f);
    }
    encoding.show(layer);
    let mut header = Ipv6Header::default();
    traffic(&encoding, input, &mut header, layer).ok_or(CUT)?;
    let is_next_compressed = encoding.has(10);
    if !is_next_compressed {
        header.next_header = input.u8().ok_or(CUT)?;
        layer.hex("6lowpan.next", header.next_header, 2);
    }
    header.hop_limit = match encoding.field(8) {
        0b01 => 1,
        0b10 => 64,
        0b11 => 255,
        _ => input.u8().ok_or(CUT)?,
    };
    if encoding.field(8) == 0 {
        layer.number("6lowpan.hops", header.hop_limit);
    }
    let (src, src_context) = source(&encoding, expander, identifiers.src)?;
    let (dst, dst_context) = match encoding.is_multicast() {
        true => multicast(&encoding, expander)?,
        false => unicast(
            (encoding.has(2), encoding.field(0), encoding.dci),
            expander,
            identifiers.dst,
        )?,
    };
    (header.src, header.dst) = (src, dst);
    layer.addr("6lowpan.src", src);
    layer.addr("6lowpan.dst", dst);
    if is_next_compressed {
        let next = *expander.input.0.first().ok_or(CUT)?;
        header.next_header = nhc::number(next)?;
    }
    let unknown = Unknown {
        src: src_context,
        dst: dst_context,
    };
    expander.put_ip(header.to_bytes(), unknown);
    Ok(is_next_compressed)
}

/// Reads traffic class and flow label (RFC 6282 §3.2.1).
fn traffic(
    encoding: &Encoding,
    input: &mut Bytes<'_>,
    header: &mut Ipv6Header,
    layer: &mut Layer,
) -> Option<()> {
    let mode = encoding.field(11);
    if mode == 0b11 {
        return Some(());
    }
    let first = *input.0.first()?;
    header.ecn = Ecn::from_bits(first >> 6);
    layer.hex("6lowpan.ecn", first >> 6, 2);
    if mode != 0b01 {
        header.dscp = first & 0x3f;
        layer.hex("6lowpan.dscp", header.dscp, 2);
    }
    match mode {
        0b00 => header.flow_label = input.u32()? & 0x000f_ffff,
        0b01 => {
            let [high, middle, low] = input.array()?;
            header.flow_label = u32::from_be_bytes([0, high & 0x0f, middle, low]);
        }
        _ => {
            input.u8()?;
            return Some(());
        }
    }
    layer.hex("6lowpan.flow", header.flow_label, 6);
    Some(())
}

type Decoded = Result<(Addr, Option<u8>), String>;

fn source(encoding: &Encoding, expander: &mut Expander<'_>, iid: Option<[u8; 8]>) -> Decoded {
    let (is_stateful, mode) = (encoding.has(6), encoding.field(4));
    if is_stateful && mode == 0b00 {
        return Ok((Addr::UNSPECIFIED, None));
    }
    unicast((is_stateful, mode, encoding.sci), expander, iid)
}

fn unicast(
    (is_stateful, mode, cid): (bool, u16, u8),
    expander: &mut Expander<'_>,
    link: Option<[u8; 8]>,
) -> Decoded {
    let input = &mut expander.input;
    if mode == 0b00 {
        return match is_stateful {
            true => Err(RESERVED.to_owned()),
            false => Ok((input.addr().ok_or(CUT)?, None)),
        };
    }
    let iid = match mode {
        0b01 => input.array().ok_or(CUT)?,
        0b10 => {
            let [high, low] = input.array().ok_or(CUT)?;
            [0, 0, 0, 0xff, 0xfe, 0, high, low]
        }
        _ => link.ok_or("an elided address, and the frame has no MAC address to derive it from")?,
    };
    if is_stateful {
        return Ok(expander.joined(cid, iid));
    }
    let mut addr = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    if let Some((_, low)) = addr.split_at_mut_checked(8) {
        low.copy_from_slice(&iid);
    }
    Ok((Addr(addr), None))
}

/// Reads a multicast address (RFC 6282 §3.2.3, §3.2.4).
fn multicast(encoding: &Encoding, expander: &mut Expander<'_>) -> Decoded {
    let input = &mut expander.input;
    let (scope, tail): (u8, [u8; 5]) = match (encoding.has(2), encoding.field(0)) {
        (false, 0b00) => return Ok((input.addr().ok_or(CUT)?, None)),
        (false, 0b01) => {
            let [scope, tail @ ..]: [u8; 6] = input.array().ok_or(CUT)?;
            (scope, tail)
        }
        (false, 0b10) => {
            let [scope, a, b, c] = input.array().ok_or(CUT)?;
            (scope, [0, 0, a, b, c])
        }
        (false, _) => (2, [0, 0, 0, 0, input.u8().ok_or(CUT)?]),
        (true, 0b00) => {
            let [scope, riid, a, b, c, d] = input.array().ok_or(CUT)?;
            let (prefix, unknown) = expander.joined(encoding.dci, [0; 8]);
            let len = expander
                .contexts
                .lookup(encoding.dci)
                .map_or(0, |it| it.len);
            let [p0, p1, p2, p3, p4, p5, p6, p7, ..] = prefix.0;
            let addr = [
                0xff, scope, riid, len, p0, p1, p2, p3, p4, p5, p6, p7, a, b, c, d,
            ];
            return Ok((Addr(addr), unknown));
        }
        (true, _) => return Err(RESERVED.to_owned()),
    };
    let mut addr = [0; 16];
    addr[0] = 0xff;
    addr[1] = scope;
    if let Some((_, low)) = addr.split_at_mut_checked(11) {
        low.copy_from_slice(&tail);
    }
    Ok((Addr(addr), None))
}
