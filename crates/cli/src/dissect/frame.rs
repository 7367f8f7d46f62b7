//! A frame in words: MAC header, 6LoWPAN, and what is in it.

use std::fmt::Write as _;

use redpoll_wire::ieee802154::{Address, FrameHeader, FrameType};
use redpoll_wire::sixlowpan::{Contexts, Dispatch, dispatch, fragment, iphc, recoverable};

use super::Reading;
use super::capture::{Captured, Trailer};
use super::packet;

/// The frame in one line.
pub fn summary(frame: &Captured<'_>, reading: &Reading) -> String {
    let mut text = match FrameHeader::parse(frame.mpdu) {
        Ok((header, payload)) => described(&header, payload, frame, reading),
        Err(error) => format!("malformed frame ({error}) [{} B]", frame.mpdu.len()),
    };
    if let Trailer::Ti {
        rssi, correlation, ..
    } = frame.trailer
    {
        let _ = write!(text, " (RSSI {rssi} correlation {correlation})");
    }
    if frame.is_right() == Some(false) {
        text.push_str(" (wrong FCS)");
    }
    if frame.missing > 0 {
        let _ = write!(text, " ({} B not captured)", frame.missing);
    }
    text
}

fn described(
    header: &FrameHeader,
    payload: &[u8],
    frame: &Captured<'_>,
    reading: &Reading,
) -> String {
    let len = frame.mpdu.len();
    let name = match header.frame_type {
        FrameType::Beacon => "beacon",
        FrameType::Data => "data",
        FrameType::Ack => "ack",
        FrameType::Command => "command",
    };
    let mut text = match header.frame_type {
        FrameType::Ack => format!("{:>6}   {:<6} {name}", "", ""),
        _ => format!("{:>6} > {:<6} {name}", header.src, header.dst),
    };
    let _ = write!(text, " seq {} [{len} B]", header.dsn);
    if header.frame_pending {
        text.push_str(" pending");
    }
    let opened = match header.security {
        false => None,
        true => {
            text.push_str(" secured");
            match reading.keys.clear(frame.mpdu) {
                Some(opened) => Some(opened),
                None => return text,
            }
        }
    };
    let opened = opened.as_ref().map(|it| FrameHeader::parse(it.as_slice()));
    let payload = match opened {
        Some(Ok((_, payload))) => payload,
        _ => payload,
    };
    match header.frame_type {
        FrameType::Data => {
            let contexts = &reading.contexts;
            text.push(' ');
            text.push_str(&lowpan(payload, header.src, header.dst, contexts));
        }
        FrameType::Command => {
            let _ = write!(text, " {}", command(payload));
        }
        FrameType::Ack | FrameType::Beacon => {}
    }
    text
}

/// The MAC command (IEEE 802.15.4-2015 §7.5).
fn command(payload: &[u8]) -> String {
    match payload.first() {
        Some(1) => "association request".to_owned(),
        Some(2) => "association response".to_owned(),
        Some(3) => "disassociation".to_owned(),
        Some(4) => "data request".to_owned(),
        Some(7) => "beacon request".to_owned(),
        Some(other) => format!("command {other}"),
        None => "malformed: no command identifier".to_owned(),
    }
}

/// What is behind a data frame's MAC header.
fn lowpan(payload: &[u8], src: Address, dst: Address, contexts: &Contexts) -> String {
    match dispatch(payload) {
        Dispatch::First | Dispatch::Next => match fragment::Header::parse(payload) {
            Ok((header @ fragment::Header::First { size, tag }, rest)) => {
                let inner = datagram(rest, src, dst, contexts, Some(usize::from(header.size())));
                format!("FRAG1 tag {tag} size {size} {inner}")
            }
            Ok((fragment::Header::Next { size, tag, offset }, rest)) => {
                let end = usize::from(offset) + rest.len();
                let over = if end > usize::from(size) {
                    " malformed: beyond the size"
                } else {
                    ""
                };
                let last = if end == usize::from(size) {
                    " last"
                } else {
                    ""
                };
                format!(
                    "FRAGN tag {tag} size {size} offset {offset} len {}{last}{over}",
                    rest.len()
                )
            }
            Err(error) => format!("malformed fragment ({error})"),
        },
        Dispatch::Recoverable => recoverable_fragment(payload, src, dst, contexts),
        Dispatch::RecoverableAck => match recoverable::Ack::parse(payload) {
            Ok(ack) => {
                let ecn = if ack.ecn { " congested" } else { "" };
                format!("RFRAG-ACK tag {} {:08x}{ecn}", ack.tag, ack.bitmap.0)
            }
            Err(error) => format!("malformed acknowledgment ({error})"),
        },
        _ => datagram(payload, src, dst, contexts, None),
    }
}

/// A fragment of RFC 8931.
fn recoverable_fragment(payload: &[u8], src: Address, dst: Address, contexts: &Contexts) -> String {
    let (header, rest) = match recoverable::Fragment::parse(payload) {
        Ok(parsed) => parsed,
        Err(error) => return format!("malformed fragment ({error})"),
    };
    let mut text = format!("RFRAG tag {} seq {}", header.tag, header.sequence);
    if header.ack_request {
        text += " ack requested";
    }
    if header.ecn {
        text += " congested";
    }
    if header.is_abort() {
        return text + " abort";
    }
    if header.sequence != 0 {
        return text + &format!(" offset {} len {}", header.offset, header.size);
    }
    // What the datagram measures uncompressed shows only when it is expanded.
    let mut headers = [0; HEADERS_MAX];
    let size = usize::from(header.offset);
    let done = iphc::decompress_of(rest, src, dst, contexts, size, &mut headers);
    let whole = done.map(|done| size - done.consumed + done.written);
    let inner = datagram(rest, src, dst, contexts, Some(whole.unwrap_or(size)));
    text + &format!(" size {} len {} {inner}", header.offset, header.size)
}

/// Room for what a frame's compressed headers expand to: IPv6, extension headers
/// (RFC 6282 §4.2) as long as the frame is, UDP.
const HEADERS_MAX: usize = 256;

/// A datagram or the beginning of one, whose size is then `whole`.
fn datagram(
    bytes: &[u8],
    src: Address,
    dst: Address,
    contexts: &Contexts,
    whole: Option<usize>,
) -> String {
    match dispatch(bytes) {
        Dispatch::Iphc => {
            let mut headers = [0; HEADERS_MAX];
            match iphc::decompress(bytes, src, dst, contexts, whole, &mut headers) {
                Ok(done) => {
                    let mut packet = headers[..done.written].to_vec();
                    packet.extend_from_slice(bytes.get(done.consumed..).unwrap_or_default());
                    format!("IPHC {}", packet::summary(&packet, whole.is_some()))
                }
                Err(error) => format!("malformed IPHC ({error})"),
            }
        }
        Dispatch::Ipv6Uncompressed => {
            format!(
                "IPv6 {}",
                packet::summary(bytes.get(1..).unwrap_or_default(), whole.is_some())
            )
        }
        Dispatch::Mesh => "mesh header".to_owned(),
        Dispatch::Bc0 => "broadcast header".to_owned(),
        Dispatch::NotALowpan => format!("not 6LoWPAN, {} B", bytes.len()),
        Dispatch::First | Dispatch::Next | Dispatch::Recoverable | Dispatch::RecoverableAck => {
            "malformed: a fragment within a fragment".to_owned()
        }
        Dispatch::Unknown(byte) => format!("unknown dispatch 0x{byte:02x}"),
    }
}
