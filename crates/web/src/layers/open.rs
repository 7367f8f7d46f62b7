//! From the bytes on the air to an IPv6 packet, or the beginning of one: the parts of the
//! dissector's result that the live view shows.

use redpoll_base::Addr;
use redpoll_dissect::ip;
use redpoll_dissect::layer;
use redpoll_dissect::lowpan::expand::{Whole, expand};
use redpoll_dissect::lowpan::{self, Body};
use redpoll_dissect::mac::{Kind, Mac};
use redpoll_wire::ipv6::{Ipv6Header, next_header};
use redpoll_wire::sixlowpan::Contexts;

/// A frame whose layers have been found.
#[derive(Clone, Debug)]
pub struct Opened<'a> {
    pub mac: Mac<'a>,
    /// The 6LoWPAN header of a data frame.
    pub lowpan: Option<Lowpan>,
    /// The IPv6 packet, if its headers are in this frame.
    pub packet: Option<Packet>,
}

/// The 6LoWPAN content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lowpan {
    Whole,
    /// The first fragment of a datagram (RFC 4944 §5.3).
    First {
        tag: u16,
        /// Size of the datagram in bytes.
        size: u16,
    },
    /// Another fragment.
    Next {
        tag: u16,
        size: u16,
        /// Position of the fragment in the datagram, in bytes.
        offset: u16,
        len: usize,
    },
    /// A recoverable fragment (RFC 8931 §5.1).
    Recoverable {
        tag: u8,
        sequence: u8,
        len: usize,
        /// Offset of the fragment; in a first fragment the size of the datagram.
        offset: u16,
    },
    /// An acknowledgement of recoverable fragments (RFC 8931 §5.2).
    RecoverableAck {
        tag: u8,
        /// Bits of the acknowledged fragments.
        bitmap: u32,
    },
    /// Another kind of frame.
    Other,
}

/// An IPv6 packet, the innermost if it is in a tunnel.
#[derive(Clone, Debug)]
pub struct Packet {
    /// IPv6 header of the packet.
    pub ip: Ipv6Header,
    /// The destination at the end of the packet's source route.
    pub dst: Addr,
    /// The protocol after the extension headers.
    pub upper: u8,
    /// Bytes of the headers between the packet's fixed header and the upper layer.
    pub extensions: usize,
    /// Captured bytes of the upper layer.
    pub body: Vec<u8>,
    /// Bytes of the upper layer in the whole packet.
    pub body_len: usize,
    /// The dissector's layers above IPv6; empty for TCP, whose segments [`super::words`] describes
    /// itself.
    pub above: Vec<layer::Layer>,
}

impl Packet {
    /// Parses a packet that may be truncated; `None` if it is malformed.
    pub fn parse(bytes: &[u8]) -> Option<Packet> {
        Packet::of(&ip::Packet::parse(bytes.to_vec(), true, &[]))
    }

    fn of(packet: &ip::Packet) -> Option<Packet> {
        let inner = packet.inner().filter(|_| packet.problem.is_none())?;
        let mut above = Vec::new();
        if inner.upper != next_header::TCP {
            packet.show(&mut above);
            above.drain(..packet.ips.len());
        }
        Some(Packet {
            ip: inner.header,
            dst: inner.final_dst(),
            upper: inner.upper,
            extensions: inner.body_at.saturating_sub(Ipv6Header::LEN),
            body: packet.body().to_vec(),
            body_len: packet.body_len(),
            above,
        })
    }
}

impl<'a> Opened<'a> {
    /// Opens a frame without its check sequence. `None` if its header cannot be read.
    pub fn of(mpdu: &'a [u8], contexts: &Contexts) -> Option<Opened<'a>> {
        let mac = Mac::parse(mpdu).ok()?;
        let mut opened = Opened {
            mac,
            lowpan: None,
            packet: None,
        };
        let mac = &opened.mac;
        if mac.kind == Kind::Data && mac.is_readable() && !mac.payload.is_empty() {
            let parsed = lowpan::Lowpan::parse(mac.payload, mac.src, mac.dst);
            let packet = expanded(&parsed, contexts);
            opened.lowpan = Some(Lowpan::of(&parsed.body));
            opened.packet = packet.and_then(|packet| Packet::of(&packet));
        }
        Some(opened)
    }
}

impl Lowpan {
    fn of(body: &Body<'_>) -> Lowpan {
        match *body {
            Body::Whole(_) => Lowpan::Whole,
            Body::First { tag, size, .. } => Lowpan::First { tag, size },
            Body::Next {
                tag,
                size,
                offset,
                rest,
            } => Lowpan::Next {
                tag,
                size,
                offset,
                len: rest.len(),
            },
            Body::Recoverable(header, rest) => Lowpan::Recoverable {
                tag: header.tag,
                sequence: header.sequence,
                len: rest.len(),
                offset: header.offset,
            },
            Body::RecoverableAck(ack) => Lowpan::RecoverableAck {
                tag: ack.tag,
                bitmap: ack.bitmap.0,
            },
            Body::Foreign(_) | Body::Unknown(_) | Body::Malformed(_) => Lowpan::Other,
        }
    }
}

/// Returns the packet whose headers are in a frame.
fn expanded(lowpan: &lowpan::Lowpan<'_>, contexts: &Contexts) -> Option<ip::Packet> {
    let (bytes, whole) = match &lowpan.body {
        Body::Whole(bytes) => (*bytes, Whole::Here),
        Body::First { size, rest, .. } => (*rest, Whole::Expanded((*size).into())),
        Body::Recoverable(header, rest) if header.sequence == 0 && !header.is_abort() => {
            (*rest, Whole::Compressed(header.offset.into()))
        }
        _ => return None,
    };
    let ends = (lowpan.src, lowpan.dst);
    let done = expand(bytes, ends, contexts, whole, &mut layer::Layer::default()).ok()?;
    let is_part = whole != Whole::Here;
    let mut packet = ip::Packet::parse(done.packet, is_part, &done.unknown);
    packet.is_udp_elided = done.is_udp_elided;
    Some(packet)
}
