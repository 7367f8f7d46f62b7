//! IPv6 packets: their headers, tunnels and routes, and the layers above.
//!
//! - `show`: the headers as layers;
//! - `extension`: extension headers (RFC 8200 §4) and RPL's option (RFC 6553).

mod extension;
mod show;

use redpoll_base::{Addr, checksum::Checksum};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

use crate::lowpan::expand::Unknown;
use extension::Walk;

pub use extension::{Information, Route};

/// Maximum number of nested IPv6 headers that are parsed.
const NESTED_MAX: usize = 8;

#[derive(Clone, Debug, PartialEq)]
pub struct Ip {
    pub header: Ipv6Header,
    pub at: usize,
    pub route: Option<Route>,
    /// RPL packet information, if there is some.
    pub information: Option<Information>,
    /// The protocol after the extension headers.
    pub upper: u8,
    pub body_at: usize,
    pub unknown: Unknown,
    extensions: Vec<extension::Extension>,
    is_fragment: bool,
}

impl Ip {
    pub fn final_dst(&self) -> Addr {
        let route = self.route.as_ref().filter(|route| route.segments_left > 0);
        route.map_or(self.header.dst, |route| route.last)
    }

    /// Returns the next stop of an unfinished source route, and the number of segments left.
    pub fn next_stop(&self) -> Option<(Addr, u8)> {
        let route = self
            .route
            .as_ref()
            .filter(|route| route.segments_left > 0)?;
        Some((self.header.dst, route.segments_left))
    }

    pub fn src_text(&self) -> String {
        address(self.header.src, self.unknown.src)
    }

    pub fn dst_text(&self) -> String {
        let unknown = self.unknown.dst.filter(|_| self.next_stop().is_none());
        address(self.final_dst(), unknown)
    }
}

fn address(addr: Addr, unknown: Option<u8>) -> String {
    match unknown {
        Some(cid) => format!("[context {cid}]{addr}"),
        None => addr.to_string(),
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub bytes: Vec<u8>,
    pub ips: Vec<Ip>,
    /// Whether the packet is incomplete by design, as in a first fragment.
    pub is_part: bool,
    /// Whether the packet is shorter than its header states, although it should be complete.
    pub is_short: bool,
    pub is_udp_elided: bool,
    pub problem: Option<&'static str>,
}

impl Packet {
    pub fn parse(bytes: Vec<u8>, is_part: bool, unknown: &[Unknown]) -> Packet {
        let mut packet = Packet {
            is_part,
            ..Packet::default()
        };
        let mut at = 0;
        while packet.ips.len() < NESTED_MAX {
            let Ok((header, payload)) = Ipv6Header::parse_partial(bytes.get(at..).unwrap_or(&[]))
            else {
                packet.problem = Some("truncated IPv6 header");
                break;
            };
            let len = usize::from(header.payload_len);
            packet.is_short |= !is_part && payload.len() < len;
            let payload = payload.get(..payload.len().min(len)).unwrap_or_default();
            let walk = Walk::of(header.next_header, payload, header.dst);
            packet.problem = walk.problem;
            let start = at + Ipv6Header::LEN;
            packet.ips.push(Ip {
                header,
                at,
                route: walk.route,
                information: walk.information,
                upper: walk.upper,
                body_at: start + walk.at,
                unknown: unknown.get(packet.ips.len()).copied().unwrap_or_default(),
                extensions: walk.extensions,
                is_fragment: walk.is_fragment,
            });
            let is_inner = walk.upper == next_header::IPV6 && !walk.is_fragment;
            if !is_inner || walk.problem.is_some() {
                break;
            }
            at = start + walk.at;
        }
        packet.bytes = bytes;
        packet
    }

    pub fn inner(&self) -> Option<&Ip> {
        self.ips.last()
    }

    /// Returns the captured bytes of the innermost header's payload, after extension headers.
    pub fn body(&self) -> &[u8] {
        let Some(ip) = self.inner() else {
            return &[];
        };
        let end = ip.at + Ipv6Header::LEN + usize::from(ip.header.payload_len);
        let end = end.min(self.bytes.len());
        self.bytes.get(ip.body_at..end).unwrap_or_default()
    }

    /// Returns the length in bytes of the innermost payload in the whole packet.
    pub fn body_len(&self) -> usize {
        let Some(ip) = self.inner() else {
            return 0;
        };
        let end = ip.at + Ipv6Header::LEN + usize::from(ip.header.payload_len);
        end.saturating_sub(ip.body_at)
    }

    /// Returns whether checksums can be verified: the packet is complete and all contexts known.
    pub fn is_checkable(&self) -> bool {
        let is_known = |ip: &Ip| ip.unknown == Unknown::default() && !ip.is_fragment;
        !self.is_part && !self.is_short && self.inner().is_some_and(is_known)
    }

    /// Returns whether the Internet checksum of the upper layer is correct; `None` if it cannot be
    /// checked. With a routing header, the checksum covers the final destination (RFC 8200 §8.1).
    pub fn checks(&self, protocol: u8) -> Option<bool> {
        let ip = self.inner().filter(|_| self.is_checkable())?;
        let bytes = self.body();
        let len = u32::try_from(bytes.len()).ok()?;
        let (src, dst): (&Addr, &Addr) = (&ip.header.src, &ip.final_dst());
        let mut sum = Checksum::pseudo_header(src, dst, protocol, len);
        sum.add(bytes);
        Some(sum.is_valid())
    }
}
