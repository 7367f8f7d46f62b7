//! 6LoWPAN: the headers before a datagram, and the expansion of compressed datagrams.
//!
//! - [`expand`]: from a compressed datagram to an IPv6 packet;
//! - `iphc`, `nhc` and `hc1`: compressed headers (RFC 6282, RFC 4944 §10);
//! - `route`: routing headers of RFC 8138;
//! - [`reassembly`]: datagrams of several fragments.

pub mod expand;
mod hc1;
mod iphc;
mod nhc;
pub mod reassembly;
mod route;

use redpoll_wire::ieee802154::Address;
use redpoll_wire::sixlowpan::{Dispatch, dispatch, fragment, recoverable};

use crate::layer::{Bytes, Layer};

/// A mesh addressing header (RFC 4944 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Hops that the frame may still make.
    pub hops_left: u8,
    pub originator: Address,
    pub last: Address,
    /// Whether the number of remaining hops is in a separate byte.
    is_deep: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    Whole(&'a [u8]),
    /// The first fragment (RFC 4944 §5.3).
    First {
        tag: u16,
        /// Size of the uncompressed datagram in bytes.
        size: u16,
        rest: &'a [u8],
    },
    Next {
        tag: u16,
        /// Size of the uncompressed datagram in bytes.
        size: u16,
        offset: u16,
        rest: &'a [u8],
    },
    /// A recoverable fragment (RFC 8931 §5.1).
    Recoverable(recoverable::Fragment, &'a [u8]),
    /// An acknowledgment of recoverable fragments (RFC 8931 §5.2).
    RecoverableAck(recoverable::Ack),
    Foreign(&'a [u8]),
    Unknown(u8),
    Malformed(String),
}

/// The 6LoWPAN headers of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowpan<'a> {
    pub mesh: Option<Mesh>,
    /// The sequence number of a broadcast header (RFC 4944 §11.1).
    pub broadcast: Option<u8>,
    /// Source of the datagram: the mesh header's originator, or otherwise the frame's source.
    pub src: Address,
    /// Destination of the datagram: the mesh header's last node, or otherwise the frame's
    /// destination.
    pub dst: Address,
    pub body: Body<'a>,
}

impl<'a> Lowpan<'a> {
    /// Parses the headers at the start of `payload`, the payload of a data frame from `src` to
    /// `dst`.
    pub fn parse(payload: &'a [u8], src: Address, dst: Address) -> Lowpan<'a> {
        let mut lowpan = Lowpan {
            mesh: None,
            broadcast: None,
            src,
            dst,
            body: Body::Foreign(payload),
        };
        let mut rest = payload;
        if dispatch(rest) == Dispatch::Mesh {
            let Some((mesh, behind)) = Mesh::parse(rest) else {
                lowpan.body = Body::Malformed("mesh header, truncated".to_owned());
                return lowpan;
            };
            (lowpan.src, lowpan.dst) = (mesh.originator, mesh.last);
            lowpan.mesh = Some(mesh);
            rest = behind;
        }
        if let [0b0101_0000, behind @ ..] = rest {
            let [sequence, behind @ ..] = behind else {
                lowpan.body = Body::Malformed("broadcast header, truncated".to_owned());
                return lowpan;
            };
            lowpan.broadcast = Some(*sequence);
            rest = behind;
        }
        lowpan.body = Body::parse(rest);
        lowpan
    }

    pub fn show(&self, layer: &mut Layer) {
        if let Some(mesh) = &self.mesh {
            mesh.show(layer);
        }
        if let Some(sequence) = self.broadcast {
            layer.say(format!("broadcast {sequence}"));
            layer.number("6lowpan.bcast.seqnum", sequence);
        }
        self.body.show(layer);
    }
}

impl Mesh {
    fn parse(payload: &[u8]) -> Option<(Mesh, &[u8])> {
        const DEEP: u8 = 0x0f;
        let mut input = Bytes(payload);
        let first = input.u8()?;
        let (is_src_short, is_dst_short) = (first & 0x20 != 0, first & 0x10 != 0);
        let is_deep = first & 0x0f == DEEP;
        let hops_left = match is_deep {
            true => input.u8()?,
            false => first & 0x0f,
        };
        let mut address = |is_short| {
            Some(match is_short {
                true => Address::Short(input.u16()?),
                false => Address::Extended(input.array()?),
            })
        };
        let originator = address(is_src_short)?;
        let last = address(is_dst_short)?;
        let mesh = Mesh {
            hops_left,
            originator,
            last,
            is_deep,
        };
        Some((mesh, input.rest()))
    }

    fn show(&self, layer: &mut Layer) {
        let (from, to, left) = (self.originator, self.last, self.hops_left);
        layer.say(format!("mesh {from} > {to} hops left {left}"));
        let is_short = |address| matches!(address, Address::Short(_));
        layer.flag("6lowpan.mesh.v", is_short(from));
        layer.flag("6lowpan.mesh.f", is_short(to));
        match self.is_deep {
            true => {
                layer.number("6lowpan.mesh.hops", 15_u8);
                layer.number("6lowpan.mesh.hops8", left);
            }
            false => layer.number("6lowpan.mesh.hops", left),
        }
        for (address, short, long) in [
            (from, "6lowpan.mesh.orig16", "6lowpan.mesh.orig64"),
            (to, "6lowpan.mesh.dest16", "6lowpan.mesh.dest64"),
        ] {
            match address {
                Address::Short(number) => layer.hex(short, number, 4),
                Address::Extended(eui64) => layer.hex(long, u64::from_be_bytes(eui64), 16),
                Address::Absent => {}
            }
        }
    }
}

impl<'a> Body<'a> {
    fn parse(bytes: &'a [u8]) -> Body<'a> {
        match dispatch(bytes) {
            Dispatch::First | Dispatch::Next => match fragment::Header::parse(bytes) {
                Ok((fragment::Header::First { size, tag }, rest)) => {
                    Body::First { tag, size, rest }
                }
                Ok((fragment::Header::Next { size, tag, offset }, rest)) => Body::Next {
                    tag,
                    size,
                    offset,
                    rest,
                },
                Err(error) => Body::Malformed(format!("fragment ({error})")),
            },
            Dispatch::Recoverable => match recoverable::Fragment::parse(bytes) {
                Ok((header, rest)) => Body::Recoverable(header, rest),
                Err(error) => Body::Malformed(format!("fragment ({error})")),
            },
            Dispatch::RecoverableAck => match recoverable::Ack::parse(bytes) {
                Ok(ack) => Body::RecoverableAck(ack),
                Err(error) => Body::Malformed(format!("acknowledgment ({error})")),
            },
            Dispatch::Mesh => Body::Malformed("mesh header within another mesh header".to_owned()),
            Dispatch::NotALowpan => Body::Foreign(bytes),
            _ if expand::is_datagram(bytes) => Body::Whole(bytes),
            Dispatch::Unknown(byte) => Body::Unknown(byte),
            _ => Body::Malformed("broadcast header within another broadcast header".to_owned()),
        }
    }

    fn show(&self, layer: &mut Layer) {
        match self {
            Body::Whole(_) => {}
            Body::First { tag, size, .. } => {
                layer.say(format!("FRAG1 tag {tag} size {size}"));
                layer.number("6lowpan.frag.size", *size);
                layer.hex("6lowpan.frag.tag", *tag, 4);
            }
            Body::Next {
                tag,
                size,
                offset,
                rest,
            } => {
                let end = usize::from(*offset) + rest.len();
                let len = rest.len();
                layer.say(format!(
                    "FRAGN tag {tag} size {size} offset {offset} len {len}"
                ));
                match end.cmp(&usize::from(*size)) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => layer.say("last"),
                    std::cmp::Ordering::Greater => {
                        layer.say("malformed: the fragment ends beyond the datagram's size")
                    }
                }
                layer.number("6lowpan.frag.size", *size);
                layer.hex("6lowpan.frag.tag", *tag, 4);
                layer.number("6lowpan.frag.offset", *offset);
            }
            Body::Recoverable(header, _) => show_recoverable(header, layer),
            Body::RecoverableAck(ack) => {
                let bitmap = ack.bitmap.0;
                layer.say(format!("RFRAG-ACK tag {} {bitmap:08x}", ack.tag));
                if ack.ecn {
                    layer.say("congested");
                }
                layer.flag("6lowpan.rfrag.congestion", ack.ecn);
                layer.hex("6lowpan.rfrag.tag", ack.tag, 2);
                layer.hex("6lowpan.rfrag.ack_bitmask", bitmap, 8);
            }
            Body::Foreign([]) => layer.say("no payload"),
            Body::Foreign(bytes) => layer.say(format!("not 6LoWPAN, {} B", bytes.len())),
            Body::Unknown(byte) => layer.say(format!("unknown dispatch 0x{byte:02x}")),
            Body::Malformed(problem) => layer.say(format!("malformed {problem}")),
        }
    }
}

fn show_recoverable(header: &recoverable::Fragment, layer: &mut Layer) {
    layer.say(format!("RFRAG tag {} seq {}", header.tag, header.sequence));
    if header.ack_request {
        layer.say("ack requested");
    }
    if header.ecn {
        layer.say("congested");
    }
    let (offset, size) = (header.offset, header.size);
    if header.is_abort() {
        layer.say("abort");
    } else if header.sequence == 0 {
        layer.say(format!("size {offset} len {size}"));
    } else {
        layer.say(format!("offset {offset} len {size}"));
    }
    layer.flag("6lowpan.rfrag.congestion", header.ecn);
    layer.hex("6lowpan.rfrag.tag", header.tag, 2);
    layer.flag("6lowpan.rfrag.ack_requested", header.ack_request);
    layer.number("6lowpan.rfrag.sequence", header.sequence);
    layer.number("6lowpan.rfrag.size", size);
    match header.sequence {
        0 => layer.number("6lowpan.rfrag.datagram_size", offset),
        _ => layer.number("6lowpan.rfrag.offset", offset),
    }
}
