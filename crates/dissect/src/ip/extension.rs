//! Extension headers (RFC 8200 §4).

use redpoll_base::Addr;
use redpoll_wire::ipv6::next_header;

use crate::layer::{Bytes, Layer, hex};

const CUT: &str = "malformed extension header (truncated)";
/// Maximum number of extension headers that are parsed in a packet.
const HEADERS_MAX: usize = 32;

/// A source route (RFC 6554, RFC 8200 §4.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub kind: u8,
    pub segments_left: u8,
    pub stops: Vec<Addr>,
    pub last: Addr,
}

/// RPL packet information (RFC 6553 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Information {
    /// The flags O, R and F.
    pub flags: u8,
    pub instance: u8,
    pub rank: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extension {
    kind: u8,
    bytes: Vec<u8>,
    /// The route of a routing header. A packet may have several routing headers.
    route: Option<Route>,
}

pub(super) struct Walk {
    pub upper: u8,
    /// Length of the extension headers in bytes.
    pub at: usize,
    pub route: Option<Route>,
    pub information: Option<Information>,
    pub extensions: Vec<Extension>,
    pub is_fragment: bool,
    pub problem: Option<&'static str>,
}

impl Walk {
    pub(super) fn of(first: u8, payload: &[u8], dst: Addr) -> Walk {
        let mut walk = Walk {
            upper: first,
            at: 0,
            route: None,
            information: None,
            extensions: Vec::new(),
            is_fragment: false,
            problem: None,
        };
        while walk.extensions.len() < HEADERS_MAX && !walk.is_fragment {
            let rest = payload.get(walk.at..).unwrap_or_default();
            let units = match walk.upper {
                // RFC 8200 §4.1: a hop-by-hop header may only be the first.
                next_header::HOP_BY_HOP if walk.at != 0 => break,
                next_header::HOP_BY_HOP | next_header::ROUTING | next_header::DST_OPTIONS => {
                    rest.get(1).map(|units| usize::from(*units) + 1)
                }
                next_header::FRAGMENT => Some(1),
                _ => break,
            };
            let header = units.and_then(|units| rest.get(..8 * units));
            let Some(header) = header else {
                walk.problem = Some(CUT);
                break;
            };
            walk.take(header, dst);
        }
        walk
    }

    fn take(&mut self, header: &[u8], dst: Addr) {
        let mut own = None;
        match (self.upper, header) {
            (next_header::ROUTING, _) => match Route::parse(header, dst) {
                Ok(route) => {
                    own.clone_from(&route);
                    self.route = route.or(self.route.take());
                }
                Err(problem) => self.problem = Some(problem),
            },
            (next_header::HOP_BY_HOP, _) => {
                let options = header.get(2..).unwrap_or_default();
                self.information = information(options).or(self.information);
            }
            (next_header::FRAGMENT, [_, _, high, low, ..]) => {
                self.is_fragment = *high != 0 || low & 0xf9 != 0;
            }
            _ => {}
        }
        self.extensions.push(Extension {
            kind: self.upper,
            bytes: header.to_vec(),
            route: own,
        });
        self.upper = header.first().copied().unwrap_or(next_header::NONE);
        self.at += header.len();
    }
}

impl Route {
    /// Returns the route of a routing header of type 0, 2 or 3; `None` for other types.
    fn parse(header: &[u8], dst: Addr) -> Result<Option<Route>, &'static str> {
        const MALFORMED: &str = "malformed routing header";
        let (&[_, _, kind, segments_left, elided, pad, _, _], area) =
            header.split_first_chunk::<8>().ok_or(MALFORMED)?;
        let (elided, elided_last, pad) = match kind {
            0 | 2 => (0, 0, 0),
            3 => (elided >> 4, elided & 0x0f, pad >> 4),
            _ => return Ok(None),
        };
        let used = area.len().checked_sub(pad.into()).ok_or(MALFORMED)?;
        let mut input = Bytes(area.get(..used).ok_or(MALFORMED)?);
        let mut stops = Vec::new();
        let last_len = 16 - usize::from(elided_last);
        while !input.0.is_empty() {
            let is_last = input.0.len() == last_len;
            let elided = if is_last { elided_last } else { elided };
            let mut addr = dst;
            let tail = addr.0.get_mut(usize::from(elided)..).ok_or(MALFORMED)?;
            tail.copy_from_slice(input.take(tail.len()).ok_or(MALFORMED)?);
            stops.push(addr);
            if is_last {
                break;
            }
        }
        if usize::from(segments_left) > stops.len() || !input.0.is_empty() {
            return Err(MALFORMED);
        }
        Ok(Some(Route {
            kind,
            segments_left,
            last: stops.last().copied().unwrap_or(dst),
            stops,
        }))
    }
}

/// Returns the RPL packet information of a hop-by-hop header (types of RFC 6553 and RFC 9008).
fn information(options: &[u8]) -> Option<Information> {
    let mut input = Bytes(options);
    while let Some(kind) = input.u8() {
        if kind == 0 {
            continue;
        }
        let len = input.u8()?;
        let mut content = Bytes(input.take(len.into())?);
        if matches!(kind, 0x63 | 0x23) {
            return Some(Information {
                flags: content.u8()?,
                instance: content.u8()?,
                rank: content.u16()?,
            });
        }
    }
    None
}

impl Information {
    pub fn describe(&self) -> String {
        let mut text = format!("RPI instance {} rank {}", self.instance, self.rank);
        for (bit, word) in [
            (0x80, " down"),
            (0x40, " rank error"),
            (0x20, " forwarding error"),
        ] {
            if self.flags & bit != 0 {
                text += word;
            }
        }
        text
    }
}

impl Extension {
    /// Adds the header's fields to the layer of its IPv6 header.
    pub(super) fn show(&self, layer: &mut Layer) {
        let next = self.bytes.first().copied().unwrap_or_default();
        let units = self.bytes.get(1).copied().unwrap_or_default();
        match self.kind {
            next_header::HOP_BY_HOP => {
                layer.number("ipv6.hopopts.nxt", next);
                layer.number("ipv6.hopopts.len", units);
                options(self.bytes.get(2..).unwrap_or_default(), layer);
            }
            next_header::DST_OPTIONS => {
                layer.number("ipv6.dstopts.nxt", next);
                layer.number("ipv6.dstopts.len", units);
                options(self.bytes.get(2..).unwrap_or_default(), layer);
            }
            next_header::ROUTING => {
                layer.number("ipv6.routing.nxt", next);
                layer.number("ipv6.routing.len", units);
                if let [_, _, kind, left, elided, pad, ..] = *self.bytes.as_slice() {
                    layer.number("ipv6.routing.type", kind);
                    layer.number("ipv6.routing.segleft", left);
                    if kind == 3 {
                        layer.number("ipv6.routing.rpl.cmprI", elided >> 4);
                        layer.number("ipv6.routing.rpl.cmprE", elided & 0x0f);
                        layer.number("ipv6.routing.rpl.pad", pad >> 4);
                    }
                }
                for stop in self.route.iter().flat_map(|route| &route.stops) {
                    layer.addr("ipv6.routing.rpl.full_address", *stop);
                }
            }
            _ => {
                layer.number("ipv6.fraghdr.nxt", next);
                if let [_, _, high, low, ident @ ..] = self.bytes.as_slice() {
                    let word = u16::from_be_bytes([*high, *low]);
                    layer.number("ipv6.fraghdr.offset", word >> 3);
                    layer.flag("ipv6.fraghdr.more", word & 1 != 0);
                    if let Some(ident) = ident.first_chunk() {
                        layer.hex("ipv6.fraghdr.ident", u32::from_be_bytes(*ident), 8);
                    }
                }
            }
        }
    }
}

/// Adds an MPL option (RFC 7731 §6.1).
fn mpl(flags: u8, sequence: u8, seed: &[u8], layer: &mut Layer) {
    layer.number("ipv6.opt.mpl.flag.s", flags >> 6);
    layer.flag("ipv6.opt.mpl.flag.m", flags & 0x20 != 0);
    layer.flag("ipv6.opt.mpl.flag.v", flags & 0x10 != 0);
    layer.number("ipv6.opt.mpl.flag.rsv", flags & 0x0f);
    layer.hex("ipv6.opt.mpl.sequence", sequence, 2);
    let len = match flags >> 6 {
        0 => 0,
        1 => 2,
        2 => 8,
        _ => 16,
    };
    match seed.get(..len) {
        Some([]) => {}
        Some(seed) => layer.text("ipv6.opt.mpl.seed_id", hex(seed)),
        None => layer.say("malformed option"),
    }
}

/// Adds the options of a hop-by-hop or destination header.
fn options(bytes: &[u8], layer: &mut Layer) {
    let mut input = Bytes(bytes);
    while let Some(kind) = input.u8() {
        layer.hex("ipv6.opt.type", kind, 2);
        if kind == 0 {
            continue;
        }
        let Some(len) = input.u8() else {
            return;
        };
        layer.number("ipv6.opt.length", len);
        let Some(content) = input.take(len.into()) else {
            return layer.say("malformed option");
        };
        match (kind, content) {
            (0x63 | 0x23, &[flags, instance, a, b, ..]) => {
                layer.flag("ipv6.opt.rpl.flag.o", flags & 0x80 != 0);
                layer.flag("ipv6.opt.rpl.flag.r", flags & 0x40 != 0);
                layer.flag("ipv6.opt.rpl.flag.f", flags & 0x20 != 0);
                layer.hex("ipv6.opt.rpl.instance_id", instance, 2);
                layer.hex("ipv6.opt.rpl.sender_rank", u16::from_be_bytes([a, b]), 4);
            }
            (0x6d, &[flags, sequence, ref seed @ ..]) => mpl(flags, sequence, seed, layer),
            (1, _) => {}
            (0x05, &[a, b]) => layer.number("ipv6.opt.router_alert", u16::from_be_bytes([a, b])),
            _ => layer.text("redpoll.ipv6.option", hex(content)),
        }
    }
}
