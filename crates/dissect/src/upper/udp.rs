//! UDP datagrams (RFC 768).

use redpoll_wire::ipv6::next_header;

use super::{Verdict, coap, mle, tmf};
use crate::ip::Packet;
use crate::layer::{Bytes, Layer};

/// UDP ports of CoAP (RFC 7252 §6.1) and of Mesh Link Establishment.
const COAP: u16 = 5_683;
const MLE: u16 = 19_788;

pub(super) fn show(packet: &Packet, layers: &mut Vec<Layer>) {
    let mut layer = Layer::new("udp");
    let mut input = Bytes(packet.body());
    let Some((ports, length, checksum)) = header(&mut input) else {
        layer.title = "UDP malformed: truncated header".to_owned();
        layers.push(layer);
        return;
    };
    let [src, dst] = ports;
    layer.title = format!("UDP {src} > {dst} len {}", length.saturating_sub(8));
    layer.number("udp.srcport", src);
    layer.number("udp.dstport", dst);
    layer.number("udp.length", length);
    let is_whole = !packet.is_part && !packet.is_short;
    let is_length_right = usize::from(length) == packet.body_len();
    if packet.is_udp_elided {
        // RFC 6282 §4.3.2: a sender may elide the checksum only if another integrity check
        // covers the datagram.
        layer.say("(checksum elided)");
        layer.flag("redpoll.udp.checksum_elided", true);
    } else {
        layer.hex("udp.checksum", checksum, 4);
        let checks = packet.checks(next_header::UDP);
        // RFC 8200 §8.1: a UDP checksum of zero is not allowed in IPv6.
        let is_right = checks.map(|is_right| is_right && checksum != 0);
        Verdict::of(is_right.filter(|_| is_length_right)).show("udp.checksum.status", &mut layer);
    }
    if is_whole && (length < 8 || usize::from(length) > packet.body_len()) {
        layer.say(format!(
            "malformed: length field is {length} B; allowed: 8 to {}",
            packet.body_len()
        ));
    }
    layers.push(layer);
    let end = usize::from(length).saturating_sub(8).min(input.0.len());
    let payload = input.0.get(..end).unwrap_or_default();
    if ports.contains(&MLE) {
        layers.extend(mle::layer(payload, !is_whole));
    } else if ports.contains(&COAP) {
        layers.extend(coap::layer(payload, !is_whole));
    } else if ports.contains(&tmf::PORT) {
        layers.extend(tmf::layer(payload, !is_whole));
    }
}

fn header(input: &mut Bytes<'_>) -> Option<([u16; 2], u16, u16)> {
    let ports = [input.u16()?, input.u16()?];
    Some((ports, input.u16()?, input.u16()?))
}
