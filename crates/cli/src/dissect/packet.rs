//! An IPv6 packet in words.

use std::fmt::Write as _;

use redpoll_base::{Addr, Ecn};
use redpoll_wire::icmpv6::Message;
use redpoll_wire::icmpv6::nd::{NdOption, Options, Tid};
use redpoll_wire::ipv6::{Ipv6Header, next_header, skip_extension_headers};
use redpoll_wire::udp::UdpHeader;

/// The packet in part of a line. Of the beginning of a packet, `is_part`, no
/// checksum can be checked.
pub fn summary(packet: &[u8], is_part: bool) -> String {
    let (ip, payload) = match Ipv6Header::parse_partial(packet) {
        Ok(parsed) => parsed,
        Err(error) => return format!("malformed IPv6 ({error})"),
    };
    let mut text = format!("{} > {}", ip.src, ip.dst);
    if ip.ecn != Ecn::NotEct {
        let _ = write!(text, " {:?}", ip.ecn);
    }
    let _ = write!(text, " hlim {}", ip.hop_limit);
    let is_short = !is_part && payload.len() < usize::from(ip.payload_len);
    let payload = &payload[..payload.len().min(usize::from(ip.payload_len))];
    let (upper, at) = match skip_extension_headers(ip.next_header, payload) {
        Ok(found) => found,
        Err(error) => return format!("{text} malformed extension header ({error})"),
    };
    let body = payload.get(at..).unwrap_or_default();
    let body_len = usize::from(ip.payload_len).saturating_sub(at);
    let is_whole = !is_part && !is_short;
    text.push(' ');
    text.push_str(&match upper {
        next_header::TCP => tcp(&ip, body, body_len, is_whole),
        next_header::UDP => udp(&ip, body, is_whole),
        next_header::ICMPV6 => icmp(&ip, body, is_whole),
        next_header::NONE => "no next header".to_owned(),
        other => format!("next header {other}, {body_len} B"),
    });
    if is_short {
        text.push_str(" malformed: shorter than its length");
    }
    text
}

/// A TCP segment (RFC 9293 §3.1) of `segment_len` bytes, of which `bytes` are
/// here.
fn tcp(ip: &Ipv6Header, bytes: &[u8], segment_len: usize, is_whole: bool) -> String {
    let Some((fixed, _)) = bytes.split_first_chunk::<20>() else {
        return "TCP malformed: no whole header".to_owned();
    };
    let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let long =
        |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if header_len < 20 || header_len > segment_len {
        return format!("TCP malformed: a header of {header_len} B");
    }
    let mut text = format!(
        "TCP {} > {} [{}] seq {}",
        word(0),
        word(2),
        flags(fixed[13]),
        long(4),
    );
    if fixed[13] & 0x10 != 0 {
        let _ = write!(text, " ack {}", long(8));
    }
    let _ = write!(text, " win {} len {}", word(14), segment_len - header_len);
    if let Some(options) = bytes.get(20..header_len) {
        text.push_str(&tcp_options(options));
    }
    if is_whole && !checks(ip, next_header::TCP, bytes) {
        text.push_str(" (wrong checksum)");
    }
    text
}

fn flags(bits: u8) -> String {
    const LETTERS: [(u8, char); 8] = [
        (0x02, 'S'),
        (0x01, 'F'),
        (0x04, 'R'),
        (0x08, 'P'),
        (0x10, '.'),
        (0x20, 'U'),
        (0x40, 'E'),
        (0x80, 'C'),
    ];
    LETTERS
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, letter)| *letter)
        .collect()
}

/// The options (RFC 9293 §3.2) that say more than that they are there.
fn tcp_options(mut options: &[u8]) -> String {
    let mut text = String::new();
    loop {
        let (kind, rest) = match *options {
            [] | [0, ..] => return text,
            [1, ref rest @ ..] => {
                options = rest;
                continue;
            }
            [kind, len, ..] if len >= 2 && usize::from(len) <= options.len() => {
                (kind, options.split_at(usize::from(len)))
            }
            _ => return text + " malformed option",
        };
        let (option, after) = rest;
        options = after;
        let _ = match (kind, option.get(2..).unwrap_or_default()) {
            (2, &[high, low]) => write!(text, " mss {}", u16::from_be_bytes([high, low])),
            (3, &[shift]) => write!(text, " wscale {shift}"),
            (4, &[]) => write!(text, " sackOK"),
            (5, blocks) => write!(text, " sack {}", blocks.len() / 8),
            (8, &[a, b, c, d, e, f, g, h]) => {
                let val = u32::from_be_bytes([a, b, c, d]);
                write!(text, " ts {val} {}", u32::from_be_bytes([e, f, g, h]))
            }
            (other, _) => write!(text, " option {other}"),
        };
    }
}

fn udp(ip: &Ipv6Header, bytes: &[u8], is_whole: bool) -> String {
    let Some((ports, _)) = bytes.split_first_chunk::<8>() else {
        return "UDP malformed: no whole header".to_owned();
    };
    let src = u16::from_be_bytes([ports[0], ports[1]]);
    let dst = u16::from_be_bytes([ports[2], ports[3]]);
    let length = u16::from_be_bytes([ports[4], ports[5]]);
    let mut text = format!("UDP {src} > {dst} len {}", length.saturating_sub(8));
    if !is_whole {
        return text;
    }
    match UdpHeader::parse(bytes) {
        Ok((header, payload)) if header.verify(&ip.src, &ip.dst, payload) => {}
        Ok(_) => text.push_str(" (wrong checksum)"),
        Err(error) => {
            let _ = write!(text, " malformed ({error})");
        }
    }
    text
}

fn icmp(ip: &Ipv6Header, bytes: &[u8], is_whole: bool) -> String {
    let message = match Message::parse_unverified(bytes) {
        Ok(message) => message,
        Err(error) => return format!("ICMPv6 malformed ({error})"),
    };
    let text = match message {
        Message::DestinationUnreachable { code, quoted } => {
            format!("destination unreachable, code {code}{}", about(quoted))
        }
        Message::PacketTooBig { mtu, quoted } => {
            format!("packet too big, mtu {mtu}{}", about(quoted))
        }
        Message::TimeExceeded { code, quoted } => {
            format!("time exceeded, code {code}{}", about(quoted))
        }
        Message::ParameterProblem {
            code,
            pointer,
            quoted,
        } => {
            format!(
                "parameter problem, code {code} at {pointer}{}",
                about(quoted)
            )
        }
        Message::EchoRequest { ident, seq, data } => {
            format!("echo request id {ident} seq {seq} len {}", data.len())
        }
        Message::EchoReply { ident, seq, data } => {
            format!("echo reply id {ident} seq {seq} len {}", data.len())
        }
        Message::RouterSolicitation { .. } => "router solicitation".to_owned(),
        Message::RouterAdvertisement(advertisement) => {
            format!(
                "router advertisement, lifetime {} s",
                advertisement.router_lifetime_s
            )
        }
        Message::NeighborSolicitation(solicitation) => {
            let asks = format!("neighbor solicitation for {}", solicitation.target);
            format!("{asks}{}", registration(&solicitation.options))
        }
        Message::NeighborAdvertisement(advertisement) => {
            let says = format!("neighbor advertisement of {}", advertisement.target);
            format!("{says}{}", registration(&advertisement.options))
        }
        Message::DuplicateAddressRequest(message) => {
            format!(
                "duplicate address request for {}{}",
                message.address,
                number(message.tid)
            )
        }
        Message::DuplicateAddressConfirmation(message) => {
            let answer = format!("duplicate address confirmation for {}", message.address);
            format!("{answer}{}, status {}", number(message.tid), message.status)
        }
        Message::Unknown {
            message_type, code, ..
        } => format!("type {message_type} code {code}"),
    };
    let wrong = is_whole && !checks(ip, next_header::ICMPV6, bytes);
    format!(
        "ICMPv6 {text}{}",
        if wrong { " (wrong checksum)" } else { "" }
    )
}

/// The registration among the options, if there is one (RFC 8505 §4.1).
fn registration(options: &Options<'_>) -> String {
    let found = options.iter().find_map(|option| match option {
        NdOption::AddressRegistration(registration) => Some(registration),
        _ => None,
    });
    found.map_or_else(String::new, |found| {
        let (tid, minutes) = (number(found.tid), found.lifetime_min);
        format!(
            ", registration{tid} for {minutes} min, status {}",
            found.status
        )
    })
}

/// A registration's number.
fn number(tid: Option<Tid>) -> String {
    tid.map_or_else(String::new, |tid| format!(" {}", tid.0))
}

/// Which packet an ICMPv6 error is about.
fn about(quoted: &[u8]) -> String {
    match Ipv6Header::parse_partial(quoted) {
        Ok((ip, _)) => format!(" (about {} > {})", ip.src, ip.dst),
        Err(_) => String::new(),
    }
}

/// Whether the Internet checksum of an upper layer is right (RFC 8200 §8.1).
fn checks(ip: &Ipv6Header, protocol: u8, bytes: &[u8]) -> bool {
    let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let (src, dst): (&Addr, &Addr) = (&ip.src, &ip.dst);
    let mut sum = redpoll_base::checksum::Checksum::pseudo_header(src, dst, protocol, len);
    sum.add(bytes);
    sum.is_valid()
}
