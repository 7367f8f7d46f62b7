//! IPv4 for an engine that has only IPv6: translates headers (RFC 7915), and embeds addresses in
//! `64:ff9b::/96` (RFC 6052 §2.1).
//!
//! This module supports what one direct link needs: TCP in both directions, and ICMP errors to the
//! engine. Fragments and options are unsupported.

use std::net::{IpAddr, Ipv4Addr};

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

const PREFIX: [u8; 12] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
const ICMP: u8 = 1;
const HEADER: usize = 20;
/// The flag DF with fragment offset 0 (RFC 791 §3.1).
const DONT_FRAGMENT: [u8; 2] = [0x40, 0];

/// Returns the engine's address for an IPv6 or IPv4 address.
pub(crate) fn embed(addr: IpAddr) -> Addr {
    match addr {
        IpAddr::V6(addr) => Addr(addr.octets()),
        IpAddr::V4(addr) => {
            let mut bytes = [0; 16];
            bytes[..12].copy_from_slice(&PREFIX);
            bytes[12..].copy_from_slice(&addr.octets());
            Addr(bytes)
        }
    }
}

pub(crate) fn extract(addr: &Addr) -> IpAddr {
    match embedded(addr) {
        Some(bytes) => Ipv4Addr::from(bytes).into(),
        None => IpAddr::from(addr.0),
    }
}

fn embedded(addr: &Addr) -> Option<[u8; 4]> {
    let (prefix, rest) = addr.0.split_at(12);
    (prefix == PREFIX).then(|| rest.try_into().ok())?
}

struct Header<'a> {
    tos: u8,
    ttl: u8,
    protocol: u8,
    src: Addr,
    dst: Addr,
    /// Length of the payload in bytes, as stated in the header.
    announced: usize,
    payload: &'a [u8],
}

impl<'a> Header<'a> {
    /// Parses an unfragmented IPv4 packet without options; `None` otherwise.
    fn parse(packet: &'a [u8]) -> Option<Header<'a>> {
        let (fixed, payload) = packet.split_first_chunk::<HEADER>()?;
        let [
            0x45,
            tos,
            l0,
            l1,
            _,
            _,
            f0,
            f1,
            ttl,
            protocol,
            _,
            _,
            ends @ ..,
        ] = fixed
        else {
            return None;
        };
        let fragment = u16::from_be_bytes([*f0, *f1]) & 0x3fff;
        let (src, dst) = ends.split_at(4);
        let addr = |bytes: &[u8]| Some(embed(<[u8; 4]>::try_from(bytes).ok()?.into()));
        let mut sum = Checksum::new();
        sum.add(fixed);
        (fragment == 0 && sum.is_valid()).then_some(())?;
        Some(Header {
            tos: *tos,
            ttl: *ttl,
            protocol: *protocol,
            src: addr(src)?,
            dst: addr(dst)?,
            announced: usize::from(u16::from_be_bytes([*l0, *l1])).checked_sub(HEADER)?,
            payload,
        })
    }

    fn translated(&self, payload_len: usize, next_header: u8) -> Option<Vec<u8>> {
        let header = Ipv6Header {
            dscp: self.tos >> 2,
            ecn: Ecn::from_bits(self.tos),
            payload_len: payload_len.try_into().ok()?,
            next_header,
            hop_limit: self.ttl,
            src: self.src,
            dst: self.dst,
            ..Ipv6Header::default()
        };
        Some(header.to_bytes().to_vec())
    }
}

/// Translates an IPv4 packet to IPv6 (RFC 7915 §4); `None` if it must be dropped.
pub(crate) fn to_v6(packet: &[u8]) -> Option<Vec<u8>> {
    let header = Header::parse(packet)?;
    let payload = header.payload.get(..header.announced)?;
    match header.protocol {
        next_header::TCP => {
            // Drop a packet with a wrong checksum; the translation would correct it.
            let mut sum = pseudo_v4(packet, payload.len())?;
            sum.add(payload);
            sum.is_valid().then_some(())?;
            let mut out = header.translated(payload.len(), next_header::TCP)?;
            out.extend_from_slice(payload);
            set_tcp_checksum(
                &mut out,
                Ipv6Header::LEN,
                Checksum::pseudo_header(
                    &header.src,
                    &header.dst,
                    next_header::TCP,
                    payload.len() as u32,
                ),
            )?;
            Some(out)
        }
        ICMP => icmp_error(&header, payload),
        _ => None,
    }
}

/// Translates an ICMP error and its quoted packet (RFC 7915 §4.2 and §4.3).
fn icmp_error(outer: &Header<'_>, message: &[u8]) -> Option<Vec<u8>> {
    let mut sum = Checksum::new();
    sum.add(message);
    sum.is_valid().then_some(())?;
    let (head, quoted) = message.split_first_chunk::<8>()?;
    let &[kind, code, _, _, _, _, m0, m1] = head;
    let mtu = u32::from(u16::from_be_bytes([m0, m1])) + 20;
    let (kind, code, word) = match (kind, code) {
        (3, 2) => (4, 1, 6),
        (3, 3) => (1, 4, 0),
        (3, 4) => (2, 0, mtu),
        (3, 9 | 10 | 13 | 15) => (1, 1, 0),
        (3, 14) => return None,
        (3, _) => (1, 0, 0),
        (11, code) => (3, code, 0),
        _ => return None,
    };
    let inner = Header::parse(quoted).filter(|inner| inner.protocol == next_header::TCP)?;
    let mut body = vec![kind, code, 0, 0];
    body.extend_from_slice(&u32::to_be_bytes(word));
    body.extend(inner.translated(inner.announced, next_header::TCP)?);
    body.extend_from_slice(inner.payload);

    let (src, dst) = (&outer.src, &outer.dst);
    let mut sum = Checksum::pseudo_header(src, dst, next_header::ICMPV6, body.len() as u32);
    sum.add(&body);
    body[2..4].copy_from_slice(&sum.finish().to_be_bytes());
    let mut out = outer.translated(body.len(), next_header::ICMPV6)?;
    out.extend(body);
    Some(out)
}

pub(crate) fn is_for_v4(packet: &[u8]) -> bool {
    Ipv6Header::parse(packet).is_ok_and(|(header, _)| embedded(&header.dst).is_some())
}

/// Translates a TCP packet of the engine to IPv4 (RFC 7915 §5); `None` for other packets.
pub(crate) fn to_v4(packet: &[u8]) -> Option<Vec<u8>> {
    let (header, payload) = Ipv6Header::parse(packet).ok()?;
    (header.next_header == next_header::TCP).then_some(())?;
    let total = u16::try_from(payload.len().checked_add(HEADER)?).ok()?;
    let mut out = vec![0x45, header.traffic_class()];
    out.extend_from_slice(&total.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&DONT_FRAGMENT);
    out.extend_from_slice(&[header.hop_limit, next_header::TCP, 0, 0]);
    out.extend_from_slice(&embedded(&header.src)?);
    out.extend_from_slice(&embedded(&header.dst)?);
    let mut sum = Checksum::new();
    sum.add(&out);
    out[10..12].copy_from_slice(&sum.finish().to_be_bytes());
    let pseudo = pseudo_v4(&out, payload.len())?;
    out.extend_from_slice(payload);
    set_tcp_checksum(&mut out, HEADER, pseudo)?;
    Some(out)
}

/// Returns the pseudo-header of RFC 9293 §3.1 for the IPv4 header at the start of `packet`.
fn pseudo_v4(packet: &[u8], len: usize) -> Option<Checksum> {
    let mut sum = Checksum::new();
    sum.add(packet.get(12..20)?);
    sum.add(&[0, next_header::TCP]);
    sum.add(&u16::try_from(len).ok()?.to_be_bytes());
    Some(sum)
}

fn set_tcp_checksum(packet: &mut [u8], at: usize, pseudo: Checksum) -> Option<()> {
    let segment = packet.get_mut(at..)?;
    segment.get_mut(16..18)?.fill(0);
    let mut sum = pseudo;
    sum.add(segment);
    let checksum = sum.finish().to_be_bytes();
    segment.get_mut(16..18)?.copy_from_slice(&checksum);
    Some(())
}

#[cfg(test)]
mod tests;
