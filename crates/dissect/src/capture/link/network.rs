//! Link types of network interfaces: Ethernet, Linux's cooked mode, and the loopback of BSD systems.

use redpoll_wire::ieee802154::{Address, fcs};

use super::trailer::split;
use super::zep::{ipv4, ipv6, zep_of_ipv4, zep_of_ipv6};
use super::{Content, Link, number};
use crate::capture::Record;

mod ethertype {
    pub const IPV4: u16 = 0x0800;
    pub const VLAN: u16 = 0x8100;
    pub const IEEE802154: u16 = 0x809a;
    pub const IPV6: u16 = 0x86dd;
    /// Type of the outer of two VLAN tags (IEEE 802.1ad, QinQ).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// Type of the outer of two VLAN tags before IEEE 802.1ad.
    pub const OLD_SERVICE_VLAN: u16 = 0x9100;
    pub const LOWPAN: u16 = 0xa0ed;
}

/// Protocols in the header of the link types NULL and LOOP (AF_ values of the system that captured).
mod family {
    pub const IPV4: u32 = 2;
    /// Values of Linux, NetBSD and OpenBSD, FreeBSD, and Darwin.
    pub const IPV6: [u32; 4] = [10, 24, 28, 30];
}

/// ARP hardware types of IEEE 802.15.4 interfaces in Linux.
const ARPHRD: [u16; 3] = [804, 805, 806];

pub(super) fn ethernet(record: &Record) -> Result<Content<'_>, String> {
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
        ethertype::IPV4 => zep_of_ipv4(rest, missing),
        ethertype::IPV6 => zep_of_ipv6(rest, missing),
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
pub(super) fn cooked(record: &Record) -> Result<Content<'_>, String> {
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
pub(super) fn loopback(record: &Record) -> Result<Content<'_>, String> {
    let (family, packet) = record
        .data
        .split_first_chunk::<4>()
        .ok_or("a truncated loopback header")?;
    let (here, network) = (u32::from_le_bytes(*family), u32::from_be_bytes(*family));
    // A protocol number is below 65,536 if read in the byte order in which it was written, and
    // above in the other byte order.
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
