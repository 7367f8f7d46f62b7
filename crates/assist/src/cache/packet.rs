//! The cache's parser of packets, and its acknowledgments.

use redpoll_base::checksum::Checksum;
use redpoll_base::{Addr, Ecn};
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::tcp::{Flags, HeaderView, OptionList, SeqNum, is_checksum_valid, kind};

use crate::taim::{End, Ends};

/// Length of the timestamps option and two padding bytes (RFC 7323 appendix A).
const TIMESTAMPS: usize = 12;
const HOP_LIMIT: u8 = 64;

/// Flags with a meaning in addition to data: SYN, FIN, RST, URG, and CWR (RFC 3168 §6.1.2).
const NOT_PLAIN: Flags = Flags::FIN
    .with(Flags::SYN)
    .with(Flags::RST)
    .with(Flags::URG)
    .with(Flags::CWR);

/// Value and echo of a timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Timestamps {
    pub(super) value: u32,
    pub(super) echo: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) ends: Ends,
    pub(super) from_upper: bool,
    pub(super) seq: SeqNum,
    /// The acknowledgment number, if the ACK bit is set.
    pub(super) ack: Option<SeqNum>,
    pub(super) flags: Flags,
    pub(super) window: u16,
    pub(super) timestamps: Option<Timestamps>,
    pub(super) scaling: Scaling,
    /// The data reported as received beyond a gap.
    pub(super) beyond: Beyond,
    pub(super) len: u32,
}

/// Window scale of an end, which applies if both ends have one (RFC 7323 §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scaling {
    /// The connection's SYN was not seen.
    Unseen,
    Off,
    By(u8),
}

/// The content of SACK blocks (RFC 2018 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beyond {
    /// No SACK blocks.
    Nothing,
    /// All data from this number on, up to the highest received.
    From(SeqNum),
    /// SACK blocks with more than one gap, or with a duplicate (RFC 2883).
    Else,
}

impl Segment {
    /// Returns the sequence number after the segment (RFC 9293 §3.4).
    pub(super) fn end(&self) -> SeqNum {
        self.seq + self.len + u32::from(self.flags.syn()) + u32::from(self.flags.fin())
    }

    /// Returns whether the segment has no flag with a meaning in addition to data.
    pub(super) const fn is_plain(&self) -> bool {
        !self.flags.intersects(NOT_PLAIN)
    }

    pub(super) const fn is_bare(&self) -> bool {
        self.is_plain() && !self.flags.contains(Flags::ECE) && self.flags.ack()
    }
}

/// Parses a whole packet. Returns `None` if the cache ignores it: TCP does not follow the IPv6
/// header directly, or an end would ignore the segment, for example because of a bad checksum.
pub(super) fn read(header: &Ipv6Header, packet: &[u8]) -> Option<Segment> {
    if header.next_header != next_header::TCP {
        return None;
    }
    let tcp = packet.get(Ipv6Header::LEN..)?;
    if tcp.len() != usize::from(header.payload_len) {
        return None;
    }
    let view = HeaderView::parse(tcp).ok()?;
    if !is_checksum_valid(&header.src, &header.dst, tcp) {
        return None;
    }
    let options = view.options();
    let from = End {
        addr: header.src,
        port: view.src_port(),
    };
    let to = End {
        addr: header.dst,
        port: view.dst_port(),
    };
    let from_upper = from > to;
    let (lower, upper) = if from_upper { (to, from) } else { (from, to) };
    Some(Segment {
        ends: Ends { lower, upper },
        from_upper,
        seq: view.seq(),
        ack: view.ack(),
        flags: view.flags(),
        window: view.window(),
        timestamps: timestamps(options),
        scaling: match options.find(kind::WINDOW_SCALE) {
            Some([shift]) => Scaling::By(*shift),
            _ => Scaling::Off,
        },
        beyond: beyond(options, view.ack_field()),
        len: view.payload_len() as u32,
    })
}

/// Returns the timestamps of a segment (RFC 7323 §3.2).
fn timestamps(options: OptionList<'_>) -> Option<Timestamps> {
    let [v0, v1, v2, v3, e0, e1, e2, e3] = *options.find(kind::TIMESTAMPS)? else {
        return None;
    };
    Some(Timestamps {
        value: u32::from_be_bytes([v0, v1, v2, v3]),
        echo: u32::from_be_bytes([e0, e1, e2, e3]),
    })
}

fn beyond(options: OptionList<'_>, ack: SeqNum) -> Beyond {
    let Some(blocks) = options.find(kind::SACK) else {
        return Beyond::Nothing;
    };
    let (blocks, _) = blocks.as_chunks::<8>();
    let mut all = Beyond::Nothing;
    for [l0, l1, l2, l3, r0, r1, r2, r3] in blocks {
        let left = SeqNum(u32::from_be_bytes([*l0, *l1, *l2, *l3]));
        let right = SeqNum(u32::from_be_bytes([*r0, *r1, *r2, *r3]));
        all = match all {
            Beyond::Nothing if left > ack && right > left => Beyond::From(left),
            _ => return Beyond::Else,
        };
    }
    all
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgment {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) seq: SeqNum,
    pub(super) ack: SeqNum,
    pub(super) window: u16,
    pub(super) timestamps: Option<Timestamps>,
}

impl Acknowledgment {
    /// Writes the acknowledgment's packet to `out`. Returns its length; `None` if it does not fit.
    pub(super) fn write(&self, out: &mut [u8]) -> Option<usize> {
        let options = self.timestamps.map_or(0, |_| TIMESTAMPS);
        let tcp_len = HeaderView::MIN_LEN.saturating_add(options);
        let total = Ipv6Header::LEN.saturating_add(tcp_len);
        let (ip, tcp) = out
            .get_mut(..total)?
            .split_at_mut_checked(Ipv6Header::LEN)?;
        let header = Ipv6Header {
            payload_len: tcp_len as u16,
            next_header: next_header::TCP,
            hop_limit: HOP_LIMIT,
            src: self.from.addr,
            dst: self.to.addr,
            ..Ipv6Header::default()
        };
        ip.copy_from_slice(&header.to_bytes());
        let (fixed, behind) = tcp.split_first_chunk_mut()?;
        let [a, b] = self.from.port.to_be_bytes();
        let [c, d] = self.to.port.to_be_bytes();
        let [s0, s1, s2, s3] = self.seq.0.to_be_bytes();
        let [a0, a1, a2, a3] = self.ack.0.to_be_bytes();
        let [w0, w1] = self.window.to_be_bytes();
        let offset = (tcp_len as u8 >> 2) << 4;
        #[rustfmt::skip]
        let bytes = [
            a, b, c, d, s0, s1, s2, s3, a0, a1, a2, a3, offset, Flags::ACK.0, w0, w1, 0, 0, 0, 0,
        ];
        *fixed = bytes;
        if let (Some(it), Some(area)) = (self.timestamps, behind.first_chunk_mut::<TIMESTAMPS>()) {
            let [v0, v1, v2, v3] = it.value.to_be_bytes();
            let [e0, e1, e2, e3] = it.echo.to_be_bytes();
            *area = [1, 1, 8, 10, v0, v1, v2, v3, e0, e1, e2, e3];
        }
        let sum = checksum(&header.src, &header.dst, tcp).to_be_bytes();
        tcp.get_mut(16..18)?.copy_from_slice(&sum);
        Some(total)
    }
}

fn checksum(src: &Addr, dst: &Addr, tcp: &[u8]) -> u16 {
    let mut sum = Checksum::pseudo_header(src, dst, next_header::TCP, tcp.len() as u32);
    sum.add(tcp);
    sum.finish()
}

/// Makes a retransmission not ECN-capable (RFC 3168 §6.1.5); a congestion mark stays.
pub(super) fn clear_ecn(packet: &mut [u8]) {
    let is_marked = ipv6::ecn(packet) == Some(Ecn::Ce);
    // The two low bits of the traffic class (RFC 8200 §3).
    if let (Some(byte), false) = (packet.get_mut(1), is_marked) {
        *byte &= !0x30;
    }
}
