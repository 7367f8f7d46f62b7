//! Addresses in compressed headers (RFC 6282 §3.1.1, §3.2.2 to §3.2.4).

use super::{Context, Contexts};
use crate::Error;
use crate::cursor::Reader;
use crate::ieee802154::Address;
use crate::ipv6::addr::{self, iid, iid_from_short, iid_of};
use redpoll_base::Addr;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    /// SAC or DAC: whether a context is used.
    pub stateful: bool,
    pub bits: u16,
    /// The context, 0 if none is used.
    pub cid: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Encoded {
    pub mode: Mode,
    bytes: [u8; 16],
    len: u8,
}

impl Encoded {
    fn stateless(bits: u16, inline: &[u8]) -> Encoded {
        Self::new(None, bits, inline)
    }

    fn new(cid: Option<u8>, bits: u16, inline: &[u8]) -> Encoded {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(inline) {
            *to = *from;
        }
        Encoded {
            mode: Mode {
                stateful: cid.is_some(),
                bits,
                cid: cid.unwrap_or(0),
            },
            bytes,
            len: inline.len().min(16) as u8,
        }
    }

    pub fn inline(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// Returns the number of bytes on the air; a context other than 0 costs the CID byte.
    fn cost(&self) -> usize {
        self.inline()
            .len()
            .saturating_add(usize::from(self.mode.cid != 0))
    }
}

/// `fe80::/64` in the form of a context, for stateless compression (RFC 6282 §3.1.1): it elides
/// this prefix without a context.
const LINK_LOCAL: Context = Context {
    prefix: addr::LINK_LOCAL_PREFIX,
    len: 64,
    compress: true,
};

pub fn encode_source(addr: &Addr, link: Address, contexts: &Contexts) -> Encoded {
    if addr.is_unspecified() {
        // RFC 6282 §3.1.1: SAC = 1 and SAM = 00 encode the unspecified address.
        return Encoded::new(Some(0), 0b00, &[]);
    }
    encode_unicast(addr, link, contexts)
}

pub fn decode_source(
    mode: Mode,
    link: Address,
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    if mode.stateful && mode.bits == 0b00 {
        return Ok(Addr::UNSPECIFIED);
    }
    decode_unicast(mode, link, contexts, input)
}

/// Returns the shortest encoding of a unicast destination, or of a source that is not the
/// unspecified address.
pub fn encode_unicast(addr: &Addr, link: Address, contexts: &Contexts) -> Encoded {
    let mut best: Option<Encoded> = None;
    let stateful = contexts.for_compression();
    let stateful = stateful.map(|(cid, context)| (Some(cid), context));
    for (cid, context) in core::iter::once((None, &LINK_LOCAL)).chain(stateful) {
        if let Some((bits, inline)) = encode_iid(addr, link, context) {
            let encoded = Encoded::new(cid, bits, inline);
            if best
                .as_ref()
                .is_none_or(|best| encoded.cost() < best.cost())
            {
                best = Some(encoded);
            }
        }
    }
    best.unwrap_or_else(|| Encoded::stateless(0b00, &addr.0))
}

/// Returns the shortest mode in which `context` restores `addr`, and its in-line bytes.
fn encode_iid<'a>(addr: &'a Addr, link: Address, context: &Context) -> Option<(u16, &'a [u8])> {
    let (_, low64) = addr.0.split_at(8);
    let (_, low16) = addr.0.split_at(14);
    let [.., high, low] = addr.0;
    let short = u16::from_be_bytes([high, low]);
    // The context must restore the bits before the identifier.
    let whole = iid(addr);
    if context.join(whole) != *addr {
        return None;
    }
    // RFC 6282 §3.2.2: bits that do not match the mapping are never elided.
    let restores = |iid| iid == whole || context.len > 64 && context.join(iid) == *addr;
    if iid_of(link).is_some_and(restores) {
        Some((0b11, &[]))
    } else if restores(iid_from_short(short)) {
        Some((0b10, low16))
    } else {
        Some((0b01, low64))
    }
}

/// Reads a unicast destination, or a source that is not the unspecified address.
pub fn decode_unicast(
    mode: Mode,
    link: Address,
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    let context = match (mode.stateful, mode.bits) {
        (false, 0b00) => return Ok(Addr(input.array()?)),
        (true, 0b00) => return Err(Error::Reserved),
        (false, _) => &LINK_LOCAL,
        (true, _) => known(mode.cid, contexts)?,
    };
    let iid = match mode.bits {
        0b01 => input.array()?,
        0b10 => iid_from_short(input.u16()?),
        _ => iid_of(link).ok_or(Error::NoLinkAddress)?,
    };
    Ok(context.join(iid))
}

#[inline(never)] // size
pub fn encode_multicast(addr: &Addr, contexts: &Contexts) -> Encoded {
    match addr.0 {
        // RFC 6282 §3.2.3
        [_, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, group] => Encoded::stateless(0b11, &[group]),
        [_, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c] => {
            Encoded::stateless(0b10, &[scope, a, b, c])
        }
        [_, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e] => {
            Encoded::stateless(0b01, &[scope, a, b, c, d, e])
        }
        // RFC 6282 §3.2.4
        [_, scope, riid, .., a, b, c, d] => {
            let inline = [scope, riid, a, b, c, d];
            contexts
                .for_compression()
                .find(|(_, context)| prefix_based(context, inline) == *addr)
                .map_or_else(
                    || Encoded::stateless(0b00, &addr.0),
                    |(cid, _)| Encoded::new(Some(cid), 0b00, &inline),
                )
        }
    }
}

#[inline(never)] // size
pub fn decode_multicast(
    mode: Mode,
    contexts: &Contexts,
    input: &mut Reader<'_>,
) -> Result<Addr, Error> {
    Ok(match (mode.stateful, mode.bits) {
        (false, 0b00) => Addr(input.array()?),
        (false, 0b01) => {
            let [scope, a, b, c, d, e] = input.array()?;
            multicast(scope, [a, b, c, d, e])
        }
        (false, 0b10) => {
            let [scope, a, b, c] = input.array()?;
            multicast(scope, [0, 0, a, b, c])
        }
        (false, _) => multicast(2, [0, 0, 0, 0, input.u8()?]),
        (true, 0b00) => prefix_based(known(mode.cid, contexts)?, input.array()?),
        (true, _) => return Err(Error::Reserved),
    })
}

fn known(cid: u8, contexts: &Contexts) -> Result<&Context, Error> {
    contexts.lookup(cid).ok_or(Error::UnknownContext(cid))
}

/// Returns the multicast address `ffXX::` with its last five bytes; `scope` includes the flags.
fn multicast(scope: u8, [a, b, c, d, e]: [u8; 5]) -> Addr {
    Addr([0xff, scope, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d, e])
}

/// Returns a unicast-prefix-based multicast address, `ffXX:XXLL:PPPP:…:XXXX:XXXX`.
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
