//! ZEP, the ZigBee Encapsulation Protocol: frames in UDP datagrams.

use super::trailer::split;
use super::{Content, Link};

const ZEP_PORT: u16 = 17_754;

/// Returns the frame that ZEP carries in an IPv4 packet. Other IPv4 packets are foreign.
pub(super) fn ipv4(packet: &[u8], missing: usize, link: Link) -> Content<'_> {
    zep_of_ipv4(packet, missing).unwrap_or_else(|| Content::Foreign(format!("IPv4 in {link}")))
}

/// Returns the frame that ZEP carries in an IPv6 packet, or the packet.
pub(super) fn ipv6(packet: &[u8], missing: usize) -> Content<'_> {
    zep_of_ipv6(packet, missing).unwrap_or(Content::Packet {
        bytes: packet,
        missing,
    })
}

/// Returns the frame that ZEP carries in an IPv4 packet; `None` if the packet is not ZEP.
pub(super) fn zep_of_ipv4(packet: &[u8], missing: usize) -> Option<Content<'_>> {
    let first = *packet.first()?;
    let is_udp = first >> 4 == 4 && packet.get(9) == Some(&17);
    zep(
        packet
            .get(usize::from(first & 0x0f) * 4..)
            .filter(|_| is_udp)?,
        missing,
    )
}

/// Returns the frame that ZEP carries in an IPv6 packet without extension headers, if any.
pub(super) fn zep_of_ipv6(packet: &[u8], missing: usize) -> Option<Content<'_>> {
    let is_udp = packet.get(6) == Some(&17);
    zep(packet.get(40..).filter(|_| is_udp)?, missing)
}

/// Returns the frame that ZEP carries in a UDP datagram.
fn zep(udp: &[u8], missing: usize) -> Option<Content<'_>> {
    let &[s0, s1, d0, d1, _, _, _, _, ref body @ ..] = udp else {
        return None;
    };
    let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
    if !ports.contains(&ZEP_PORT) {
        return None;
    }
    let (channel, lqi, is_crc, len_at) = match *body {
        [b'E', b'X', 2, 2, a, b, c, d, ..] => {
            return Some(Content::ZepAck(u32::from_be_bytes([a, b, c, d])));
        }
        [b'E', b'X', 2, _, channel, _, _, mode, lqi, ..] => (channel, lqi, mode != 0, 31),
        [b'E', b'X', 1, channel, _, _, mode, lqi, ..] => (channel, lqi, mode != 0, 15),
        _ => return None,
    };
    let len = usize::from(body.get(len_at)? & 0x7f);
    let rest = body.get(len_at + 1..)?;
    let missing = missing.max(len.saturating_sub(rest.len()));
    let data = rest.get(..len).unwrap_or(rest);
    let mut frame = split(data, 2, missing, !is_crc).ok()?;
    frame.received.channel = Some(channel.into());
    frame.received.lqi = is_crc.then_some(lqi);
    Some(Content::Frame(frame))
}
