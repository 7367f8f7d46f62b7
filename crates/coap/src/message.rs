//! Parses datagrams into messages. The codec does not check the version, reserved codes and
//! empty messages, and does not select the answer to an error (RFC 7252 §3, §4.2, §4.3).

use alloc::vec::Vec;
use coap_lite::{MessageClass, MessageType, Packet};
use redpoll_base::Addr;

/// Source or destination of a datagram: an endpoint of RFC 7252 §1.2 without security.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer {
    /// IPv6 address of the peer.
    pub addr: Addr,
    /// UDP port of the peer.
    pub port: u16,
}

/// A message ID (RFC 7252 §3).
pub(crate) type MessageId = u16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfit {
    /// The message is ignored, as RFC 7252 §3, §4.2 and §4.3 require.
    Ignored,
    /// A Reset for this message ID (RFC 7252 §4.2).
    Reset(MessageId),
}

/// The kind of a message by its code (RFC 7252 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Class {
    Empty,
    Request,
    Response,
}

const HEADER: usize = 4;
const VERSION: u8 = 1;
const PAYLOAD_MARKER: u8 = 0xff;

pub(crate) fn decode(datagram: &[u8]) -> Result<(Packet, Class), Unfit> {
    let Some([first, code, id @ ..]) = datagram.first_chunk::<HEADER>() else {
        return Err(Unfit::Ignored);
    };
    // RFC 7252 §3: "Messages with unknown version numbers MUST be silently ignored."
    if first >> 6 != VERSION {
        return Err(Unfit::Ignored);
    }
    let is_confirmable = (first >> 4) & 3 == 0;
    let unfit = if is_confirmable {
        Unfit::Reset(u16::from_be_bytes(*id))
    } else {
        Unfit::Ignored
    };
    // RFC 7252 §4.1: an Empty message is four bytes; "If there are any bytes,
    // they MUST be processed as a message format error."
    if *code == 0 && datagram.len() > HEADER {
        return Err(unfit);
    }
    let packet = Packet::from_bytes(datagram).map_err(|_| unfit)?;
    // RFC 7252 §3: "The presence of a marker followed by a zero-length payload MUST be processed as
    // a message format error." The codec ignores such a marker. A last byte of 0xff belongs to an
    // option if the datagram without it gives another packet.
    if packet.payload.is_empty() && datagram.last() == Some(&PAYLOAD_MARKER) {
        let shorter = datagram.split_last().map_or(datagram, |(_, rest)| rest);
        if Packet::from_bytes(shorter).is_ok_and(|other| is_same(&other, &packet)) {
            return Err(unfit);
        }
    }
    let class = class_of(*code).ok_or(unfit)?;
    match (packet.header.get_type(), class) {
        // RFC 7252 §4.2: a Confirmable message that is Empty elicits a Reset.
        (MessageType::Confirmable | MessageType::NonConfirmable, Class::Empty) => Err(unfit),
        // RFC 7252 §4.2: an Acknowledgement carries no request, a Reset is empty.
        (MessageType::Acknowledgement, Class::Request)
        | (MessageType::Reset, Class::Request | Class::Response) => Err(Unfit::Ignored),
        _ => Ok((packet, class)),
    }
}

fn is_same(one: &Packet, other: &Packet) -> bool {
    one.get_token() == other.get_token() && one.options().eq(other.options())
}

/// Returns the class of a code; `None` for the reserved classes (RFC 7252 §3, §4.2).
fn class_of(code: u8) -> Option<Class> {
    match code >> 5 {
        0 if code == 0 => Some(Class::Empty),
        0 => Some(Class::Request),
        2 | 4 | 5 => Some(Class::Response),
        _ => None,
    }
}

pub(crate) fn empty(kind: MessageType, id: MessageId) -> Vec<u8> {
    let mut packet = Packet::new();
    packet.header.set_type(kind);
    packet.header.code = MessageClass::Empty;
    packet.header.message_id = id;
    encode(&packet)
}

/// Returns the encoded message. The codec refuses only messages over its size limit. This call sets
/// no limit, because blocks keep messages short.
pub(crate) fn encode(packet: &Packet) -> Vec<u8> {
    packet.to_bytes_unlimited().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfit(datagram: &[u8]) -> Unfit {
        decode(datagram).expect_err("an invalid message")
    }

    #[test]
    fn other_versions_and_scraps_are_ignored() {
        assert_eq!(unfit(&[]), Unfit::Ignored);
        assert_eq!(unfit(&[0x40, 1, 0]), Unfit::Ignored);
        for version in [0, 2, 3] {
            assert_eq!(unfit(&[version << 6, 1, 0, 7]), Unfit::Ignored);
        }
    }

    #[test]
    fn format_errors_of_confirmable_messages_are_reset() {
        let reset = Unfit::Reset(0x0102);
        // A token of nine bytes.
        let mut long = [0; 13];
        long[..4].copy_from_slice(&[0x49, 1, 1, 2]);
        assert_eq!(unfit(&long), reset);
        // Each of these is reset: a truncated token, a payload marker without payload, the reserved
        // delta and length 15, a truncated option.
        assert_eq!(unfit(&[0x44, 1, 1, 2, 9]), reset);
        assert_eq!(unfit(&[0x40, 1, 1, 2, 0xff]), reset);
        assert_eq!(unfit(&[0x40, 1, 1, 2, 0xb1, b'a', 0xff]), reset);
        assert_eq!(unfit(&[0x40, 1, 1, 2, 0xf0]), reset);
        assert_eq!(unfit(&[0x40, 1, 1, 2, 0x0f]), reset);
        assert_eq!(unfit(&[0x40, 1, 1, 2, 0xb4, b'a']), reset);
        // An Empty message with a token is reset.
        assert_eq!(unfit(&[0x41, 0, 1, 2, 9]), reset);
        // Reserved classes.
        for class in [1, 3, 6, 7] {
            assert_eq!(unfit(&[0x40, class << 5 | 1, 1, 2]), reset);
        }
        // A non-confirmable message with a format error is ignored silently.
        assert_eq!(unfit(&[0x50, 1, 1, 2, 0xff]), Unfit::Ignored);
    }

    #[test]
    fn empty_messages_elicit_a_reset_or_are_one() {
        assert_eq!(unfit(&[0x40, 0, 1, 2]), Unfit::Reset(0x0102));
        assert_eq!(unfit(&[0x50, 0, 1, 2]), Unfit::Ignored);
        assert_eq!(decode(&[0x60, 0, 1, 2]).unwrap().1, Class::Empty);
        assert_eq!(decode(&[0x70, 0, 1, 2]).unwrap().1, Class::Empty);
        // An acknowledgement with a request and a reset with a response are ignored.
        assert_eq!(unfit(&[0x60, 1, 1, 2]), Unfit::Ignored);
        assert_eq!(unfit(&[0x70, 0x45, 1, 2]), Unfit::Ignored);
    }

    #[test]
    fn an_option_may_end_in_the_payload_marker() {
        let (packet, class) = decode(&[0x40, 1, 1, 2, 0xb1, 0xff]).unwrap();
        assert_eq!(class, Class::Request);
        assert!(packet.payload.is_empty());
        let (packet, _) = decode(&[0x40, 1, 1, 2, 0xff, 0xff]).unwrap();
        assert_eq!(packet.payload, [0xff]);
    }
}
