//! 6LoWPAN headers of all forms (RFC 4944, RFC 6282, RFC 8138).

use super::packets;
use super::rng::Rng;

/// Returns a mesh header (RFC 4944 §5.2), and possibly a broadcast header.
pub fn mesh(rng: &mut Rng) -> Vec<u8> {
    let (v, f) = (rng.below(2) as u8, rng.below(2) as u8);
    let hops = rng.below(16) as u8;
    let mut bytes = vec![0x80 | v << 5 | f << 4 | hops];
    if hops == 15 {
        bytes.push(rng.byte());
    }
    for short in [v, f] {
        bytes.extend(rng.bytes(if short == 1 { 2 } else { 8 }));
    }
    if rng.once_in(4) {
        bytes.extend([0x50, rng.byte()]);
    }
    bytes
}

/// Makes routing headers of RFC 8138.
pub fn routes(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0xf1];
    if rng.once_in(2) {
        let kind = rng.below(5) as u8;
        let stops = rng.below(3) as u8;
        let each = [1, 2, 4, 8, 16][usize::from(kind)];
        if usize::from(stops + 1) * each <= 24 {
            bytes.extend([0x80 | stops, kind]);
            bytes.extend(rng.bytes(usize::from(stops + 1) * each));
        }
    }
    if rng.once_in(3) {
        // IP-in-IP: the hop limit of a tunnel, and its source in compressed form (RFC 8138 §7).
        let len = rng.of(&[0, 1, 2, 8]);
        bytes.extend([0xa0 | (1 + len as u8), 6, rng.byte()]);
        bytes.extend(rng.bytes(len));
    }
    if rng.once_in(6) {
        // An elective header of an unknown type, which is skipped (RFC 8138 §4.1).
        bytes.extend([0xa2, rng.byte() | 0x80, rng.byte(), rng.byte()]);
    }
    let bits = rng.below(32) as u8;
    bytes.extend([0x80 | bits, 5]);
    let len = usize::from(bits & 2 == 0) + if bits & 1 == 0 { 2 } else { 1 };
    bytes.extend(rng.bytes(len));
    bytes
}

/// Returns a compressed header of any form (RFC 6282 §3, §4), and some payload.
pub fn compressed(rng: &mut Rng) -> Vec<u8> {
    let mut out = Vec::new();
    let tail = iphc(rng, &mut out, false);
    out.extend(tail);
    out
}

/// Writes a compressed header; returns the bytes that follow it. `behind_group`: the header is in a
/// packet to a group, whose address has no interface identifier to elide.
fn iphc(rng: &mut Rng, out: &mut Vec<u8>, behind_group: bool) -> Vec<u8> {
    let field = |rng: &mut Rng, bits: u32| rng.below(1 << bits) as u16;
    let (tf, hlim, sam, dam) = (field(rng, 2), field(rng, 2), field(rng, 2), field(rng, 2));
    let (cid, sac, m) = (field(rng, 1), field(rng, 1), field(rng, 1));
    let nh = field(rng, 1);
    let dam = if behind_group && (m, dam) == (0, 3) {
        1
    } else {
        dam
    };
    let dac = match (m, dam) {
        (1, 1..) | (0, 0) => 0,
        _ => field(rng, 1),
    };
    let bits = 0b011 << 13 | tf << 11 | nh << 10 | hlim << 8 | cid << 7 | sac << 6;
    let bits = bits | sam << 4 | m << 3 | dac << 2 | dam;
    out.extend(bits.to_be_bytes());
    if cid == 1 {
        // Redpoll and tshark know the contexts 0 to 3.
        out.push((rng.below(4) << 4 | rng.below(4)) as u8);
    }
    let mut class = rng.bytes([4, 3, 1, 0][usize::from(tf)]);
    match tf {
        0 => class[1] &= 0x0f,
        1 => class[0] &= 0xcf,
        _ => {}
    }
    out.extend(class);
    let next = rng.of(&[6, 17, 58, 59, 0xfd]);
    if nh == 0 {
        out.push(next);
    }
    if hlim == 0 {
        out.push(rng.byte());
    }
    out.extend(rng.bytes(match (sac, sam) {
        (1, 0) => 0,
        (_, mode) => [16, 8, 2, 0][usize::from(mode)],
    }));
    let mut dst = rng.bytes(match (m, dac, dam) {
        (1, 0, mode) => [16, 6, 4, 1][usize::from(mode)],
        (1, _, _) => 6,
        (_, _, mode) => [16, 8, 2, 0][usize::from(mode)],
    });
    if (m, dac, dam) == (1, 0, 0) {
        // The whole address of a group is in-line, and its first byte is 0xff.
        dst[0] = 0xff;
    }
    out.extend(dst);
    match nh {
        1 => chain(rng, out, true, m == 1),
        _ => packets::upper(rng, next, 30),
    }
}

/// Writes compressed next headers (RFC 6282 §4); returns the bytes that follow them. `is_first`:
/// the first one is directly behind the IPv6 header. `to_group`: the packet is to a group.
fn chain(rng: &mut Rng, out: &mut Vec<u8>, is_first: bool, to_group: bool) -> Vec<u8> {
    match rng.below(8) {
        0..=2 => extension(rng, out, is_first, to_group),
        3 => {
            out.push(0xe0 | IPV6 << 1);
            iphc(rng, out, to_group)
        }
        _ => compressed_udp(rng, out),
    }
}

/// Identifiers of compressed extension headers (RFC 6282 §4.2).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 1;
const FRAGMENT: u8 = 2;
const DST_OPTIONS: u8 = 3;
const IPV6: u8 = 7;

/// Writes a compressed extension header, and possibly others; returns the bytes that follow.
fn extension(rng: &mut Rng, out: &mut Vec<u8>, is_first: bool, to_group: bool) -> Vec<u8> {
    let is_more = rng.once_in(2);
    // RFC 8200 §4.1: a hop-by-hop header is only directly behind the IPv6 header.
    let eid = if is_first {
        rng.of(&[HOP_BY_HOP, ROUTING, FRAGMENT, DST_OPTIONS])
    } else {
        rng.of(&[ROUTING, FRAGMENT, DST_OPTIONS])
    };
    out.push(0xe0 | eid << 1 | u8::from(is_more));
    let next = rng.of(&[6, 17, 58, 59]);
    if !is_more {
        out.push(next);
    }
    match eid {
        ROUTING => {
            // A source route of two addresses without their first 8 bytes (RFC 6554 §3).
            let left = rng.below(3) as u8;
            out.extend([22, 3, left, 0x88, 0, 0, 0]);
            out.extend(rng.bytes(16));
        }
        FRAGMENT => {
            // The only fragment of a packet: offset 0, no more fragments, and an identification.
            out.extend([0, 0, 0]);
            out.extend(rng.bytes(4));
        }
        _ => {
            // RPL packet information.
            out.extend([6, 0x63, 4]);
            out.extend(rng.bytes(4));
        }
    }
    if is_more {
        chain(rng, out, false, to_group)
    } else {
        packets::upper(rng, next, 20)
    }
}

/// Writes a compressed UDP header (RFC 6282 §4.3); returns a payload.
fn compressed_udp(rng: &mut Rng, out: &mut Vec<u8>) -> Vec<u8> {
    let ports = rng.below(4) as u8;
    let elided = rng.once_in(6);
    out.push(0xf0 | u8::from(elided) << 2 | ports);
    out.extend(rng.bytes([4, 3, 3, 1][usize::from(ports)]));
    if !elided {
        out.extend(rng.bytes(2));
    }
    rng.bytes(9)
}

/// Returns a header in the older compression (RFC 4944 §10). Its fields need not be whole bytes.
pub fn hc1(rng: &mut Rng) -> Vec<u8> {
    let encoding = rng.byte() & 0xfe;
    let is_udp = encoding >> 1 & 3 == 1 && rng.once_in(2);
    let ports = rng.byte() & 0xe0;
    let next = [59, 17, 58, 6][usize::from(encoding >> 1 & 3)];
    let mut bits = Bits::default();
    bits.put(&rng.bytes(1), 8);
    for elided in [0x80, 0x40, 0x20, 0x10] {
        if encoding & elided == 0 {
            bits.put(&rng.bytes(8), 64);
        }
    }
    // Without the bit 0x08, the traffic class and the flow label are in-line.
    if encoding & 0x08 == 0 {
        bits.put(&rng.bytes(4), 28);
    }
    if next == 59 {
        bits.put(&[next], 8);
    }
    if is_udp {
        for short in [0x80, 0x40] {
            let width = if ports & short == 0 { 16 } else { 4 };
            bits.put(&rng.bytes(2), width);
        }
        if ports & 0x20 == 0 {
            bits.put(&20_u16.to_be_bytes(), 16);
        }
        bits.put(&rng.bytes(2), 16);
    }
    let mut bytes = vec![0x42, encoding | u8::from(is_udp)];
    bytes.extend(is_udp.then_some(ports));
    bytes.extend(bits.bytes());
    bytes.extend(if is_udp {
        rng.bytes(12)
    } else {
        packets::upper(rng, next, 20)
    });
    bytes
}

/// Fields whose lengths are not multiples of eight bits.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    /// Appends the first `width` bits of `bytes`.
    fn put(&mut self, bytes: &[u8], width: usize) {
        let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1 != 0;
        self.0.extend((0..width).map(bit));
    }

    /// Returns the bits, padded with zeros to whole bytes.
    fn bytes(&self) -> impl Iterator<Item = u8> {
        self.0.chunks(8).map(|bits| {
            let high = bits.iter().fold(0_u8, |sum, bit| sum << 1 | u8::from(*bit));
            high << (8 - bits.len())
        })
    }
}
