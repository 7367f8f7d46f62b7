//! TCP segments (RFC 9293 §3.1).

use redpoll_wire::ipv6::next_header;

use super::Verdict;
use crate::ip::Packet;
use crate::layer::{Bytes, Layer};

/// The header of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    /// Source and destination port.
    pub ports: [u16; 2],
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number, with the ACK flag.
    pub ack: Option<u32>,
    /// Control bits, FIN the lowest.
    pub flags: u8,
    /// Window as in the header, not scaled.
    pub window: u16,
    /// Bytes of data.
    pub len: u32,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub scale: Option<u8>,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<[u32; 2]>,
    /// Selective acknowledgments (RFC 2018 §3): begins and ends.
    pub sack: Vec<[u32; 2]>,
    /// Whether SACK is permitted.
    pub may_sack: bool,
    /// Bytes of the header.
    pub header_len: usize,
    /// Kinds of options that are not decoded.
    pub others: Vec<u8>,
    /// Whether an option is malformed.
    pub has_bad_option: bool,
    raw_ack: u32,
    checksum: u16,
    urgent: u16,
    high_flags: u8,
}

/// Control bits by their letters in a dump.
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

impl Tcp {
    /// FIN.
    pub const FIN: u8 = 0x01;
    /// SYN.
    pub const SYN: u8 = 0x02;
    /// RST.
    pub const RST: u8 = 0x04;
    /// ACK.
    pub const ACK: u8 = 0x10;

    /// The header at the beginning of `bytes`, of a segment of `whole` bytes in all.
    ///
    /// # Errors
    ///
    /// A description of the problem.
    pub fn read(bytes: &[u8], whole: usize) -> Result<Tcp, String> {
        let mut input = Bytes(bytes);
        let tcp = Tcp::fixed(&mut input).ok_or("truncated header")?;
        if tcp.header_len < 20 || tcp.header_len > whole {
            return Err(format!("a header of {} B", tcp.header_len));
        }
        let mut tcp = tcp;
        tcp.len = u32::try_from(whole - tcp.header_len).unwrap_or(u32::MAX);
        // Options that are in another fragment are left out.
        if let Some(options) = bytes.get(20..tcp.header_len) {
            tcp.read_options(options);
        }
        Ok(tcp)
    }

    /// As [`Tcp::read`]; nothing if the header is malformed.
    pub fn parse(bytes: &[u8], whole: usize) -> Option<Tcp> {
        Tcp::read(bytes, whole).ok()
    }

    fn fixed(input: &mut Bytes<'_>) -> Option<Tcp> {
        let ports = [input.u16()?, input.u16()?];
        let (seq, ack) = (input.u32()?, input.u32()?);
        let (offset, flags) = (input.u8()?, input.u8()?);
        Some(Tcp {
            ports,
            seq,
            ack: (flags & Tcp::ACK != 0).then_some(ack),
            flags,
            window: input.u16()?,
            header_len: usize::from(offset >> 4) * 4,
            raw_ack: ack,
            checksum: input.u16()?,
            urgent: input.u16()?,
            high_flags: offset & 0x0f,
            ..Tcp::default()
        })
    }

    fn read_options(&mut self, mut options: &[u8]) {
        loop {
            let (kind, value) = match *options {
                [] | [0, ..] => return,
                [1, ref rest @ ..] => {
                    options = rest;
                    continue;
                }
                [kind, len, ..] if len >= 2 && usize::from(len) <= options.len() => {
                    let (option, rest) = options.split_at(usize::from(len));
                    options = rest;
                    (kind, option.get(2..).unwrap_or_default())
                }
                _ => {
                    self.has_bad_option = true;
                    return;
                }
            };
            match (kind, value) {
                (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
                (3, &[shift]) => self.scale = Some(shift),
                (4, &[]) => self.may_sack = true,
                (5, blocks) => {
                    let pairs = blocks.chunks_exact(8);
                    self.sack = pairs.filter_map(pair).collect();
                }
                (8, stamps) if stamps.len() == 8 => self.timestamps = pair(stamps),
                (other, _) => self.others.push(other),
            }
        }
    }

    /// The control bits that are set, a letter each; ACK is a dot.
    pub fn letters(&self) -> String {
        let set = LETTERS.iter().filter(|(bit, _)| self.flags & bit != 0);
        set.map(|(_, letter)| *letter).collect()
    }

    /// Sequence numbers that the segment takes: its data, SYN and FIN.
    pub fn space(&self) -> u32 {
        let ends = [Tcp::SYN, Tcp::FIN].iter();
        self.len + ends.filter(|bit| self.flags & **bit != 0).count() as u32
    }

    fn layer(&self) -> Layer {
        let mut layer = Layer::new("tcp");
        let [from, to] = self.ports;
        layer.title = format!("TCP {from} > {to} [{}] seq {}", self.letters(), self.seq);
        if let Some(ack) = self.ack {
            layer.say(format!("ack {ack}"));
        }
        layer.say(format!("win {} len {}", self.window, self.len));
        if let Some(mss) = self.mss {
            layer.say(format!("mss {mss}"));
        }
        if let Some(scale) = self.scale {
            layer.say(format!("wscale {scale}"));
        }
        if self.may_sack {
            layer.say("sackOK");
        }
        if let Some([val, ecr]) = self.timestamps {
            layer.say(format!("ts {val} {ecr}"));
        }
        if !self.sack.is_empty() {
            layer.say(format!("sack {}", self.sack.len()));
        }
        for other in &self.others {
            layer.say(format!("option {other}"));
        }
        if self.has_bad_option {
            layer.say("malformed option");
        }
        self.add_fields(&mut layer);
        layer
    }

    fn add_fields(&self, layer: &mut Layer) {
        layer.number("tcp.srcport", self.ports[0]);
        layer.number("tcp.dstport", self.ports[1]);
        layer.number("tcp.len", self.len);
        layer.number("tcp.seq_raw", self.seq);
        layer.number("tcp.ack_raw", self.raw_ack);
        layer.number("tcp.hdr_len", self.header_len as u64);
        let flags = u16::from(self.high_flags) << 8 | u16::from(self.flags);
        layer.hex("tcp.flags", flags, 4);
        layer.number("tcp.window_size_value", self.window);
        layer.hex("tcp.checksum", self.checksum, 4);
        layer.number("tcp.urgent_pointer", self.urgent);
        if let Some(mss) = self.mss {
            layer.number("tcp.options.mss_val", mss);
        }
        if let Some(scale) = self.scale {
            layer.number("tcp.options.wscale.shift", scale);
        }
        if let Some([val, ecr]) = self.timestamps {
            layer.number("tcp.options.timestamp.tsval", val);
            layer.number("tcp.options.timestamp.tsecr", ecr);
        }
        for [begin, end] in &self.sack {
            layer.number("tcp.options.sack_le", *begin);
            layer.number("tcp.options.sack_re", *end);
        }
    }
}

fn pair(bytes: &[u8]) -> Option<[u32; 2]> {
    let mut input = Bytes(bytes);
    Some([input.u32()?, input.u32()?])
}

pub(super) fn show(packet: &Packet, layers: &mut Vec<Layer>) {
    let mut layer = match Tcp::read(packet.body(), packet.body_len()) {
        Ok(tcp) => tcp.layer(),
        Err(problem) => Layer {
            title: format!("TCP malformed: {problem}"),
            ..Layer::new("tcp")
        },
    };
    if !layer.fields.is_empty() {
        let verdict = Verdict::of(packet.checks(next_header::TCP));
        verdict.show("tcp.checksum.status", &mut layer);
    }
    layers.push(layer);
}
