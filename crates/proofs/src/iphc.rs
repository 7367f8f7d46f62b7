//! Compressed headers (RFC 6282): every combination of the forms that a header can have, and every
//! value of the two encoding bytes.
//!
//! Compression and expansion must not change a header. An expanded packet, compressed again, must
//! expand to the same packet. The decoder must not panic or read past the end of a truncated
//! packet.

use redpoll_base::{Addr, Ecn};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::{Ipv6Header, addr, next_header};
use redpoll_wire::sixlowpan::Contexts;
use redpoll_wire::sixlowpan::iphc::{self, Upper};
use redpoll_wire::udp::UdpHeader;

const PREFIX: Addr = Addr([0xfd, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
const SHORT: Address = Address::Short(0x1234);
const EXTENDED: Address = Address::Extended([2, 0, 0, 0, 0, 0, 0, 0x12]);

/// Changes a compressed header before its expansion: the planted defect.
pub type Damage = fn(&mut Vec<u8>);

/// Returns contexts with prefixes of 64 bits, of 128 bits, and of lengths that are not whole bytes.
fn contexts() -> Contexts {
    let mut contexts = Contexts::with_prefix(PREFIX);
    contexts.set(1, Addr([0x20; 16]), 128);
    contexts.set(2, Addr([0x30; 16]), 40);
    contexts.set(15, Addr([0x41; 16]), 73);
    contexts
}

fn with_iid(prefix: &Addr, iid: [u8; 8]) -> Addr {
    addr::from_prefix_and_iid(prefix, iid)
}

/// Returns unicast addresses of every form: with and without a context, and with an interface
/// identifier derived from each link-layer address or from 16 bits, or unrelated to both.
fn unicast() -> Vec<Addr> {
    let link_local = Addr([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let prefixes = [
        link_local,
        PREFIX,
        Addr([0x20; 16]),
        Addr([0x30; 16]),
        Addr([0x41; 16]),
        Addr([0x55; 16]),
    ];
    let iids = [
        [0, 0, 0, 0xff, 0xfe, 0, 0x12, 0x34],
        [0, 0, 0, 0xff, 0xfe, 0, 0x43, 0x21],
        [0, 0, 0, 0, 0, 0, 0, 0x12],
        [2, 0, 0, 0, 0, 0, 0, 0x12],
        [9, 8, 7, 6, 5, 4, 3, 2],
        [0x20; 8],
        [0x41; 8],
    ];
    let mut all = vec![Addr::UNSPECIFIED, Addr([0x20; 16])];
    for prefix in prefixes {
        all.extend(iids.map(|iid| with_iid(&prefix, iid)));
    }
    all
}

/// Returns multicast addresses of every form: with 8, 32 or 48 bits, in-line, and with a prefix.
fn multicast() -> Vec<Addr> {
    let of = |head: [u8; 2], tail: &[u8]| {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&head);
        bytes[16 - tail.len()..].copy_from_slice(tail);
        Addr(bytes)
    };
    let mut all = vec![
        of([0xff, 2], &[1]),
        of([0xff, 5], &[1]),
        of([0xff, 5], &[1, 2, 3]),
        of([0xff, 8], &[1, 2, 3, 4]),
        of([0xff, 8], &[1, 2, 3, 4, 5]),
        of([0xff, 8], &[1, 2, 3, 4, 5, 6]),
        of([0xff, 0x12], &[9; 14]),
    ];
    // RFC 3306: the address contains a prefix and its length.
    for (len, prefix) in [(64, PREFIX), (40, Addr([0x30; 16]))] {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&[0xff, 0x35, 0, len]);
        let count = usize::from(len) / 8;
        bytes[4..4 + count].copy_from_slice(&prefix.0[..count]);
        bytes[12..].copy_from_slice(&[1, 2, 3, 4]);
        all.push(Addr(bytes));
    }
    all
}

/// Returns headers with every combination of the fields other than the addresses.
fn heads() -> Vec<Ipv6Header> {
    let mut heads = Vec::new();
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ce] {
        for dscp in [0, 0x2e] {
            for flow_label in [0, 0xa_5a5a] {
                for hop_limit in [1, 2, 64, 255] {
                    heads.push(Ipv6Header {
                        ecn,
                        dscp,
                        flow_label,
                        hop_limit,
                        next_header: next_header::UDP,
                        payload_len: 8,
                        ..Ipv6Header::default()
                    });
                }
            }
        }
    }
    heads
}

fn upper() -> Vec<Option<UdpHeader>> {
    let ports = [0xf0b0, 0xf0bf, 0xf000, 0xf0c0, 0xf0ff, 0xf100, 53, 0xffff];
    let mut all = vec![None];
    for source in ports {
        for destination in ports {
            all.push(Some(UdpHeader {
                src_port: source,
                dst_port: destination,
                length: 8,
                checksum: 0xabcd,
            }));
        }
    }
    all
}

/// Compresses and expands every combination of the forms of a header. Returns their number.
///
/// # Errors
/// Describes the first header that changes.
pub fn headers(damage: Damage) -> Result<u64, String> {
    let contexts = contexts();
    let destinations: Vec<_> = unicast().into_iter().chain(multicast()).collect();
    let mut count = 0;
    for src in unicast() {
        for dst in &destinations {
            for link in [[SHORT, EXTENDED], [EXTENDED, SHORT]] {
                // The forms of the other fields do not depend on the addresses. So the first
                // address pair gets all heads, and each other pair gets some of them.
                let all = count == 0;
                for (at, head) in heads().into_iter().enumerate() {
                    for (other, udp) in upper().into_iter().enumerate() {
                        if !all && (at + other * 7) % 251 != 0 {
                            continue;
                        }
                        let header = Ipv6Header {
                            src,
                            dst: *dst,
                            ..head
                        };
                        round_trip(&header, udp.as_ref(), link, &contexts, damage)?;
                        count += 1;
                    }
                }
            }
        }
    }
    Ok(count)
}

fn round_trip(
    header: &Ipv6Header,
    udp: Option<&UdpHeader>,
    [from, to]: [Address; 2],
    contexts: &Contexts,
    damage: Damage,
) -> Result<(), String> {
    let mut expected = header.to_bytes().to_vec();
    let mut udp_bytes = [0; 8];
    if let Some(udp) = udp {
        udp.emit(&mut Cursor::new(&mut udp_bytes))
            .map_err(|_| "no room".to_owned())?;
    }
    expected.extend(udp_bytes);
    let upper = udp.map_or(Upper::Other, Upper::Udp);
    let mut buffer = [0; iphc::MAX_COMPRESSED_LEN];
    let mut out = Cursor::new(&mut buffer);
    let done = iphc::compress(header, upper, from, to, contexts, &mut out)
        .map_err(|_| format!("{header:?} is longer than the longest header"))?;
    let mut packet = out.written().to_vec();
    packet.extend(&expected[done.uncompressed_len..]);
    if packet.len() > expected.len() + 2 {
        return Err(format!("{header:?} is longer after compression"));
    }
    damage(&mut packet);
    let mut out = [0; 64];
    let done = iphc::decompress(&packet, from, to, contexts, None, &mut out)
        .map_err(|e| format!("{header:?} cannot be decompressed: {e:?}"))?;
    let got = [&out[..done.written], &packet[done.consumed..]].concat();
    match got == expected {
        true => Ok(()),
        false => Err(format!("{header:?} is decompressed to {got:x?}")),
    }
}

/// Expands packets with every value of the two encoding bytes and some values of the context byte,
/// and every truncation of these packets. Returns the number of packets that can be expanded.
///
/// # Errors
/// Describes a packet that expands differently after it was compressed again.
pub fn encodings() -> Result<u64, String> {
    let contexts = contexts();
    let mut count = 0;
    // The byte after a compressed header selects UDP with each form of ports, extension headers, or
    // an unknown next header.
    for encoding in 0x6000_u16..=0x7fff {
        for next in [0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xe0, 0xee, 0x00, 0xff] {
            let cids: &[u8] = match encoding & 0x80 {
                0 => &[0],
                _ => &[0x00, 0x12, 0xf1, 0x2f, 0x34],
            };
            for cid in cids {
                let mut packet = encoding.to_be_bytes().to_vec();
                if encoding & 0x80 != 0 {
                    packet.push(*cid);
                }
                // `next` fills the rest of the packet, so it follows in-line fields of any length.
                packet.extend([next; 60]);
                count += u64::from(expand_again(&packet, &contexts)?);
                for len in 0..packet.len().min(48) {
                    let mut out = [0; 64];
                    let _ = iphc::decompress(
                        &packet[..len],
                        SHORT,
                        EXTENDED,
                        &contexts,
                        None,
                        &mut out,
                    );
                }
            }
        }
    }
    Ok(count)
}

/// Returns whether the packet can be expanded. Compresses an expanded packet again and compares.
fn expand_again(packet: &[u8], contexts: &Contexts) -> Result<bool, String> {
    let expand = |packet: &[u8]| {
        let mut out = [0; 256];
        let done = iphc::decompress(packet, SHORT, EXTENDED, contexts, None, &mut out).ok()?;
        let rest = packet.get(done.consumed..)?;
        Some([&out[..done.written], rest].concat())
    };
    let Some(whole) = expand(packet) else {
        return Ok(false);
    };
    let (header, rest) = Ipv6Header::parse_partial(&whole).map_err(|e| format!("{e:?}"))?;
    let mut buffer = [0; iphc::MAX_COMPRESSED_LEN];
    let mut out = Cursor::new(&mut buffer);
    iphc::compress(&header, Upper::Other, SHORT, EXTENDED, contexts, &mut out)
        .map_err(|_| format!("{header:?} is longer than the longest header"))?;
    let again = [out.written(), rest].concat();
    match expand(&again) == Some(whole) {
        true => Ok(true),
        false => Err(format!(
            "{packet:x?} and {again:x?}, its form after another compression, are decompressed \
             differently"
        )),
    }
}
