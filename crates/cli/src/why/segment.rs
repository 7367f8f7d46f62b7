//! What of an IPv6 packet with TCP in it is told from its first frame.

use redpoll_base::Addr;
use redpoll_wire::ipv6::{Ipv6Header, next_header, skip_extension_headers};

/// An IPv6 packet within another (RFC 2473), as RPL has them.
const IPV6: u8 = 41;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    pub addr: Addr,
    pub port: u16,
}

/// A TCP segment's header (RFC 9293 §3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: End,
    pub to: End,
    /// Falls on the way: of the packet, and of the one around it, if there is one.
    pub hop_limits: (u8, u8),
    pub seq: u32,
    pub ack: Option<u32>,
    pub is_syn: bool,
    pub is_fin: bool,
    pub is_rst: bool,
    /// As it stands in the header, not shifted.
    pub window: u16,
    /// Bytes of data.
    pub len: u32,
    /// The maximum segment size option.
    pub mss: Option<u16>,
    /// The window scale option.
    pub shift: Option<u8>,
    /// Whether it has a block of selective acknowledgment.
    pub has_sack: bool,
}

impl Segment {
    /// Sequence numbers that it takes: its data, SYN and FIN.
    pub fn span(&self) -> u32 {
        self.len + u32::from(self.is_syn) + u32::from(self.is_fin)
    }

    /// Whether it has data, or a SYN or FIN, that begin where those of `other` do.
    pub fn repeats(&self, other: &Segment) -> bool {
        self.span() > 0
            && other.span() > 0
            && (self.from, self.to, self.seq) == (other.from, other.to, other.seq)
    }
}

/// The segment in the beginning of a packet; nothing if there is none, or not all of its
/// header.
pub fn parse(packet: &[u8]) -> Option<Segment> {
    let (ip, payload) = Ipv6Header::parse_partial(packet).ok()?;
    let (upper, at) = skip_extension_headers(ip.next_header, payload).ok()?;
    let inner = payload.get(at..)?;
    if upper == IPV6 {
        let (inside, body) = Ipv6Header::parse_partial(inner).ok()?;
        let (upper, at) = skip_extension_headers(inside.next_header, body).ok()?;
        let limits = (inside.hop_limit, ip.hop_limit);
        return tcp(&inside, upper, at, body.get(at..)?, limits);
    }
    tcp(&ip, upper, at, inner, (ip.hop_limit, u8::MAX))
}

fn tcp(
    ip: &Ipv6Header,
    upper: u8,
    at: usize,
    bytes: &[u8],
    hop_limits: (u8, u8),
) -> Option<Segment> {
    if upper != next_header::TCP {
        return None;
    }
    let (fixed, _) = bytes.split_first_chunk::<20>()?;
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let long =
        |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let header_len = usize::from(fixed[12] >> 4) * 4;
    let len = usize::from(ip.payload_len).checked_sub(at + header_len)?;
    let has = |bit: u8| fixed[13] & bit != 0;
    let mut segment = Segment {
        from: End {
            addr: ip.src,
            port: word(0),
        },
        to: End {
            addr: ip.dst,
            port: word(2),
        },
        hop_limits,
        seq: long(4),
        ack: has(0x10).then(|| long(8)),
        is_syn: has(0x02),
        is_fin: has(0x01),
        is_rst: has(0x04),
        window: word(14),
        len: u32::try_from(len).ok()?,
        mss: None,
        shift: None,
        has_sack: false,
    };
    options(bytes.get(20..header_len).unwrap_or_default(), &mut segment);
    Some(segment)
}

fn options(mut bytes: &[u8], segment: &mut Segment) {
    while let [kind, rest @ ..] = bytes {
        let (kind, len) = match (*kind, rest.first()) {
            (0, _) => return,
            (1, _) => {
                bytes = rest;
                continue;
            }
            (kind, Some(&len)) if len >= 2 && usize::from(len) <= bytes.len() => {
                (kind, usize::from(len))
            }
            _ => return,
        };
        let (option, after) = bytes.split_at(len);
        bytes = after;
        match (kind, &option[2..]) {
            (2, &[high, low]) => segment.mss = Some(u16::from_be_bytes([high, low])),
            (3, &[shift]) => segment.shift = Some(shift.min(14)),
            (5, blocks) => segment.has_sack |= !blocks.is_empty(),
            _ => {}
        }
    }
}
