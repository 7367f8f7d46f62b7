//! Nodes, links and apps, which are the same for all protocols.
//!
//! Two routers are equally near to the leaf, so the leaf has a second parent. Nodes two hops apart
//! do not hear each other.
//!
//! Three settings of the MAC differ from Redpoll's defaults, for all protocols alike. Trial runs
//! led to these values:
//! - Retransmissions of a frame follow after up to 10 ms instead of 40, as in OpenThread (at most
//!   2^5 backoff periods). With 40 ms, lost frames cost every protocol more than anything else.
//! - A frame has 30 retries instead of 10. With 15, as in OpenThread, TCP retransmits 2 % of the
//!   image, because the link gave up frames.
//! - macMinBE is 1 instead of the standard's default of 3, because a line has hardly any competing
//!   senders. With 3 a frame waits for 1.1 ms of its 7 ms.
//!
//! TCP's segments fill twelve frames, and three segments are in flight. An acknowledgment waits for
//! the second of two segments, which takes 300 ms over three hops, so `delayed_ack` is longer than
//! the usual 200 ms. Both ends give up a connection after two retransmissions, about 10 s after the
//! last segment from the peer. `sensitivity` shows the results with other values.

use redpoll_experiments::{Case, Scene};

pub const IMAGE: f64 = 386_000.0;
/// Start of the transfer in seconds; RPL has found its routes by then.
pub const BEGIN_S: u64 = 60;

const TEXT: &str = r#"
duration = "900 s"

[topology]
kind = "links"
links = [
    "border <-> router-1",
    "router-1 <-> router-2",
    "router-1 <-> router-3",
    "router-2 <-> router-3",
    "router-2 <-> leaf",
    "router-3 <-> leaf",
]

[mac]
link_retry_delay = "10 ms"
max_frame_retries = 30
min_be = 1

[tcp]
mss = "1200 B"
send_buffer = "3600 B"
receive_buffer = "3600 B"
delayed_ack = "450 ms"
max_retries = 2

[poll]
base_interval = "1 s"

[nodes]
border = { role = "border" }
router-1 = { role = "router" }
router-2 = { role = "router" }
router-3 = { role = "router" }
leaf = { role = "leaf" }

[apps.source]
type = "image-source"
on = "host"
port = 5683
file = "386 kB"
block = "1024 B"

[apps.image]
type = "image-leaf"
on = "leaf"
to = "host:5683"
block = "1024 B"
start = "60 s"
"#;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    Tcp,
    Block1,
    QBlock,
    QBlockTuned,
    Bdx,
    BdxTuned,
}

impl By {
    pub const ALL: [By; 6] = [
        By::Tcp,
        By::Block1,
        By::QBlock,
        By::QBlockTuned,
        By::Bdx,
        By::BdxTuned,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            By::Tcp => "TCP",
            By::Block1 => "Block1",
            By::QBlock => "Q-Block",
            By::QBlockTuned => "Q-Block tuned",
            By::Bdx => "BDX",
            By::BdxTuned => "BDX tuned",
        }
    }

    pub fn of(self, case: Case) -> Case {
        let (protocol, tuned) = match self {
            By::Tcp => ("http", None),
            By::Block1 => ("block1", None),
            By::QBlock => ("q-block", None),
            By::QBlockTuned => ("q-block", Some("non_timeout")),
            By::Bdx => ("bdx", None),
            By::BdxTuned => ("bdx", Some("message_interval")),
        };
        ["source", "image"].iter().fold(case, |case, app| {
            let case = case.set(&format!("apps.{app}.protocol"), protocol);
            match tuned {
                Some(key) => case.set(&format!("apps.{app}.{key}"), "1 s"),
                None => case,
            }
        })
    }
}

pub fn awake() -> Case {
    Case::new(Scene {
        name: "ota".into(),
        text: TEXT.to_owned(),
    })
}

/// Returns the case with a leaf that sleeps and registers with its parent. The leaf expects packets
/// until the image is complete.
pub fn sleepy() -> Case {
    awake().set("nodes.leaf.sleepy", "true")
}

pub fn lossy(case: Case, percent: u32) -> Case {
    match percent {
        0 => case,
        _ => case
            .set("faults.loss.type", "drop-frames")
            .set("faults.loss.share", format!("{percent} %")),
    }
}

/// A fault that begins 30 s after the start of the transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// The leaf's parent is switched off for the rest of the run.
    Parent,
    /// The leaf is off for 2 s and keeps only its flash.
    Reboot,
    /// The leaf's link is interrupted in both directions for 30 s.
    Link,
}

impl Fault {
    pub const ALL: [Fault; 4] = [Fault::None, Fault::Parent, Fault::Reboot, Fault::Link];

    pub const fn name(self) -> &'static str {
        match self {
            Fault::None => "nothing",
            Fault::Parent => "parent lost",
            Fault::Reboot => "reboot",
            Fault::Link => "30 s without a link",
        }
    }

    pub fn of(self, case: Case) -> Case {
        let (kind, node, until) = match self {
            Fault::None => return case,
            Fault::Parent => ("node-off", "router-2", "the end"),
            Fault::Reboot => ("node-restart", "leaf", "92 s"),
            Fault::Link => ("node-off", "leaf", "120 s"),
        };
        case.set("faults.event.type", kind)
            .set("faults.event.node", node)
            .set("faults.event.from", "90 s")
            .set("faults.event.until", until)
    }
}

/// Makes RPL find the routes. The first parent is `router-2`: the radio of the other router is off
/// for the first 40 s.
pub fn rpl(case: Case) -> Case {
    case.set("routing", "rpl")
        .set("faults.later.type", "node-off")
        .set("faults.later.node", "router-3")
        .set("faults.later.until", "40 s")
}
