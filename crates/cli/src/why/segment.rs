//! The TCP segment in an IPv6 packet, as far as its first frame contains it.

use redpoll_base::Addr;
use redpoll_dissect::ip::Packet;
use redpoll_dissect::upper::tcp::Tcp;
use redpoll_wire::ipv6::next_header;
use redpoll_wire::tcp::SeqNum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct End {
    pub addr: Addr,
    pub port: u16,
}

/// A TCP segment's header (RFC 9293 §3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: End,
    pub to: End,
    /// Hop limits of the packet, and of the tunnel or mesh header around it. They decrease on the
    /// path.
    pub hop_limits: (u8, Option<u8>),
    pub seq: SeqNum,
    pub ack: Option<SeqNum>,
    pub is_syn: bool,
    pub is_fin: bool,
    pub is_rst: bool,
    /// Window field of the header, unscaled.
    pub window: u16,
    pub len: u32,
    pub mss: Option<u16>,
    pub shift: Option<u8>,
    pub has_sack: bool,
}

impl Segment {
    /// Returns the number of sequence numbers that data, SYN and FIN occupy.
    pub fn span(&self) -> u32 {
        self.len + u32::from(self.is_syn) + u32::from(self.is_fin)
    }

    /// Returns whether both segments have the same ends and begin at the same sequence number.
    pub fn repeats(&self, other: &Segment) -> bool {
        self.span() > 0
            && other.span() > 0
            && (self.from, self.to, self.seq) == (other.from, other.to, other.seq)
    }
}

/// Returns the segment in a packet or its beginning; `None` without a complete TCP header.
/// `outside` is the hop limit of a mesh header or tunnel around the packet.
pub fn parse(packet: &Packet, outside: Option<u8>) -> Option<Segment> {
    let inner = packet.inner()?;
    if inner.upper != next_header::TCP {
        return None;
    }
    let outer = match packet.ips.as_slice() {
        [outer, _, ..] => Some(outer.header.hop_limit),
        _ => None,
    };
    let tcp = Tcp::parse(packet.body(), packet.body_len())?;
    let end = |addr, port| End { addr, port };
    Some(Segment {
        from: end(inner.header.src, tcp.ports[0]),
        // The segment's destination is the end of the source route, not its next stop.
        to: end(inner.final_dst(), tcp.ports[1]),
        hop_limits: (inner.header.hop_limit, outer.or(outside)),
        seq: tcp.seq,
        ack: tcp.ack,
        is_syn: tcp.flags.syn(),
        is_fin: tcp.flags.fin(),
        is_rst: tcp.flags.rst(),
        window: tcp.window,
        len: tcp.len,
        mss: tcp.mss,
        shift: tcp.scale.map(|shift| shift.min(14)),
        has_sack: !tcp.sack.is_empty(),
    })
}
