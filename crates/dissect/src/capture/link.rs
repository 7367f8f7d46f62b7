//! Link types: extracts the frame or packet from a record.

mod network;
mod phy;
mod trailer;
mod zep;

use std::fmt;

use redpoll_wire::ieee802154::Address;

use super::Record;
use network::{cooked, ethernet, loopback};
use phy::{preamble, tap};
pub use trailer::{Captured, Received, Trailer};
pub(crate) use trailer::{Look, looks_like_ti};
use trailer::{fcs_bytes, split};
use zep::{ipv4, ipv6};

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

/// The content of a record. `missing` is the number of bytes that the capture lacks.
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
    /// An IPv6 packet without link layer.
    Packet { bytes: &'a [u8], missing: usize },
    /// ZEP's acknowledgment of the message with this sequence number.
    ZepAck(u32),
    /// Other content: the name of the link type, and of the content if it is known.
    Foreign(String),
}

/// A link type, displayed with its name in pcap.
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
                Err("the record contains no IEEE 802.15.4 frame".to_owned())
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
