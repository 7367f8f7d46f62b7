//! TCP segments (RFC 9293 §3.1).

use redpoll_wire::Error;
use redpoll_wire::ipv6::next_header;
use redpoll_wire::tcp::{Flags, HeaderView, OptionItem, OptionList, SeqNum, kind};

use super::Verdict;
use crate::ip::Packet;
use crate::layer::{Bytes, Layer};

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tcp {
    pub ports: [u16; 2],
    pub seq: SeqNum,
    /// Acknowledgment number, if the ACK flag is set.
    pub ack: Option<SeqNum>,
    pub flags: Flags,
    /// Window as in the header, not scaled.
    pub window: u16,
    pub len: u32,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    /// Timestamps (RFC 7323 §3).
    pub timestamps: Option<[u32; 2]>,
    /// SACK blocks (RFC 2018 §3): left edge, which is the first sequence number, and right edge,
    /// which is one past the last.
    pub sack: Vec<[u32; 2]>,
    pub may_sack: bool,
    pub header_len: usize,
    pub others: Vec<u8>,
    pub has_bad_option: bool,
    raw_ack: SeqNum,
    checksum: u16,
    urgent: u16,
    high_flags: u8,
}

/// Letters that stand for the control bits in a summary.
const LETTERS: [(Flags, char); 8] = [
    (Flags::SYN, 'S'),
    (Flags::FIN, 'F'),
    (Flags::RST, 'R'),
    (Flags::PSH, 'P'),
    (Flags::ACK, '.'),
    (Flags::URG, 'U'),
    (Flags::ECE, 'E'),
    (Flags::CWR, 'C'),
];

impl Tcp {
    /// Parses the header at the start of `bytes`. `whole` is the length of the segment in bytes,
    /// including bytes that were not captured. An error describes the problem.
    pub fn read(bytes: &[u8], whole: usize) -> Result<Tcp, String> {
        let header = HeaderView::parse_partial(bytes, whole).map_err(|error| {
            match (error, HeaderView::announced_len(bytes)) {
                (Error::Length, Some(len)) => format!("a header of {len} B"),
                _ => "truncated header".to_owned(),
            }
        })?;
        let mut tcp = Tcp {
            ports: [header.src_port(), header.dst_port()],
            seq: header.seq(),
            ack: header.ack(),
            flags: header.flags(),
            window: header.window(),
            len: u32::try_from(header.payload_len()).unwrap_or(u32::MAX),
            header_len: header.header_len(),
            raw_ack: header.ack_field(),
            checksum: header.checksum(),
            urgent: header.urgent_pointer(),
            high_flags: header.reserved(),
            ..Tcp::default()
        };
        // `header.options()` is empty if `bytes` lacks some of the options.
        tcp.read_options(header.options());
        Ok(tcp)
    }

    /// Parses like [`Tcp::read`]; returns `None` if the header is malformed.
    pub fn parse(bytes: &[u8], whole: usize) -> Option<Tcp> {
        Tcp::read(bytes, whole).ok()
    }

    fn read_options(&mut self, list: OptionList<'_>) {
        for item in list.strict() {
            let (kind, value) = match item {
                Ok(OptionItem::Option { kind, value }) => (kind, value),
                Ok(OptionItem::End | OptionItem::Nop) => continue,
                Err(_) => {
                    self.has_bad_option = true;
                    return;
                }
            };
            match (kind, value) {
                (kind::MSS, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
                (kind::WINDOW_SCALE, &[shift]) => self.scale = Some(shift),
                (kind::SACK_PERMITTED, &[]) => self.may_sack = true,
                (kind::SACK, blocks) => {
                    let pairs = blocks.chunks_exact(8);
                    self.sack = pairs.filter_map(pair).collect();
                }
                (kind::TIMESTAMPS, stamps) if stamps.len() == 8 => self.timestamps = pair(stamps),
                (other, _) => self.others.push(other),
            }
        }
    }

    /// Returns a letter for each control bit that is set; ACK is a dot.
    pub fn letters(&self) -> String {
        let set = LETTERS.iter().filter(|(bit, _)| self.flags.contains(*bit));
        set.map(|(_, letter)| *letter).collect()
    }

    /// Returns the number of sequence numbers that the segment's data, SYN and FIN occupy.
    pub fn space(&self) -> u32 {
        self.len + u32::from(self.flags.syn()) + u32::from(self.flags.fin())
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
        layer.number("tcp.seq_raw", self.seq.0);
        layer.number("tcp.ack_raw", self.raw_ack.0);
        layer.number("tcp.hdr_len", self.header_len as u64);
        let flags = u16::from(self.high_flags) << 8 | u16::from(self.flags.0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a SYN of 40 bytes whose data offset is `words` and whose options are `options`.
    fn syn(words: u8, options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 40];
        (bytes[12], bytes[13]) = (words << 4, Flags::SYN.0);
        bytes[20..20 + options.len()].copy_from_slice(options);
        bytes
    }

    #[test]
    fn an_impossible_header_is_named() {
        for len in 0..20 {
            let problem = Tcp::read(&vec![0; len], 40).unwrap_err();
            assert_eq!(problem, "truncated header");
        }
        for words in [0, 4, 11, 15] {
            let problem = Tcp::read(&syn(words, &[]), 40).unwrap_err();
            assert_eq!(problem, format!("a header of {} B", 4 * words));
        }
    }

    #[test]
    fn options_are_read_up_to_a_malformed_one() {
        let tcp = Tcp::read(&syn(10, &[1, 3, 3, 7, 254, 2, 2, 99, 4, 2]), 40).unwrap();
        assert!(tcp.has_bad_option && !tcp.may_sack);
        assert_eq!((tcp.scale, tcp.others), (Some(7), vec![254]));
        let tcp = Tcp::read(&syn(10, &[4, 2, 0, 9, 99]), 40).unwrap();
        assert!(tcp.may_sack && !tcp.has_bad_option);
    }

    #[test]
    fn options_in_another_fragment_are_left_out() {
        let bytes = syn(10, &[4, 2]);
        let tcp = Tcp::read(&bytes[..39], 60).unwrap();
        assert_eq!((tcp.may_sack, tcp.header_len, tcp.len), (false, 40, 20));
    }
}
