//! ICMPv6 messages (RFC 4443).

use redpoll_wire::ipv6::{Ipv6Header, next_header};

use super::{Verdict, nd, rpl};
use crate::ip::Packet;
use crate::layer::{Bytes, Layer};

pub(super) fn show(packet: &Packet, layers: &mut Vec<Layer>) {
    let mut layer = Layer::new("icmpv6");
    layer.title = "ICMPv6".to_owned();
    let mut input = Bytes(packet.body());
    match (input.u8(), input.u8(), input.u16()) {
        (Some(kind), Some(code), Some(checksum)) => {
            layer.number("icmpv6.type", kind);
            layer.number("icmpv6.code", code);
            layer.hex("icmpv6.checksum", checksum, 4);
            let is_part = packet.is_part || packet.is_short;
            if message(kind, code, input, &mut layer).is_none() && !is_part {
                layer.say("malformed: cut off");
            }
            let verdict = Verdict::of(packet.checks(next_header::ICMPV6));
            verdict.show("icmpv6.checksum.status", &mut layer);
        }
        _ => layer.say("malformed: no whole header"),
    }
    layers.push(layer);
}

/// Adds a message behind its checksum; nothing if it is cut off.
fn message(kind: u8, code: u8, mut input: Bytes<'_>, layer: &mut Layer) -> Option<()> {
    match kind {
        1..=4 => {
            let word = input.u32()?;
            layer.say(match kind {
                1 => format!("destination unreachable, code {code}"),
                2 => format!("packet too big, mtu {word}"),
                3 => format!("time exceeded, code {code}"),
                _ => format!("parameter problem, code {code} at {word}"),
            });
            match kind {
                2 => layer.number("icmpv6.mtu", word),
                4 => layer.number("icmpv6.pointer", word),
                _ => {}
            }
            about(input.0, layer);
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

/// Adds the addresses of the packet that an error quotes.
fn about(quoted: &[u8], layer: &mut Layer) {
    if let Ok((ip, _)) = Ipv6Header::parse_partial(quoted) {
        layer.say(format!("(about {} > {})", ip.src, ip.dst));
        layer.addr("redpoll.icmpv6.quoted_src", ip.src);
        layer.addr("redpoll.icmpv6.quoted_dst", ip.dst);
    }
}
