//! ICMPv6 messages (RFC 4443).

use redpoll_wire::ipv6::next_header;

use super::{Verdict, nd, rpl};
use crate::ip::Packet;
use crate::layer::{Bytes, Layer};

pub(super) fn show(packet: &Packet, layers: &mut Vec<Layer>) {
    let mut layer = Layer::new("icmpv6");
    layer.title = "ICMPv6".to_owned();
    let mut quoted = Vec::new();
    let mut input = Bytes(packet.body());
    match (input.u8(), input.u8(), input.u16()) {
        (Some(kind), Some(code), Some(checksum)) => {
            layer.number("icmpv6.type", kind);
            layer.number("icmpv6.code", code);
            layer.hex("icmpv6.checksum", checksum, 4);
            let is_part = packet.is_part || packet.is_short;
            if message(kind, code, input, &mut layer, &mut quoted).is_none() && !is_part {
                layer.say("malformed: truncated");
            }
            let verdict = Verdict::of(packet.checks(next_header::ICMPV6));
            verdict.show("icmpv6.checksum.status", &mut layer);
        }
        _ => layer.say("malformed: truncated header"),
    }
    layers.push(layer);
    layers.append(&mut quoted);
}

/// Adds the fields after the checksum; `None` if the message is truncated. The layers of a packet
/// that an error quotes go to `quoted`.
fn message(
    kind: u8,
    code: u8,
    mut input: Bytes<'_>,
    layer: &mut Layer,
    quoted: &mut Vec<Layer>,
) -> Option<()> {
    match kind {
        1..=4 => {
            let word = input.u32()?;
            layer.say(match kind {
                1 => format!("destination unreachable, code {code}"),
                2 => format!("packet too big, mtu {word}"),
                3 => format!("time exceeded, code {code}"),
                _ => format!("parameter problem, code {code}, at byte {word} of the packet"),
            });
            match kind {
                2 => layer.number("icmpv6.mtu", word),
                4 => layer.number("icmpv6.pointer", word),
                _ => {}
            }
            about(input.0, layer, quoted);
        }
        128 | 129 => {
            let (id, seq) = (input.u16()?, input.u16()?);
            let name = if kind == 128 { "request" } else { "reply" };
            layer.say(format!(
                "echo {name} id {id} seq {seq} len {}",
                input.0.len()
            ));
            layer.hex("icmpv6.echo.identifier", id, 4);
            layer.number("icmpv6.echo.sequence_number", seq);
        }
        133..=137 | 157 | 158 => nd::message(kind, code, input, layer)?,
        155 => rpl::message(code, input, layer)?,
        other => layer.say(format!("type {other} code {code}")),
    }
    Some(())
}

/// Adds the packet that an error quotes, usually only its beginning. If the quoted packet is an
/// ICMPv6 message, adds only its addresses.
fn about(bytes: &[u8], layer: &mut Layer, quoted: &mut Vec<Layer>) {
    let packet = Packet::parse(bytes.to_vec(), true, &[]);
    let Some(inner) = packet.inner() else {
        return;
    };
    layer.say(format!(
        "(about the packet {} > {})",
        inner.src_text(),
        inner.dst_text()
    ));
    if inner.upper == next_header::ICMPV6 {
        return;
    }
    packet.show(quoted);
    for layer in quoted {
        layer.title.clear();
    }
}
