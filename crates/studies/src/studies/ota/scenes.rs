//! Nodes, links and what runs on them: the same for all protocols.
//!
//! Two routers are as near to the leaf as each other, so that it has a second parent. Nodes two
//! hops apart do not hear each other. Three settings of the MAC are not Redpoll's own, for all
//! protocols alike: a frame is repeated after up to 10 ms instead of 40, as OpenThread's are
//! (2^5 backoff periods at most), and 30 times instead of 10; and macMinBE is 1 and not the
//! standard's default of 3, since in a line there is hardly anybody to wait for. They were chosen
//! after trial runs: with 15 times, as in OpenThread, TCP sends 2 % of the image twice for frames
//! that were given up, with 40 ms lost frames cost everybody more than all else, and with a
//! macMinBE of 3 a frame waits for 1.1 ms of its 7. TCP's segments fill twelve frames, three of
//! them are under way, and an acknowledgment waits for the second of two, which takes 300 ms over
//! three hops and more than the usual 200. Its source gives a connection up, as the leaf does,
//! when it has heard nothing for some 10 s: after two retransmissions. `sensitivity` has what comes
//! out otherwise.

use redpoll_experiments::{Case, Scene};

/// Bytes of the image.
pub const IMAGE: f64 = 386_000.0;
/// When the leaf begins, in seconds: by then RPL has found its ways.
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

/// How the image gets to the leaf.
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
    /// All of them.
    pub const ALL: [By; 6] = [
        By::Tcp,
        By::Block1,
        By::QBlock,
        By::QBlockTuned,
        By::Bdx,
        By::BdxTuned,
    ];

    /// Its name as a series.
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

    /// The case with it.
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

/// The leaf is awake.
pub fn awake() -> Case {
    Case::new(Scene {
        name: "ota".into(),
        text: TEXT.to_owned(),
    })
}

/// The leaf sleeps, and registers with its parent; it expects packets as long as the image is
/// not whole.
pub fn sleepy() -> Case {
    awake().set("nodes.leaf.sleepy", "true")
}

/// A share of all frames is lost.
pub fn lossy(case: Case, percent: u32) -> Case {
    match percent {
        0 => case,
        _ => case
            .set("faults.loss.type", "drop-frames")
            .set("faults.loss.share", format!("{percent} %")),
    }
}

/// What goes wrong while the image is on its way, from 30 s on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// The leaf's parent is switched off and stays so.
    Parent,
    /// The leaf is off for 2 s, and has forgotten all but its flash.
    Reboot,
    /// The leaf hears nobody for 30 s, and nobody hears it.
    Link,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 4] = [Fault::None, Fault::Parent, Fault::Reboot, Fault::Link];

    /// Its name on the first axis.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::None => "nothing",
            Fault::Parent => "parent lost",
            Fault::Reboot => "reboot",
            Fault::Link => "30 s without a link",
        }
    }

    /// The case with it.
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

/// Where routes are found by RPL, and the leaf's first parent is `router-2`: the other router
/// comes 20 s later.
pub fn rpl(case: Case) -> Case {
    case.set("routing", "rpl")
        .set("faults.later.type", "node-off")
        .set("faults.later.node", "router-3")
        .set("faults.later.until", "40 s")
}
