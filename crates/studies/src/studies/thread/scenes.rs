//! Nodes, links and apps, which are the same for all transports.
//!
//! The nodes form a line in which only neighbours hear each other. Node 1 sends to the last node.
//! All nodes but the last are router-eligible. OpenThread's settings are its defaults.
//!
//! In trial runs, windows of four segments of 1,200 bytes and acknowledgements delayed by up to 450
//! ms were the best of twelve settings for Redpoll.

use redpoll_experiments::{Case, Scene};

pub const IMAGE: u64 = 386_000;
/// Start of the transfer in seconds; the nodes have attached by then.
pub const BEGIN_S: u64 = 300;
/// End of a run in seconds, if the transfer does not end before.
const END_S: u64 = 5_400;

/// File of OpenThread as a module, which `make thread` builds; `redpoll study --module` names
/// another one.
const MODULE: &str = "target/thread/openthread.so";

/// The last node of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf {
    /// A full Thread device: a router, or able to become one.
    Ftd,
    /// An end device whose receiver is on.
    Med,
    /// A sleepy end device.
    Sed,
}

impl Leaf {
    const fn name(self) -> &'static str {
        match self {
            Leaf::Ftd => "ftd",
            Leaf::Med => "med",
            Leaf::Sed => "sed",
        }
    }

    const fn keys(self) -> &'static str {
        match self {
            Leaf::Ftd => "",
            Leaf::Med => "role = \"leaf\"\n",
            Leaf::Sed => "role = \"leaf\"\nsleepy = true\n",
        }
    }
}

/// Returns the name of the last node of a line with this number of hops.
pub fn leaf_name(hops: u32) -> String {
    format!("node-{}", hops + 1)
}

fn text(hops: u32, leaf: Leaf) -> String {
    let (nodes, last) = (hops + 1, leaf_name(hops));
    let mut text = format!(
        r#"duration = "{END_S} s"

[topology]
kind = "line"
nodes = {nodes}
spacing = "40 m"

[medium]
transmission_range = "50 m"

[thread]
module = "{MODULE}"

[apps.sink]
type = "bulk-sink"
on = "{last}"
port = 5683

[apps.image]
type = "bulk-sender"
on = "node-1"
to = "{last}:5683"
total = "{IMAGE} B"
start = "{BEGIN_S} s"
"#
    );
    for node in 1..=nodes {
        // Node 1 resolves the address of the last node before the transfer, which may take half a
        // minute if a query is lost.
        let keys = match node {
            1 => format!("console = [\"200 s: ping fd72:6564:7468::{nodes} 8 4 20\"]\n"),
            _ if node == nodes => leaf.keys().to_owned(),
            _ => String::new(),
        };
        text += &format!("\n[nodes.node-{node}]\nkind = \"openthread\"\n{keys}");
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    Tcplp,
    TcplpBest,
    RedpollEqual,
    Redpoll,
    Coap,
}

impl By {
    pub const ALL: [By; 5] = [
        By::Tcplp,
        By::TcplpBest,
        By::RedpollEqual,
        By::Redpoll,
        By::Coap,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            By::Tcplp => "TCPlp as shipped",
            By::TcplpBest => "TCPlp, best settings",
            By::RedpollEqual => "Redpoll, TCPlp's sizes",
            By::Redpoll => "Redpoll",
            By::Coap => "CoAP",
        }
    }

    fn of(self, case: Case) -> Case {
        let buffers = |case: Case, bytes: u32| {
            let bytes = format!("{bytes} B");
            case.set("tcp.send_buffer", &bytes)
                .set("tcp.receive_buffer", &bytes)
        };
        match self {
            By::Tcplp => buffers(case, 2_309).set("thread.tcp", "tcplp"),
            By::TcplpBest => buffers(case, 3_695).set("thread.tcp", "tcplp"),
            By::RedpollEqual => buffers(case, 2_309).set("thread.tcp", "redpoll"),
            By::Redpoll => buffers(case, 4_752)
                .set("tcp.mss", "1200 B")
                .set("tcp.delayed_ack", "450 ms")
                .set("thread.tcp", "redpoll"),
            By::Coap => case.set("thread.tcp", "coap"),
        }
    }
}

/// A transfer of the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub by: By,
    pub hops: u32,
    pub leaf: Leaf,
    /// Poll period of a sleepy leaf in milliseconds.
    pub poll_ms: u32,
    /// Percent of frames that are lost.
    pub lost: u32,
}

/// Poll period of a sleepy leaf with TCPlp's best settings.
const FAST_POLL_MS: u32 = 100;

impl Transfer {
    pub fn case(self) -> Case {
        let scene = Scene {
            name: format!("thread-{}-{}", self.hops, self.leaf.name()).into(),
            text: text(self.hops, self.leaf),
        };
        let mut case = self.by.of(Case::new(scene));
        if self.leaf == Leaf::Sed {
            let poll_ms = match self.by {
                By::TcplpBest => FAST_POLL_MS,
                _ => self.poll_ms,
            };
            case = case.set("thread.poll_period", format!("{poll_ms} ms"));
        }
        match self.lost {
            0 => case,
            lost => case
                .set("faults.loss.type", "drop-frames")
                .set("faults.loss.share", format!("{lost} %")),
        }
    }
}
