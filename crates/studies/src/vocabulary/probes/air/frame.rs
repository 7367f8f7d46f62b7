//! Parser of a frame: the header lengths of all layers, and TCP's header.

use redpoll_tcp::Options;
use redpoll_wire::ieee802154::{FrameHeader, FrameType};
use redpoll_wire::ipv6::{Ipv6Header, next_header, skip_extension_headers};
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch, fragment, iphc};
use redpoll_wire::tcp::Flags;
use redpoll_wire::tcp::HeaderView;

/// Bytes of the frame check sequence, which traces omit.
const FCS: usize = 2;
/// Bytes of the longest uncompressed headers that a compressed header represents.
const HEADERS: usize = 48;

/// Header lengths of a data frame that holds a TCP segment or a part of one, and the segment's
/// header.
pub struct Parts {
    /// Bytes of IEEE 802.15.4, including the frame check sequence.
    pub mac: usize,
    /// Bytes of the fragment header and of the first byte of the compressed header.
    pub lowpan: usize,
    /// Bytes of the compressed header after its first byte.
    pub ip: usize,
    /// Whether the frame has only a fragment of the datagram.
    pub is_part: bool,
    pub tcp: Option<Tcp>,
}

pub struct Tcp {
    pub len: usize,
    pub seq: u32,
    pub ack: Option<u32>,
    /// SEG.WND in bytes.
    pub window: u32,
    pub flags: Flags,
    pub options: Options,
    /// Bytes of data in the whole segment.
    pub payload: usize,
}

pub fn mac(mpdu: &[u8]) -> Option<(FrameHeader, &[u8])> {
    FrameHeader::parse(mpdu).ok()
}

/// Parses a data frame; `None` if it does not contain TCP.
///
/// A later fragment does not identify its protocol, and counts as TCP.
pub fn parts(mpdu: &[u8], contexts: &Contexts) -> Option<Parts> {
    let (header, payload) = mac(mpdu)?;
    if header.frame_type != FrameType::Data {
        return None;
    }
    let mut parts = Parts {
        mac: mpdu.len() - payload.len() + FCS,
        lowpan: 0,
        ip: 0,
        is_part: false,
        tcp: None,
    };
    let (inner, whole) = match dispatch(payload) {
        Dispatch::First => {
            let (header, inner) = fragment::Header::parse(payload).ok()?;
            parts.lowpan = fragment::Header::FIRST_LEN;
            parts.is_part = true;
            (inner, Some(usize::from(header.size())))
        }
        Dispatch::Next => {
            parts.lowpan = fragment::Header::NEXT_LEN;
            parts.is_part = true;
            return Some(parts);
        }
        Dispatch::Iphc => (payload, None),
        _ => return None,
    };
    let mut headers = [0; HEADERS];
    let done =
        iphc::decompress(inner, header.src, header.dst, contexts, whole, &mut headers).ok()?;
    parts.lowpan += 1;
    parts.ip = done.consumed - 1;
    let mut packet = headers[..done.written].to_vec();
    packet.extend_from_slice(inner.get(done.consumed..)?);
    parts.tcp = Some(tcp(&packet)?);
    Some(parts)
}

fn tcp(packet: &[u8]) -> Option<Tcp> {
    let (ip, rest) = Ipv6Header::parse_partial(packet).ok()?;
    let (upper, at) = skip_extension_headers(ip.next_header, rest).ok()?;
    if upper != next_header::TCP {
        return None;
    }
    let bytes = rest.get(at..)?;
    let segment_len = usize::from(ip.payload_len).checked_sub(at)?;
    let header = HeaderView::parse_partial(bytes, segment_len).ok()?;
    header.is_complete().then(|| Tcp {
        len: header.header_len(),
        seq: header.seq().0,
        ack: header.ack().map(|ack| ack.0),
        window: u32::from(header.window()),
        flags: header.flags(),
        options: Options::parse(header.options()),
        payload: header.payload_len(),
    })
}
