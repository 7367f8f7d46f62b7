//! The scenarios under the figures: the floor of the testbed, the link, and what
//! runs on the nodes.
//!
//! The floor and its medium are those of the shipped scenario `testbed-3`: 15
//! nodes at -8 dBm, SINR with capture, path loss exponent 4; node 1 is the
//! border router, the sensors are nodes 12 to 15. `docs/model.md` says where its
//! figures come from. What runs on the leaves is that of `readings` and
//! `readings-day`.
//!
//! The paper's link is that of its published code (branch `tcp-ot-paper`): ten
//! attempts a frame with at most 40 ms in between, software CSMA that hears
//! meanwhile, each fragment with a backoff of its own; five attempts of a frame
//! to a sleepy node a poll, at most 20 ms apart, each fragment with a poll of
//! its own. Its 50 message buffers of 128 bytes hold ten datagrams of five frames,
//! a buffer a frame.

use crate::{Case, Scene};

/// Medium, radio, transport and nodes of the floor.
const FLOOR: &str = r#"
duration = "300 s"

[topology]
kind = "positions"

[medium]
model = "sinr"
tx_power = "-8 dBm"
path_loss_exponent = 4
co_channel = "2.5 dB"

[radio]
model = "at86rf233"

[mac]
link_retry_delay = "40 ms"

[tcp]
mss = "462 B"
send_buffer = "1848 B"
receive_buffer = "1848 B"

[border]
host_delay = "6 ms"

[nodes]
node-1 = { role = "border", position = ["2 m", "10 m"] }
node-2 = { role = "router", position = ["11 m", "6 m"] }
node-3 = { role = "router", position = ["11 m", "14 m"] }
node-4 = { role = "router", position = ["20 m", "4 m"] }
node-5 = { role = "router", position = ["20 m", "10 m"] }
node-6 = { role = "router", position = ["20 m", "16 m"] }
node-7 = { role = "router", position = ["29 m", "6 m"] }
node-8 = { role = "router", position = ["29 m", "14 m"] }
node-9 = { role = "router", position = ["37 m", "4 m"] }
node-10 = { role = "router", position = ["37 m", "10 m"] }
node-11 = { role = "router", position = ["37 m", "16 m"] }
leaf-12 = { role = "leaf", position = ["33 m", "-1 m"] }
leaf-13 = { role = "leaf", position = ["33 m", "21 m"] }
leaf-14 = { role = "leaf", position = ["46 m", "10 m"] }
leaf-15 = { role = "leaf", position = ["22 m", "23 m"] }
"#;

/// A node sends to another as fast as it can.
const BULK: &str = r#"
[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001

[apps.bulk]
type = "bulk-sender"
on = "node-8"
to = "node-1:5001"
"#;

/// A client at the host asks a leaf.
const WEB: &str = r#"
[apps.http]
type = "http-server"
on = "leaf-15"
file = "82 B"

[apps.coap]
type = "coap-server"
on = "leaf-15"
file = "82 B"

[apps.get]
type = "http-client"
on = "host"
to = "leaf-15:80"
interval = "7300 ms"
"#;

/// The leaves make readings for a server.
const READINGS: &str = r#"
[apps.stream]
type = "bulk-sink"
on = "host"
port = 5683

[apps.coap]
type = "coap-server"
on = "host"

[apps.readings]
type = "sensor"
on = "every leaf"
to = "host:5683"
reading = "82 B"
interval = "1 s"
message = "469 B"
"#;

/// Wi-Fi while people work: so much that the unreliable protocol with batches
/// loses about as many readings as in the paper's office.
const INTERFERERS: &str = r#"
[interferers.west]
position = ["12 m", "10 m"]
busy = "35 %"
session = "10 s"
session_share = "15 %"
from = "9 h"
until = "18 h"

[interferers.east]
position = ["34 m", "10 m"]
busy = "35 %"
session = "10 s"
session_share = "15 %"
from = "9 h"
until = "18 h"
"#;

const MESSAGE_BUFFERS: u32 = 50;

/// The link of the paper, between nodes that do not sleep.
const PAPER_LINK: &[(&str, &str)] = &[
    ("mac.max_frame_retries", "9"),
    ("lowpan.fragment_burst", "false"),
    // FreeBSD's.
    ("tcp.delayed_ack", "100 ms"),
    // Their nodes have to compute.
    ("energy.takes_time", "true"),
];

/// The link of the paper, to sleepy nodes.
const PAPER_SLEEP: &[(&str, &str)] = &[
    ("poll.policy", "fixed"),
    ("poll.interval", "100 ms"),
    ("indirect.retries", "4"),
    ("indirect.retry_delay", "20 ms"),
    ("indirect.burst", "false"),
];

/// The leaves sleep.
const SLEEPY: &[(&str, &str)] = &[
    ("nodes.leaf-12.sleepy", "true"),
    ("nodes.leaf-13.sleepy", "true"),
    ("nodes.leaf-14.sleepy", "true"),
    ("nodes.leaf-15.sleepy", "true"),
];

fn floor(name: &'static str, apps: &str) -> Case {
    Case::new(Scene {
        name,
        text: format!("{FLOOR}{apps}"),
    })
}

/// A bulk flow over one to four hops, with Redpoll's link.
pub fn line(hops: u32) -> Case {
    const SENDERS: [&str; 4] = ["node-2", "node-5", "node-8", "node-10"];
    let sender = SENDERS[(hops as usize).clamp(1, SENDERS.len()) - 1];
    floor("bulk", BULK).set("apps.bulk.on", sender)
}

/// A bulk flow from a node beside the border router to a server behind it, with
/// Redpoll's link.
pub fn uplink() -> Case {
    floor("uplink", BULK).with(&[
        ("apps.sink.on", "host"),
        ("apps.bulk.on", "node-2"),
        ("apps.bulk.to", "host:5001"),
    ])
}

/// The other way round.
pub fn downlink() -> Case {
    floor("downlink", BULK).with(&[
        ("apps.sink.on", "node-2"),
        ("apps.bulk.on", "host"),
        ("apps.bulk.to", "node-2:5001"),
    ])
}

/// What a client speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Speaks {
    Http,
    Coap,
}

/// A client at the host that asks a sleepy leaf three hops away for so many
/// bytes, with Redpoll's link. Segments of five frames: so many a block of 512
/// bytes takes as well, and neither is to have more of them.
pub fn web(speaks: Speaks, bytes: u32) -> Case {
    let file = format!("{bytes} B");
    let case = floor("web", WEB)
        .with(SLEEPY)
        .set("apps.http.file", &file)
        .set("apps.coap.file", file)
        .set("tcp.mss", "5 frames");
    match speaks {
        Speaks::Http => case,
        Speaks::Coap => case.with(&[
            ("apps.get.type", "coap-client"),
            ("apps.get.to", "leaf-15:5683"),
        ]),
    }
}

/// Four sleepy leaves that send readings over a transport, with Redpoll's link.
pub fn readings(transport: &'static str, batch: u32) -> Case {
    let case = floor("readings", READINGS)
        .with(SLEEPY)
        .set("tcp.mss", "5 frames")
        .set("apps.readings.transport", transport)
        .set("apps.readings.batch", batch);
    match transport {
        // Contiki's reading is the one that the paper used.
        "cocoa" => case.set("apps.readings.cocoa", "contiki"),
        "ideal" => case.set("apps.readings.to", "host:5684"),
        _ => case,
    }
}

/// A day of the same, with segments and messages of three frames and with the
/// interferers of `readings-day`.
pub fn day(transport: &'static str, batch: u32) -> Case {
    let mut case = three_frames(readings(transport, batch));
    case.scene = Scene {
        name: "day",
        text: format!("{FLOOR}{READINGS}{INTERFERERS}"),
    };
    case.set("duration", "24 h").day()
}

/// Segments and messages of three frames instead of five.
pub fn three_frames(case: Case) -> Case {
    case.set("tcp.mss", "3 frames")
        .set("apps.readings.message", "261 B")
}

/// Loss of packets at the border router, in percent.
pub fn loss(case: Case, percent: u32) -> Case {
    case.set("faults.loss.type", "drop-packets")
        .set("faults.loss.share", format!("{percent} %"))
}

/// The paper's link instead of Redpoll's. How many frames a segment has is to be set
/// before.
pub fn paper(case: Case) -> Case {
    let slots = MESSAGE_BUFFERS / frames(&case);
    case.with(PAPER_LINK)
        .with(PAPER_SLEEP)
        .set("lowpan.slots", slots)
}

/// Frames of a segment.
fn frames(case: &Case) -> u32 {
    let mss = |(key, value): &(String, String)| match key.as_str() {
        "tcp.mss" => value.strip_suffix(" frames")?.parse().ok(),
        _ => None,
    };
    let found: Option<u32> = case.changes.iter().rev().find_map(mss);
    found.unwrap_or(5)
}

/// The link retry delay d instead of 40 ms.
pub fn delay(case: Case, ms: u32) -> Case {
    case.set("mac.link_retry_delay", format!("{ms} ms"))
}

#[cfg(test)]
mod tests {
    use super::{line, paper, three_frames};

    #[test]
    fn message_buffers_are_shared_by_frames() {
        let slots = |case: crate::Case| {
            let mut changes = paper(case).changes.into_iter();
            changes.find(|(key, _)| key == "lowpan.slots").unwrap().1
        };
        assert_eq!(slots(line(1)), "10");
        assert_eq!(slots(three_frames(line(1))), "16");
        assert_eq!(slots(line(1).set("tcp.mss", "1 frames")), "50");
    }
}
