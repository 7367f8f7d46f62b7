//! Expands a compressed datagram to an IPv6 packet.

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use redpoll_wire::ipv6::addr::iid_of;
use redpoll_wire::sixlowpan::{Contexts, IPV6_DISPATCH};

use super::{hc1, iphc, nhc, route};
use crate::layer::{Bytes, Layer};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whole {
    Here,
    /// Uncompressed length of the datagram; the payload has only its beginning.
    Expanded(usize),
    /// Compressed length of the datagram; the payload has only its beginning.
    Compressed(usize),
}

/// Identifiers of the unknown contexts that the two addresses of a header refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    pub src: Option<u8>,
    pub dst: Option<u8>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    pub packet: Vec<u8>,
    pub consumed: usize,
    pub written: usize,
    /// Unknown contexts of each compressed IPv6 header, the outermost first.
    pub unknown: Vec<Unknown>,
    /// Contexts that were used: bit n is for context n.
    pub used: u16,
    /// Whether a UDP checksum was elided; the packet then contains zero instead.
    pub is_udp_elided: bool,
    /// Hop limit of the tunnel that an IP-in-IP 6LoRH describes (RFC 8138 §7), if any.
    pub tunnel_hop_limit: Option<u8>,
}

/// Maximum number of nested IPv6 headers that are expanded.
const NESTED_MAX: usize = 8;

/// The dispatch of the older header compression (RFC 4944 §5.1).
pub(super) const HC1: u8 = 0b0100_0010;
/// Dispatches that switch to another page of dispatches (RFC 8025 §3).
pub(super) const PAGES: std::ops::RangeInclusive<u8> = 0xf0..=0xf1;

/// Returns whether `bytes` begin with the dispatch of an IPv6 datagram or of routing headers.
pub fn is_datagram(bytes: &[u8]) -> bool {
    matches!(bytes.first(), Some(&first) if first == IPV6_DISPATCH
        || first == HC1
        || iphc::is_dispatch(first)
        || PAGES.contains(&first))
}

pub(super) struct Expander<'a> {
    pub input: Bytes<'a>,
    pub contexts: &'a Contexts,
    pub out: Vec<u8>,
    /// Offsets in `out` of the IPv6 headers, whose length fields are set at the end.
    ips: Vec<usize>,
    pub udp_at: Option<usize>,
    pub done: Expanded,
}

/// Interface identifiers that elided addresses are derived from.
#[derive(Clone, Copy)]
pub(super) struct Identifiers {
    pub src: Option<[u8; 8]>,
    pub dst: Option<[u8; 8]>,
}

/// Expands the compressed headers at the start of `bytes`, and adds their fields to `layer`. An
/// error describes the header that cannot be expanded.
pub fn expand(
    bytes: &[u8],
    (src, dst): (Address, Address),
    contexts: &Contexts,
    whole: Whole,
    layer: &mut Layer,
) -> Result<Expanded, String> {
    let mut expander = Expander {
        input: Bytes(bytes),
        contexts,
        out: Vec::with_capacity(bytes.len() + 64),
        ips: Vec::new(),
        udp_at: None,
        done: Expanded::default(),
    };
    let identifiers = Identifiers {
        src: iid_of(src),
        dst: iid_of(dst),
    };
    if PAGES.contains(bytes.first().unwrap_or(&0)) {
        expander.routes(layer)?;
    }
    match expander.input.0.first() {
        Some(&IPV6_DISPATCH) => {
            layer.say("IPv6");
            expander.input.u8();
            expander.done.consumed = bytes.len() - expander.input.0.len();
            expander.done.packet = expander.input.rest().to_vec();
            return Ok(expander.done);
        }
        Some(&HC1) => {
            layer.say("HC1");
            let done = hc1::expand(&mut expander, identifiers, layer);
            done.ok_or("malformed HC1 (truncated, or a reserved value)")?;
        }
        Some(&first) if iphc::is_dispatch(first) => {
            layer.say("IPHC");
            let done = expander.chain(identifiers, layer);
            done.map_err(|problem| format!("malformed IPHC ({problem})"))?;
        }
        Some(&other) => return Err(format!("unknown dispatch 0x{other:02x}")),
        None => return Err("malformed: the frame ends before the datagram begins".to_owned()),
    }
    expander.finish(bytes.len(), whole)
}

impl Expander<'_> {
    fn routes(&mut self, layer: &mut Layer) -> Result<(), String> {
        let read = route::read(&mut self.input, layer);
        self.done.tunnel_hop_limit =
            read.ok_or("malformed 6LoRH (truncated, or a reserved value)")?;
        Ok(())
    }

    /// Expands a compressed IPv6 header and the compressed headers after it.
    fn chain(&mut self, first: Identifiers, layer: &mut Layer) -> Result<(), String> {
        let mut identifiers = first;
        loop {
            if self.ips.len() == NESTED_MAX {
                return Err("too many nested headers".to_owned());
            }
            let is_next_compressed = iphc::expand(self, identifiers, layer)?;
            if !is_next_compressed || !nhc::expand(self, layer)? {
                return Ok(());
            }
            // RFC 6282 §3.1.1: elided address bits come from the encapsulating header.
            identifiers = self
                .encapsulating()
                .ok_or("elided addresses without an encapsulating header")?;
        }
    }

    fn encapsulating(&self) -> Option<Identifiers> {
        let at = *self.ips.last()?;
        let half = |offset: usize| {
            let rest = self.out.get(at + offset..)?;
            rest.first_chunk().copied()
        };
        Some(Identifiers {
            src: half(16),
            dst: half(32),
        })
    }

    pub(super) fn put_ip(&mut self, header: [u8; 40], unknown: Unknown) {
        self.ips.push(self.out.len());
        self.out.extend(header);
        self.done.unknown.push(unknown);
    }

    /// Returns the address with the prefix of context `cid` and the interface identifier `iid`. If
    /// the context is unknown, the prefix is zero, and the second value is `cid`.
    pub(super) fn joined(&mut self, cid: u8, iid: [u8; 8]) -> (Addr, Option<u8>) {
        self.done.used |= 1 << (cid & 0x0f);
        let mut addr = [0; 16];
        if let Some((_, low)) = addr.split_at_mut_checked(8) {
            low.copy_from_slice(&iid);
        }
        let Some(context) = self.contexts.lookup(cid) else {
            return (Addr(addr), Some(cid));
        };
        // RFC 6282 §3.1.1: address bits that the context covers always come from the context.
        let len = usize::from(context.len);
        for (at, (to, from)) in addr.iter_mut().zip(context.prefix.0).enumerate() {
            let covered = len.saturating_sub(8 * at).min(8) as u32;
            let mask = u8::try_from(0xff00_u32 >> covered & 0xff).unwrap_or(0);
            let mask = if at < 8 { 0xff } else { mask };
            *to = from & mask | *to & !mask;
        }
        (Addr(addr), None)
    }

    /// Sets the length fields of the written headers, and appends the uncompressed bytes.
    fn finish(mut self, len: usize, whole: Whole) -> Result<Expanded, String> {
        const BEYOND: &str = "malformed: the packet is longer than the datagram's size";
        let rest = self.input.rest();
        self.done.consumed = len - rest.len();
        self.done.written = self.out.len();
        let at_hand = self.out.len() + rest.len();
        let total = match whole {
            Whole::Here => at_hand,
            Whole::Expanded(total) => total,
            Whole::Compressed(total) => {
                let rest = total.checked_sub(self.done.consumed).ok_or(BEYOND)?;
                self.done.written + rest
            }
        };
        if at_hand > total {
            return Err(BEYOND.to_owned());
        }
        for at in &self.ips {
            let length = (total - at).saturating_sub(40);
            set(&mut self.out, at + 4, length);
        }
        if let Some(at) = self.udp_at {
            set(&mut self.out, at + 4, total - at);
        }
        self.out.extend_from_slice(rest);
        self.done.packet = self.out;
        Ok(self.done)
    }
}

/// Writes a length as two bytes. Lengths above 65,535 become 65,535.
fn set(out: &mut [u8], at: usize, length: usize) {
    let length = u16::try_from(length).unwrap_or(u16::MAX);
    if let Some(field) = out.get_mut(at..at + 2) {
        field.copy_from_slice(&length.to_be_bytes());
    }
}
