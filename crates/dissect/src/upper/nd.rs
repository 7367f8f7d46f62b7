//! Neighbour discovery (RFC 4861), and its extensions for 6LoWPAN (RFC 6775, RFC 8505).

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;

use crate::layer::{Bytes, Layer, Value, hex};

/// Adds the fields after the checksum; `None` if the message is truncated.
pub(super) fn message(kind: u8, code: u8, mut input: Bytes<'_>, layer: &mut Layer) -> Option<()> {
    match kind {
        133 => {
            layer.say("router solicitation");
            input.u32()?;
        }
        134 => advertisement(&mut input, layer)?,
        135 => {
            input.u32()?;
            let target = input.addr()?;
            layer.say(format!("neighbor solicitation for {target}"));
            layer.addr("icmpv6.nd.ns.target_address", target);
        }
        136 => {
            let flags = input.u32()?;
            let target = input.addr()?;
            layer.say(format!("neighbor advertisement of {target}"));
            layer.flag("icmpv6.nd.na.flag.r", flags >> 31 & 1 != 0);
            layer.flag("icmpv6.nd.na.flag.s", flags >> 30 & 1 != 0);
            layer.flag("icmpv6.nd.na.flag.o", flags >> 29 & 1 != 0);
            layer.addr("icmpv6.nd.na.target_address", target);
        }
        137 => {
            input.u32()?;
            let (target, about) = (input.addr()?, input.addr()?);
            layer.say(format!("redirect of {about} to {target}"));
            layer.addr("icmpv6.nd.rd.target_address", target);
            layer.addr("icmpv6.rd.na.destination_address", about);
        }
        _ => duplicate(kind, code, &mut input, layer)?,
    }
    options(input, layer)
}

fn advertisement(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    let (hops, flags, lifetime) = (input.u8()?, input.u8()?, input.u16()?);
    let (reachable, retransmit) = (input.u32()?, input.u32()?);
    layer.say(format!("router advertisement, lifetime {lifetime} s"));
    layer.number("icmpv6.nd.ra.cur_hop_limit", hops);
    layer.hex("icmpv6.nd.ra.flag", flags, 2);
    layer.flag("icmpv6.nd.ra.flag.m", flags & 0x80 != 0);
    layer.flag("icmpv6.nd.ra.flag.o", flags & 0x40 != 0);
    layer.number("icmpv6.nd.ra.router_lifetime", lifetime);
    layer.number("icmpv6.nd.ra.reachable_time", reachable);
    layer.number("icmpv6.nd.ra.retrans_timer", retransmit);
    Some(())
}

/// Adds a duplicate address request or confirmation (RFC 6775 §4.4, RFC 8505 §4.2).
fn duplicate(kind: u8, code: u8, input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    let (status, tid, lifetime) = (input.u8()?, input.u8()?, input.u16()?);
    // RFC 8505 §4.2: the receiver ignores the upper half of the code (Code Prefix). The lower half
    // (Code Suffix) is the ROVR's length in units of 8 bytes; 0 means a message of RFC 6775.
    let suffix = code & 0x0f;
    let verifier = input.take(8 * usize::from(suffix.max(1)))?;
    let address = input.addr()?;
    let (name, is_answer) = match kind {
        157 => ("duplicate address request for", false),
        _ => ("duplicate address confirmation for", true),
    };
    let number = if suffix > 0 {
        format!(" {tid}")
    } else {
        String::new()
    };
    layer.say(format!("{name} {address}{number}"));
    if is_answer {
        layer.title += &format!(", status {status}");
    }
    layer.number("icmpv6.6lowpannd.da.status", status);
    if suffix > 0 {
        layer.number("redpoll.nd.tid", tid);
    }
    layer.number("icmpv6.6lowpannd.da.lifetime", lifetime);
    match verifier.first_chunk::<8>() {
        Some(eui64) if verifier.len() == 8 => {
            let eui64 = Address::Extended(*eui64);
            layer.add("icmpv6.6lowpannd.da.eui64", Value::Link(eui64));
        }
        _ => layer.bytes("redpoll.nd.rovr", verifier),
    }
    layer.addr("icmpv6.6lowpannd.da.reg_addr", address);
    Some(())
}

fn options(mut input: Bytes<'_>, layer: &mut Layer) -> Option<()> {
    while !input.0.is_empty() {
        let whole = input.0;
        let (kind, units) = (input.u8()?, input.u8()?);
        layer.number("icmpv6.opt.type", kind);
        layer.number("icmpv6.opt.length", units);
        if units == 0 {
            layer.say("malformed option");
            return Some(());
        }
        let len = 8 * usize::from(units);
        let content = whole.get(2..len)?;
        input = Bytes(whole.get(len..)?);
        if option(kind, content, layer).is_none() {
            layer.say("malformed option");
        }
    }
    Some(())
}

/// Adds the fields of an option; `None` if the option is truncated.
fn option(kind: u8, content: &[u8], layer: &mut Layer) -> Option<()> {
    let mut input = Bytes(content);
    match kind {
        1 | 2 => link(kind, content, layer),
        3 => {
            let (len, flags) = (input.u8()?, input.u8()?);
            let (valid, preferred) = (input.u32()?, input.u32()?);
            input.u32()?;
            let prefix = input.addr()?;
            layer.number("icmpv6.opt.prefix.length", len);
            layer.flag("icmpv6.opt.prefix.flag.l", flags & 0x80 != 0);
            layer.flag("icmpv6.opt.prefix.flag.a", flags & 0x40 != 0);
            layer.flag("icmpv6.opt.prefix.flag.r", flags & 0x20 != 0);
            layer.number("icmpv6.opt.prefix.valid_lifetime", valid);
            layer.number("icmpv6.opt.prefix.preferred_lifetime", preferred);
            layer.addr("icmpv6.opt.prefix", prefix);
            layer.say(format!("prefix {prefix}/{len}"));
        }
        5 => {
            input.u16()?;
            let mtu = input.u32()?;
            layer.number("icmpv6.opt.mtu", mtu);
            layer.say(format!("mtu {mtu}"));
        }
        33 => registration(&mut input, layer)?,
        34 => {
            let (len, flags) = (input.u8()?, input.u8()?);
            input.u16()?;
            let lifetime = input.u16()?;
            let prefix = truncated(input.0);
            layer.number("icmpv6.opt.6co.context_length", len);
            layer.flag("icmpv6.opt.6co.flag.c", flags & 0x10 != 0);
            layer.number("icmpv6.opt.6co.flag.cid", flags & 0x0f);
            layer.number("icmpv6.opt.6co.valid_lifetime", lifetime);
            layer.addr("icmpv6.opt.6co.context_prefix", prefix);
            layer.say(format!("context {} {prefix}/{len}", flags & 0x0f));
        }
        35 => {
            let (low, high) = (input.u16()?, input.u16()?);
            let (lifetime, border) = (input.u16()?, input.addr()?);
            layer.number("icmpv6.opt.abro.version_low", low);
            layer.number("icmpv6.opt.abro.version_high", high);
            layer.number("icmpv6.opt.abro.valid_lifetime", lifetime);
            layer.addr("icmpv6.opt.abro.6lbr_address", border);
            layer.say(format!("border router {border}"));
        }
        36 => layer.bytes("redpoll.nd.6cio", content),
        14 => layer.bytes("icmpv6.opt.nonce", content),
        other => layer.text("redpoll.nd.option", format!("{other}: {}", hex(content))),
    }
    Some(())
}

/// Adds a link-layer address of 2 or 8 bytes without its padding (RFC 4944 §8).
fn link(kind: u8, content: &[u8], layer: &mut Layer) {
    let is_source = kind == 1;
    match (content.len(), content.first_chunk::<8>()) {
        (14, Some(eui64)) => {
            let name = match is_source {
                true => "icmpv6.opt.src_linkaddr_eui64",
                false => "icmpv6.opt.target_linkaddr_eui64",
            };
            layer.add(name, Value::Link(Address::Extended(*eui64)));
        }
        _ => {
            let len = if content.len() == 6 { 2 } else { content.len() };
            let name = match is_source {
                true => "redpoll.nd.src_link",
                false => "redpoll.nd.target_link",
            };
            layer.bytes(name, content.get(..len).unwrap_or_default());
        }
    }
}

/// Adds an address registration (RFC 6775 §4.1, RFC 8505 §4.1).
fn registration(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    const HAS_TID: u8 = 0x01;
    const ROUTED: u8 = 0x02;
    let (status, _opaque, flags, tid) = (input.u8()?, input.u8()?, input.u8()?, input.u8()?);
    let minutes = input.u16()?;
    layer.number("icmpv6.opt.aro.status", status);
    layer.number("icmpv6.opt.aro.registration_lifetime", minutes);
    let number = match flags & HAS_TID {
        0 => String::new(),
        _ => {
            layer.number("redpoll.nd.tid", tid);
            layer.flag("redpoll.nd.routed", flags & ROUTED != 0);
            format!(" {tid}")
        }
    };
    let verifier = input.rest();
    match (verifier.len(), verifier.first_chunk::<8>()) {
        (8, Some(eui64)) => {
            let eui64 = Address::Extended(*eui64);
            layer.add("icmpv6.opt.aro.eui64", Value::Link(eui64));
        }
        _ => layer.bytes("redpoll.nd.rovr", verifier),
    }
    layer.title += &format!(", registration{number} for {minutes} min, status {status}");
    Some(())
}

/// Returns the address that begins with `bytes`, followed by zeros.
pub(super) fn truncated(bytes: &[u8]) -> Addr {
    let mut addr = [0; 16];
    for (to, from) in addr.iter_mut().zip(bytes) {
        *to = *from;
    }
    Addr(addr)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the title of a duplicate address request with this code, and an address after a
    /// ROVR of `units` times 8 bytes.
    fn title(code: u8, units: usize) -> Option<String> {
        let address = [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];
        let message = [&[0, 9, 0, 1][..], &vec![0xee; 8 * units], &address].concat();
        let mut layer = Layer::default();
        duplicate(157, code, &mut Bytes(&message), &mut layer)?;
        Some(layer.title)
    }

    #[test]
    fn the_code_suffix_gives_the_length_of_the_rovr() {
        let plain = "duplicate address request for fd00::7";
        for prefix in 0..16_u8 {
            for suffix in 0..=4_u8 {
                let units = usize::from(suffix.max(1));
                let number = if suffix == 0 { "" } else { " 9" };
                let code = prefix << 4 | suffix;
                let found = title(code, units);
                assert_eq!(found, Some(format!("{plain}{number}")), "{code:#04x}");
            }
        }
    }

    #[test]
    fn a_rovr_that_is_cut_off_is_malformed() {
        assert_eq!(title(4, 1), None);
    }
}
