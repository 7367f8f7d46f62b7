//! A parser and a writer of complete TCP packets over IPv6.

use redpoll_base::{Addr, checksum::Checksum};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::tcp::{Flags, HeaderView, OptionItem, OptionList, SeqNum, kind};

use crate::taim::End;

/// The flags of a SYN that requests ECN (RFC 3168 §6.1.1).
pub(super) const ECN: Flags = Flags::ECE.with(Flags::CWR);

const TCP: usize = Ipv6Header::LEN;
const SEQ: usize = TCP + 4;
const WINDOW: usize = TCP + 14;
const CHECKSUM: usize = TCP + 16;
/// Offset of the payload of a segment without options.
pub(super) const PAYLOAD: usize = TCP + HeaderView::MIN_LEN;

#[derive(Clone, Copy, Debug)]
pub(super) struct ParsedPacket {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) seq: SeqNum,
    pub(super) ack: SeqNum,
    pub(super) flags: Flags,
    pub(super) window: u16,
    pub(super) payload_at: usize,
    pub(super) len: usize,
}

impl ParsedPacket {
    pub(super) fn has(&self, flags: Flags) -> bool {
        self.flags.intersects(flags)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.payload_at == PAYLOAD
    }
}

fn word(packet: &[u8], at: usize) -> Option<u16> {
    let bytes = packet.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*bytes))
}

fn addr(packet: &[u8], at: usize) -> Option<Addr> {
    Some(Addr(*packet.get(at..)?.first_chunk()?))
}

/// Parses a complete packet whose TCP header follows the IPv6 header directly.
pub(super) fn read(packet: &[u8]) -> Option<ParsedPacket> {
    let (header, segment) = Ipv6Header::parse(packet).ok()?;
    let is_whole = packet.len() == segment.len().checked_add(TCP)?;
    if header.next_header != next_header::TCP || !is_whole {
        return None;
    }
    let view = HeaderView::parse(segment).ok()?;
    Some(ParsedPacket {
        from: End {
            addr: header.src,
            port: view.src_port(),
        },
        to: End {
            addr: header.dst,
            port: view.dst_port(),
        },
        seq: view.seq(),
        ack: view.ack_field(),
        flags: view.flags(),
        window: view.window(),
        payload_at: TCP.checked_add(view.header_len())?,
        len: view.payload_len(),
    })
}

/// Returns the maximum payload that a SYN's sender accepts, or `None` if the SYN has other options.
/// Without an MSS option the maximum is 1,220 bytes (RFC 9293 §3.7.1).
pub(super) fn offers_only_a_size(packet: &[u8], read: &ParsedPacket) -> Option<u16> {
    let mut size = 1_220;
    for item in OptionList(packet.get(PAYLOAD..read.payload_at)?).strict() {
        match item {
            Ok(OptionItem::End | OptionItem::Nop) => {}
            Ok(OptionItem::Option {
                kind: kind::MSS,
                value: &[high, low],
            }) => size = u16::from_be_bytes([high, low]),
            _ => return None,
        }
    }
    Some(size)
}

fn sum(packet: &[u8]) -> Option<Checksum> {
    let (source, target) = (addr(packet, 8)?, addr(packet, 24)?);
    let segment = packet.get(TCP..)?;
    let len = u32::try_from(segment.len()).ok()?;
    let mut sum = Checksum::pseudo_header(&source, &target, next_header::TCP, len);
    sum.add(segment);
    Some(sum)
}

pub(super) fn is_intact(packet: &[u8]) -> bool {
    sum(packet).is_some_and(Checksum::is_valid)
}

/// Changes two bytes at an even offset of the TCP header, and updates the checksum (RFC 1624). A
/// wrong checksum stays wrong.
fn patch(packet: &mut [u8], at: usize, new: u16) {
    let (Some(old), Some(checksum)) = (word(packet, at), word(packet, CHECKSUM)) else {
        return;
    };
    let mut sum = Checksum::new();
    for part in [!checksum, !old, new] {
        sum.add(&part.to_be_bytes());
    }
    put(packet, at, &new.to_be_bytes());
    put(packet, CHECKSUM, &sum.finish().to_be_bytes());
}

pub(super) fn set_window(packet: &mut [u8], window: u16) {
    patch(packet, WINDOW, window);
}

pub(super) fn set_seq(packet: &mut [u8], seq: SeqNum) {
    let [a, b, c, d] = seq.0.to_be_bytes();
    patch(packet, SEQ, u16::from_be_bytes([a, b]));
    patch(packet, SEQ.saturating_add(2), u16::from_be_bytes([c, d]));
}

fn put(packet: &mut [u8], at: usize, bytes: &[u8]) {
    let end = at.saturating_add(bytes.len());
    if let Some(place) = packet.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}

/// Sets number, flags, lengths and checksum of a segment without options. Addresses, ports and the
/// first `len` bytes of payload do not change. Returns the packet's length.
pub(super) fn reseal(packet: &mut [u8], seq: SeqNum, flags: Flags, len: usize) -> Option<usize> {
    let end = PAYLOAD.checked_add(len)?;
    let packet = packet.get_mut(..end)?;
    let segment = u16::try_from(end.checked_sub(TCP)?).ok()?;
    put(packet, 4, &segment.to_be_bytes());
    put(packet, SEQ, &seq.0.to_be_bytes());
    put(packet, TCP.saturating_add(13), &[flags.0]);
    put(packet, CHECKSUM, &[0, 0]);
    let checksum = sum(packet)?.finish();
    put(packet, CHECKSUM, &checksum.to_be_bytes());
    Some(end)
}

#[derive(Clone, Copy, Debug)]
pub(super) struct PacketFields {
    /// Version, traffic class and flow label, copied from a received packet.
    pub(super) class: [u8; 4],
    pub(super) hop_limit: u8,
    pub(super) from: End,
    pub(super) to: End,
    pub(super) seq: SeqNum,
    pub(super) ack: SeqNum,
    pub(super) flags: Flags,
    pub(super) window: u16,
}

impl PacketFields {
    /// Writes the packet to `out`. Returns its length, or `None` if it does not fit.
    pub(super) fn write(&self, out: &mut [u8], payload: &[u8]) -> Option<usize> {
        let end = PAYLOAD.checked_add(payload.len())?;
        let out = out.get_mut(..end)?;
        out.fill(0);
        put(out, 0, &self.class);
        put(out, 6, &[next_header::TCP, self.hop_limit]);
        put(out, 8, &self.from.addr.0);
        put(out, 24, &self.to.addr.0);
        put(out, TCP, &self.from.port.to_be_bytes());
        put(out, TCP.saturating_add(2), &self.to.port.to_be_bytes());
        put(out, SEQ.saturating_add(4), &self.ack.0.to_be_bytes());
        put(out, TCP.saturating_add(12), &[0x50]);
        put(out, WINDOW, &self.window.to_be_bytes());
        put(out, PAYLOAD, payload);
        reseal(out, self.seq, self.flags, payload.len())
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Returns a SYN with these options, whose length must be a multiple of four.
    fn syn(options: &[u8]) -> Vec<u8> {
        let mut packet = std::vec![0; PAYLOAD];
        packet.extend(options);
        (packet[0], packet[5], packet[6]) = (0x60, 20 + options.len() as u8, 6);
        (packet[52], packet[53]) = ((20 + options.len() as u8) << 2, Flags::SYN.0);
        packet
    }

    #[test]
    fn a_packet_with_bytes_behind_its_end_is_not_read() {
        let mut packet = syn(&[]);
        assert!(read(&packet).is_some_and(|read| read.len == 0 && read.is_plain()));
        packet.push(0);
        assert!(read(&packet).is_none());
    }

    #[test]
    fn every_option_but_a_size_is_an_offer() {
        let size = |options: &[u8]| {
            let packet = syn(options);
            offers_only_a_size(&packet, &read(&packet).unwrap())
        };
        assert_eq!(size(&[]), Some(1_220));
        assert_eq!(size(&[1, 2, 4, 1, 206, 0, 9, 9]), Some(462));
        assert_eq!(size(&[2, 4, 1, 206, 4, 2, 0, 0]), None);
        for malformed in [[2, 3, 1, 1], [2, 5, 1, 1], [2, 1, 1, 1], [1, 1, 1, 2]] {
            assert_eq!(size(&malformed), None, "{malformed:?}");
        }
    }
}
