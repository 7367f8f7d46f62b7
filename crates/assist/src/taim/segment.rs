//! The packet checker of TAiM.

use redpoll_base::Addr;
use redpoll_wire::ipv6::{self, Ipv6Header, next_header};
use redpoll_wire::tcp::HeaderView;

/// One end of a flow: an address and a TCP port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct End {
    /// The address.
    pub addr: Addr,
    /// The TCP port.
    pub port: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    Lower,
    Upper,
}

/// The identity of a flow: its two ends.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ends {
    /// The numerically lower end.
    pub lower: End,
    /// The other end.
    pub upper: End,
}

impl Ends {
    pub(super) fn words(&self) -> [u32; 9] {
        let mut words = [0; 9];
        let (a, _) = self.lower.addr.0.as_chunks::<4>();
        let (b, _) = self.upper.addr.0.as_chunks::<4>();
        for (word, chunk) in words.iter_mut().zip(a.iter().chain(b)) {
            *word = u32::from_be_bytes(*chunk);
        }
        if let Some(last) = words.last_mut() {
            *last = u32::from(self.lower.port) << 16 | u32::from(self.upper.port);
        }
        words
    }
}

/// The fields of a TCP header (RFC 9293 §3.1) that TAiM uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) seq: u32,
    /// The acknowledgment number, if the ACK bit is set.
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) len: u32,
}

impl Segment {
    /// Returns the segment's length in sequence space (RFC 9293 §3.4).
    pub(super) fn takes(&self) -> u32 {
        let flags = u32::from(self.syn).saturating_add(u32::from(self.fin));
        self.len.saturating_add(flags)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Foreign {
    /// Not TCP over IPv6, or a fragment.
    NotTcp,
    /// Truncated, or with invalid fields.
    Malformed,
}

/// Parses the beginning of a packet. The lengths come from the IPv6 header, so the end of the
/// packet may be missing.
pub(super) fn read(packet: &[u8]) -> Result<(Ends, From, Segment), Foreign> {
    let (header, rest) = match Ipv6Header::parse_partial(packet) {
        Ok(read) => read,
        Err(redpoll_wire::Error::Version) => return Err(Foreign::NotTcp),
        Err(_) => return Err(Foreign::Malformed),
    };
    let (protocol, at) =
        ipv6::skip_extension_headers(header.next_header, rest).map_err(|_| Foreign::Malformed)?;
    if protocol != next_header::TCP {
        return Err(Foreign::NotTcp);
    }
    let tcp = rest.get(at..).ok_or(Foreign::Malformed)?;
    let announced = usize::from(header.payload_len).saturating_sub(at);
    let view = HeaderView::parse_partial(tcp, announced).map_err(|_| Foreign::Malformed)?;
    let from = End {
        addr: header.src,
        port: view.src_port(),
    };
    let to = End {
        addr: header.dst,
        port: view.dst_port(),
    };
    let (ends, from) = match from <= to {
        true => (
            Ends {
                lower: from,
                upper: to,
            },
            From::Lower,
        ),
        false => (
            Ends {
                lower: to,
                upper: from,
            },
            From::Upper,
        ),
    };
    let flags = view.flags();
    let segment = Segment {
        seq: view.seq().0,
        ack: view.ack().map(|ack| ack.0),
        syn: flags.syn(),
        fin: flags.fin(),
        rst: flags.rst(),
        len: view.payload_len() as u32,
    };
    Ok((ends, from, segment))
}
