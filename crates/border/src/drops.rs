//! The counts of a node's drops, by layer and reason.

use core::fmt::Display;

use redpoll_stack::{Node, Profile};

/// Calls `each` with the layer, the name and the count of every reason for which the node drops
/// frames or packets, zeros included. Layers: `mac`, `lowpan` and `ip`. Link-layer security, an
/// optional feature of the node, counts its reasons itself.
pub fn each_drop<P: Profile>(node: &Node<P>, mut each: impl FnMut(&str, &dyn Display, u32)) {
    let mac = node.mac().counters();
    for (reason, count) in [
        ("no_ack", mac.dropped_no_ack),
        ("channel_access_failure", mac.dropped_channel_access),
        ("duplicate", mac.rx_duplicates),
        ("malformed", mac.rx_malformed),
        ("other_pan", mac.rx_other_pan),
        ("not_for_us", mac.rx_not_for_us),
        ("version", mac.rx_version),
        ("secured", mac.rx_secured),
        ("unsealed", mac.dropped_unsealed),
        ("unsupported_type", mac.rx_unsupported_type),
        ("no_source", mac.rx_no_source),
    ] {
        each("mac", &reason, count);
    }
    for (reason, count) in node.lowpan().counters().drops() {
        each("lowpan", &reason, count);
    }
    for (reason, count) in node.counters().drops() {
        each("ip", &reason, count);
    }
}
