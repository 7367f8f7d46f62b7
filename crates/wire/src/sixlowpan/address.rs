//! Addresses in compressed headers (RFC 6282 §3.1.1, §3.2.2 to §3.2.4).

use super::{Context, Contexts};
use crate::Error;
use crate::cursor::Reader;
use crate::ieee802154::Address;
use crate::ipv6::addr::{self, iid, iid_from_short, iid_of};
use redpoll_base::Addr;

/// A compressed address: what goes into the encoding, and what goes in-line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoded {
    /// SAC or DAC.
    pub stateful: bool,
    /// SAM or DAM.
    pub mode: u16,
    /// The context, 0 if none is used.
    pub cid: u8,
    bytes: [u8; 16],
    len: u8,
}

impl Encoded {
    fn new(stateful: bool, mode: u16, cid: u8, inline: &[u8]) -> Encoded {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(inline) {
            *to = *from;
        }
        Encoded {
            stateful,
            mode,
            cid,
            bytes,
            len: inline.len().min(16) as u8,
        }
    }

    /// The bytes that go in-line.
    pub fn inline(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Bytes on the air; a context other than 0 costs the CID byte.
    fn cost(&self) -> usize {
        self.inline()
            .len()
            .saturating_add(usize::from(self.cid != 0))
    }
}

/// The shortest encoding of a source address.
pub fn encode_source(addr: &Addr, link: Address, contexts: &Contexts) -> Encoded {
    if addr.is_unspecified() {
        // RFC 6282 §3.1.1: SAC = 1, SAM = 00.
        return Encoded::new(true, 0b00, 0, &[]);
    }
    encode_unicast(addr, link, contexts)
}

/// The shortest encoding of a unicast destination, or of a source that is not
/// the unspecified address.
pub fn encode_unicast(addr: &Addr, link: Address, contexts: &Contexts) -> Encoded {
    let stateless = encode_iid(addr, link, |iid| {
        addr::from_prefix_and_iid(&addr::LINK_LOCAL_PREFIX, iid)
    })
    .map(|(mode, inline)| (false, mode, 0, inline));
    let stateful = contexts.for_compression().filter_map(|(cid, context)| {
        let (mode, inline) = encode_iid(addr, link, |iid| context.join(iid))?;
        Some((true, mode, cid, inline))
    });
    stateless
        .into_iter()
        .chain(stateful)
        .map(|(stateful, mode, cid, inline)| Encoded::new(stateful, mode, cid, inline))
        .min_by_key(Encoded::cost)
        .unwrap_or_else(|| Encoded::new(false, 0b00, 0, &addr.0))
}

/// The shortest mode by which `join` rebuilds `addr` from an interface
/// identifier, and its in-line bytes.
fn encode_iid(addr: &Addr, link: Address, join: impl Fn([u8; 8]) -> Addr) -> Option<(u16, &[u8])> {
    let (_, low64) = addr.0.split_at(8);
    let (_, low16) = addr.0.split_at(14);
    let [.., high, low] = addr.0;
    let short = u16::from_be_bytes([high, low]);
    // RFC 6282 §3.2.2: bits that do not match the mapping are never elided.
    if iid_of(link).is_some_and(|iid| join(iid) == *addr) {
        Some((0b11, &[]))
    } else if join(iid_from_short(short)) == *addr {
        Some((0b10, low16))
    } else if join(iid(addr)) == *addr {
        Some((0b01, low64))
    } else {
        None
    }
}

/// Reads a unicast destination, or any source but the unspecified one.
pub fn decode_unicast(
    (stateful, mode, cid): (bool, u16, u8),
    link: Address,
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    let context = match (stateful, mode) {
        (false, 0b00) => return Ok(Addr(input.array()?)),
        // Reserved for destinations; a source never comes here with it.
        (true, 0b00) => return Err(Error::Reserved),
        (false, _) => LINK_LOCAL,
        (true, _) => *contexts.lookup(cid).ok_or(Error::UnknownContext(cid))?,
    };
    let iid = match mode {
        0b01 => input.array()?,
        0b10 => iid_from_short(input.u16()?),
        _ => iid_of(link).ok_or(Error::NoLinkAddress)?,
    };
    Ok(context.join(iid))
}

/// Stateless compression, seen as a context.
const LINK_LOCAL: Context = Context {
    prefix: addr::LINK_LOCAL_PREFIX,
    len: 64,
    compress: true,
};

/// Reads a source address.
pub fn decode_source(
    (stateful, mode, cid): (bool, u16, u8),
    link: Address,
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    match (stateful, mode) {
        (true, 0b00) => Ok(Addr::UNSPECIFIED),
        encoding => {
            let (stateful, mode) = encoding;
            decode_unicast((stateful, mode, cid), link, contexts, input)
        }
    }
}

/// The shortest encoding of a multicast destination.
pub fn encode_multicast(addr: &Addr, contexts: &Contexts) -> Encoded {
    match addr.0 {
        // RFC 6282 §3.2.3
        [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, group] => {
            Encoded::new(false, 0b11, 0, &[group])
        }
        [0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c] => {
            Encoded::new(false, 0b10, 0, &[scope, a, b, c])
        }
        [0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e] => {
            Encoded::new(false, 0b01, 0, &[scope, a, b, c, d, e])
        }
        // RFC 6282 §3.2.4
        [_, scope, riid, .., a, b, c, d] => contexts
            .for_compression()
            .find(|(_, context)| prefix_based(context, [scope, riid, a, b, c, d]) == *addr)
            .map_or_else(
                || Encoded::new(false, 0b00, 0, &addr.0),
                |(cid, _)| Encoded::new(true, 0b00, cid, &[scope, riid, a, b, c, d]),
            ),
    }
}

/// Reads a multicast destination.
pub fn decode_multicast(
    (stateful, mode, cid): (bool, u16, u8),
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    match (stateful, mode) {
        (false, 0b00) => Ok(Addr(input.array()?)),
        (false, 0b01) => {
            let [scope, a, b, c, d, e] = input.array()?;
            Ok(multicast(scope, [a, b, c, d, e]))
        }
        (false, 0b10) => {
            let [scope, a, b, c] = input.array()?;
            Ok(multicast(scope, [0, 0, a, b, c]))
        }
        (false, _) => Ok(multicast(2, [0, 0, 0, 0, input.u8()?])),
        (true, 0b00) => {
            let inline = input.array()?;
            let context = contexts.lookup(cid).ok_or(Error::UnknownContext(cid))?;
            Ok(prefix_based(context, inline))
        }
        (true, _) => Err(Error::Reserved),
    }
}

/// `ffXX::00` with the last five bytes of the group identifier.
fn multicast(scope: u8, [a, b, c, d, e]: [u8; 5]) -> Addr {
    Addr([0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e])
}

/// A unicast-prefix-based multicast address, `ffXX:XXLL:PPPP:…:XXXX:XXXX`.
fn prefix_based(context: &Context, [scope, riid, a, b, c, d]: [u8; 6]) -> Addr {
    let [p0, p1, p2, p3, p4, p5, p6, p7, ..] = context.prefix.0;
    Addr([
        0xff,
        scope,
        riid,
        context.len,
        p0,
        p1,
        p2,
        p3,
        p4,
        p5,
        p6,
        p7,
        a,
        b,
        c,
        d,
    ])
}
