//! From the bytes on the air to an IPv6 packet, or the beginning of one.

use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, skip_extension_headers};
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch, fragment, iphc, recoverable};

/// Room for what a frame's compressed headers expand to: IPv6, extension headers
/// (RFC 6282 §4.2) as long as the frame is, UDP.
const HEADERS_MAX: usize = 256;

/// A frame whose layers have been found.
#[derive(Clone, Debug)]
pub struct Opened<'a> {
    /// The MAC header.
    pub mac: FrameHeader,
    /// What is behind it.
    pub payload: &'a [u8],
    /// What 6LoWPAN says, of a data frame.
    pub lowpan: Option<Lowpan>,
    /// The IPv6 packet, if its headers are in this frame.
    pub packet: Option<Packet>,
}

/// What 6LoWPAN has in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lowpan {
    /// A whole datagram.
    Whole,
    /// The first fragment of one (RFC 4944 §5.3).
    First {
        /// Which datagram.
        tag: u16,
        /// Its size.
        size: u16,
    },
    /// Another fragment.
    Next {
        /// Which datagram.
        tag: u16,
        /// Its size.
        size: u16,
        /// Where it begins there.
        offset: u16,
        /// Its length.
        len: usize,
    },
    /// A recoverable fragment (RFC 8931 §5.1).
    Recoverable {
        /// Which datagram.
        tag: u8,
        /// Which fragment.
        sequence: u8,
        /// Its length.
        len: usize,
        /// Its offset; of the first the size of the datagram.
        offset: u16,
    },
    /// An acknowledgement of those (RFC 8931 §5.2).
    RecoverableAck {
        /// Which datagram.
        tag: u8,
        /// Which fragments.
        bitmap: u32,
    },
    /// None of these.
    Other,
}

/// An IPv6 packet.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its header.
    pub ip: Ipv6Header,
    /// What the packet carries behind extension headers, by its number.
    pub upper: u8,
    /// Length of the extension headers.
    pub extensions: usize,
    /// What is here of that, from the header of the upper layer on.
    pub body: Vec<u8>,
    /// How long that is in all.
    pub body_len: usize,
}

impl Packet {
    /// A packet whose beginning is here; `None` if that cannot be read.
    pub fn parse(bytes: &[u8]) -> Option<Packet> {
        let (ip, payload) = Ipv6Header::parse_partial(bytes).ok()?;
        let payload = payload.get(..payload.len().min(usize::from(ip.payload_len)))?;
        let (upper, at) = skip_extension_headers(ip.next_header, payload).ok()?;
        Some(Packet {
            ip,
            upper,
            extensions: at,
            body: payload.get(at..)?.to_vec(),
            body_len: usize::from(ip.payload_len).checked_sub(at)?,
        })
    }
}

impl<'a> Opened<'a> {
    /// Opens a frame without its check sequence. `None` if its header cannot be read.
    pub fn of(mpdu: &'a [u8], contexts: &Contexts) -> Option<Opened<'a>> {
        let (mac, payload) = FrameHeader::parse(mpdu).ok()?;
        let mut opened = Opened {
            mac,
            payload,
            lowpan: None,
            packet: None,
        };
        if mac.frame_type == FrameType::Data && !mac.security && !payload.is_empty() {
            let (lowpan, packet) = lowpan(payload, mac.src, mac.dst, contexts);
            opened.lowpan = Some(lowpan);
            opened.packet = packet.and_then(|bytes| Packet::parse(&bytes));
        }
        Some(opened)
    }
}

fn lowpan(
    payload: &[u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
) -> (Lowpan, Option<Vec<u8>>) {
    let expand = |bytes, whole| datagram(bytes, src, dst, contexts, whole);
    match dispatch(payload) {
        Dispatch::First | Dispatch::Next => match fragment::Header::parse(payload) {
            Ok((header @ fragment::Header::First { size, tag }, rest)) => {
                let packet = expand(rest, Some(usize::from(header.size())));
                (Lowpan::First { tag, size }, packet)
            }
            Ok((fragment::Header::Next { size, tag, offset }, rest)) => {
                let len = rest.len();
                (
                    Lowpan::Next {
                        tag,
                        size,
                        offset,
                        len,
                    },
                    None,
                )
            }
            Err(_) => (Lowpan::Other, None),
        },
        Dispatch::Recoverable => match recoverable::Fragment::parse(payload) {
            Ok((header, rest)) => {
                let found = Lowpan::Recoverable {
                    tag: header.tag,
                    sequence: header.sequence,
                    len: rest.len(),
                    offset: header.offset,
                };
                let first = header.sequence == 0 && !header.is_abort();
                let packet = first.then(|| {
                    // What it measures uncompressed shows only when it is expanded.
                    let mut headers = [0; HEADERS_MAX];
                    let size = usize::from(header.offset);
                    let done = iphc::decompress_of(rest, src, dst, contexts, size, &mut headers);
                    let whole = done
                        .ok()
                        .and_then(|done| (size + done.written).checked_sub(done.consumed));
                    expand(rest, Some(whole.unwrap_or(size)))
                });
                (found, packet.flatten())
            }
            Err(_) => (Lowpan::Other, None),
        },
        Dispatch::RecoverableAck => match recoverable::Ack::parse(payload) {
            Ok(ack) => {
                let (tag, bitmap) = (ack.tag, ack.bitmap.0);
                (Lowpan::RecoverableAck { tag, bitmap }, None)
            }
            Err(_) => (Lowpan::Other, None),
        },
        Dispatch::Iphc | Dispatch::Ipv6Uncompressed => (Lowpan::Whole, expand(payload, None)),
        _ => (Lowpan::Other, None),
    }
}

/// A datagram or the beginning of one, whose size is then `whole`, with its headers
/// expanded.
fn datagram(
    bytes: &[u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
    whole: Option<usize>,
) -> Option<Vec<u8>> {
    match dispatch(bytes) {
        Dispatch::Iphc => {
            let mut headers = [0; HEADERS_MAX];
            let done = iphc::decompress(bytes, src, dst, contexts, whole, &mut headers).ok()?;
            let mut packet = headers.get(..done.written)?.to_vec();
            packet.extend_from_slice(bytes.get(done.consumed..)?);
            Some(packet)
        }
        Dispatch::Ipv6Uncompressed => Some(bytes.get(1..)?.to_vec()),
        _ => None,
    }
}
