//! The scenarios under the figures.
//!
//! The medium is SINR with capture, after the testbed: -8 dBm, path loss
//! exponent 3. Neighbours 8 m apart hear each other at -75 dBm, above the
//! threshold of carrier sense (-77 dBm); who is two hops away comes at -84 dBm:
//! not sensed, not received (frames are noticed from -80 dBm on), but it
//! disturbs. That makes it a hidden terminal.
//!
//! The link of the paper's sections 6 and 7 is that of its published code: five
//! attempts a frame, software CSMA that hears meanwhile, each fragment with a
//! backoff of its own. The code of section 8 makes ten attempts, five of a frame
//! to a sleepy node, each of which takes a poll, with at most 20 ms in between.

use crate::{Case, Scene};

/// A line of nodes; the last sends to the first as fast as it can.
const LINE: Scene = Scene {
    name: "line",
    text: r#"
duration = "300 s"

[topology]
kind = "line"
nodes = 4
spacing = "8 m"

[medium]
model = "sinr"
tx_power = "-8 dBm"
path_loss_exponent = 3
sensitivity = "-80 dBm"
cca_threshold = "-77 dBm"
capture = "3 dB"

[radio]
model = "at86rf233"

[mac]
link_retry_delay = "40 ms"

[tcp]
mss = "462 B"
send_buffer = "1848 B"
receive_buffer = "1848 B"

[apps.sink]
type = "bulk-sink"
on = "node-1"
port = 5001

[apps.bulk]
type = "bulk-sender"
on = "node-4"
to = "node-1:5001"
"#,
};

/// A node one hop from a border router, and a server behind that.
const UPLINK: Scene = Scene {
    name: "uplink",
    text: r#"
duration = "300 s"

[topology]
kind = "line"
nodes = 2
spacing = "8 m"

[medium]
model = "sinr"
tx_power = "-8 dBm"
path_loss_exponent = 3
sensitivity = "-80 dBm"
cca_threshold = "-77 dBm"
capture = "3 dB"

[radio]
model = "at86rf233"

[mac]
link_retry_delay = "40 ms"

[nodes.node-1]
role = "border"

[tcp]
mss = "462 B"
send_buffer = "1848 B"
receive_buffer = "1848 B"

[border]
host_delay = "6 ms"

[apps.sink]
type = "bulk-sink"
on = "host"
port = 5001

[apps.bulk]
type = "bulk-sender"
on = "node-2"
to = "host:5001"
"#,
};

/// The link of sections 6 and 7.
const PAPER_LINK: &[(&str, &str)] = &[
    ("mac.max_frame_retries", "4"),
    ("lowpan.fragment_burst", "false"),
];

/// The unit disk of the shipped scenarios line-1 to line-4: nobody captures
/// anything, and who is two hops away is hidden. The paper argues its bounds of
/// several hops in these terms.
const UNIT_DISK: &[(&str, &str)] = &[
    ("medium.model", "unit-disk"),
    ("medium.transmission_range", "10 m"),
    ("medium.interference_range", "10 m"),
    ("medium.carrier_sense_range", "10 m"),
];

/// A bulk flow over so many hops, with Redpoll's link.
pub fn line(hops: u32) -> Case {
    let sender = format!("node-{}", hops + 1);
    Case::new(LINE)
        .set("topology.nodes", hops + 1)
        .set("apps.bulk.on", sender)
}

/// A bulk flow from a node to a server, with Redpoll's link.
pub fn uplink() -> Case {
    Case::new(UPLINK)
}

/// A bulk flow from a server to a node, with Redpoll's link.
pub fn downlink() -> Case {
    Case::new(UPLINK).with(&[
        ("apps.sink.on", "node-2"),
        ("apps.bulk.on", "host"),
        ("apps.bulk.to", "node-2:5001"),
    ])
}

/// The paper's link instead, of its sections 6 and 7.
pub fn paper(case: Case) -> Case {
    case.with(PAPER_LINK)
}

/// The unit disk instead.
pub fn unit_disk(case: Case) -> Case {
    case.with(UNIT_DISK)
}

/// The link retry delay d instead of 40 ms.
pub fn delay(case: Case, ms: u32) -> Case {
    case.set("mac.link_retry_delay", format!("{ms} ms"))
}
