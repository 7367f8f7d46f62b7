//! Link types: extracts the frame or packet from a record.

use std::fmt;

use redpoll_base::crc;
use redpoll_wire::ieee802154::{Address, fcs};

use super::Record;

/// Link types (LINKTYPE_ values of pcap).
mod number {
    pub const NULL: u32 = 0;
    pub const ETHERNET: u32 = 1;
    pub const RAW_OPENBSD: u32 = 12;
    pub const RAW: u32 = 101;
    pub const LOOP: u32 = 108;
    pub const LINUX_SLL: u32 = 113;
    pub const WITH_FCS: u32 = 195;
    pub const WITH_PREAMBLE: u32 = 215;
    pub const IPV4: u32 = 228;
    pub const IPV6: u32 = 229;
    pub const WITHOUT_FCS: u32 = 230;
    pub const LINUX_SLL2: u32 = 276;
    pub const WITH_TAP: u32 = 283;
}

mod ethertype {
    pub const IPV4: u16 = 0x0800;
    pub const VLAN: u16 = 0x8100;
    pub const IEEE802154: u16 = 0x809a;
    pub const IPV6: u16 = 0x86dd;
    /// The outer tag of two (IEEE 802.1ad, QinQ).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// The outer tag of two before IEEE 802.1ad.
    pub const OLD_SERVICE_VLAN: u16 = 0x9100;
    pub const LOWPAN: u16 = 0xa0ed;
}

/// Protocols in the header of the link types NULL and LOOP (AF_ values of the system that captured).
mod family {
    pub const IPV4: u32 = 2;
    /// Values of Linux, NetBSD and OpenBSD, FreeBSD, and Darwin.
    pub const IPV6: [u32; 4] = [10, 24, 28, 30];
}

const ZEP_PORT: u16 = 17_754;
/// ARP hardware types of IEEE 802.15.4 interfaces in Linux.
const ARPHRD: [u16; 3] = [804, 805, 806];

/// The bytes after a frame's last payload byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trailer {
    #[default]
    Absent,
    Crc16(u16),
    Crc32(u32),
    /// RSSI and correlation, which TI CC24xx radios put in place of the check sequence.
    Ti {
        /// Signal strength in the radio's own scale.
        rssi: i8,
        /// Correlation, 0 to 127; larger is better.
        correlation: u8,
        /// Whether the radio found the check sequence correct.
        is_right: bool,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Received {
    pub channel: Option<u16>,
    /// Received signal strength in dBm.
    pub rssi_dbm: Option<f32>,
    pub lqi: Option<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Captured<'a> {
    pub mpdu: &'a [u8],
    pub trailer: Trailer,
    pub missing: usize,
    pub received: Received,
}

impl<'a> Captured<'a> {
    /// Wraps a complete frame without check sequence.
    pub fn of(mpdu: &'a [u8]) -> Captured<'a> {
        Captured {
            mpdu,
            ..Captured::default()
        }
    }

    /// Returns whether the check sequence is correct; `None` if the capture has none.
    pub fn is_right(&self) -> Option<bool> {
        match self.trailer {
            Trailer::Absent => None,
            Trailer::Crc16(carried) => Some(carried == fcs(self.mpdu)),
            Trailer::Crc32(carried) => Some(carried == crc32(self.mpdu)),
            Trailer::Ti { is_right, .. } => Some(is_right),
        }
    }

    /// Returns the frame, if all of it was captured and its check sequence is correct or absent.
    pub fn whole(&self) -> Option<&'a [u8]> {
        let is_whole = self.missing == 0 && self.is_right().unwrap_or(true);
        is_whole.then_some(self.mpdu)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    /// An IEEE 802.15.4 frame.
    Frame(Captured<'a>),
    /// A 6LoWPAN datagram between Ethernet addresses (RFC 7973).
    Lowpan {
        bytes: &'a [u8],
        src: Address,
        dst: Address,
        missing: usize,
    },
    Packet {
        bytes: &'a [u8],
        missing: usize,
    },
    ZepAck(u32),
    Foreign(String),
}

struct Link(u32);

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            number::ETHERNET => "ETHERNET",
            number::RAW | number::RAW_OPENBSD => "RAW",
            number::LINUX_SLL => "LINUX_SLL",
            number::LINUX_SLL2 => "LINUX_SLL2",
            number::IPV4 => "IPV4",
            number::NULL => "NULL",
            number::LOOP => "LOOP",
            105 | 127 => "IEEE802_11",
            147..=162 => "USER",
            187 | 201 | 251 | 256 => "BLUETOOTH",
            189 | 220 | 249 => "USB",
            191 => "IEEE802_15_4_LINUX",
            _ => "link type",
        };
        write!(f, "{name} ({})", self.0)
    }
}

impl Record {
    /// Returns the link type and the kind of content, if the record has neither an IEEE 802.15.4
    /// frame nor an IPv6 packet.
    pub fn foreign_link(&self) -> Option<String> {
        match self.content() {
            Ok(Content::Foreign(name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the IEEE 802.15.4 frame in the record. Without such a frame, the error describes the
    /// problem.
    pub fn frame(&self) -> Result<Captured<'_>, String> {
        match self.content()? {
            Content::Frame(frame) => Ok(frame),
            Content::Foreign(name) => Err(format!("{name}, which is not IEEE 802.15.4")),
            Content::Lowpan { .. } | Content::Packet { .. } | Content::ZepAck(_) => {
                Err("no frame of IEEE 802.15.4".to_owned())
            }
        }
    }

    /// Returns the record's content. The error describes a malformed header of the link type.
    pub fn content(&self) -> Result<Content<'_>, String> {
        let data = self.data.as_slice();
        match self.link {
            number::WITH_FCS => {
                let len = self.fcs_len.map_or(2, fcs_bytes);
                self.trailed(data, if len == 0 { 2 } else { len })
            }
            number::WITHOUT_FCS => self.trailed(data, self.fcs_len.map_or(0, fcs_bytes)),
            number::WITH_TAP => tap(self),
            number::WITH_PREAMBLE => preamble(self),
            number::ETHERNET => ethernet(self),
            number::LINUX_SLL | number::LINUX_SLL2 => cooked(self),
            number::NULL | number::LOOP => loopback(self),
            number::RAW | number::RAW_OPENBSD | number::IPV4 | number::IPV6 => {
                match data.first().map(|first| first >> 4) {
                    Some(6) => Ok(ipv6(data, self.missing)),
                    Some(4) => Ok(ipv4(data, self.missing, Link(self.link))),
                    _ => Err("neither IPv6 nor IPv4".to_owned()),
                }
            }
            other => Ok(Content::Foreign(Link(other).to_string())),
        }
    }

    fn trailed<'a>(&'a self, data: &'a [u8], len: usize) -> Result<Content<'a>, String> {
        split(data, len, self.missing, self.has_ti).map(Content::Frame)
    }
}

/// Returns the length of a check sequence in bytes. Some files state it in bits, 16 or 32.
fn fcs_bytes(len: u8) -> usize {
    match len {
        16 => 2,
        32 => 4,
        other => usize::from(other),
    }
}

fn split(data: &[u8], len: usize, missing: usize, has_ti: bool) -> Result<Captured<'_>, String> {
    let mut frame = Captured {
        mpdu: data,
        missing,
        ..Captured::default()
    };
    // Do not split off a truncated check sequence: it cannot be distinguished from payload.
    if len == 0 || missing > 0 {
        return Ok(frame);
    }
    let at = data.len().checked_sub(len);
    let (mpdu, trailer) = at
        .and_then(|at| data.split_at_checked(at))
        .ok_or("too short for its check sequence")?;
    frame.mpdu = mpdu;
    frame.trailer = match *trailer {
        [rssi, status] if has_ti => ti(rssi, status),
        [a, b] => Trailer::Crc16(u16::from_le_bytes([a, b])),
        [a, b, c, d] => Trailer::Crc32(u32::from_le_bytes([a, b, c, d])),
        _ => Trailer::Absent,
    };
    Ok(frame)
}

fn ti(rssi: u8, status: u8) -> Trailer {
    Trailer::Ti {
        rssi: rssi.cast_signed(),
        correlation: status & 0x7f,
        is_right: status & 0x80 != 0,
    }
}

/// The apparent format of a frame's last two bytes.
pub(crate) enum Look {
    Right,
    Ti,
    Other,
}

/// Determines the format of a frame's last two bytes. Returns `None` if the record is truncated, or
/// its link type or check sequence length excludes two bytes of trailer.
pub(crate) fn looks_like_ti(record: &Record) -> Option<Look> {
    /// Correlations from that of the weakest received frames to that of perfect frames.
    const CORRELATIONS: std::ops::RangeInclusive<u8> = 40..=115;
    if record.link != number::WITH_FCS || record.missing > 0 || record.fcs_len == Some(4) {
        return None;
    }
    let (mpdu, &[rssi, status]) = record.data.split_last_chunk::<2>()?;
    if u16::from_le_bytes([rssi, status]) == fcs(mpdu) {
        return Some(Look::Right);
    }
    let is_like = status & 0x80 != 0 && CORRELATIONS.contains(&(status & 0x7f));
    Some(if is_like { Look::Ti } else { Look::Other })
}

/// Returns the 32-bit check sequence over at least four bytes (IEEE 802.15.4-2015 §7.2.10).
fn crc32(mpdu: &[u8]) -> u32 {
    let padding = 4_usize.saturating_sub(mpdu.len());
    let bytes = mpdu.iter().copied().chain(std::iter::repeat_n(0, padding));
    !bytes.fold(u32::MAX, crc::crc32)
}

/// Returns the frame after a TAP header.
fn tap(record: &Record) -> Result<Content<'_>, String> {
    const FCS_TYPE: u16 = 0;
    const RSS: u16 = 1;
    const CHANNEL: u16 = 3;
    const LQI: u16 = 10;
    let data = record.data.as_slice();
    let word = |bytes: &[u8], at: usize| {
        let two = bytes.get(at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*two))
    };
    let short = || "a truncated TAP header".to_owned();
    let len = usize::from(word(data, 2).ok_or_else(short)?);
    let header = data
        .get(..len)
        .filter(|header| header.len() >= 4)
        .ok_or_else(short)?;
    let mut fcs_len = 0;
    let mut received = Received::default();
    let mut at = 4;
    while let (Some(kind), Some(size)) = (word(header, at), word(header, at + 2)) {
        let size = usize::from(size);
        let value = header.get(at + 4..at + 4 + size).ok_or_else(short)?;
        match (kind, value) {
            (FCS_TYPE, &[kind, ..]) => {
                fcs_len = match kind {
                    1 => 2,
                    2 => 4,
                    _ => 0,
                };
            }
            (RSS, &[a, b, c, d, ..]) => received.rssi_dbm = Some(f32::from_le_bytes([a, b, c, d])),
            (CHANNEL, &[a, b, ..]) => received.channel = Some(u16::from_le_bytes([a, b])),
            (LQI, &[lqi, ..]) => received.lqi = Some(lqi),
            _ => {}
        }
        at += 4 + size.div_ceil(4) * 4;
    }
    let mut frame = split(
        data.get(len..).unwrap_or_default(),
        fcs_len,
        record.missing,
        false,
    )?;
    frame.received = received;
    Ok(Content::Frame(frame))
}

/// Returns the frame after the header of the physical layer: preamble, start of frame and length.
fn preamble(record: &Record) -> Result<Content<'_>, String> {
    const START: u8 = 0xa7;
    let data = record.data.as_slice();
    let &[_, _, _, _, start, len, ref rest @ ..] = data else {
        return Err("a truncated PHY header".to_owned());
    };
    if start != START {
        return Err(format!(
            "a frame that starts with 0x{start:02x}; allowed: 0x{START:02x}"
        ));
    }
    let len = usize::from(len & 0x7f);
    let missing = record.missing.max(len.saturating_sub(rest.len()));
    let data = rest.get(..len).unwrap_or(rest);
    split(data, 2, missing, record.has_ti).map(Content::Frame)
}

fn ethernet(record: &Record) -> Result<Content<'_>, String> {
    let data = record.data.as_slice();
    let (Some(dst), Some(src)) = (
        data.first_chunk::<6>(),
        data.get(6..).and_then(|rest| rest.first_chunk::<6>()),
    ) else {
        return Ok(Content::Foreign(Link(number::ETHERNET).to_string()));
    };
    let kind = data.get(12..).and_then(|rest| rest.first_chunk::<2>());
    let kind = kind.map_or(0, |kind| u16::from_be_bytes(*kind));
    let (kind, rest) = untagged(kind, data.get(14..).unwrap_or_default());
    let missing = record.missing;
    let zep = match kind {
        ethertype::IEEE802154 => return bare_or_checked(rest, missing),
        ethertype::LOWPAN => {
            return Ok(Content::Lowpan {
                bytes: rest,
                src: eui64_of(src),
                dst: eui64_of(dst),
                missing,
            });
        }
        ethertype::IPV4 => udp_of_ipv4(rest, missing),
        ethertype::IPV6 => udp_of_ipv6(rest, missing),
        _ => None,
    };
    let foreign = || {
        let link = Link(number::ETHERNET);
        Content::Foreign(match kind {
            ethertype::IPV4 => format!("IPv4 in {link}"),
            ethertype::IPV6 => format!("IPv6 in {link}"),
            _ => link.to_string(),
        })
    };
    Ok(zep.unwrap_or_else(foreign))
}

/// Skips VLAN tags (IEEE 802.1Q). Returns the type of the content, and the content.
fn untagged(mut kind: u16, mut rest: &[u8]) -> (u16, &[u8]) {
    const TAGS_MAX: usize = 3;
    for _ in 0..TAGS_MAX {
        let is_tag = matches!(
            kind,
            ethertype::VLAN | ethertype::SERVICE_VLAN | ethertype::OLD_SERVICE_VLAN
        );
        let (true, &[_, _, high, low, ref behind @ ..]) = (is_tag, rest) else {
            break;
        };
        (kind, rest) = (u16::from_be_bytes([high, low]), behind);
    }
    (kind, rest)
}

/// Returns a frame whose link type does not define whether a check sequence follows. The last two
/// bytes count as a check sequence if they are correct.
fn bare_or_checked(data: &[u8], missing: usize) -> Result<Content<'_>, String> {
    let is_checked = match data.split_last_chunk::<2>() {
        Some((mpdu, last)) => u16::from_le_bytes(*last) == fcs(mpdu),
        None => false,
    };
    let len = if is_checked { 2 } else { 0 };
    split(data, len, missing, false).map(Content::Frame)
}

/// Returns the EUI-64 of an Ethernet address, or the broadcast address for Ethernet's broadcast.
fn eui64_of(mac: &[u8; 6]) -> Address {
    match *mac {
        [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => Address::BROADCAST,
        [a, b, c, d, e, f] => Address::Extended([a, b, c, 0xff, 0xfe, d, e, f]),
    }
}

/// Returns the frame or packet that Linux captured in cooked mode.
fn cooked(record: &Record) -> Result<Content<'_>, String> {
    let data = record.data.as_slice();
    let word = |at: usize| {
        let two = data.get(at..)?.first_chunk()?;
        Some(u16::from_be_bytes(*two))
    };
    let (hardware, protocol, at) = match record.link {
        number::LINUX_SLL => (word(2), word(14), 16),
        _ => (word(8), word(0), 20),
    };
    let rest = data.get(at..).unwrap_or_default();
    let missing = record.missing;
    if hardware.is_some_and(|hardware| ARPHRD.contains(&hardware)) {
        return bare_or_checked(rest, missing);
    }
    let link = Link(record.link);
    match untagged(protocol.unwrap_or(0), rest) {
        (ethertype::IEEE802154, rest) => bare_or_checked(rest, missing),
        (ethertype::IPV6, rest) => Ok(ipv6(rest, missing)),
        (ethertype::IPV4, rest) => Ok(ipv4(rest, missing, link)),
        _ => Ok(Content::Foreign(link.to_string())),
    }
}

/// Returns the packet that a BSD system captured on its loopback or on a tunnel interface. The
/// packet follows a protocol number of four bytes. In LOOP, the number is in network byte order; in
/// NULL, in the order of the system that captured.
fn loopback(record: &Record) -> Result<Content<'_>, String> {
    let (family, packet) = record
        .data
        .split_first_chunk::<4>()
        .ok_or("a truncated loopback header")?;
    let (here, network) = (u32::from_le_bytes(*family), u32::from_be_bytes(*family));
    // A number below 65,536 in one order is above in the other.
    let family = match record.link {
        number::NULL if here <= u16::MAX.into() => here,
        _ => network,
    };
    let missing = record.missing;
    let link = Link(record.link);
    Ok(match family {
        family::IPV4 => ipv4(packet, missing, link),
        family if family::IPV6.contains(&family) => ipv6(packet, missing),
        _ => Content::Foreign(link.to_string()),
    })
}

/// Returns the frame that ZEP carries in an IPv4 packet. Other IPv4 packets are foreign.
fn ipv4(packet: &[u8], missing: usize, link: Link) -> Content<'_> {
    udp_of_ipv4(packet, missing).unwrap_or_else(|| Content::Foreign(format!("IPv4 in {link}")))
}

/// Returns the frame that ZEP carries in an IPv6 packet, or the packet.
fn ipv6(packet: &[u8], missing: usize) -> Content<'_> {
    udp_of_ipv6(packet, missing).unwrap_or(Content::Packet {
        bytes: packet,
        missing,
    })
}

/// Returns the frame that ZEP carries in an IPv4 packet; `None` if the packet is not ZEP.
fn udp_of_ipv4(packet: &[u8], missing: usize) -> Option<Content<'_>> {
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
fn udp_of_ipv6(packet: &[u8], missing: usize) -> Option<Content<'_>> {
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
