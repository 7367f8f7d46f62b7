//! Thread management framework: CoAP messages with paths of two short segments, such as `a/aq`.

use super::coap;
use crate::layer::Layer;

/// UDP port of the Thread management framework.
pub(super) const PORT: u16 = 61_631;

/// Paths of messages, and their names.
const NAMES: [(&str, &str); 40] = [
    ("/a/ae", "address error"),
    ("/a/an", "address notification"),
    ("/a/aq", "address query"),
    ("/a/ar", "address release"),
    ("/a/as", "address solicit"),
    ("/a/sd", "server data"),
    ("/a/yl", "anycast locate"),
    ("/b/ba", "backbone answer"),
    ("/b/bmr", "backbone multicast listener report"),
    ("/b/bq", "backbone query"),
    ("/c/ab", "announce begin"),
    ("/c/ag", "active dataset get"),
    ("/c/ar", "active dataset replace"),
    ("/c/as", "active dataset set"),
    ("/c/ca", "commissioner keep-alive"),
    ("/c/cg", "commissioner dataset get"),
    ("/c/cp", "commissioner petition"),
    ("/c/cs", "commissioner dataset set"),
    ("/c/dc", "dataset changed"),
    ("/c/er", "energy report"),
    ("/c/es", "energy scan"),
    ("/c/je", "joiner entrust"),
    ("/c/jf", "joiner finalise"),
    ("/c/la", "leader keep-alive"),
    ("/c/lp", "leader petition"),
    ("/c/pc", "PAN ID conflict"),
    ("/c/pg", "pending dataset get"),
    ("/c/pq", "PAN ID query"),
    ("/c/ps", "pending dataset set"),
    ("/c/rx", "relay receive"),
    ("/c/tx", "relay transmit"),
    ("/c/ur", "proxy receive"),
    ("/c/ut", "proxy transmit"),
    ("/d/da", "diagnostic answer"),
    ("/d/dg", "diagnostic get"),
    ("/d/dq", "diagnostic query"),
    ("/d/dr", "diagnostic reset"),
    ("/n/dn", "domain address notification"),
    ("/n/dr", "domain address registration"),
    ("/n/mr", "multicast listener registration"),
];

/// Decodes the CoAP message in a UDP datagram, and names its path. Responses have no path.
pub(super) fn layer(payload: &[u8], is_part: bool) -> Option<Layer> {
    let (mut layer, path) = coap::message(payload, is_part)?;
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == path) {
        layer.text("redpoll.tmf.name", *name);
        layer.say(name);
    }
    Some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_named_by_their_paths() {
        for (path, name) in NAMES {
            // A confirmable POST with a token of one byte, followed by the path segments.
            let mut message = vec![0x41, 2, 0, 1, 9];
            for (at, word) in path[1..].split('/').enumerate() {
                let delta = if at == 0 { 11 << 4 } else { 0 };
                message.push(delta | word.len() as u8);
                message.extend(word.bytes());
            }
            let shown = layer(&message, false).unwrap();
            assert!(
                shown.title.ends_with(&format!("{path} {name}")),
                "{}",
                shown.title
            );
        }
        let other = layer(&[0x41, 2, 0, 1, 9, 0xb1, b'x'], false).unwrap();
        assert!(other.title.ends_with("/x") && other.get("redpoll.tmf.name").is_none());
        assert!(layer(&[0x01], false).is_none());
    }
}
