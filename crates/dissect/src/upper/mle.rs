//! Mesh link establishment (draft-ietf-6lo-mesh-link-establishment), with the TLVs of Thread.

use crate::layer::{Bytes, Layer, hex};
use crate::thread::mle_tlv;

/// Value of the security suite field in messages that MLE does not protect.
const NO_SECURITY: u8 = 255;

/// Decodes the message in a UDP datagram; `None` if the datagram is empty.
pub(super) fn layer(payload: &[u8], is_part: bool) -> Option<Layer> {
    let mut input = Bytes(payload);
    let suite = input.u8()?;
    let mut layer = Layer::new("mle");
    layer.title = "MLE".to_owned();
    layer.number("mle.sec_suite", suite);
    if suite != NO_SECURITY {
        layer.say(format!("secured, payload encrypted ({} B)", input.0.len()));
        return Some(layer);
    }
    message(input, is_part, &mut layer);
    Some(layer)
}

/// Returns the layer of a decrypted message.
pub(crate) fn opened(plain: &[u8]) -> Layer {
    let mut layer = Layer::new("mle");
    layer.title = "MLE".to_owned();
    layer.number("mle.sec_suite", 0u8);
    message(Bytes(plain), false, &mut layer);
    layer
}

fn message(mut input: Bytes<'_>, is_part: bool, layer: &mut Layer) {
    let Some(command) = input.u8() else {
        layer.say("malformed: no command");
        return;
    };
    layer.number("mle.cmd", command);
    layer.say(command_name(command));
    while !input.0.is_empty() {
        let Some((kind, content)) = mle_tlv(&mut input) else {
            if !is_part {
                layer.say("malformed TLV");
            }
            break;
        };
        layer.number("mle.tlv.type", kind);
        layer.number("mle.tlv.len", content.len() as u64);
        add(kind, content, layer);
    }
}

fn command_name(command: u8) -> String {
    let names = [
        "link request",
        "link accept",
        "link accept and request",
        "link reject",
        "advertisement",
        "update",
        "update request",
        "data request",
        "data response",
        "parent request",
        "parent response",
        "child ID request",
        "child ID response",
        "child update request",
        "child update response",
        "announce",
        "discovery request",
        "discovery response",
    ];
    match names.get(usize::from(command)) {
        Some(name) => (*name).to_owned(),
        None => format!("command {command}"),
    }
}

fn add(kind: u8, content: &[u8], layer: &mut Layer) {
    match (kind, content) {
        (0, _) => {
            layer.bytes("mle.tlv.source_addr", content);
            layer.say(format!("source {}", hex(content)));
        }
        (1, &[mode, ..]) => {
            layer.flag("mle.tlv.mode.idle_rx", mode & 0x08 != 0);
            layer.flag("mle.tlv.mode.sec_data_req", mode & 0x04 != 0);
            layer.flag("mle.tlv.mode.device_type", mode & 0x02 != 0);
            layer.flag("mle.tlv.mode.nwk_data", mode & 0x01 != 0);
        }
        (2, &[a, b, c, d, ..]) => {
            let timeout = u32::from_be_bytes([a, b, c, d]);
            layer.number("mle.tlv.timeout", timeout);
            layer.say(format!("timeout {timeout} s"));
        }
        (3, _) => layer.bytes("mle.tlv.challenge", content),
        (4, _) => layer.bytes("mle.tlv.response", content),
        (5, &[a, b, c, d, ..]) => {
            layer.number("mle.tlv.ll_frm_cntr", u32::from_be_bytes([a, b, c, d]));
        }
        (8, &[a, b, c, d, ..]) => {
            layer.number("mle.tlv.mle_frm_cntr", u32::from_be_bytes([a, b, c, d]));
        }
        (10, &[high, low]) => {
            let address = u16::from_be_bytes([high, low]);
            layer.hex("mle.tlv.addr16", address, 4);
            layer.say(format!("address 0x{address:04x}"));
        }
        (11, &[a, b, c, d, weighting, version, stable, router]) => {
            let partition = u32::from_be_bytes([a, b, c, d]);
            layer.hex("mle.tlv.leader_data.partition_id", partition, 8);
            layer.number("mle.tlv.leader_data.weighting", weighting);
            layer.number("mle.tlv.leader_data.data_version", version);
            layer.number("mle.tlv.leader_data.stable_data_version", stable);
            layer.number("mle.tlv.leader_data.router_id", router);
            layer.say(format!("partition {partition:08x} leader {router}"));
        }
        (16, &[margin, ..]) => layer.number("mle.tlv.link_margin", margin),
        (17, &[status, ..]) => layer.number("mle.tlv.status", status),
        (18, &[high, low, ..]) => layer.number("mle.tlv.version", u16::from_be_bytes([high, low])),
        _ => layer.text("redpoll.mle.tlv", format!("{kind}: {}", hex(content))),
    }
}
