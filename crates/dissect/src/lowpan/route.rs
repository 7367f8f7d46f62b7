//! Routing headers before a compressed datagram, 6LoRH (RFC 8138).

use crate::layer::{Bytes, Layer, hex};

mod kind {
    pub const RPI: u8 = 5;
    pub const IP_IN_IP: u8 = 6;
}

/// Reads the page switch and the routing headers, and adds them to `layer`. Returns the tunnel's
/// hop limit if an IP-in-IP header describes a tunnel. The outer `None` means that a header is
/// truncated or has a reserved value.
pub(super) fn read(input: &mut Bytes<'_>, layer: &mut Layer) -> Option<Option<u8>> {
    let mut tunnel = None;
    let page = input.u8()? & 0x0f;
    layer.number("6lowpan.pagenb", page);
    // RFC 8138 §4: only page 1 has 6LoRH headers.
    while let Some(first) = input
        .0
        .first()
        .filter(|first| page == 1 && **first >> 6 == 0b10)
    {
        let is_elective = first & 0x20 != 0;
        let special = first & 0x1f;
        input.u8()?;
        let kind = input.u8()?;
        match (is_elective, kind) {
            (true, _) => {
                let mut content = Bytes(input.take(special.into())?);
                if kind != kind::IP_IN_IP {
                    layer.say(format!("6LoRH type {kind} {}", hex(content.0)));
                    continue;
                }
                let hop_limit = content.u8()?;
                tunnel = Some(hop_limit);
                layer.number("6lowpan.rhhop.limit", hop_limit);
                layer.say(format!("6LoRH tunnel hlim {hop_limit}"));
                if !content.0.is_empty() {
                    layer.say(format!("from {}", hex(content.0)));
                }
            }
            (false, 0..=4) => {
                let each = [1, 2, 4, 8, 16].get(usize::from(kind))?;
                let mut stops = Vec::new();
                for _ in 0..=special {
                    stops.push(hex(input.take(*each)?));
                }
                let list = stops.join(", ");
                layer.text("redpoll.6lorh.stops", list.clone());
                layer.say(format!("6LoRH route [{list}]"));
            }
            (false, kind::RPI) => rpi(special, input, layer)?,
            (false, _) => return None,
        }
    }
    Some(tunnel)
}

/// Reads RPL packet information (RFC 8138 §6).
fn rpi(bits: u8, input: &mut Bytes<'_>, layer: &mut Layer) -> Option<()> {
    for (name, bit) in [
        ("6lowpan.6loRH.bitO", 0x10),
        ("6lowpan.6loRH.bitR", 0x08),
        ("6lowpan.6loRH.bitF", 0x04),
        ("6lowpan.6loRH.bitI", 0x02),
        ("6lowpan.6loRH.bitK", 0x01),
    ] {
        layer.flag(name, bits & bit != 0);
    }
    let instance = match bits & 0x02 {
        0 => input.u8()?,
        _ => 0,
    };
    // A one-byte rank is the high byte; the elided low byte is zero.
    let rank = match bits & 0x01 {
        0 => input.u16()?,
        _ => u16::from(input.u8()?) << 8,
    };
    layer.hex("6lowpan.rpl.instance", instance, 2);
    layer.number("redpoll.6lorh.rank", rank);
    let direction = if bits & 0x10 != 0 { " down" } else { "" };
    layer.say(format!(
        "6LoRH RPI instance {instance} rank {rank}{direction}"
    ));
    Some(())
}
