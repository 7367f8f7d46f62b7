//! Segments: the form in scripts, and the bytes of packets.

use std::fmt;

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::ipv6::{Ipv6Header, next_header};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) ecn: Option<Ecn>,
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) len: u32,
    pub(super) ack: Option<u32>,
    pub(super) win: Option<u16>,
    pub(super) options: Options,
}

impl Segment {
    pub(super) fn first_byte(&self) -> u32 {
        self.seq.wrapping_add((self.flags & SYN != 0).into())
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Options {
    Exactly(Vec<Opt>),
    /// The given options, followed by any others.
    Begins(Vec<Opt>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Opt {
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    Nop,
    End,
    Timestamps(Value, Value),
    Sack(Vec<(u32, u32)>),
    /// An option without a name in scripts.
    Other(u8, Vec<u8>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Any,
    Is(u32),
}

pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;
/// The kind of the Fast Open option (RFC 7413 §4.1.1), `FO` in scripts.
pub(super) const FAST_OPEN: u8 = 34;

#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) local: Addr,
    pub(super) remote: Addr,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

/// Builds a packet from the peer. The numbers in `segment` are absolute, not relative to the SYN.
pub(super) fn build(segment: &Segment, payload: &[u8], ends: &Ends) -> Result<Vec<u8>, String> {
    let Options::Exactly(options) = &segment.options else {
        return Err("`...` is allowed only in packets that the library sends (`>`), not in injected packets (`<`)".into());
    };
    let mut options = encode(options)?;
    // Zeros pad the last word; a zero also ends the option list (RFC 9293 §3.1).
    options.resize(options.len().next_multiple_of(4), 0);
    let words = u8::try_from(5 + options.len() / 4).unwrap_or(u8::MAX);
    if words > 15 {
        return Err(format!(
            "{} bytes of options, padding included; allowed: at most 40 bytes",
            options.len()
        ));
    }
    let mut tcp = Vec::new();
    tcp.extend(ends.remote_port.to_be_bytes());
    tcp.extend(ends.local_port.to_be_bytes());
    tcp.extend(segment.seq.to_be_bytes());
    tcp.extend(segment.ack.unwrap_or(0).to_be_bytes());
    tcp.extend([words << 4, segment.flags]);
    tcp.extend(segment.win.unwrap_or(0).to_be_bytes());
    tcp.extend([0; 4]);
    tcp.extend(options);
    tcp.extend(payload);
    let (src, dst) = (ends.remote, ends.local);
    let mut sum = Checksum::pseudo_header(&src, &dst, next_header::TCP, tcp.len() as u32);
    sum.add(&tcp);
    tcp[16..18].copy_from_slice(&sum.finish().to_be_bytes());
    let header = Ipv6Header {
        ecn: segment.ecn.unwrap_or(Ecn::NotEct),
        payload_len: tcp.len().try_into().map_err(|_| "too long")?,
        next_header: next_header::TCP,
        hop_limit: 64,
        src,
        dst,
        ..Ipv6Header::default()
    };
    let mut packet = header.to_bytes().to_vec();
    packet.extend(tcp);
    Ok(packet)
}

fn encode(options: &[Opt]) -> Result<Vec<u8>, String> {
    let number = |value: &Value| match value {
        Value::Is(number) => Ok(*number),
        Value::Any => Err(
            "`*` is allowed only in packets that the library sends (`>`), not in \
            injected packets (`<`)"
                .to_owned(),
        ),
    };
    let mut out = Vec::new();
    for option in options {
        match option {
            Opt::End => out.push(0),
            Opt::Nop => out.push(1),
            Opt::Mss(mss) => {
                out.extend([2, 4]);
                out.extend(mss.to_be_bytes());
            }
            Opt::WindowScale(shift) => out.extend([3, 3, *shift]),
            Opt::SackPermitted => out.extend([4, 2]),
            Opt::Sack(blocks) => {
                out.extend([5, 2 + 8 * blocks.len() as u8]);
                for (start, end) in blocks {
                    out.extend(start.to_be_bytes());
                    out.extend(end.to_be_bytes());
                }
            }
            Opt::Timestamps(value, echo) => {
                out.extend([8, 10]);
                out.extend(number(value)?.to_be_bytes());
                out.extend(number(echo)?.to_be_bytes());
            }
            Opt::Other(kind, value) => {
                out.extend([*kind, 2 + value.len() as u8]);
                out.extend(value);
            }
        }
    }
    Ok(out)
}

/// A sent packet with absolute numbers.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) ends: Ends,
    /// The segment; its `options` are always `Exactly`.
    pub(super) segment: Segment,
    pub(super) payload: Vec<u8>,
}

/// Parses a sent packet, independently of the engine's codec.
pub(super) fn decode(packet: &[u8]) -> Result<Seen, String> {
    let (ip, tcp) =
        Ipv6Header::parse(packet).map_err(|e| format!("the packet is not IPv6: {e:?}"))?;
    if ip.next_header != next_header::TCP {
        return Err(format!(
            "the packet has protocol {}; expected: TCP",
            ip.next_header
        ));
    }
    if packet.len() != Ipv6Header::LEN + tcp.len() {
        return Err("the payload length in the IP header is wrong".into());
    }
    let mut sum = Checksum::pseudo_header(&ip.src, &ip.dst, next_header::TCP, tcp.len() as u32);
    sum.add(tcp);
    if !sum.is_valid() {
        return Err("the TCP checksum is wrong".into());
    }
    let (fixed, _) = tcp
        .split_first_chunk::<20>()
        .ok_or("the TCP header is cut short")?;
    let half = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
    let word = |at: usize| (u32::from(half(at)) << 16) | u32::from(half(at + 2));
    let header_len = usize::from(fixed[12] >> 4) * 4;
    if fixed[12] & 0x0f != 0 || half(18) != 0 {
        return Err("reserved bits or the urgent pointer are not zero".into());
    }
    let options = tcp.get(20..header_len).ok_or("the data offset is wrong")?;
    let payload = tcp[header_len..].to_vec();
    let flags = fixed[13];
    let segment = Segment {
        ecn: Some(ip.ecn),
        flags,
        seq: word(4),
        len: payload.len() as u32,
        ack: (flags & ACK != 0).then(|| word(8)),
        win: Some(half(14)),
        options: Options::Exactly(options_in(options)?),
    };
    if flags & ACK == 0 && word(8) != 0 {
        return Err("the acknowledgment number is not zero, although the ACK flag is clear".into());
    }
    let ends = Ends {
        local: ip.src,
        remote: ip.dst,
        local_port: half(0),
        remote_port: half(2),
    };
    Ok(Seen {
        ends,
        segment,
        payload,
    })
}

fn options_in(mut bytes: &[u8]) -> Result<Vec<Opt>, String> {
    let word = |b: &[u8]| u32::from_be_bytes([b[0], b[1], b[2], b[3]]);
    let mut list = Vec::new();
    while let Some((&kind, tail)) = bytes.split_first() {
        if kind <= 1 {
            list.push(if kind == 0 { Opt::End } else { Opt::Nop });
            bytes = tail;
            continue;
        }
        let len = tail.first().map_or(0, |len| usize::from(*len));
        let value = bytes.get(2..len).ok_or("an option's length is wrong")?;
        bytes = &bytes[len..];
        list.push(match (kind, value.len()) {
            (2, 2) => Opt::Mss(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => Opt::WindowScale(value[0]),
            (4, 0) => Opt::SackPermitted,
            (5, 8 | 16 | 24 | 32) => Opt::Sack(
                value
                    .chunks(8)
                    .map(|block| (word(block), word(&block[4..])))
                    .collect(),
            ),
            (8, 8) => Opt::Timestamps(Value::Is(word(value)), Value::Is(word(&value[4..]))),
            _ => Opt::Other(kind, value.to_vec()),
        });
    }
    Ok(list)
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            let name = ["noecn", "ect1", "ect0", "ce"][usize::from(ecn.bits())];
            write!(f, "[{name}] ")?;
        }
        for (bit, name) in (0..8).zip("FSRP.UEW".chars()) {
            if self.flags & 1 << bit != 0 {
                write!(f, "{name}")?;
            }
        }
        let end = self.seq.wrapping_add(self.len);
        write!(f, " {}:{}({})", self.seq, end, self.len)?;
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        let (list, open) = match &self.options {
            Options::Exactly(list) => (list, false),
            Options::Begins(list) => (list, true),
        };
        if list.is_empty() && !open {
            return Ok(());
        }
        let mut names: Vec<String> = list.iter().map(Opt::to_string).collect();
        if open {
            names.push("...".into());
        }
        write!(f, " <{}>", names.join(","))
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opt::Mss(mss) => write!(f, "mss {mss}"),
            Opt::WindowScale(shift) => write!(f, "wscale {shift}"),
            Opt::SackPermitted => f.write_str("sackOK"),
            Opt::Nop => f.write_str("nop"),
            Opt::End => f.write_str("eol"),
            Opt::Timestamps(value, echo) => write!(f, "TS val {value} ecr {echo}"),
            Opt::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(a, b)| write!(f, " {a}:{b}"))
            }
            Opt::Other(kind, value) => write!(f, "option {kind} {value:02x?}"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Any => f.write_str("*"),
            Value::Is(number) => number.fmt(f),
        }
    }
}
